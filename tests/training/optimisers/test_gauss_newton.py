"""Gauss–Newton steps solve the batch's damped least squares, momentum included."""

import math

import numpy as np
import pytest
import torch
from pydantic import ValidationError

import feynkac as fk
from feynkac.families import BlackScholes
from feynkac.methods.fast.path_data import PathData
from feynkac.methods.fast.scales import measure_scales
from feynkac.methods.fast.sobolev import SobolevProjection
from feynkac.networks.linearisation import linearise, pull_back, push_forward
from feynkac.networks.network import make_network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.objective import Batch
from feynkac.training.optimisers.gauss_newton import GaussNewton, solve_damped

FAMILY = BlackScholes()
BATCH = 6


class Problem:
    """A float64 network, an objective and one batch: 30 rows, 185 parameters."""

    def __init__(self, **settings):
        generator = torch.Generator().manual_seed(0)
        data = PathData(FAMILY, Exact(), Sobol(), BATCH, 16)
        self.network = make_network(Smooth(width=10, depth=2), FAMILY.domain, generator).double()
        self.objective = SobolevProjection(data, measure_scales(data, self.network, generator))
        self.settings = GaussNewton(**settings)
        self.optimiser = self.settings.build(self.network)
        self.batches = [Batch(*(part.double() for part in data.sample(generator))) for _ in "12"]

    @property
    def layers(self):
        core = self.network.core
        return list(zip(core.weights, core.biases, strict=True))

    def parameters(self):
        return torch.cat([p.detach().flatten() for pair in self.layers for p in pair])

    def equations(self, batch):
        """The dense Jacobian and the residuals at the present parameters."""
        x, _, values, slopes, weights, _ = self.objective.targets(self.network, batch)
        lin = linearise(self.network.core, x, torch.diag_embed(weights))
        residual = torch.cat([lin.value - values, (lin.slope - weights * slopes).flatten()])
        rows = []
        for c in torch.eye(len(residual), dtype=torch.float64):
            step = pull_back(lin, c[:BATCH], c[BATCH:].view_as(lin.slope))
            rows.append(torch.cat([part.flatten() for pair in step for part in pair]))
        return lin, torch.stack(rows), residual

    def step(self, batch):
        """Move, and return −(change of the parameters)."""
        before = self.parameters()
        self.objective.differentiate(self.network, batch, self.optimiser)
        self.optimiser.step()
        return before - self.parameters()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_solve_damped_equals_a_dense_solve(dtype, generator):
    factor = torch.randn(12, 40, generator=generator, dtype=torch.float64)
    kernel, r = (factor @ factor.T).to(dtype), torch.randn(12, generator=generator, dtype=dtype)
    before = kernel.clone()
    found = solve_damped(kernel, r, 1e-2)
    system = kernel.double() + 1e-2 * kernel.double().diagonal().mean() * torch.eye(12)
    expected = torch.linalg.solve(system, r.double()).to(dtype)
    torch.testing.assert_close(found, expected)
    assert torch.equal(kernel, before)


def test_damping_makes_a_singular_kernel_solvable(generator):
    factor = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    solution = solve_damped(factor @ factor.T, torch.ones(12).double(), 1e-6)
    assert solution.isfinite().all()


def test_an_undamped_step_satisfies_the_linear_equations_of_the_batch():
    problem = Problem(learning_rate=1.0, momentum=0.0, damping=1e-12)
    lin, _, residual = problem.equations(problem.batches[0])
    before = [(w.detach().clone(), b.detach().clone()) for w, b in problem.layers]
    problem.step(problem.batches[0])
    moved = [
        (w0 - w.detach(), b0 - b.detach())
        for (w0, b0), (w, b) in zip(before, problem.layers, strict=True)
    ]
    value, slope = push_forward(lin, moved)
    change = torch.cat([value, slope.flatten()])
    assert residual.abs().max() > 0.1
    torch.testing.assert_close(change, residual, rtol=0, atol=1e-7)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_steps_are_the_damped_least_squares_pulled_to_the_last_one(momentum, damping):
    problem = Problem(momentum=momentum, damping=damping)
    previous = np.zeros(len(problem.parameters()))
    for batch in problem.batches:
        _, jacobian, residual = problem.equations(batch)
        J, r = jacobian.numpy(), residual.numpy()
        lam = damping * np.mean(np.sum(J**2, axis=1))
        stacked = np.concatenate([J, np.sqrt(lam) * np.eye(J.shape[1])])
        target = np.concatenate([r, np.sqrt(lam) * momentum * previous])
        d = np.linalg.lstsq(stacked, target, rcond=None)[0]
        moved = problem.step(batch).numpy()
        np.testing.assert_allclose(moved, problem.settings.learning_rate * d, rtol=1e-8, atol=1e-10)
        previous = d


def test_the_loss_is_the_mean_square_of_the_equations():
    problem = Problem()
    batch = problem.batches[0]
    _, _, residual = problem.equations(batch)
    loss = problem.objective.differentiate(problem.network, batch, problem.optimiser)
    assert loss.item() == pytest.approx(residual.square().sum().item() / BATCH, rel=1e-12)


@pytest.mark.parametrize(
    "wrong", [{"learning_rate": 0.0}, {"momentum": 1.0}, {"momentum": -0.1}, {"damping": 0.0}]
)
def test_meaningless_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        GaussNewton(**wrong)


# Systems that cannot be solved


def test_an_indefinite_system_is_damped_until_it_is_solved():
    """Rounding may do that; one negative eigenvalue of a tenth of the mean diagonal."""
    kernel = torch.diag(torch.tensor([1.0, 1.0, -0.05], dtype=torch.float64))
    found = solve_damped(kernel, torch.ones(3, dtype=torch.float64), 1e-3)
    assert found.isfinite().all()
    assert found[0] == found[1]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_system_that_is_not_finite_has_no_solution(bad):
    kernel = torch.eye(3)
    kernel[1, 1] = bad
    assert solve_damped(kernel, torch.ones(3), 1e-3).isnan().all()


def test_a_run_that_diverges_stops_with_place_and_cause_and_keeps_its_state(tmp_path):
    """A learning rate of 10¹² throws the parameters out of the numbers; no LinAlgError escapes."""
    settings = {"steps": 20, "batch_size": 32, "paths": 8, "evaluations": 1, "out": tmp_path}
    with pytest.raises(fk.NonFiniteError, match=r"step \d+: a NaN or infinity arose in the .*core"):
        fk.solve(fk.BlackScholes(), optimiser=GaussNewton(learning_rate=1e12), **settings)
    assert (tmp_path / "checkpoint.safetensors").exists()
