"""Stages of networks that see fewer inputs by symmetry (`networks/reduction.py`)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from feynkac.exporting.stage import Chain, Record, Stage, plain


class Radius(Stage):
    """|h| of the first `count` entries in their place."""

    def __init__(self, count: int, floor: float) -> None:
        super().__init__()
        self.count, self.floor = count, floor

    def forward(self, h: Tensor) -> Tensor:
        """One entry for them, then the others."""
        return torch.cat([self._radius(h), h[..., self.count :]], -1)

    def _radius(self, h: Tensor) -> Tensor:
        return (h[..., : self.count].square().sum(-1, keepdim=True) + self.floor).sqrt()

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """h/|h|."""
        unit = (h[..., : self.count] / self._radius(h)).unsqueeze(1)
        return torch.cat([g[..., :1] * unit, g[..., 1:]], -1)

    def record(self) -> Record:
        """Count, and what is added to the square."""
        return {"kind": "radius", "count": self.count, "floor": self.floor}


class Units(Stage):
    """M · f(λ′), where λ′ are the kept entries times powers of pivots, and M is one as well."""

    powers: Tensor
    pivot: Tensor
    keep: Tensor

    def __init__(
        self,
        pivots: Sequence[int],
        kept: Sequence[int],
        powers: Tensor,
        floor: float,
        stages: Sequence[Stage],
    ) -> None:
        super().__init__()
        self.pivots, self.kept, self.floor = list(pivots), list(kept), floor
        unit = torch.eye(len(self.pivots) + len(self.kept))
        self.register_buffer("powers", powers.detach().clone())
        self.register_buffer("pivot", unit[self.pivots])
        self.register_buffer("keep", unit[self.kept])
        self.inner = Chain(stages)

    def forward(self, h: Tensor) -> Tensor:
        """In units, the stages, and back."""
        factors = self._factors(h)
        return self.inner(h @ self.keep.mT * factors[..., :-1]) * factors[..., -1:]  # type: ignore[no-any-return]

    def _factors(self, h: Tensor) -> Tensor:
        return ((h @ self.pivot.mT).clamp_min(self.floor).log() @ self.powers).exp()

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """By the product rule; ln of a factor has the slope power/pivot in each pivot."""
        factors = self._factors(h)
        seen = h @ self.keep.mT * factors[..., :-1]
        value = self.inner(seen)
        back = self.inner.pull(seen, g * factors[..., -1:].unsqueeze(1))
        whole = (g * (value * factors[..., -1:]).unsqueeze(1)).sum(-1, keepdim=True)
        terms = torch.cat([back * seen.unsqueeze(1), whole], -1)
        pivots = h @ self.pivot.mT
        slopes = torch.where(pivots >= self.floor, 1.0 / pivots.clamp_min(self.floor), 0.0)
        turned = terms @ self.powers.mT * slopes.unsqueeze(1)
        return back * factors[..., :-1].unsqueeze(1) @ self.keep + turned @ self.pivot

    def record(self) -> Record:
        """Pivots, what is kept, powers by pivot (that of M last), and the stages in these units."""
        return {
            "kind": "units",
            "pivots": self.pivots,
            "kept": self.kept,
            "powers": plain(self.powers),
            "floor": self.floor,
            "stages": self.inner.records(),
        }
