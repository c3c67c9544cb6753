"""What all networks share: the base class of their settings, and one layer  A(ϱ(Norm(h))).

Inside a network, features run along the first axis and the batch along the last. Batch statistics
are then sums over contiguous memory, which makes a step on a CPU a quarter faster.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from feynkac.networks.head import Head
from feynkac.networks.reduction import Unit
from feynkac.networks.subspaces import Subspace
from feynkac.parts import Part

Norm = Literal["batch", "layer", "none"]
Activation = Literal["relu", "silu", "gelu", "tanh"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
}


class Architecture(Part):
    """Settings of a network: everything needed to build it. Subclass it for one of your own.

    Example:
        >>> from feynkac.networks.smooth import Smooth
        >>> isinstance(Smooth(), Architecture), Smooth().kind
        (True, 'smooth')
    """

    root_time: bool = False
    """Whether the network sees √t in place of t."""
    log_ranges: bool = False
    """Whether the network sees the logarithm of a variable whose law is `LogUniform`."""
    ordered: tuple[str, ...] = ()
    """Variables whose entries it sees in order, all alike, if the domain does not say so itself."""
    subspaces: tuple[Subspace, ...] = ()
    """Of variables that it sees through a few combinations of their entries."""
    radial: bool = False
    """Whether it sees |x| in place of x: u is the same in all directions."""
    units: tuple[Unit, ...] = ()
    """Inputs in whose powers it sees the others, and u."""
    head: Head | None = None
    """A formula that makes a price of its output."""
    positive: bool = False
    """Whether it gives ln u, of a u that is positive over decades."""

    @abstractmethod
    def build(self, inputs: int, outputs: int = 1) -> nn.Module:
        """The network R^inputs → R^outputs; `initialise` sets its parameters."""


class Drawn(nn.Module, ABC):
    """A module that draws its own parameters from a given generator."""

    @abstractmethod
    def draw(self, generator: torch.Generator) -> None:
        """Set all parameters of this module."""


class Linear(Drawn):
    """W h + b, drawn from U(−ξ, ξ), ξ = 1/√inputs (paper, Section A.2).

    Shape: `(inputs, N)` → `(outputs, N)`.
    """

    bias: nn.Parameter | None

    def __init__(self, inputs: int, outputs: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, dtype=torch.float32))
        shift = nn.Parameter(torch.empty(outputs, dtype=torch.float32)) if bias else None
        self.register_parameter("bias", shift)

    def forward(self, h: Tensor) -> Tensor:
        """Multiply, and add the bias if there is one."""
        product = self.weight @ h
        return product if self.bias is None else product + self.bias.unsqueeze(-1)

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Uniform numbers, drawn in float64 so that they do not depend on the dtype."""
        bound = self.weight.shape[1] ** -0.5
        for parameter in self.parameters():
            draw = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_((2.0 * draw - 1.0) * bound)


class Layer(nn.Module):
    """A(ϱ(Norm(h))).  Shape: `(width, N)` → `(outputs, N)`."""

    def __init__(
        self, width: int, outputs: int, norm: Norm, activation: Activation, bias: bool
    ) -> None:
        super().__init__()
        self.norm = _make_norm(norm, width)
        self.activation = ACTIVATIONS[activation]
        self.linear = Linear(width, outputs, bias)

    def forward(self, h: Tensor) -> Tensor:
        """Normalise, activate, map."""
        return self.linear(self.activation(self._normalise(h)))  # type: ignore[no-any-return]

    def _normalise(self, h: Tensor) -> Tensor:
        if isinstance(self.norm, nn.BatchNorm1d):
            return self.norm(h.unsqueeze(0)).squeeze(0)  # type: ignore[no-any-return]
        return self.norm(h.mT).mT  # type: ignore[no-any-return]


def _make_norm(norm: Norm, width: int) -> nn.Module:
    if norm == "none":
        return nn.Identity()
    kind = nn.BatchNorm1d if norm == "batch" else nn.LayerNorm
    return kind(width, dtype=torch.float32)


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Draw the parameters of every part of `network`, in order."""
    for module in network.modules():
        if isinstance(module, Drawn):
            module.draw(generator)
