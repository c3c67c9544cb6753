r"""Stochastic Gauss–Newton with momentum, solved in the space of the samples:

    d ← argmin ‖J d − r‖² + λ ‖d − μ d_prev‖²  =  μ d_prev + Jᵀ (J Jᵀ + λ I)⁻¹ (r − μ J d_prev),
    θ ← θ − η d,

with residuals r and Jacobian J of one fresh batch (Kaczmarz' projection, block by block; called
SPRING by Goldshlager et al., 2024). The system has as many unknowns as the batch has rows, not
parameters. With few inputs, a few hundred steps reach errors that first-order methods do not reach
in thousands. With many inputs, a batch cannot hold all the slopes that a step needs; see `muon.py`.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from feynkac.training.optimisers.optimiser import Optimiser, Positive

MOST_ATTEMPTS = 6  # each with ten times the damping of the one before


@dataclass(frozen=True, config={"extra": "forbid"})
class GaussNewton(Optimiser):
    """Gauss–Newton steps for a `Smooth` network fitted to values and slopes.

    Example:
        >>> GaussNewton(damping=1e-2).damping
        0.01
    """

    fits_slopes: ClassVar[bool] = True
    learning_rate: Positive = 0.3
    """η, the initial step length."""
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    """μ, how much of the previous step is kept."""
    damping: Positive = 1e-3
    """λ, relative to the mean diagonal of J Jᵀ."""

    def build(self, network: nn.Module) -> "GaussNewtonSteps":
        """The update rule; the objective computes the direction."""
        return GaussNewtonSteps(network.parameters(), self)


class GaussNewtonSteps(torch.optim.Optimizer):
    """θ ← θ − η d, where d = μ d_prev + grad."""

    def __init__(self, parameters: Iterable[nn.Parameter], settings: GaussNewton) -> None:
        super().__init__(parameters, {"lr": settings.learning_rate})
        self.settings = settings
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["direction"] = torch.zeros_like(parameter)

    def direction(self, parameter: Tensor) -> Tensor:
        """d_prev for one parameter."""
        return self.state[parameter]["direction"]  # type: ignore[no-any-return]

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update direction and parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                d = self.direction(parameter)
                d.mul_(self.settings.momentum).add_(parameter.grad)
                parameter.sub_(d, alpha=group["lr"])


def solve_damped(kernel: Tensor, residual: Tensor, damping: float) -> Tensor:
    """(K + λ mean(diag K) I)⁻¹ r in float64, or NaN.  Shape: `(R, R)`, `(R,)` → `(R,)`.

    If rounding has made the system indefinite, λ is raised tenfold, up to a few times.
    """
    system = kernel.to(torch.float64, copy=True)
    size = damping * system.diagonal().mean()
    for attempt in range(MOST_ATTEMPTS if size.isfinite() else 0):
        system.diagonal().add_(size * (0.9 * 10.0**attempt if attempt else 1.0))
        factor, failed = torch.linalg.cholesky_ex(system)
        if not failed:
            found = torch.cholesky_solve(residual.double().unsqueeze(-1), factor)
            return found.squeeze(-1).to(kernel)
    return torch.full_like(residual, torch.nan)
