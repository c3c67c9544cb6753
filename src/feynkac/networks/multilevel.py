r"""The multilevel architecture (paper, Section A.2, definition "Multilevel Architecture"):

    Φ(x)     = Σ_{l<L} Φ_l^{2^l}(x)
    Φ_l^1    = A_l^1(ϱ(Norm(A_l^0 x)))
    Φ_l^i    = A_l^i(ϱ(Norm(Φ_l^{i−1} + χ Φ_{l+1}^{2i−2}))),   i ≥ 2, l ≤ L−2
    Φ_{L−1}^i = A_{L−1}^i(ϱ(Norm(Φ_{L−1}^{i−1}))),             i ≥ 2

All maps are linear except the last of each level, which is affine. We follow the definition: the
residual that level l receives is the bare output of a map of level l+1. In the authors' published
code it also contains the residual that level l+1 received from level l+2, and ε of the batch
normalisation is 1e-8 (here torch's 1e-5).
"""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from feynkac.networks.architecture import (
    Activation,
    Architecture,
    Layer,
    Linear,
    Norm,
)


@dataclass(frozen=True, config={"extra": "forbid"})
class Multilevel(Architecture):
    """The paper's network: `levels` sub-networks with 1, 2, 4, … layers of width `factor`·inputs.

    Example:
        >>> net = Multilevel(levels=4, factor=5).build(inputs=4)
        >>> sum(p.numel() for p in net.parameters())
        5404
    """

    levels: Annotated[int, Field(ge=1, le=10)] = 4
    """L, the number of sub-networks."""
    factor: Annotated[int, Field(ge=1)] = 5
    """q, hidden width per input."""
    residual: bool = True
    """χ, whether each level receives the intermediate outputs of the next."""
    norm: Norm = "batch"
    """Normalisation in front of each activation."""
    activation: Activation = "relu"
    """ϱ."""

    def build(self, inputs: int, outputs: int = 1) -> "MultilevelNetwork":
        """The network R^inputs → R^outputs."""
        return MultilevelNetwork(self, inputs, outputs)


class MultilevelNetwork(nn.Module):
    """Shape: `(N, inputs)` → `(N, outputs)`."""

    def __init__(self, settings: Multilevel, inputs: int, outputs: int) -> None:
        super().__init__()
        self.residual = settings.residual
        width = settings.factor * inputs
        self.entries = nn.ModuleList(
            Linear(inputs, width, bias=False) for _ in range(settings.levels)
        )
        self.levels = nn.ModuleList(
            make_level(2**level, width, settings.norm, settings.activation, outputs)
            for level in range(settings.levels)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Run the levels from the deepest up, each handing its outputs to the next."""
        columns = x.mT.contiguous()
        total = x.new_zeros(())
        above: list[Tensor] | None = None
        for entry, level in zip(reversed(self.entries), reversed(self.levels), strict=True):
            outputs = [entry(columns)]
            assert isinstance(level, nn.ModuleList)
            for i, layer in enumerate(level, start=1):
                h = outputs[-1]
                if self.residual and above is not None and i >= 2:
                    h = h + above[2 * i - 2]
                outputs.append(layer(h))
            total = total + outputs[-1]
            above = outputs
        return total.mT


def make_level(
    layers: int, width: int, norm: Norm, activation: Activation, outputs: int
) -> nn.ModuleList:
    """`layers` layers of equal width, the last one affine onto R^outputs."""
    hidden = [Layer(width, width, norm, activation, bias=False) for _ in range(layers - 1)]
    return nn.ModuleList([*hidden, Layer(width, outputs, norm, activation, bias=True)])
