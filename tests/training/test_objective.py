"""The paper's objective: mean squares against fresh simulated labels."""

import pytest
import torch

from feynkac.families import BasketPut, BlackScholes
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.objective import Batch, MeanSquare, Objective

OBJECTIVES = [
    MeanSquare(BlackScholes(), Exact(), batch_size=16),
    MeanSquare(BlackScholes(), Exact(), batch_size=16, paths=4),
    MeanSquare(BasketPut(), EulerMaruyama(3), batch_size=8),
]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_samples_are_fresh_inputs_with_labels(objective):
    first, second = (torch.Generator().manual_seed(2) for _ in range(2))
    for _ in range(3):
        batch = objective.sample(first)
        inputs = objective.family.domain.sample(objective.batch_size, second)
        values = labels(objective.family, objective.scheme, inputs, second, objective.paths)
        assert torch.equal(batch.inputs, inputs)
        assert torch.equal(batch.values, values)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_samples_are_fresh(objective, generator):
    assert not torch.equal(objective.sample(generator).inputs, objective.sample(generator).inputs)


def test_the_loss_is_the_mean_of_squared_differences():
    batch = Batch(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[1.0], [0.0], [5.0]]))
    assert OBJECTIVES[0].loss(lambda v: 2 * v, batch) == pytest.approx((1 + 16 + 1) / 3)


def test_the_solution_has_the_least_loss(generator):
    """The minimiser is E[Y | λ] = ū; any shift δ costs δ² more."""
    family = BlackScholes()
    objective = MeanSquare(family, Exact(), batch_size=2**16, paths=16)
    batch = objective.sample(generator)
    loss = {
        shift: objective.loss(
            lambda v, shift=shift: family.closed_form(*family.domain.split(v)) + shift, batch
        ).item()
        for shift in (-0.1, 0.0, 0.1)
    }
    assert loss[0.1] - loss[0.0] == pytest.approx(0.01, rel=0.1)
    assert loss[-0.1] - loss[0.0] == pytest.approx(0.01, rel=0.1)


def test_an_objective_must_sample_and_compare():
    with pytest.raises(TypeError, match=r"differentiate.*sample"):
        Objective()
