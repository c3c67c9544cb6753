"""The mean of |δ| behind noise: no noise, no change; coverage; the bound of the bias."""

import math

import pytest
import torch

from feynkac.analysis.debiasing import least_biased_rule, mean_absolute, root_mean_square

LAWS = {
    "normal": lambda z: z,
    "constant": lambda z: torch.ones_like(z),
    "skewed": lambda z: z.exp(),
    "heavy": lambda z: z.sign() * z.abs() * z.square(),  # kurtosis 46
    "sparse": lambda z: torch.where(z > 1.2, z, 0.0),  # 12 % are not 0
    "nothing": lambda z: 0.0 * z,
}
REPEATS, INPUTS, REPLICATES = 300, 256, 16


def normals(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def estimated(s, seed):
    """s as 16 replicates find it."""
    square = normals(*s.shape, REPLICATES - 1, seed=seed).square().mean(-1)
    return s * square.sqrt()


@pytest.mark.parametrize(
    "ratio", [0.3, 10.0, *(pytest.param(ratio, marks=pytest.mark.slow) for ratio in (0.0, 1.0))]
)
@pytest.mark.parametrize("law", LAWS)
def test_the_interval_covers(law, ratio):
    """At least 93 % of 300 repetitions, whatever the law and s / E|δ|, with unequal s."""
    delta = LAWS[law](normals(REPEATS, INPUTS))
    mean = LAWS[law](normals(2**20, seed=1)).abs().mean().item()
    s = ratio * (mean or 1.0) * (0.5 * normals(REPEATS, INPUTS, seed=2)).exp()
    d = delta + s * normals(REPEATS, INPUTS, seed=3)
    found = [mean_absolute(*row) for row in zip(d, estimated(s, 4), strict=True)]
    covered = sum(each.low <= mean * (1 + 1e-12) and mean <= each.high for each in found)
    assert covered >= 0.93 * REPEATS
    if ratio == 10.0:
        assert sum(each.low == 0.0 for each in found) > REPEATS / 2


def test_where_noise_dominates_the_estimate_is_a_small_part_of_it():
    """The plain mean of |d| would be 0.80 s."""
    d = normals(2**16)
    found = mean_absolute(d, torch.ones_like(d))
    assert found.value < 0.25
    assert found.low == 0.0
    assert found.high < 0.5
    assert root_mean_square(d, torch.ones_like(d)) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [8, 16, None])
@pytest.mark.parametrize("z", [0.0, 0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 6.0, 20.0])
def test_the_bias_is_within_its_bound(z, replicates):
    rule, count = least_biased_rule(), 2**18
    s = torch.ones(count, dtype=torch.float64)
    if replicates:
        s = normals(count, replicates - 1, seed=5).square().mean(-1).sqrt()
    d = z + normals(count, seed=6)
    y = d.abs() + s * rule.correction(d, s)
    bound = rule.bound * (s * rule.reach(d, s)).mean().item()
    assert abs(y.mean().item() - z) < bound + 4.5 * y.std().item() / count**0.5
    assert rule.bound < 0.25


def test_without_noise_it_is_the_plain_mean():
    d = normals(100, 2)
    found = mean_absolute(d, torch.zeros_like(d))
    assert found.value == d.abs().mean().item()
    assert found.se == (d.abs().mean(-1).std() / 10).item()
    assert found.low < found.value - 1.9 * found.se
    assert found.high > found.value + 1.9 * found.se
    assert root_mean_square(d, torch.zeros_like(d)) == d.square().mean().sqrt().item()


def test_inputs_without_noise_among_noisy_ones_are_taken_as_they_are():
    """Where no path pays, its replicates agree."""
    d = torch.tensor([2.0, 3.0, 1e3], dtype=torch.float64)
    s = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
    assert mean_absolute(d, s).value == pytest.approx(1005 / 3, rel=1e-12)


def test_what_is_not_a_number_stays_so():
    d = torch.tensor([1.0, math.nan, 2.0])
    for s in (torch.zeros(3), torch.ones(3)):
        found = mean_absolute(d, s)
        assert all(math.isnan(part) for part in found)
        assert math.isnan(root_mean_square(d, s))


def test_a_higher_confidence_is_wider():
    d, s = normals(200), torch.ones(200, dtype=torch.float64)
    narrow, wide = mean_absolute(d, 0.1 * s, 0.8), mean_absolute(d, 0.1 * s, 0.99)
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
