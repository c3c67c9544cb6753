"""What training would meet: paths that break, labels without slopes, a scheme's error, its cost."""

import math
import re
from dataclasses import dataclass

import pytest
import torch
from small_family import small

import feynkac as fk
from feynkac.checks.checkup import require_simulable
from feynkac.checks.finding import Subject
from feynkac.checks.simulation import cost, finite_paths, scheme_error, slopes
from feynkac.errors import InputError

# Paths


@dataclass(frozen=True)
class Root(fk.Family):
    """A square-root process without clamp."""

    domain = fk.Domain(x=fk.Box(0.01, 0.1), t=fk.Box(0.0, 1.0), nu=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return 0.05 - x

    def diffusion(self, x, dw, p):
        return p.nu * x.sqrt() * dw

    def initial(self, x, p):
        return x


class Clamped(Root):
    def diffusion(self, x, dw, p):
        return p.nu * x.clamp_min(0.0).sqrt() * dw


class Cubic(Root):
    def drift(self, x, p):
        return -1e6 * x**3

    def diffusion(self, x, dw, p):
        return p.nu * dw


EULER = fk.EulerMaruyama(steps=8)


def test_the_root_of_a_negative_number_is_named():
    with pytest.raises(
        InputError,
        match=r"Root cannot be simulated: \d+ of 576 paths are not finite, one from x = \S+, "
        r"t = \S+, nu = \S+, which met the square root of -0\.\d+; keep the formulas finite",
    ):
        require_simulable(Root(), EULER)


def test_an_overflow_of_the_scheme_is_refused():
    """The equation is sound; eight Euler steps of it are not."""
    with pytest.raises(InputError, match=r"which met .*; .* or choose a scheme with more"):
        require_simulable(Cubic(), EULER)


class Pinned(Root):
    def diffusion(self, x, dw, p):
        return p.nu * (0.0 * x).sqrt() * dw


def test_a_derivative_that_the_scheme_takes_is_named():
    """√ has none at zero."""
    with pytest.raises(InputError, match="met a derivative that is not finite, as that of a sq"):
        require_simulable(Pinned(), fk.NinomiyaVictoir(steps=4))


def test_flows_pass_below_a_clamp():
    """Where the root is clamped to zero, noise is zero and so is what flows correct for it."""
    require_simulable(Clamped(), fk.NinomiyaVictoir(steps=4))


def test_a_clamp_fixes_euler():
    finding = finite_paths(Subject(Clamped(), EULER))
    assert finding.verdict == "ok"
    assert finding.sentence == "paths from the corners stay finite (EulerMaruyama, 8 steps)"


@pytest.mark.parametrize("method", ["fast", "paper"])
def test_solve_refuses_before_training(method, tmp_path):
    def report(_progress):
        pytest.fail("trained")

    with pytest.raises(InputError, match="Root cannot be simulated"):
        fk.solve(Root(), method=method, scheme=EULER, out=tmp_path / "run", report=report)
    assert not (tmp_path / "run").exists()


# Slopes


def sqrt_payoff(self, x, p):
    return (x.sum(-1, keepdim=True) + 0.2).abs().sqrt()


def one_branch_only(self, x, p):
    length = x.norm(dim=-1, keepdim=True)
    return torch.where(length > 5.0, (length - 5.0).sqrt(), length)


@pytest.mark.parametrize(
    ("initial", "verdict", "sentence"),
    [
        (sqrt_payoff, "ok", "labels have finite slopes; initial has none at the corner x = "),
        (one_branch_only, "fail", "the slopes of all 64 labels are NaN or infinite; where"),
    ],
)
def test_a_missing_slope_is_found(initial, verdict, sentence):
    finding = slopes(Subject(small(initial=initial)))
    assert finding.verdict == verdict
    assert re.match(sentence, finding.sentence)


class Inside(Root):
    def diffusion(self, x, dw, p):
        return (0.1 * p.nu * x.clamp_min(0.0)).sqrt() * dw  # no slope by ν where x ≤ 0


def test_labels_without_slope_are_no_alarm_if_there_are_others():
    finding = slopes(Subject(Inside(), EULER))
    missing = int(finding.figures["without slope"])
    assert 0 < missing < 64
    assert finding.verdict == "ok"
    assert finding.sentence.startswith(f"{64 - missing} of 64 labels have finite slopes")


def test_slopes_of_a_sound_family_are_finite():
    finding = slopes(Subject(small()))
    assert finding.verdict == "ok"
    assert finding.figures == {"inputs": 64, "without slope": 0}


# The scheme and its cost


class Growing(fk.Family):
    """dS = a S dt + s S dB in four dimensions, φ(x) = |x|²: Euler's error is of order one."""

    domain = fk.Domain(
        x=fk.Box(0.5, 1.0, shape=(4,)), t=fk.Box(0.5, 1.0), a=fk.Box(0.5, 1.0), s=fk.Box(0.5, 0.6)
    )

    def drift(self, x, p):
        return p.a * x

    def diffusion(self, x, dw, p):
        return p.s * x * dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)


def true_error(steps, inputs=20000):
    """Mean of |E|S_n|² − E|S|²| / (1 + E|S|²): both means are known in closed form."""
    domain = Growing.domain
    generator = torch.Generator().manual_seed(0)
    x, t, p = domain.split(domain.sample(inputs, generator, torch.float64))
    h = t / steps
    euler = ((1.0 + p.a * h).square() + p.s.square() * h) ** steps
    exact = ((2.0 * p.a + p.s.square()) * t).exp()
    square = x.square().sum(-1, keepdim=True)
    return ((euler - exact).abs() * square / (1.0 + exact * square)).mean().item()


def test_the_error_of_euler_and_its_order_are_measured():
    finding = scheme_error(Subject(Growing(), fk.EulerMaruyama(steps=8)))
    assert finding.verdict == "note"
    assert finding.sentence.startswith("EulerMaruyama, 8 steps: discretisation error 0.")
    assert finding.sentence.endswith("choose a scheme with more steps")
    assert finding.figures["error"] == pytest.approx(true_error(8), rel=0.25)
    assert finding.figures["order"] == pytest.approx(1.0, abs=0.25)


def test_an_exact_scheme_has_no_error():
    finding = scheme_error(Subject(fk.BlackScholes()))
    assert finding.verdict == "ok"
    assert finding.sentence == "Exact, 1 step: no discretisation error"


def test_an_order_that_noise_hides_is_not_told():
    finding = scheme_error(Subject(fk.HeatGaussian(2), fk.EulerMaruyama(steps=2)))
    assert finding.verdict == "ok"
    assert math.isnan(finding.figures["order"])


@pytest.mark.slow
def test_cost_is_that_of_one_batch_of_the_fast_method():
    finding = cost(Subject(fk.HeatParaboloid(5)))
    assert "256 inputs × " in finding.sentence
    assert 0.0 < finding.figures["seconds"] < 10.0
    paths = int(finding.sentence.split("× ")[1].split()[0])
    assert finding.figures["megabytes"] > 256 * paths * 3 * 4 / 2**20  # the normals alone
