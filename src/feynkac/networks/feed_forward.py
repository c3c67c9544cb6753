r"""The feed-forward network of the paper's ablation (Section A.3): Φ_L^{2^L} alone.

That is the highest level of a multilevel network with L+1 levels, without residuals.
"""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from feynkac.networks.architecture import (
    Activation,
    Architecture,
    Linear,
    Norm,
)
from feynkac.networks.multilevel import make_level


@dataclass(frozen=True, config={"extra": "forbid"})
class FeedForward(Architecture):
    """A plain network with 2^`levels` hidden layers of width `factor`·inputs.

    Example:
        >>> net = FeedForward(levels=4, factor=5, norm="none").build(inputs=4)
        >>> sum(p.numel() for p in net.parameters())
        6101
    """

    levels: Annotated[int, Field(ge=0, le=10)] = 4
    """L of the multilevel network that the paper compares it with."""
    factor: Annotated[int, Field(ge=1)] = 5
    """q, hidden width per input."""
    norm: Norm = "batch"
    """Normalisation in front of each activation."""
    activation: Activation = "relu"
    """ϱ."""

    def build(self, inputs: int, outputs: int = 1) -> "FeedForwardNetwork":
        """The network R^inputs → R^outputs."""
        return FeedForwardNetwork(self, inputs, outputs)


class FeedForwardNetwork(nn.Module):
    """Shape: `(N, inputs)` → `(N, outputs)`."""

    def __init__(self, settings: FeedForward, inputs: int, outputs: int) -> None:
        super().__init__()
        width = settings.factor * inputs
        self.entry = Linear(inputs, width, bias=False)
        layers = 2**settings.levels
        self.layers = make_level(layers, width, settings.norm, settings.activation, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Layer after layer."""
        h = self.entry(x.mT.contiguous())
        for layer in self.layers:
            h = layer(h)
        return h.mT  # type: ignore[no-any-return]
