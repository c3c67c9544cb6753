"""What training would do: the error of the scheme with its order, the size of a batch."""

import math

import pytest
import torch

import feynkac as fk
from feynkac.analysis.checkup.finding import Subject
from feynkac.analysis.checkup.outlook import cost, scheme_error
from feynkac.sampling.schemes.scheme import Scheme


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


def subject_of(family: fk.Family, scheme: Scheme) -> Subject:
    subject = Subject(family)
    vars(subject)["scheme"] = scheme  # in place of the cached one
    return subject


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
    finding = scheme_error(subject_of(Growing(), fk.EulerMaruyama(steps=8)))
    assert finding.verdict == "note"
    assert finding.sentence.startswith("EulerMaruyama, 8 steps: discretisation error 0.")
    assert finding.sentence.endswith("take more steps with --scheme")
    assert finding.figures["error"] == pytest.approx(true_error(8), rel=0.25)
    assert finding.figures["order"] == pytest.approx(1.0, abs=0.25)


def test_an_exact_scheme_has_no_error():
    finding = scheme_error(Subject(fk.BlackScholes()))
    assert finding.verdict == "ok"
    assert finding.sentence == "Exact, 1 step: no discretisation error"


def test_an_order_that_noise_hides_is_not_told():
    finding = scheme_error(subject_of(fk.HeatGaussian(2), fk.EulerMaruyama(steps=2)))
    assert finding.verdict == "ok"
    assert math.isnan(finding.figures["order"])


def test_cost_is_that_of_one_batch_of_the_fast_method():
    finding = cost(Subject(fk.HeatParaboloid(3)))
    assert "256 inputs × " in finding.sentence
    assert 0.0 < finding.figures["seconds"] < 10.0
    paths = int(finding.sentence.split("× ")[1].split()[0])
    assert finding.figures["megabytes"] > 256 * paths * 3 * 4 / 2**20  # the normals alone
