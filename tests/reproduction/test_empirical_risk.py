"""Empirical risk minimisation: the clipped network, unbiased data, a risk below simpler fits'."""

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.networks.architecture import initialise
from feynkac.reproduction.empirical_risk import (
    Clipped,
    draw_sample,
    evaluate,
    fit,
    mean_square,
    minimise,
    normalise,
    solution,
)


def stack(inputs: int, count: int = 1, scale: float = 1.0) -> Clipped:
    """Untrained networks around ½."""
    return Clipped(inputs, torch.full((count, 1, 1), 0.5), torch.full((count, 1, 1), scale))


def test_each_of_a_stack_is_a_torch_network_clamped(generator):
    network = stack(4, count=8, scale=10.0)
    initialise(network, generator)
    x = torch.randn(8, 1000, 4, generator=generator)
    lowest, highest = [], []
    for k in range(8):
        h = x[k]
        layers = [(w[k].T, b[k, 0]) for w, b in zip(network.weights, network.biases, strict=True)]
        for w, b in layers[:-1]:
            h = torch.nn.functional.linear(h, w, b).clamp_min(0.0)
        unclipped = 0.5 + 10.0 * torch.nn.functional.linear(h, *layers[-1])
        torch.testing.assert_close(network(x)[k], unclipped.clamp(0.0, 1.0), atol=1e-5, rtol=0)
        lowest.append(unclipped.min().item())
        highest.append(unclipped.max().item())
    assert min(lowest) < 0.0 < 1.0 < max(highest)


def test_neurons_are_proportional_to_the_inputs():
    small, large = ([p.shape[-1] for p in stack(n).parameters()] for n in (5, 10))
    assert small == [10, 10, 1, 10, 10, 1]
    assert large == [20, 20, 1, 20, 20, 1]


def test_labels_are_unbiased(generator):
    inputs, values = draw_sample(5, 20_000, generator)
    residual = values.double() - solution(inputs)
    error = residual.std() / len(inputs) ** 0.5
    assert values.shape == (20_000, 1)
    assert abs(residual.mean()) < 4 * error
    assert 0.0 <= values.min() <= values.max() <= 1.0


def test_inputs_are_normalised(generator):
    columns = normalise(fk.HeatGaussian(dim=3).domain.sample(20_000, generator))
    assert columns.shape == (20_000, 5)
    torch.testing.assert_close(columns.mean(0), torch.zeros(5), atol=0.04, rtol=0)
    torch.testing.assert_close(columns.std(0), torch.ones(5), atol=0.02, rtol=0)


def test_the_constants_risk_is_the_variance_by_quadrature():
    nodes, weights = np.polynomial.legendre.leggauss(12)
    x, t, sigma = np.meshgrid(0.1 * nodes, (nodes + 1) / 2, 0.05 * (nodes + 1))
    w = np.prod(np.meshgrid(weights, weights, weights), axis=0) / 8
    c = 1 + 2 * t * sigma**2
    u = c**-0.5 * np.exp(-(x**2) / c)
    variance = (w * u**2).sum() - (w * u).sum() ** 2
    assert fit(1, [256], 0, 1)[0].constant == pytest.approx(variance, rel=0.05)


def test_the_risk_is_below_that_of_the_best_linear_map(generator):
    inputs, values = draw_sample(2, 2**12, generator)
    network = minimise(inputs, values, [2**12], 300, seed=0)
    features = np.column_stack([np.ones(len(inputs)), inputs.numpy()])
    _, (residual,), *_ = np.linalg.lstsq(features, values[:, 0].numpy().astype(float), rcond=None)
    risk = mean_square(evaluate(network, inputs)[0], values)
    assert risk < 0.9 * residual / len(inputs)
    assert risk < 1.05 * mean_square(solution(inputs), values)


def test_more_samples_leave_less_excess_risk():
    few, many = fit(2, [2**7, 2**13], seed=0, steps=300)
    assert (few.size, many.size) == (2**7, 2**13)
    assert many.excess < 0.2 * few.excess
    assert many.excess < 0.2 * many.constant


def test_a_small_sample_is_fitted_better_than_by_the_truth():
    found, _ = fit(10, [128, 1024], seed=0, steps=150)
    assert found.risk < 0.3 * found.truth
    assert found.excess > found.risk


def test_same_seed_same_numbers():
    assert fit(1, [64], 1, 5) == fit(1, [64], 1, 5)
    assert len({fit(1, [64], seed, 5)[0].excess for seed in range(3)}) == 3


def test_a_network_sees_only_its_part_of_the_sample(generator):
    inputs, values = draw_sample(1, 64, generator)
    changed = values.clone()
    changed[32:] = 0.5
    one, two = (minimise(inputs, labels, [32, 64], 5, seed=0) for labels in (values, changed))
    before, after = evaluate(one, inputs), evaluate(two, inputs)
    torch.testing.assert_close(before[0], after[0])
    assert not torch.allclose(before[1], after[1])
