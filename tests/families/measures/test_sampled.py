"""Sampled measures: estimates within their errors, draws of the user's own, and what is refused."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.measures.measure import Quantiles
from feynkac.families.measures.sampled import PILOT_DRAWS, Sampled


def triangle(count, generator, dtype):
    """The sum of two uniforms: on [0, 2] with mean 1 and variance 1/6."""
    return torch.rand(count, 2, generator=generator, dtype=dtype).sum(-1)


def disc(count, generator, dtype):
    """Uniform on the unit disc: coordinates that depend on each other."""
    r, angle = torch.rand(2, count, generator=generator, dtype=dtype)
    return r.sqrt()[:, None] * torch.stack(
        [angle.mul(2 * torch.pi).cos(), angle.mul(2 * torch.pi).sin()], -1
    )


def test_mean_and_standard_deviation_are_estimated():
    measure = Sampled(triangle, 0.0, 2.0)
    assert measure.mean.item() == pytest.approx(1.0, abs=4.5 * math.sqrt(1 / 6 / PILOT_DRAWS))
    rel = 4.5 * 0.6 / math.sqrt(PILOT_DRAWS)
    assert measure.std.item() == pytest.approx(math.sqrt(1 / 6), rel=rel)


def test_estimates_are_the_same_every_time_and_short():
    """So that an artifact knows its family again on another machine."""
    measure = Sampled(triangle, 0.0, 2.0)
    assert measure == Sampled(triangle, 0.0, 2.0)
    assert hash(measure) == hash(Sampled(triangle, 0.0, 2.0))
    assert [round(v, 5) for v in (*measure.average, *measure.deviation)] == [
        *measure.average,
        *measure.deviation,
    ]


def test_a_narrow_law_far_from_zero_keeps_its_digits():
    def narrow(count, generator, dtype):
        return 1000.0 + 1e-3 * torch.rand(count, generator=generator, dtype=dtype)

    measure = Sampled(narrow, 1000.0, 1000.001)
    assert measure.mean.item() == pytest.approx(1000.0005, abs=4.5e-3 / math.sqrt(12 * PILOT_DRAWS))
    assert measure.std.item() == pytest.approx(1e-3 / math.sqrt(12), rel=0.01)


def test_what_is_given_is_not_estimated():
    def never(count, generator, dtype):
        raise AssertionError

    measure = Sampled(never, 0.0, 2.0, shape=(2,), mean=[1.0, 0.5], std=0.25)
    assert measure.mean.tolist() == [1.0, 0.5]
    assert measure.std.tolist() == [0.25, 0.25]
    assert repr(measure) == (
        "Sampled(mean=[1.0, 0.5], std=[0.25, 0.25], low=[0.0, 0.0], high=[2.0, 2.0])"
    )
    half = Sampled(triangle, 0.0, 2.0, mean=1.0)
    assert half.mean.item() == 1.0
    assert half.std == Sampled(triangle, 0.0, 2.0).std


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_domain_draws_from_the_sampler(dtype, generator):
    domain = Domain(x=Sampled(disc, -1.0, 1.0, shape=(2,)), t=Box(0, 1), a=Sampled(triangle, 0, 2))
    drawn = domain.sample(20_000, generator, dtype)
    assert drawn.dtype == dtype
    assert domain.contains(drawn).all()
    x, t, p = domain.split(drawn.double())
    radius = x.square().sum(-1).numpy()
    assert stats.kstest(radius, stats.uniform().cdf).pvalue > 1e-3
    assert stats.kstest(p.a[:, 0].numpy(), stats.triang(0.5, 0.0, 2.0).cdf).pvalue > 1e-3
    assert stats.kstest(t[:, 0].numpy(), stats.uniform().cdf).pvalue > 1e-3


def test_the_generator_determines_the_draws():
    domain = Domain(x=Box(0, 1), t=Box(0, 1), a=Sampled(triangle, 0.0, 2.0))
    one, two = (domain.sample(5, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(one, two)


def test_there_are_no_quantiles():
    assert not isinstance(Sampled(triangle, 0.0, 2.0), Quantiles)


def test_moments_of_a_function_are_those_of_the_draws():
    mean, std = Sampled(triangle, 0.0, 2.0).moments(torch.square)
    assert mean.item() == pytest.approx(7 / 6, rel=0.02)
    assert std.item() == pytest.approx(math.sqrt(31 / 15 - 49 / 36), rel=0.02)


def test_what_rounding_moves_out_is_moved_back(generator):
    def over(count, generator, dtype):
        return torch.linspace(-1e-8, 1.0 + 1e-7, count, dtype=dtype)

    drawn = Sampled(over, 0.0, 1.0).draw(torch.empty(100, 1), generator)
    assert 0.0 <= drawn.min() <= drawn.max() <= 1.0


def test_a_sampler_may_return_an_array():
    def spaced(count, generator, dtype):
        return np.linspace(0.0, 1.0, count)

    assert Sampled(spaced, 0.0, 1.0).mean.item() == pytest.approx(0.5, abs=1e-5)


# Refusals


def constant(value, *shape):
    return lambda count, generator, dtype: torch.full((count, *shape), value, dtype=dtype)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (constant(0.5, 1), r"a sampler must return shape \(65536,\), got \(65536, 1\)"),
        (lambda count, generator, dtype: torch.zeros(3), r"shape \(65536,\), got \(3,\)"),
        (lambda count, generator, dtype: 0.5, r"shape \(65536,\), got \(\)"),
        (lambda count, generator, dtype: "much", "a sampler must return a tensor, got str"),
        (lambda count, generator, dtype: None, "a sampler must return a tensor, got NoneType"),
        (constant(1.1), r"a sampler returned 1.1 in coordinate 0, outside \[0, 1\]; widen"),
        (constant(-0.1), r"a sampler returned -0.1 in coordinate 0, outside \[0, 1\]"),
        (constant(math.nan), r"a sampler returned nan in coordinate 0, outside \[0, 1\]"),
        (constant(0.1), "Sampled needs std > 0 in every coordinate, but coordinate 0 has std=0"),
    ],
    ids=["rank", "count", "number", "text", "none", "above", "below", "nan", "constant"],
)
def test_a_bad_sampler_is_refused_at_once(sample, message):
    with pytest.raises(InputError, match=message) as caught:
        Sampled(sample, 0.0, 1.0)
    assert "\n" not in str(caught.value)


def test_a_sampler_that_turns_bad_is_refused_later(generator):
    domain = Domain(x=Box(0, 1), t=Box(0, 1), a=Sampled(constant(2.0), 0, 1, mean=0.5, std=0.1))
    with pytest.raises(InputError, match=r"a sampler returned 2 in coordinate 0, outside \[0, 1\]"):
        domain.sample(4, generator)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"low": 2.0, "high": 0.0}, "Sampled needs lower < upper in every coordinate"),
        ({"high": math.inf}, "Sampled upper bound must be finite"),
        ({"high": [2.0, 2.0]}, r"Sampled bounds of shapes \(\) and \(2,\) do not fit shape=\(\)"),
        ({"std": 0.0}, "Sampled needs std > 0 in every coordinate"),
        ({"mean": 3.0}, "Sampled needs its mean between the bounds in every coordinate"),
        ({"mean": [1.0, 1.0]}, r"of shapes \(2,\) and \(\) do not fit shape=\(\)"),
    ],
    ids=str,
)
def test_bad_numbers_are_refused(numbers, message):
    with pytest.raises(InputError, match=message):
        Sampled(triangle, **({"low": 0.0, "high": 2.0} | numbers))
