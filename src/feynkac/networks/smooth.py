r"""A smooth network: SiLU layers of equal width and an affine output, written out by hand.

    h₀ = (x, p ⊙ q),   p = Ax + a,   q = Bx + b,
    z_l = W_l h_{l−1} + b_l,   h_l = silu(z_l),   f(x) = W_L h_{L−1} + b_L

The products p ⊙ q are optional. Coefficients multiply states, σ(x) = σx, so solutions depend on
such products, and sums of SiLU represent them poorly. The network is smooth, so Γ exists; the
second derivative of a ReLU network is zero. `linearisation.py` writes out the recursions for f,
its input gradient and its Jacobian in the parameters.
"""

import itertools
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from feynkac.networks.architecture import Architecture, Drawn

GAIN = 1.6  # keeps the variance of silu layers near one
FACTOR_GAIN = 0.6  # products start small
Affine = tuple[Tensor, Tensor]
"""Weight and bias of a layer."""


@dataclass(frozen=True, config={"extra": "forbid"})
class Smooth(Architecture):
    """`depth` SiLU layers of `width` neurons.

    Example:
        >>> net = Smooth(width=32, depth=3).build(inputs=4)
        >>> sum(p.numel() for p in net.parameters())
        2305
    """

    width: Annotated[int, Field(ge=1)] = 32
    """Neurons per hidden layer."""
    depth: Annotated[int, Field(ge=1)] = 3
    """Number of hidden layers."""
    products: Annotated[int, Field(ge=0)] = 0
    """Number of products of two learned combinations of the inputs, as further inputs."""
    root_time: bool = True
    """Whether the network sees √t in place of t: near a kink of φ, u varies on that scale."""
    log_ranges: bool = False
    """Whether it sees the logarithm of a variable whose law is `LogUniform`."""

    def build(self, inputs: int, outputs: int = 1) -> "SmoothNetwork":
        """The network R^inputs → R^outputs."""
        return SmoothNetwork(self, inputs, outputs)


class SmoothNetwork(Drawn):
    """Shape: `(N, inputs)` → `(N, outputs)`."""

    def __init__(self, settings: Smooth, inputs: int, outputs: int) -> None:
        super().__init__()
        products = settings.products
        sizes = [inputs + products, *[settings.width] * settings.depth, outputs]
        self.factors = 2 if products else 0
        """Number of layers that make the products, A and B; they come first."""
        pairs = [(inputs, products)] * self.factors + list(itertools.pairwise(sizes))
        self.weights = nn.ParameterList(torch.empty(o, i, dtype=torch.float32) for i, o in pairs)
        self.biases = nn.ParameterList(torch.empty(o, dtype=torch.float32) for _, o in pairs)

    def forward(self, x: Tensor) -> Tensor:
        """Products, then layer after layer."""
        factors, hidden, last = self.layers()
        if factors:
            p, q = (F.linear(x, *factor) for factor in factors)
            x = torch.cat([x, p * q], dim=-1)
        for weight, bias in hidden:
            x = F.silu(F.linear(x, weight, bias))
        return F.linear(x, *last)

    def layers(self) -> tuple[list[Affine], list[Affine], Affine]:
        """The factors of the products (two or none), the hidden layers, the output."""
        *inner, last = zip(self.weights, self.biases, strict=True)
        return inner[: self.factors], inner[self.factors :], last

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Normal weights of variance gain²/inputs; biases of variance ¼ in the hidden layers."""
        factors, (first, *hidden), last = self.layers()
        for layer in factors:
            _draw(layer, FACTOR_GAIN, 0.0, generator)
        _draw(first, 1.0, 0.5, generator)
        for layer in hidden:
            _draw(layer, GAIN, 0.5, generator)
        _draw(last, GAIN, 0.0, generator)


def _draw(layer: Affine, gain: float, bias_std: float, generator: torch.Generator) -> None:
    weight, bias = layer
    _normal(weight, gain * weight.shape[1] ** -0.5, generator)
    _normal(bias, bias_std, generator)


def _normal(parameter: Tensor, std: float, generator: torch.Generator) -> None:
    draw = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    parameter.copy_(std * draw)


def silu_jet(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """silu(z), silu′(z) and silu″(z)."""
    s = torch.sigmoid(z)
    value = z * s
    first = s + value * (1.0 - s)
    second = s * (1.0 - s) * (2.0 + z * (1.0 - 2.0 * s))
    return value, first, second
