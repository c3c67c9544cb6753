"""From values by name to flat inputs `(…, dim)` in numpy, with errors that name field and range.

`Domain.join` does the same for tensors that may carry gradients, in about a hundred small steps of
torch. A request of a hundred points has no time for them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from feynkac.errors import InputError
from feynkac.families.domain import ROUNDING, Domain
from feynkac.families.names import Place
from feynkac.families.reach import Reach
from feynkac.interfaces.server.problems import Fault, Problem, bad_value

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """The inputs of one solution."""

    reach: Reach
    places: dict[str, Place]
    low: Array
    high: Array
    floor: Array
    ceiling: Array
    """The bounds, widened by rounding."""
    still: Array
    """Fixed values, NaN where an entry varies."""

    @property
    def domain(self) -> Domain:
        """Where the network was trained."""
        return self.reach.domain

    def without_rule(self) -> "Inputs":
        """The same for all of the box, whatever the family allows."""
        return replace(self, reach=replace(self.reach, ruled=False))

    def hold(self, found: Array) -> bool:
        """Whether all inputs lie in the box.  Shape: `(…, dim)`."""
        return bool(((found >= self.floor) & (found <= self.ceiling)).all())

    def flat(
        self,
        at: Mapping[str, Any],
        most: int,
        field: str = "at",
        extrapolate: bool = False,
        absent: Sequence[int] = (),
    ) -> Array:
        """All inputs, inside the domain, or moved there by symmetries, unless `extrapolate`.

        Shape: `(…, dim)`.

        Args:
            at: numbers or nested lists by name.
            most: how many points there may be.
            field: of the body, for messages.
            extrapolate: allow inputs outside the domain.
            absent: columns that are not given; they are in the middle of their range.
        """
        given = [self._given(name, value, field) for name, value in at.items()]
        given.sort(key=lambda one: one[0].index is not None)  # entries say more
        found = np.empty((*_lead(given, most, field), len(self.low)))
        found[...] = self.still
        if absent:
            found[..., list(absent)] = 0.5 * (self.low + self.high)[list(absent)]
        for place, lead, values in given:
            found[..., place.columns] = values.reshape((*lead, -1))
        self._require_all(found, field)
        return self._checked(found, field, extrapolate)

    def _given(self, name: str, value: Any, field: str) -> tuple[Place, tuple[int, ...], Array]:
        """Where a value belongs, its leading axes, and itself."""
        place = self.place(name, f"{field}.{name}")
        values = as_array(value, f"{field}.{name}")
        shape, rank = place.shape, len(place.shape)
        if values.ndim == 0:
            return place, (), values
        if values.ndim < rank or values.shape[values.ndim - rank :] != shape:
            wanted = ", ".join(["…", *map(str, shape)])
            text = f"{field}.{name} must have shape ({wanted}), got {values.shape}."
            raise bad_value(Fault(f"{field}.{name}", value, text, ["…", *shape]))
        return place, values.shape[: values.ndim - rank], values

    def place(self, name: str, field: str) -> Place:
        """Where a variable or an entry stands."""
        found = self.places.get(name)
        if found is None:
            try:
                found = self.domain.place(name)
            except InputError as error:
                names = list(self.domain.measures)
                raise bad_value(Fault(field, name, f"{field}: {error}", names)) from None
        return found

    def _require_all(self, found: Array, field: str) -> None:
        gone = np.isnan(found[(0,) * (found.ndim - 1)])
        if gone.any():
            name = self.domain.entries[int(gone.argmax())]
            names = ", ".join(self.domain.free)
            text = f"{field}.{name} is missing; expected {names}."
            raise bad_value(Fault(f"{field}.{name}", None, text, self._range(int(gone.argmax()))))

    def _checked(self, found: Array, field: str, extrapolate: bool) -> Array:
        good = (found >= self.floor) & (found <= self.ceiling)
        if extrapolate:
            good |= self.low < self.high
        if not good.all():
            if not self._can_be_moved(found):
                raise self._outside(found, good, field)
            return found
        if extrapolate:
            return found
        np.maximum(found, self.low, out=found)
        np.minimum(found, self.high, out=found)
        if self.domain.rule is not None:
            self._require_allowed(found, field)
        return found

    def _can_be_moved(self, found: Array) -> bool:
        """Whether symmetries lead into the domain, as from any level of prices."""
        moved, _ = self.reach.moved(torch.as_tensor(found))
        return bool(self.domain.contains(moved).all())

    def _outside(self, found: Array, good: NDArray[np.bool_], field: str) -> Problem:
        rows, bad = found.reshape(-1, len(self.low)), ~good.reshape(-1, len(self.low))
        faults = []
        for column in np.flatnonzero(bad.any(0)).tolist():
            row = int(bad[:, column].argmax())
            name, value = f"{field}.{self.domain.entries[column]}", float(rows[row, column])
            low, high = self._range(column)
            point = f" (point {row})" * (len(rows) > 1)
            what = f"lies outside [{low:g}, {high:g}]" if low < high else f"is fixed at {low:g}"
            faults.append(Fault(name, value, f"{name} = {value:g}{point} {what}.", [low, high]))
        return bad_value(*faults)

    def _require_allowed(self, found: Array, field: str) -> None:
        fine = self.allowed(found)
        if not fine.all():
            row = int((~fine.reshape(-1)).argmax())
            at = self.domain.named(torch.as_tensor(found.reshape(-1, len(self.low))[row]))
            text = f"{field}: the family does not allow point {row}, {at}."
            raise bad_value(Fault(field, text, text))

    def allowed(self, found: Array) -> NDArray[np.bool_]:
        """Which inputs the family's rule allows.  Shape: `(…, dim)` → `(…,)`."""
        return np.asarray(self.domain.allowed(torch.as_tensor(found)).numpy(), dtype=bool)

    def _range(self, column: int) -> list[float]:
        return [float(self.low[column]), float(self.high[column])]


def as_array(value: Any, field: str) -> Array:
    """Numbers of a body.

    Raises:
        Problem: rows have different lengths.
    """
    try:
        return np.array(value, dtype=np.float64)
    except ValueError:
        text = f"{field} has rows of different lengths; give a full array."
        raise bad_value(Fault(field, value, text)) from None


def make_inputs(reach: Reach) -> Inputs:
    """What is looked up in every request, computed once."""
    domain = reach.domain
    low, high = (side.numpy().astype(np.float64) for side in domain.bounds)
    names = [*domain.measures, *domain.entries]
    slack = ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return Inputs(
        reach,
        {name: domain.place(name) for name in names},
        low,
        high,
        low - slack,
        high + slack,
        np.where(low < high, np.nan, low),
    )


def _lead(
    given: Sequence[tuple[Place, tuple[int, ...], Array]], most: int, field: str
) -> tuple[int, ...]:
    """The common leading axes of all values."""
    leads = {lead for _, lead, _ in given if lead}
    try:
        lead = leads.pop() if len(leads) == 1 else np.broadcast_shapes(*leads)
    except ValueError:
        shapes = ", ".join(f"{place.name} {lead}" for place, lead, _ in given)
        text = f"the shapes of the inputs do not broadcast: {shapes}."
        raise bad_value(Fault(field, shapes, text)) from None
    count = math.prod(lead)
    if not 1 <= count <= most:
        text = f"{field} has {count} points; send 1 to {most} in one request."
        raise bad_value(Fault(field, count, text, [1, most]))
    return lead
