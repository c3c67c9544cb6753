"""The error map of a closed form with a known bump: means, profiles, the worst input."""

import json
import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import t as student

from feynkac.analysis.certificates import Certificate, Effort, certify
from feynkac.analysis.error_map import BINS, error_map
from feynkac.analysis.martingale import Control
from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, Box, Domain
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.exact import Exact

FAMILY = BlackScholes()
DOMAIN = FAMILY.domain
STUDENT = float(student.ppf(0.975, 15))  # of the mean of 16 replicates
ANYWHERE = Domain(**{**DOMAIN.measures, "x": Box(1e-3, 1e3)})


def closed(inputs):
    return FAMILY.closed_form(*DOMAIN.split(inputs))


def bump(inputs):
    """Grows with the strike, from −0.05 to 0.15."""
    return 0.1 * (DOMAIN.split(inputs).p.strike - 10.5)


def bumped(inputs):
    return closed(inputs) + bump(inputs)


def relative_bump(inputs):
    return (bump(inputs) / (1.0 + closed(inputs))).squeeze(-1)


def exact_certificate(inputs, statistical=0.0, discretisation=0.0):
    """What certificates without noise would find."""
    value = closed(inputs).squeeze(-1)
    return Certificate(
        network=bumped(inputs).squeeze(-1),
        value=value,
        statistical=torch.full_like(value, statistical),
        discretisation=torch.full_like(value, discretisation),
        reduction=torch.ones_like(value),
        tolerance=None,
        confidence=0.95,
        paths=torch.full_like(value, 1024),
        se=torch.full_like(value, statistical / STUDENT),
    )


@pytest.fixture
def inputs(generator):
    return DOMAIN.sample(500, generator, torch.float64)


@pytest.fixture
def found(inputs):
    return error_map(DOMAIN, inputs, exact_certificate(inputs))


def test_means_are_those_of_the_bump(inputs, found):
    error = relative_bump(inputs)
    assert found.inputs == 500
    assert found.mean.value == pytest.approx(error.abs().mean().item(), rel=1e-12)
    assert found.mean.se == pytest.approx(error.abs().std().item() / math.sqrt(500), rel=1e-12)
    assert found.signed.value == pytest.approx(error.mean().item(), rel=1e-12)
    assert found.signed.value < found.mean.value
    assert found.noise == 0.0


def test_the_worst_input_is_that_of_the_largest_bump(inputs, found):
    i = int(relative_bump(inputs).abs().argmax())
    worst = found.worst
    assert worst["at"] == dict(zip(DOMAIN.measures, inputs[i].tolist(), strict=True))
    assert worst["error"] == pytest.approx(relative_bump(inputs).abs().max().item(), rel=1e-12)
    assert worst["at"]["strike"] > 11.5


def test_its_half_width_is_relative_as_its_error_is(inputs):
    worst = error_map(DOMAIN, inputs, exact_certificate(inputs, statistical=0.01)).worst
    i = int(relative_bump(inputs).abs().argmax())
    expected = 0.01 / (1.0 + closed(inputs)[i].item())
    assert worst["half_width"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", DOMAIN.measures)
def test_a_profile_holds_the_mean_of_each_bin(inputs, found, name):
    box, profile = DOMAIN.measures[name], found.profiles[name]
    column = inputs[:, DOMAIN.slices()[name]].squeeze(-1)
    width = (box.high[0] - box.low[0]) / BINS
    assert profile.edges == pytest.approx([box.low[0] + k * width for k in range(BINS + 1)])
    for k in range(BINS):
        inside = (column > profile.edges[k]) & (column < profile.edges[k + 1])
        error = relative_bump(inputs[inside]).abs()
        assert profile.mean[k] == pytest.approx(error.mean().item(), rel=1e-12)
        assert profile.se[k] == pytest.approx(error.std().item() / len(error) ** 0.5, rel=1e-12)


def test_the_profile_of_the_strike_shows_the_bump(found):
    strike, sigma = found.profiles["strike"].mean, found.profiles["sigma"].mean
    assert strike.index(min(strike)) in (1, 2)  # around 10.5
    assert strike.index(max(strike)) == BINS - 1
    assert max(sigma) - min(sigma) < 0.5 * (max(strike) - min(strike))


def test_the_interval_covers_the_mean_over_the_whole_domain():
    """From certificates of their own noise; 10 maps of 100 inputs, at 95 %."""
    generator = torch.Generator().manual_seed(6)
    truth = relative_bump(DOMAIN.sample(2**18, generator, torch.float64)).abs().mean().item()
    control = Control(closed, ANYWHERE)
    covered = 0
    for _ in range(10):
        points = DOMAIN.sample(100, generator)
        found = certify(
            bumped, FAMILY, Exact(), Sobol(), control, points, generator, effort=Effort(steps=4)
        )
        low, high = error_map(DOMAIN, points, found).interval
        assert high - low < 0.5 * truth
        covered += low <= truth <= high
    assert covered >= 8


def test_the_interval_reaches_as_far_as_noise_and_discretisation(inputs, found):
    low, high = found.interval
    scale = (1.0 / (1.0 + closed(inputs))).mean().item()
    noisy = error_map(DOMAIN, inputs, exact_certificate(inputs, statistical=1e-2 * STUDENT))
    assert noisy.noise == pytest.approx(1e-2 * scale, rel=1e-9)
    assert noisy.interval[1] - noisy.interval[0] > 1.1 * (high - low)
    biased = error_map(DOMAIN, inputs, exact_certificate(inputs, discretisation=1e-3))
    assert biased.interval == pytest.approx((low - 1e-3 * scale, high + 1e-3 * scale))
    hopeless = error_map(DOMAIN, inputs, exact_certificate(inputs, discretisation=1.0))
    assert hopeless.interval[0] == 0.0


def test_the_noise_of_certificates_is_taken_out(generator):
    """A network that is right but for 1e-4, certificates of standard error 1e-3."""
    inputs = DOMAIN.sample(1000, generator, torch.float64)
    value = closed(inputs).squeeze(-1)
    noise = 1e-3 * torch.randn(1000, generator=generator, dtype=torch.float64)
    certificate = replace(
        exact_certificate(inputs, statistical=1e-3 * STUDENT),
        network=value + 1e-4 * (1.0 + value),
        value=value + noise,
    )
    found = error_map(DOMAIN, inputs, certificate)
    plain = (certificate.error / (1.0 + certificate.value.abs())).abs().mean().item()
    assert plain > 2.5e-4
    assert found.interval[0] < 1e-4 < found.interval[1] < 0.8 * plain
    assert abs(found.mean.value - 1e-4) < 0.5 * abs(plain - 1e-4)
    profile = [abs(mean - 1e-4) for mean in found.profiles["strike"].mean]
    assert max(profile) < abs(plain - 1e-4) * 1.5


def test_a_record_is_json_even_where_bins_are_empty(inputs):
    found = error_map(DOMAIN, inputs[:3], exact_certificate(inputs[:3]))
    plain = json.loads(json.dumps(found.record(), allow_nan=False))
    assert plain["mean"] == {"value": found.mean.value, "se": found.mean.se}
    assert None in plain["profiles"]["x"]["mean"]
    assert plain["profiles"]["x"]["se"].count(None) >= BINS - 1


def test_only_scalars_have_profiles_and_the_worst_input_keeps_its_shapes(generator):
    domain = BasketPut(dim=2).domain
    points = domain.sample(50, generator, torch.float64)
    certificate = exact_certificate(DOMAIN.sample(50, generator, torch.float64))
    found = error_map(domain, points, certificate)
    assert list(found.profiles) == ["t", "strike"]
    shapes = {name: torch.tensor(v).shape for name, v in found.worst["at"].items()}
    assert shapes == {name: box.shape for name, box in domain.measures.items()}


def test_one_input_has_no_standard_error(inputs):
    with pytest.raises(InputError, match=r"needs at least 2 inputs, got 1\."):
        error_map(DOMAIN, inputs[:1], exact_certificate(inputs[:1]))
