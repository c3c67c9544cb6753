r"""A smooth network: SiLU layers of equal width and an affine output, written out by hand.

    h₀ = (x, p ⊙ q),   p = Ax + a,   q = Bx + b,
    z_l = W_l h_{l−1} + b_l,   h_l = silu(z_l),   f(x) = W_L h_{L−1} + b_L

The products p ⊙ q are optional. Coefficients multiply states, σ(x) = σx, so solutions depend on
such products, and sums of SiLU represent them poorly. Where u oscillates, most neurons of the
first layer are waves, sin(z₁) in place of silu(z₁), and start with frequencies that are given. The
network is smooth, so Γ exists; the second derivative of a ReLU network is zero. `linearisation.py`
writes out the recursions for f, its input gradient and its Jacobian in the parameters.
"""

import itertools
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from feynkac.errors import InputError
from feynkac.networks.architecture import Architecture, Drawn
from feynkac.networks.head import Head
from feynkac.networks.reduction import Unit
from feynkac.networks.subspaces import Subspace

WAVES = 0.75  # of the first layer, if there are any
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

    frequencies: tuple[Annotated[float, Field(ge=0.0, allow_inf_nan=False)], ...] = ()
    """Of waves in each normalised input, to begin with; empty: there are none."""
    ordered: tuple[str, ...] = ()
    """Variables whose entries it sees in order, all alike, if the domain does not say so itself."""
    subspaces: tuple[Subspace, ...] = ()
    """Of variables that it sees through a few combinations of their entries."""
    radial: bool = False
    """Whether it sees |x| in place of x: u is the same in all directions."""
    units: tuple[Unit, ...] = ()
    """Inputs in whose powers it sees the others, and u."""
    head: Head | None = None
    """A formula for calls and puts, to which it gives a volatility; None: it gives u."""
    positive: Annotated[bool, Field(exclude_if=lambda wanted: not wanted)] = False
    """Whether it gives ln u, of a u that is positive over decades."""

    def build(self, inputs: int, outputs: int = 1) -> "SmoothNetwork":
        """The network R^inputs → R^outputs."""
        if self.frequencies and len(self.frequencies) != inputs:
            raise InputError(
                f"expected {inputs} frequencies, one per input, got {self.frequencies}."
            )
        return SmoothNetwork(self, inputs, outputs)


class SmoothNetwork(Drawn):
    """Shape: `(N, inputs)` → `(N, outputs)`."""

    def __init__(self, settings: Smooth, inputs: int, outputs: int) -> None:
        super().__init__()
        products = settings.products
        sizes = [inputs + products, *[settings.width] * settings.depth, outputs]
        self.frequencies = settings.frequencies
        self.waves = round(WAVES * settings.width) if settings.frequencies else 0
        """Neurons of the first layer that are sines; they come first."""
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
        for number, (weight, bias) in enumerate(hidden):
            x = self.activate(number, F.linear(x, weight, bias))
        return F.linear(x, *last)

    def activate(self, layer: int, z: Tensor) -> Tensor:
        """silu(z), or sines where the layer has waves."""
        if layer or not self.waves:
            return F.silu(z)
        waves, others = z[:, : self.waves], z[:, self.waves :]
        return torch.cat([waves.sin(), F.silu(others)], dim=-1)

    def jet(self, layer: int, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`activate` with its first and second derivative."""
        if layer or not self.waves:
            return silu_jet(z)
        waves, others = z[:, : self.waves], silu_jet(z[:, self.waves :])
        sine, cosine = waves.sin(), waves.cos()
        both = zip((sine, cosine, -sine), others, strict=True)
        value, first, second = (torch.cat(pair, dim=-1) for pair in both)
        return value, first, second

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
        if self.waves:
            self._draw_waves(*first, generator)

    def _draw_waves(self, weight: Tensor, bias: Tensor, generator: torch.Generator) -> None:
        """In turns along a single input, along all with one sign after the other, in any direction.

        A product of cosines is a sum of waves with all signs.
        """
        size = (self.waves, len(self.frequencies))
        frequencies = torch.tensor(self.frequencies, dtype=torch.float64)
        normal = torch.randn(size, generator=generator, dtype=torch.float64)
        kind = torch.arange(self.waves).unsqueeze(-1) % 3
        single = F.one_hot(torch.arange(self.waves) // 3 % size[1], size[1])
        signs = _signs(self.waves // 3 + 1, frequencies > 0.0, normal.sign()[::3])
        factor = torch.where(
            kind == 0, single * normal.sign(), signs.repeat_interleave(3, 0)[: size[0]]
        )
        factor = torch.where(kind == 2, normal, factor)
        weight[: self.waves] = 0.0
        weight[: self.waves, : size[1]] = (factor * frequencies).to(weight)
        phase = torch.rand(self.waves, generator=generator, dtype=torch.float64)
        bias[: self.waves] = (2.0 * torch.pi * phase).to(bias)


def _signs(count: int, active: Tensor, drawn: Tensor) -> Tensor:
    """All signs of the active inputs but the first, counted up; drawn ones where they are too many.

    Shape: active `(n,)`, drawn `(≤ count, n)` → `(count, n)`.
    """
    signs = drawn.new_ones(count, len(active))
    signs[: len(drawn)] = drawn
    first, *others = active.nonzero().flatten().tolist() or [0]
    signs[:, first] = 1.0  # a wave is the same in the opposite direction
    for bit, column in enumerate(others):
        if 2**bit < count:
            signs[:, column] = 1.0 - 2.0 * (torch.arange(count) // 2**bit % 2)
    return signs


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
