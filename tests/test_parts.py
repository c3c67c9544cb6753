"""Settings of users' own: used as ours, written down by kind, and asked for when read back."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.errors import ArtifactError, InputError
from feynkac.files import seal, unseal
from feynkac.parts import is_built_in, kebab, kinds, read_part, record_part


@dataclass(frozen=True)
class HalfStep(fk.Scheme):
    """Euler–Maruyama under another name, with a field of its own."""

    steps: int = 4
    share: float = 0.5

    @property
    def draws(self):
        return self.steps

    def terminal(self, family, x, t, p, z):
        h = t / self.steps
        for normal in z.unbind(0):
            x = x + h * family.drift(x, p) + family.diffusion(x, h.sqrt() * normal, p)
        return x

    def check(self, family):
        pass


@dataclass(frozen=True)
class Halved(fk.Noise):
    """Antithetic pairs."""

    def draw(self, shape, generator, dtype=torch.float32):
        return fk.Antithetic().draw(shape, generator, dtype)


@dataclass(frozen=True)
class Plain(fk.Optimiser):
    """Gradient descent on the Sobolev loss."""

    fits_slopes = True
    learning_rate: float = 1e-3

    def build(self, network):
        return torch.optim.SGD(network.parameters(), lr=self.learning_rate)


@dataclass(frozen=True)
class Flat(fk.Schedule):
    """Always the same rate."""

    def rate(self, initial, step, done):
        return initial


@dataclass(frozen=True)
class Small(fk.Architecture):
    """A smooth network of fixed size."""

    width: int = 5

    def build(self, inputs, outputs=1):
        return fk.Smooth(width=self.width, depth=1).build(inputs, outputs)


OWN = [HalfStep(steps=3), Halved(), Plain(learning_rate=0.5), Flat(), Small(width=7)]
BUILT_IN = [
    fk.Exact(),
    fk.LogOde(3),
    fk.Sobol(aligned=False),
    fk.SGD(),
    fk.StepDecay(),
    fk.Smooth(9),
]


def role(part):
    bases = (fk.Scheme, fk.Noise, fk.Optimiser, fk.Schedule, fk.Architecture)
    return next(base for base in bases if isinstance(part, base))


@pytest.mark.parametrize("part", [*OWN, *BUILT_IN], ids=lambda p: p.kind)
def test_what_is_written_down_is_read_back(part):
    data = record_part(part)
    assert data["kind"] == type(part).kind
    assert ("source" in data) == (not is_built_in(type(part)))
    assert read_part(role(part), data) == part


@pytest.mark.parametrize(
    ("name", "expected"), [("LogOde", "log-ode"), ("SGD", "sgd"), ("Exact", "exact")]
)
def test_a_kind_is_the_class_name_in_kebab_case(name, expected):
    assert kebab(name) == expected


@pytest.mark.parametrize(
    ("base", "names"),
    [
        (fk.Scheme, "exact euler-maruyama milstein ninomiya-victoir log-ode family-steps"),
        (fk.Noise, "independent antithetic sobol spherical-radial trapezoid"),
        (fk.Optimiser, "adamw sgd muon gauss-newton"),
        (fk.Architecture, "multilevel feed-forward smooth"),
        (fk.Schedule, "step-decay linear-decay"),
        (fk.Method, "fast paper"),
    ],
)
def test_all_of_ours_are_known(base, names):
    assert set(names.split()) <= kinds(base).keys()


def test_an_unknown_kind_is_asked_for_by_name():
    message = r"the scheme 'sideways' is not built in, and an artifact holds no code; import the"
    with pytest.raises(ArtifactError, match=message):
        read_part(fk.Scheme, {"kind": "sideways", "steps": 3})


def test_a_changed_formula_is_refused():
    data = record_part(HalfStep()) | {"source": "0" * 64}
    with pytest.raises(ArtifactError, match="'half-step' is another one now: its formulas have ch"):
        read_part(fk.Scheme, data)


def test_a_namesake_of_ours_is_refused():
    @dataclass(frozen=True)
    class Exact(fk.Scheme):
        steps: int = 1
        draws = 1

        def terminal(self, family, x, t, p, z):
            return x

        def check(self, family):
            pass

    with pytest.raises(InputError, match="there is another scheme called 'exact'; rename"):
        record_part(Exact())
    assert kinds(fk.Scheme)["exact"] is fk.Exact


@pytest.mark.parametrize("wrong", [3, "exact", {"steps": 3}, None])
def test_what_is_no_part_is_refused(wrong):
    with pytest.raises(ValueError, match="expected a scheme, got"):
        read_part(fk.Scheme, wrong)


def test_parts_of_ones_own_solve_save_and_load(tmp_path):
    scheme, noise, _, schedule, _ = OWN
    method = fk.Fast(scheme=scheme, noise=noise, optimiser=Plain(), schedule=schedule, width=8)
    given = {"steps": 3, "batch_size": 16, "paths": 4, "evaluations": 1}
    solution = fk.solve(fk.BlackScholes(), method, out=tmp_path, **given)
    assert solution.manifest.run.method.scheme == scheme
    at = {"x": 9.5, "t": 0.5, "sigma": 0.3, "strike": 10.0}
    again = fk.load(tmp_path)
    assert again.manifest.run == solution.manifest.run
    assert again(**at) == solution(**at)
    assert again.certify(**at).half_width > 0


def test_an_architecture_of_ones_own(tmp_path):
    method = fk.Paper(architecture=Small(), batch_size=16)
    solution = fk.solve(fk.BlackScholes(), method, steps=2, evaluations=1, out=tmp_path)
    assert fk.load(tmp_path).manifest.parameters == solution.manifest.parameters == 31


def test_an_artifact_asks_for_a_part_by_name(tmp_path):
    method = fk.Paper(scheme=HalfStep(), batch_size=16)
    fk.solve(fk.BlackScholes(), method, steps=2, evaluations=1, out=tmp_path)
    manifest = tmp_path / "manifest.json"
    data = unseal(manifest.read_bytes())
    data["run"]["method"]["scheme"]["kind"] = "elsewhere"
    manifest.write_bytes(seal(data))
    message = (
        r"manifest\.json cannot be read: the scheme 'elsewhere' is not built in, .* import the"
    )
    with pytest.raises(ArtifactError, match=message) as caught:
        fk.load(tmp_path)
    assert "damaged" not in str(caught.value)
