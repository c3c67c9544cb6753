r"""Muon: momentum steps with each matrix replaced by its nearest orthogonal one (Jordan, 2024).

    M ← β M + (1 − β) G,   W ← W − η √max(1, rows/columns) · UVᵀ   for  β M + (1 − β) G = U Σ Vᵀ,

the orthogonal factor by five Newton–Schulz iterations. Biases and the output layer take Adam steps.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from feynkac.training.optimisers.optimiser import Optimiser, Positive

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


@dataclass(frozen=True, config={"extra": "forbid"})
class Muon(Optimiser):
    """Muon for the hidden matrices, Adam for the rest.

    Example:
        >>> Muon().fits_slopes, Muon().learning_rate
        (True, 0.02)
    """

    fits_slopes: ClassVar[bool] = True
    learning_rate: Positive = 0.02
    """η, the spectral size of the first steps."""
    adam_ratio: Positive = 0.15
    """Adam's learning rate relative to η."""
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.95
    """β."""

    def build(self, network: nn.Module) -> "MuonSteps":
        """The torch optimiser."""
        return MuonSteps(network.parameters(), self)


class MuonSteps(torch.optim.Optimizer):
    """One rule for matrices with more than one row, another for vectors."""

    def __init__(self, parameters: Iterable[nn.Parameter], settings: Muon) -> None:
        super().__init__(parameters, {"lr": settings.learning_rate})
        self.settings = settings
        for parameter in self.param_groups[0]["params"]:
            entry = self.state[parameter]
            entry["step"] = torch.zeros((), dtype=torch.float32)
            entry["mean"] = torch.zeros_like(parameter)
            if not _is_matrix(parameter):
                entry["square"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                entry = self.state[parameter]
                entry["step"] += 1
                if _is_matrix(parameter):
                    change = self._orthogonal(parameter.grad, entry)
                    parameter.sub_(change, alpha=group["lr"])
                else:
                    change = _adam(parameter.grad, entry)
                    parameter.sub_(change, alpha=group["lr"] * self.settings.adam_ratio)

    def _orthogonal(self, gradient: Tensor, entry: dict[str, Tensor]) -> Tensor:
        beta = self.settings.momentum
        mean = entry["mean"].lerp_(gradient, 1.0 - beta)
        rows, columns = gradient.shape
        factor: float = max(1.0, rows / columns) ** 0.5
        return factor * orthogonalise(gradient.lerp(mean, beta))


def _is_matrix(parameter: Tensor) -> bool:
    return parameter.ndim == 2 and parameter.shape[0] > 1


def _adam(gradient: Tensor, entry: dict[str, Tensor]) -> Tensor:
    mean = entry["mean"].lerp_(gradient, 0.1)
    square = entry["square"].lerp_(gradient.square(), 0.01)
    step = entry["step"].item()
    unbiased = (square / (1.0 - 0.99**step)).sqrt_()
    return mean / (1.0 - 0.9**step) / unbiased.add_(1e-12)


def orthogonalise(matrix: Tensor, iterations: int = 5) -> Tensor:
    """Roughly U Vᵀ of the singular value decomposition: singular values between 0.7 and 1.2."""
    a, b, c = COEFFICIENTS
    x: Tensor = matrix / (matrix.norm() + 1e-12)
    tall = x.shape[0] > x.shape[1]
    x = x.mT if tall else x
    for _ in range(iterations):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x
