"""The layers of the networks: affine maps, products, activations, norms, levels."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from feynkac.exporting.stage import Chain, Record, Stage, plain
from feynkac.networks.architecture import ACTIVATIONS


class Affine(Stage):
    """W h + b."""

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.register_buffer("weight", weight.detach().clone())
        zeros = torch.zeros_like(weight[:, 0])
        self.register_buffer("bias", (zeros if bias is None else bias).detach().clone())

    def forward(self, h: Tensor) -> Tensor:
        """Multiply and add."""
        return F.linear(h, self.weight, self.bias)

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """g W."""
        return g @ self.weight

    def record(self) -> Record:
        """Weight, one row per output, and bias."""
        return {"kind": "linear", "weight": plain(self.weight), "bias": plain(self.bias)}


class Products(Stage):
    """(h, p ⊙ q) with affine p and q."""

    def __init__(self, first: Affine, second: Affine) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, h: Tensor) -> Tensor:
        """Append the products."""
        made: Tensor = self.first(h) * self.second(h)
        return torch.cat([h, made], dim=-1)

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """g + (g q) A + (g p) B."""
        kept, made = g[..., : h.shape[-1]], g[..., h.shape[-1] :]
        p: Tensor = self.first(h).unsqueeze(1)
        q: Tensor = self.second(h).unsqueeze(1)
        return kept + (made * q) @ self.first.weight + (made * p) @ self.second.weight

    def record(self) -> Record:
        """Both factors."""
        return {
            "kind": "products",
            "first": _without_kind(self.first.record()),
            "second": _without_kind(self.second.record()),
        }


class Activate(Stage):
    """sin(h) of the first `waves` entries, ϱ(h) of the others."""

    def __init__(self, function: str, waves: int = 0) -> None:
        super().__init__()
        self.function, self.waves = function, waves

    def forward(self, h: Tensor) -> Tensor:
        """Entry by entry."""
        others = FUNCTIONS[self.function](h[..., self.waves :])
        return torch.cat([h[..., : self.waves].sin(), others], -1) if self.waves else others

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """The slope of each entry."""
        slope = SLOPES[self.function](h[..., self.waves :])
        if self.waves:
            slope = torch.cat([h[..., : self.waves].cos(), slope], -1)
        return g * slope.unsqueeze(1)

    def record(self) -> Record:
        """The function's name and the number of waves."""
        return {"kind": "activate", "function": self.function, "waves": self.waves}


def _silu_slope(h: Tensor) -> Tensor:
    s = torch.sigmoid(h)
    return s * (1.0 + h * (1.0 - s))


def _gelu_slope(h: Tensor) -> Tensor:
    normal = (-0.5 * h * h).exp() / math.sqrt(2.0 * math.pi)
    return 0.5 * (1.0 + torch.erf(h / math.sqrt(2.0))) + h * normal


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {**ACTIVATIONS, "exp": torch.exp}
SLOPES: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": torch.exp,
    "relu": lambda h: (h > 0.0).to(h.dtype),
    "silu": _silu_slope,
    "gelu": _gelu_slope,
    "tanh": lambda h: 1.0 - h.tanh().square(),
}


class Scale(Stage):
    """shift + scale ⊙ h."""

    shift: Tensor
    scale: Tensor

    def __init__(self, shift: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("shift", shift.detach().reshape(-1).clone())
        self.register_buffer("scale", scale.detach().reshape(-1).clone())

    def forward(self, h: Tensor) -> Tensor:
        """Entry by entry."""
        return self.shift + self.scale * h

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """The factor."""
        return g * self.scale

    def record(self) -> Record:
        """Both."""
        return {"kind": "scale", "shift": plain(self.shift), "scale": plain(self.scale)}


class LayerNorm(Stage):
    """weight (h − mean h) / √(var h + ε) + bias."""

    weight: Tensor
    bias: Tensor

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.register_buffer("weight", norm.weight.detach().clone())
        self.register_buffer("bias", norm.bias.detach().clone())
        self.epsilon = float(norm.eps)

    def forward(self, h: Tensor) -> Tensor:
        """Over the entries of a row."""
        z, _ = self._normalised(h)
        return z * self.weight + self.bias

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """(a − mean a − z mean(a z)) / s  with  a = g weight."""
        z, s = (part.unsqueeze(1) for part in self._normalised(h))
        a = g * self.weight
        return (a - a.mean(-1, keepdim=True) - z * (a * z).mean(-1, keepdim=True)) / s

    def _normalised(self, h: Tensor) -> tuple[Tensor, Tensor]:
        centred = h - h.mean(-1, keepdim=True)
        s = (centred.square().mean(-1, keepdim=True) + self.epsilon).sqrt()
        return centred / s, s

    def record(self) -> Record:
        """Weight, bias and ε."""
        numbers = {"weight": plain(self.weight), "bias": plain(self.bias)}
        return {"kind": "layer-norm", **numbers, "epsilon": self.epsilon}


class Levels(Stage):
    """The sum of sub-networks, each given what the next deeper one computes (`multilevel.py`)."""

    def __init__(self, levels: Sequence[Sequence[Chain]], residual: bool) -> None:
        super().__init__()
        self.levels, self.residual = levels, residual
        self.registered = nn.ModuleList(chain for level in levels for chain in level)

    def forward(self, h: Tensor) -> Tensor:
        """The last outputs of all levels, added."""
        return torch.stack([made[-1] for _, made in self._run(h)]).sum(0)

    def _run(self, h: Tensor) -> list[tuple[list[Tensor], list[Tensor]]]:
        """What each map of each level gets and makes, from level 0 on."""
        found: list[tuple[list[Tensor], list[Tensor]]] = []
        for entry, *layers in reversed(self.levels):
            got, made = [h], [entry(h)]
            for i, layer in enumerate(layers, start=1):
                receives = self.residual and found and i >= 2
                got.append(made[-1] + found[-1][1][2 * i - 2] if receives else made[-1])
                made.append(layer(got[-1]))
            found.append((got, made))
        return found[::-1]

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """From level 0, which uses the others, to the deepest."""
        total, received = g.new_zeros(()), dict[int, Tensor]()
        for level, (got, _) in zip(self.levels, self._run(h), strict=True):
            handed: dict[int, Tensor] = {}
            back = g
            for i in reversed(range(1, len(got))):
                back = level[i].pull(got[i], back + received.get(i, 0.0))
                if self.residual and i >= 2:
                    handed[2 * i - 2] = back
            total = total + level[0].pull(h, back + received.get(0, 0.0))
            received = handed
        return total

    def record(self) -> Record:
        """Of each level, the stages of its maps."""
        levels = [[chain.records() for chain in level] for level in self.levels]
        return {"kind": "levels", "residual": self.residual, "levels": levels}


def _without_kind(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "kind"}
