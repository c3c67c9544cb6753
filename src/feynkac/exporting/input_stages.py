"""Stages in front of the layers: order, roots, logarithms, normalisation."""

from collections.abc import Sequence

import torch
from torch import Tensor

from feynkac.exporting.stage import Record, Stage, plain
from feynkac.families.exchange import order_of


class Order(Stage):
    """Entries at all `places` in rising order of the first place."""

    def __init__(self, places: Sequence[slice]) -> None:
        super().__init__()
        self.places = list(places)

    def forward(self, h: Tensor) -> Tensor:
        """Sorted."""
        return h.gather(-1, order_of(h, self.places))

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """Back to where the entries stood."""
        back = order_of(h, self.places).argsort(-1)
        return g.gather(-1, back.unsqueeze(1).expand_as(g))

    def record(self) -> Record:
        """Where each place starts and stops."""
        return {"kind": "order", "places": [[p.start, p.stop] for p in self.places]}


class Root(Stage):
    """√max(h, floor) in some columns."""

    def __init__(self, columns: Sequence[int], size: int, floor: float) -> None:
        super().__init__()
        self.columns, self.floor = list(columns), floor
        self.register_buffer("where", _marked(columns, size))

    where: Tensor

    def forward(self, h: Tensor) -> Tensor:
        """The root, elsewhere h."""
        return torch.where(self.where, h.clamp_min(self.floor).sqrt(), h)

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """1/(2√h), 0 below the floor."""
        slope = torch.where(h >= self.floor, 0.5 / h.clamp_min(self.floor).sqrt(), 0.0)
        return g * torch.where(self.where, slope, 1.0).unsqueeze(1)

    def record(self) -> Record:
        """Columns and floor."""
        return {"kind": "root", "columns": self.columns, "floor": self.floor}


class Log(Stage):
    """ln max(h, floor) in some columns."""

    def __init__(self, columns: Sequence[int], size: int, floor: float) -> None:
        super().__init__()
        self.columns, self.floor = list(columns), floor
        self.register_buffer("where", _marked(columns, size))

    where: Tensor

    def forward(self, h: Tensor) -> Tensor:
        """The logarithm, elsewhere h."""
        return torch.where(self.where, h.clamp_min(self.floor).log(), h)

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """1/h, 0 below the floor."""
        slope = torch.where(h >= self.floor, 1.0 / h.clamp_min(self.floor), 0.0)
        return g * torch.where(self.where, slope, 1.0).unsqueeze(1)

    def record(self) -> Record:
        """Columns and floor."""
        return {"kind": "log", "columns": self.columns, "floor": self.floor}


class Normalise(Stage):
    """(h − mean) / divisor; the divisor of what is fixed is infinite."""

    def __init__(self, mean: Tensor, divisor: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("divisor", divisor.clone())

    mean: Tensor
    divisor: Tensor

    def forward(self, h: Tensor) -> Tensor:
        """Mean 0 and variance 1."""
        return (h - self.mean) / self.divisor

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """1/divisor."""
        return g / self.divisor

    def record(self) -> Record:
        """Mean and factor, which is 0 for what is fixed: JSON has no infinity."""
        factor = 1.0 / self.divisor.double()
        return {"kind": "normalise", "mean": plain(self.mean), "factor": plain(factor)}


def _marked(columns: Sequence[int], size: int) -> Tensor:
    """Shape: `(size,)`, bool."""
    found = torch.zeros(size, dtype=torch.bool)
    found[list(columns)] = True
    return found
