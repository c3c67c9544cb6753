"""What the built networks share: the settings' base class, and one layer  A(ϱ(Norm(h)))."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import skip_init

Norm = Literal["batch", "layer", "none"]
Activation = Literal["relu", "silu", "gelu", "tanh"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
}


class Architecture(ABC):
    """Settings of a network; frozen, and all that is needed to build it again."""

    @abstractmethod
    def build(self, inputs: int) -> nn.Module:
        """The untrained network R^inputs → R, parameters not yet set (see `initialise`)."""


class Layer(nn.Module):
    """A(ϱ(Norm(h))).  Shape: `(…, width)` → `(…, outputs)`."""

    def __init__(
        self, width: int, outputs: int, norm: Norm, activation: Activation, bias: bool
    ) -> None:
        super().__init__()
        self.norm = _make_norm(norm, width)
        self.activation = ACTIVATIONS[activation]
        self.linear = make_linear(width, outputs, bias)

    def forward(self, h: Tensor) -> Tensor:
        """Normalise, activate, map."""
        result: Tensor = self.linear(self.activation(self.norm(h)))
        return result


def make_linear(inputs: int, outputs: int, bias: bool) -> nn.Linear:
    """A linear map whose parameters are left to `initialise` (no hidden randomness)."""
    linear: nn.Linear = skip_init(nn.Linear, inputs, outputs, bias=bias)  # type: ignore[no-untyped-call]
    return linear


def _make_norm(norm: Norm, width: int) -> nn.Module:
    if norm == "none":
        return nn.Identity()
    return nn.BatchNorm1d(width) if norm == "batch" else nn.LayerNorm(width)


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Every linear map from U(−ξ, ξ), ξ = 1/√(its inputs)  (paper, Section A.2)."""
    for module in network.modules():
        if isinstance(module, nn.Linear):
            bound = module.in_features**-0.5
            for parameter in module.parameters():
                with torch.no_grad():
                    draw = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
                    parameter.copy_((2.0 * draw - 1.0) * bound)
