"""Slopes that are mostly noise, or do not exist, are not fitted."""

import torch

from feynkac.sampling.slopes import trust, without_outliers


def noisy(ratio, generator, inputs=4000, labels=4):
    signal = torch.randn(inputs, 1, 1, generator=generator, dtype=torch.float64)
    noise = torch.randn(inputs, labels, 1, generator=generator, dtype=torch.float64)
    return signal + ratio * noise


def test_trust_falls_with_the_ratio_of_noise_to_signal(generator):
    for ratio in (0.1, 1.0, 1.5):
        expected = (1.0 + ratio**4) ** -0.5
        assert abs(trust(noisy(ratio, generator)).item() - expected) < 0.05


def test_pure_noise_is_not_trusted(generator):
    assert trust(noisy(3.0, generator)).item() == 0.0
    assert trust(noisy(1e4, generator)).item() == 0.0


def test_slopes_that_vanish_everywhere_are_trusted():
    assert trust(torch.zeros(8, 4, 2)).tolist() == [1.0, 1.0]


def test_inputs_without_a_slope_do_not_count(generator):
    slopes = noisy(1.0, generator)
    some = slopes.clone()
    some[::2, 1] = torch.inf
    torch.testing.assert_close(trust(some), trust(slopes[1::2]))


def test_a_slope_far_out_of_scale_has_no_weight():
    slopes = torch.tensor([[1.0, -99.0], [torch.inf, 0.5]])
    kept, weights = without_outliers(slopes, torch.tensor([1.0, 0.5]), most=30.0)
    assert kept.tolist() == [[1.0, 0.0], [0.0, 0.5]]
    assert weights.tolist() == [[1.0, 0.0], [0.0, 0.5]]
