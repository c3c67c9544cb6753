"""The Solution: what is loaded computes what was saved, and only what it was asked inside."""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.errors import ArtifactError, InputError
from feynkac.families.catalogue import find_family
from feynkac.files import seal, unseal
from feynkac.runs.artifact import MANIFEST, WEIGHTS
from feynkac.runs.run import record_family
from feynkac.sampling.generators import make_generator
from feynkac.solution import Solution

FAMILIES = {
    "black-scholes": fk.BlackScholes(),
    "black-scholes, 3 assets": fk.BlackScholes(dim=3),
    "basket-put": fk.BasketPut(dim=2),
    "heat-paraboloid": fk.HeatParaboloid(dim=2),
    "heat-gaussian": fk.HeatGaussian(dim=4),
}
ARCHITECTURES = {
    "multilevel": fk.Multilevel(levels=2, factor=2),
    "feed-forward": fk.FeedForward(levels=1, factor=2),
    "smooth": fk.Multilevel(levels=2, factor=2, norm="layer", activation="silu"),
    "bare": fk.FeedForward(levels=1, factor=3, norm="none", activation="tanh"),
}
AT = {"x": 9.5, "t": 0.5, "sigma": 0.35, "strike": 11.0}

USER_FAMILY = """
from dataclasses import dataclass
from pathlib import Path
import feynkac as fk

Path(__file__).with_suffix(".imported").touch()

@dataclass(frozen=True)
class MeanReverting(fk.Family):
    dim: int = 2
    speed: float = 1.0
    levels: tuple = (0.1, 0.6)

    @property
    def domain(self):
        x = fk.Box(-1.0, 1.0, shape=(self.dim,))
        return fk.Domain(x=x, t=fk.Box(0.0, 1.0), sigma=fk.Box(*self.levels))

    def drift(self, x, p):
        return -self.speed * x

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)
"""


def quick(family: fk.Family, architecture: fk.Multilevel | fk.FeedForward) -> Solution:
    """A little trained, so that neither weights nor batch statistics are those of the start."""
    scheme = None if isinstance(family, fk.ExactSampler) else fk.EulerMaruyama(steps=1)
    settings = {"steps": 2, "batch_size": 32, "evaluations": 1}
    return fk.solve(family, method="paper", architecture=architecture, scheme=scheme, **settings)


def points(family: fk.Family, count: int = 17) -> dict[str, torch.Tensor]:
    """Random inputs by name."""
    inputs = family.domain.sample(count, torch.Generator().manual_seed(1))
    x, t, p = family.domain.split(inputs)
    named = {"x": x, "t": t, **{name: getattr(p, name) for name in p}}
    shapes = {name: box.shape for name, box in family.domain.measures.items()}
    return {name: value.reshape(count, *shapes[name]) for name, value in named.items()}


@pytest.fixture(scope="module")
def solution() -> Solution:
    return quick(fk.BlackScholes(), ARCHITECTURES["multilevel"])


@pytest.fixture(scope="module")
def paraboloid() -> Solution:
    return quick(fk.HeatParaboloid(dim=2), ARCHITECTURES["bare"])


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(USER_FAMILY)
    return path


@pytest.fixture
def own(user_file: Path) -> fk.Family:
    return find_family(f"{user_file}:MeanReverting", {"dim": 3})


# Saving and loading


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_what_is_loaded_computes_what_was_saved(tmp_path, family, architecture):
    trained = quick(family, architecture)
    trained.save(tmp_path / "run")
    loaded = fk.load(tmp_path / "run")
    at = points(family)
    assert torch.equal(loaded(**at), trained(**at))
    for name in family.domain.measures:
        assert torch.equal(loaded.grad(name, **at), trained.grad(name, **at))
    assert loaded.family == family
    assert loaded.manifest.history == trained.manifest.history
    assert loaded.manifest.run == trained.manifest.run
    assert loaded.manifest.parameters == loaded.network.parameter_count


def test_a_loaded_solution_measures_the_same_error(tmp_path, solution):
    solution.save(tmp_path / "run")
    assert fk.load(tmp_path / "run").error(1000) == solution.error(1000)


def test_what_cannot_be_measured_is_saved_as_null(tmp_path):
    family = ManyInputs()
    trained = quick(family, fk.FeedForward(levels=1, factor=1))
    trained.save(tmp_path / "run")
    record = fk.load(tmp_path / "run", family).manifest.history[-1]
    assert record["linear_baseline"] is None
    assert record["l1"] > 0
    assert "NaN" not in (tmp_path / "run" / MANIFEST).read_text()


@dataclass(frozen=True)
class ManyInputs(fk.Family):
    """More inputs than the 512 at which an error without closed form is measured."""

    @property
    def domain(self) -> fk.Domain:
        return fk.Domain(x=fk.Box(0, 1), t=fk.Box(0, 1), weight=fk.Box(0, 1, shape=(520,)))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x * p.weight.mean(-1, keepdim=True)


def test_any_changed_byte_of_the_manifest_is_refused_or_harmless(tmp_path, solution):
    solution.save(tmp_path)
    at = points(solution.family)
    content, expected = (tmp_path / MANIFEST).read_bytes(), solution(**at)
    refused = 0
    for position in range(0, len(content), 2):
        spoilt = bytearray(content)
        spoilt[position] ^= 2
        (tmp_path / MANIFEST).write_bytes(spoilt)
        try:
            found = fk.load(tmp_path)(**at)
        except InputError:
            refused += 1
        else:
            assert torch.equal(found, expected), spoilt[position - 30 : position + 30]
    assert refused > len(content) / 4


def alter_run(folder: Path, part: str, **values: object) -> None:
    data = unseal((folder / MANIFEST).read_bytes())
    (data["run"] if part == "family" else data["run"]["method"])[part] |= values
    (folder / MANIFEST).write_bytes(seal(data))


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("architecture", {"levels": 3}, "the weights in .* do not fit its manifest"),
        ("architecture", {"factor": 10**6}, "the weights in .* do not fit its manifest"),
        ("architecture", {"norm": "none"}, "the weights in .* do not fit its manifest"),
        ("architecture", {"kind": "pickle"}, "the architecture 'pickle' is not built in"),
        ("family", {"fields": {"dim": 2}}, "trained for another family .*the domain is another"),
        ("family", {"fields": {"dim": "2"}}, "dim must be a whole number ≥ 1, got '2'"),
        ("family", {"fields": {"evil": 2}}, "BlackScholes has no field 'evil'; it has: dim"),
        ("family", {"name": "heat-gaussian"}, "trained for another family"),
        ("family", {"name": "nothing"}, "the family 'nothing' is not built in"),
    ],
)
def test_a_manifest_that_tells_another_story_is_refused(tmp_path, solution, part, values, message):
    solution.save(tmp_path)
    alter_run(tmp_path, part, **values)
    with pytest.raises(InputError, match=message):
        fk.load(tmp_path)


# A user's family


def test_a_users_family_is_loaded_when_named(tmp_path, own, user_file):
    trained = quick(own, ARCHITECTURES["multilevel"])
    trained.save(tmp_path / "run")
    again = find_family(f"{user_file}:MeanReverting", dict(trained.manifest.family.fields))
    at = points(own)
    assert torch.equal(fk.load(tmp_path / "run", again)(**at), trained(**at))


def test_a_users_family_is_not_imported_unless_named(tmp_path, own, user_file):
    quick(own, ARCHITECTURES["multilevel"]).save(tmp_path / "run")
    user_file.with_suffix(".imported").unlink()
    message = "family 'mean-reverting' is not built in, and an artifact holds no code; give it"
    with pytest.raises(ArtifactError, match=message):
        fk.load(tmp_path / "run")
    assert not user_file.with_suffix(".imported").exists()


def test_an_artifact_cannot_have_a_file_imported(tmp_path, solution, user_file):
    solution.save(tmp_path)
    alter_run(tmp_path, "family", name=f"{user_file}:MeanReverting", fields={}, built_in=True)
    with pytest.raises(ArtifactError, match="an artifact holds no code"):
        fk.load(tmp_path)
    assert not user_file.with_suffix(".imported").exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dim": 2}, "fields.dim is 3 there, 2 here"),
        ({"dim": 3, "speed": 2.0}, "fields.speed is 1.0 there, 2.0 here"),
        ({"dim": 3, "levels": (0.1, 0.7)}, "fields.levels is"),
    ],
)
def test_the_same_family_with_other_settings_is_refused(tmp_path, own, user_file, fields, message):
    quick(own, ARCHITECTURES["multilevel"]).save(tmp_path / "run")
    other = find_family(f"{user_file}:MeanReverting", fields)
    with pytest.raises(ArtifactError, match=rf"trained for another family \(family.{message}"):
        fk.load(tmp_path / "run", other)


def test_an_artifact_from_before_its_inputs_were_ordered_is_refused(tmp_path):
    quick(fk.Rainbow(), ARCHITECTURES["multilevel"]).save(tmp_path)
    data = unseal((tmp_path / MANIFEST).read_bytes())
    assert data.pop("exchanged") == ["x", "sigma"]
    (tmp_path / MANIFEST).write_bytes(seal(data))
    with pytest.raises(ArtifactError, match="it was trained with no variables in order"):
        fk.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"), [("-1.0, 1.0", "-1.0, 1.5"), ("sigma=fk.Box", "vol=fk.Box")]
)
def test_a_family_whose_domain_has_changed_since_is_refused(tmp_path, own, user_file, old, new):
    quick(own, ARCHITECTURES["multilevel"]).save(tmp_path / "run")
    user_file.write_text(USER_FAMILY.replace(old, new))
    changed = find_family(f"{user_file}:MeanReverting", {"dim": 3})
    with pytest.raises(ArtifactError, match=r"another family \(the domain is another, Domain"):
        fk.load(tmp_path / "run", changed)


def test_the_order_of_the_parameters_counts(tmp_path):
    first, second = Ordered(), Ordered(swapped=True)
    assert dict(first.domain.measures) == dict(second.domain.measures)
    quick(first, ARCHITECTURES["multilevel"]).save(tmp_path)
    alter_run(tmp_path, "family", fields={"swapped": True})
    with pytest.raises(ArtifactError, match="the domain is another"):
        fk.load(tmp_path, second)


@dataclass(frozen=True)
class Ordered(fk.Family):
    """Two parameters with equal boxes in either order."""

    swapped: bool = False

    @property
    def domain(self) -> fk.Domain:
        names = ("b", "a") if self.swapped else ("a", "b")
        return fk.Domain(x=fk.Box(0, 1), t=fk.Box(0, 1), **dict.fromkeys(names, fk.Box(0, 1)))

    def drift(self, x, p):
        return p.a * x

    def diffusion(self, x, dw, p):
        return p.b * dw

    def initial(self, x, p):
        return x


WIDE = fk.BlackScholes().on(x=fk.Box(5, 20), sigma=fk.LogUniform(0.1, 0.6))


def test_a_built_in_family_on_another_domain_is_loaded_on_it(tmp_path):
    saved = quick(WIDE, ARCHITECTURES["multilevel"])
    saved.save(tmp_path)
    loaded = fk.load(tmp_path)
    assert loaded.family == WIDE
    assert loaded.family.domain == WIDE.domain
    at = {"x": [6.0, 19.0], "t": 0.5, "sigma": 0.3, "strike": 11.0}
    assert torch.equal(loaded(at), saved(at))
    assert fk.load(tmp_path, WIDE).family == WIDE
    assert fk.load(tmp_path, fk.BlackScholes()).family == WIDE


def test_a_family_on_a_third_domain_is_refused(tmp_path):
    quick(WIDE, ARCHITECTURES["multilevel"]).save(tmp_path)
    with pytest.raises(ArtifactError, match="was trained for another family"):
        fk.load(tmp_path, WIDE.on(t=fk.Box(0, 2)))


def test_a_domain_is_part_of_a_run(tmp_path):
    plain, wide = (record_family(family) for family in (fk.BlackScholes(), WIDE))
    assert plain.domain is None
    assert wide.domain == WIDE.domain.record()
    assert plain == replace(wide, domain=None)
    fk.solve(fk.BlackScholes(), steps=1, batch_size=32, out=tmp_path)
    with pytest.raises(ArtifactError, match=r"family\.domain is None there"):
        fk.solve(WIDE, steps=1, batch_size=32, out=tmp_path)


# Calling


@pytest.mark.parametrize(
    ("at", "shape"),
    [
        ({}, ()),
        ({"x": [9.2, 9.7]}, (2,)),
        ({"x": torch.tensor([[9.2], [9.5], [9.7]]), "t": [0.1, 0.9]}, (3, 2)),
        ({"strike": torch.full((2, 1, 3), 11.0), "t": [[0.5], [0.6]]}, (2, 2, 3)),
        ({"x": torch.empty(0)}, (0,)),
    ],
    ids=str,
)
def test_scalars_broadcast_like_numpys(solution, at, shape):
    inputs = AT | at
    values = solution(**inputs)
    assert values.shape == shape
    assert solution.grad("x", **inputs).shape == shape
    assert all(greek.shape == shape for greek in solution.greeks(**inputs).values())
    numbers = torch.broadcast_tensors(*(torch.as_tensor(inputs[name]) for name in AT))
    each = [
        solution(**dict(zip(AT, one, strict=True))).item()
        for one in zip(*(n.flatten().tolist() for n in numbers), strict=True)
    ]
    torch.testing.assert_close(values.flatten(), torch.tensor(each), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("x", "t", "sigma", "lead"),
    [
        ([1.0, 1.2], 0.5, [[0.5, 0.1], [0.2, 0.5]], ()),
        (1.0, 0.5, 0.5, ()),
        (torch.ones(4, 2), 0.5, 0.5, (4,)),
        (torch.ones(4, 1, 2), torch.full((3,), 0.5), torch.full((3, 2, 2), 0.5), (4, 3)),
    ],
)
def test_vectors_and_matrices_broadcast_over_their_leading_axes(paraboloid, x, t, sigma, lead):
    at = {"x": x, "t": t, "sigma": sigma}
    assert paraboloid(**at).shape == lead
    assert paraboloid.grad("x", **at).shape == (*lead, 2)
    assert paraboloid.grad("t", **at).shape == lead
    assert paraboloid.grad("sigma", **at).shape == (*lead, 2, 2)
    assert paraboloid.greeks(**at) == {}


def test_one_number_fills_an_array(paraboloid):
    full = paraboloid(x=[1.0, 1.0], t=0.5, sigma=[[0.5, 0.5], [0.5, 0.5]])
    assert torch.equal(paraboloid(x=1.0, t=0.5, sigma=0.5), full)


def test_grad_is_the_derivative(paraboloid):
    exact = Solution(paraboloid.family, clone_in_float64(paraboloid), paraboloid.manifest)
    at = {name: value.double() for name, value in points(paraboloid.family, 3).items()}
    h = 1e-5
    for name, value in at.items():
        gradient = exact.grad(name, **at)
        for index in itertools.product(*map(range, value.shape[1:])):
            step = torch.zeros_like(value)
            step[(slice(None), *index)] = h
            up = exact(extrapolate=True, **at | {name: value + step})
            down = exact(extrapolate=True, **at | {name: value - step})
            found = gradient[(slice(None), *index)]
            torch.testing.assert_close(found, (up - down) / (2 * h), rtol=1e-7, atol=1e-8)


def test_hessian_is_the_derivative_of_grad(paraboloid):
    exact = Solution(paraboloid.family, clone_in_float64(paraboloid), paraboloid.manifest)
    at = {name: value.double() for name, value in points(paraboloid.family, 3).items()}
    h = 1e-5
    for first, (second, value) in itertools.product(at, at.items()):
        block = exact.hessian(first, second, **at)
        assert block.shape == (*at[first].shape, *value.shape[1:])
        for index in itertools.product(*map(range, value.shape[1:])):
            step = torch.zeros_like(value)
            step[(slice(None), *index)] = h
            up = exact.grad(first, extrapolate=True, **at | {second: value + step})
            down = exact.grad(first, extrapolate=True, **at | {second: value - step})
            found = block[(..., *index)]
            torch.testing.assert_close(found, (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


def test_along_is_the_gradient_times_the_direction(paraboloid):
    at = points(paraboloid.family, 3)
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    found = paraboloid.along({"t": 2.0, "sigma": turn}, **at)
    by_sigma = (paraboloid.grad("sigma", **at) * turn).sum((-2, -1))
    torch.testing.assert_close(found, 2.0 * paraboloid.grad("t", **at) + by_sigma)
    with pytest.raises(InputError, match=r"expected the inputs x, t, sigma; unknown: kappa\."):
        paraboloid.along({"kappa": 1.0}, **at)


def test_one_point_along_many_directions(paraboloid):
    at = {"x": 1.0, "t": 0.5, "sigma": 0.5}
    found = paraboloid.along({"x": torch.eye(2)}, **at)
    torch.testing.assert_close(found, paraboloid.grad("x", **at))


def clone_in_float64(solution: Solution) -> torch.nn.Module:
    network = type(solution.network)(
        solution.manifest.run.method.architecture, solution.family.domain
    )
    network.load_state_dict(solution.network.state_dict())
    return network.double().eval()


def test_greeks_are_the_named_derivatives(solution):
    greeks = solution.greeks(**AT)
    assert list(greeks) == ["delta", "gamma", "vega", "theta", "vanna", "volga"]
    assert torch.equal(greeks["delta"], solution.grad("x", **AT))
    assert torch.equal(greeks["vega"], solution.grad("sigma", **AT))
    assert torch.equal(greeks["theta"], -solution.grad("t", **AT))
    assert greeks["gamma"] == 0  # a ReLU network is piecewise linear


def test_values_carry_a_graph_only_where_asked_and_gradients_need_no_grad_mode(solution):
    assert not solution(**AT).requires_grad
    assert solution(**AT | {"x": torch.tensor(9.5, requires_grad=True)}).requires_grad
    expected = solution.grad("x", **AT)
    assert expected != 0
    with torch.no_grad():
        assert torch.equal(solution.grad("x", **AT), expected)


def ask_value(solution, **at):
    return solution(**at)


def ask_grad(solution, **at):
    return solution.grad("t", **at)


def ask_greeks(solution, **at):
    return solution.greeks(**at)["delta"]


def ask_hessian(solution, **at):
    return solution.hessian("x", "sigma", **at)


def ask_along(solution, **at):
    return solution.along({"x": 1.0}, **at)


@pytest.mark.parametrize("ask", [ask_value, ask_grad, ask_greeks, ask_hessian, ask_along])
@pytest.mark.parametrize(
    ("at", "message"),
    [
        ({"x": 4.0}, r"x = 4 lies outside \[9, 10\].*extrapolate=True"),
        ({"t": [0.5, 100.0]}, r"t = 100 lies outside \[0, 1\]"),
        ({"sigma": -0.3}, r"sigma = -0.3 lies outside \[0.1, 0.6\]"),
    ],
)
def test_outside_the_domain_only_on_request(solution, ask, at, message):
    with pytest.raises(InputError, match=message):
        ask(solution, **AT | at)
    assert ask(solution, extrapolate=True, **AT | at).isfinite().all()


def test_the_entry_of_a_matrix_is_named(paraboloid):
    with pytest.raises(InputError, match=r"sigma\[0, 1\] = 20 lies outside \[0, 1\]"):
        paraboloid(x=1.0, t=0.5, sigma=[[0.5, 20.0], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ({"x": float("nan")}, "x = nan is not a finite number"),
        ({"x": float("inf")}, "x = inf is not a finite number"),
        ({"x": "high"}, "x must be a number or an array, got 'high'"),
        ({"x": [9.1, 9.2], "t": [0.1, 0.2, 0.3]}, r"do not broadcast: x \(2,\), t \(3,\)"),
        ({"rate": 0.1}, "expected the inputs x, t, sigma, strike; unknown: rate"),
    ],
)
@pytest.mark.parametrize("extrapolate", [False, True])
def test_a_wrong_input_is_refused_even_when_extrapolating(solution, at, message, extrapolate):
    with pytest.raises(InputError, match=message):
        solution(extrapolate=extrapolate, **AT | at)


def test_a_missing_or_unknown_variable_is_named(solution):
    with pytest.raises(InputError, match="missing: sigma, strike"):
        solution(x=9.5, t=0.5)
    with pytest.raises(InputError, match="no variable 'rho'; there are: x, t"):
        solution.grad("rho", **AT)


# Errors


def test_error_is_equation_9_at_fresh_inputs(solution):
    family = solution.family
    inputs = family.domain.sample(1000, make_generator(5, "error"))
    x, t, p = family.domain.split(inputs)
    truth = family.closed_form(x.double(), t.double(), fk.Params(**{k: getattr(p, k) for k in p}))
    at = {"x": x[:, 0], "t": t[:, 0], "sigma": p.sigma[:, 0], "strike": p.strike[:, 0]}
    relative = (solution(**at) - truth[:, 0]).abs() / (1 + truth[:, 0].abs())
    errors = solution.error(1000, seed=5)
    assert errors.l1 == pytest.approx(relative.mean().item(), rel=1e-6)
    assert errors.max == pytest.approx(relative.max().item(), rel=1e-6)
    assert errors.inputs == 1000


def test_error_depends_on_its_seed_alone(solution):
    assert solution.error(500, seed=2) == solution.error(500, seed=2)
    assert solution.error(500, seed=2) != solution.error(500, seed=3)


def test_error_without_closed_form_is_simulated_and_reported():
    basket = quick(fk.BasketPut(dim=1), ARCHITECTURES["multilevel"])
    seen: list[float] = []
    errors = basket.error(8, paths=64, scheme=fk.EulerMaruyama(steps=3), report=seen.append)
    assert errors.reference_se > 0
    assert seen[-1] == 1.0
    with pytest.raises(InputError, match="BasketPut has no exact sampler"):
        basket.error(8, scheme=fk.Exact())


def test_weights_file_holds_the_batch_statistics(tmp_path, solution):
    solution.save(tmp_path)
    content = (tmp_path / WEIGHTS).read_bytes()
    assert b"running_mean" in content
    assert any(
        value.abs().max() > 0
        for name, value in solution.network.state_dict().items()
        if name.endswith("running_mean")
    )
