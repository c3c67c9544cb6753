r"""Payoffs as objects: what is bought (a style) of which number (an index of the assets).

    call max(I − K, 0),   put max(K − I, 0),   digital 1{I > K},

with I the mean, geometric mean, largest or smallest of the assets, or the spread x₁ − x₂. For one
asset the first four are the asset itself. Any model of asset prices takes any payoff.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from feynkac.errors import InputError

INDICES: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda x: x.mean(-1, keepdim=True),
    "geometric": lambda x: x.log().mean(-1, keepdim=True).exp(),
    "max": lambda x: x.amax(-1, keepdim=True),
    "min": lambda x: x.amin(-1, keepdim=True),
    "spread": lambda x: x[..., :1] - x[..., 1:2],
}
STYLES: dict[str, Callable[[Tensor], Tensor]] = {
    "call": lambda gain: gain.clamp_min(0.0),
    "put": lambda gain: (-gain).clamp_min(0.0),
    "digital": lambda gain: (gain > 0.0).to(gain.dtype),
}
"""What is paid, as a function of the gain I − K."""


@dataclass(frozen=True)
class Payoff:
    """A style on an index, written `call:mean`.

    Example:
        >>> import torch
        >>> Payoff("put", on="max")(torch.tensor([90.0, 95.0]), torch.tensor([100.0]))
        tensor([5.])
        >>> str(Payoff.parse("digital"))
        'digital:mean'
    """

    style: str = "call"
    on: str = "mean"

    def __post_init__(self) -> None:
        for value, known in ((self.style, STYLES), (self.on, INDICES)):
            if value not in known:
                raise InputError(f"a payoff has no {value!r}; there are: {', '.join(known)}.")

    def __str__(self) -> str:
        return f"{self.style}:{self.on}"

    def __call__(self, assets: Tensor, strike: Tensor) -> Tensor:
        """Shape: assets `(…, n)`, strike `(…, 1)` → `(…, 1)`."""
        return STYLES[self.style](INDICES[self.on](assets) - strike)

    @property
    def jumps(self) -> bool:
        """Whether it is discontinuous."""
        return self.style == "digital"

    @classmethod
    def parse(cls, text: str) -> "Payoff":
        """From `style` or `style:index`."""
        return cls(*text.split(":", 1))
