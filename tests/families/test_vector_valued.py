"""Several initial conditions at once: a strip of strikes from one network."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.capabilities import VectorValued
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths

AT = {"x": [9.2, 9.7], "t": 0.5, "sigma": 0.3}


@dataclass(frozen=True)
class Strip(fk.Family, fk.ExactSampler, fk.ClosedForm, VectorValued):
    """Puts of the paper's model at several strikes, which are no inputs here."""

    outputs: int = 3

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(9, 10), t=fk.Box(0, 1), sigma=fk.Box(0.1, 0.6))

    def strikes(self, x):
        return torch.linspace(10, 12, self.outputs, dtype=x.dtype)

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return (self.strikes(x) - x).clamp_min(0.0)

    def exact(self, x, t, p, z):
        return fk.BlackScholes().exact(x, t, p, z)

    def closed_form(self, x, t, p):
        def put(strike):
            return fk.BlackScholes().closed_form(
                x, t, fk.Params(sigma=p.sigma, strike=strike.expand_as(t))
            )

        return torch.cat([put(strike) for strike in self.strikes(x)], dim=-1)


@pytest.fixture(scope="module")
def solution():
    return fk.solve(Strip(), steps=60, batch_size=48, seed=0, evaluations=1)


def test_all_strikes_are_learnt_at_once(solution):
    errors = solution.error()
    assert errors.l1 < 0.002
    assert errors.l1 < errors.linear_baseline / 10


def test_values_have_an_axis_for_the_outputs(solution):
    family = solution.family
    values = solution(**AT)
    exact = family.closed_form(*family.domain.split(family.domain.join(AT)))
    assert values.shape == (2, 3)
    torch.testing.assert_close(values.double(), exact, rtol=0, atol=0.02)


def test_the_error_of_an_output_is_its_own(solution):
    family, generator = solution.family, torch.Generator().manual_seed(3)
    inputs = family.domain.sample(2**14, generator)
    truth = family.closed_form(*family.domain.split(inputs.double()))
    expected = ((solution.network(inputs) - truth).abs() / (1.0 + truth)).mean(0)
    for k in range(3):
        errors = solution.output(k).error(2**14)
        assert errors.l1 == pytest.approx(expected[k].item(), rel=0.1)
    assert solution.error(2**14).l1 == pytest.approx(expected.mean().item(), rel=0.1)


def test_an_output_is_a_solution_of_its_own(solution):
    middle = solution.output(1)
    assert torch.equal(middle(**AT), solution(**AT)[:, 1])
    family = fk.BlackScholes()
    at = family.domain.join({**AT, "strike": 11.0})
    delta = family.closed_partials(*family.domain.split(at))["x"].squeeze(-1)
    torch.testing.assert_close(middle.grad("x", **AT).double(), delta, rtol=0, atol=0.01)
    assert middle.hessian("x", "sigma", **AT).shape == (2,)


def test_derivatives_and_certificates_ask_for_one_output(solution):
    with pytest.raises(fk.InputError, match="u has 3 components; choose one"):
        solution.grad("x", **AT)
    with pytest.raises(fk.InputError, match="are for one output; choose it"):
        solution.certify(**AT)
    with pytest.raises(fk.InputError, match="a control is for solutions with one output"):
        fk.add_control(solution)
    with pytest.raises(fk.InputError, match="there is no output 3; there are 3"):
        solution.output(3)


def test_an_output_has_certificates_of_its_own(solution):
    family = solution.family
    truth = family.closed_form(*family.domain.split(family.domain.join(AT)))
    for index in range(3):
        found = solution.output(index).certify(effort=fk.Effort(aim=1e-4), **AT)
        assert ((found.value - truth[:, index]).abs() < 3.0 * found.half_width).all()
        assert (found.half_width < 1e-3).all()
    with pytest.raises(fk.InputError, match="this is output 1 alone"):
        solution.output(1).output(0)


def test_it_is_saved_and_loaded(solution, tmp_path):
    solution.save(tmp_path / "strip")
    loaded = fk.load(tmp_path / "strip", Strip())
    assert torch.equal(loaded(**AT), solution(**AT))
    with pytest.raises(fk.ArtifactError, match="outputs is 3 there, 5 here"):
        fk.load(tmp_path / "strip", Strip(5))


def test_the_papers_method_trains_it_too():
    solution = fk.solve(Strip(), method="paper", steps=2, batch_size=64, seed=0)
    assert solution(**AT).shape == (2, 3)
    assert solution.error(inputs=100).inputs == 100


def test_slopes_are_those_of_the_combination():
    """Linear in the mix, and for a unit vector those of that strike's own family."""
    family, generator = Strip(), make_generator(0, "strip")
    inputs = family.domain.sample(8, generator, torch.float64)
    draw = draw_paths(family, fk.Exact(), fk.Independent(), inputs, 64, generator)

    def slopes(mix):
        return differential_labels(family, fk.Exact(), inputs, draw, mix.expand(8, 3))[1]

    eye = torch.eye(3, dtype=torch.float64)
    mix = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(
        slopes(mix), sum(m * slopes(e) for m, e in zip(mix, eye, strict=True))
    )

    alone = fk.BlackScholes()
    full = torch.cat([inputs, torch.full((8, 1), 11.0, dtype=torch.float64)], dim=-1)
    _, expected = differential_labels(alone, fk.Exact(), full, draw)
    torch.testing.assert_close(slopes(eye[1]), expected[:, :3])
