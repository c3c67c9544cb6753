r"""Does u have the shapes that its family declares? An arbitrage report of a solution.

At random inputs, each shape (`families/shapes.py`) says by how much u violates it, in units of u. A
violation counts if it is above a tolerance of a millionth of 1 + |u|.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.chunks import over_rows
from feynkac.analysis.partials import Map, has_slope
from feynkac.analysis.quoted_errors import read_quote
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.families.scaling import homogeneous
from feynkac.families.shapes import Calendar, Shape, Shaped

TOLERANCE = 1e-6  # of 1 + |u|
ROWS = 2**12  # at a time


@dataclass(frozen=True)
class Violations:
    """Where u violates one shape.

    Example:
        >>> Violations("rises with t", share=0.0, mean=0.0, largest=0.0, worst=None, inputs=9).kept
        True
    """

    sentence: str
    """What u should do."""
    share: float
    """Of the inputs at which it does not."""
    mean: float
    """Mean size over these inputs, in units of u; 0 without any."""
    largest: float
    worst: dict[str, Any] | None
    """The input of the largest violation, by name."""
    inputs: int
    """At how many it was checked."""

    @property
    def kept(self) -> bool:
        """Whether no input violates it."""
        return self.share == 0.0


@dataclass(frozen=True, repr=False)
class ShapeReport(Shown):
    """All shapes of a family, one after the other; see `solution.shape()`.

    Example:
        >>> report = solution.shape(1000)
        >>> len(report.rows) == len(solution.family.shapes)
        True
    """

    rows: tuple[Violations, ...]
    tolerance: float
    """A violation is larger than so many times 1 + |u|."""
    unseen: tuple[str, ...] = ()
    """What u should do along variables that are fixed here, so that nothing was checked."""

    def record(self) -> dict[str, Any]:
        """As plain numbers."""
        rows = [vars(row) for row in self.rows]
        return {"tolerance": self.tolerance, "shapes": rows, "unseen": list(self.unseen)}

    def card(self) -> Card:
        """The sentence, and the share of violations of each shape."""
        rows = {f"u {row.sentence}": _violated(row) for row in self.rows}
        rows |= {f"u {sentence}": "not checked: it is fixed" for sentence in self.unseen}
        return Card(f"Shapes: {self.summary}", rows=rows)

    @property
    def summary(self) -> str:
        """One sentence for a reader in a hurry."""
        bad = [row for row in self.rows if not row.kept]
        if not bad:
            return f"all {len(self.rows)} shapes hold at every input checked."
        worst = max(bad, key=lambda row: row.largest)
        return (
            f"{len(bad)} of {len(self.rows)} shapes are violated somewhere; the largest violation "
            f"is {worst.largest:.2g} (u {worst.sentence}), at {worst.share:.2%} of the inputs."
        )


def _violated(row: Violations) -> str:
    return "kept" if row.kept else f"violated at {row.share:.2%}, by at most {row.largest:.2g}"


def check_shape(
    u: Map,
    family: Family,
    inputs: Tensor,
    tolerance: float = TOLERANCE,
) -> ShapeReport:
    """The shapes of `family` that can be seen on its domain, of any u.

    Args:
        u: values `(N, 1)` at flat inputs, in float64.
        family: says which shapes hold.
        inputs: where to look, `(N, dim)`, float64.
        tolerance: relative to 1 + |u|.
    """
    if not isinstance(family, Shaped):
        raise InputError(
            f"{type(family).__name__} declares no shapes; make it Shaped, with a property `shapes` "
            "such as (fk.Monotone('x', 1), fk.Convex('x'))."
        )
    if not tolerance >= 0.0:
        raise InputError(f"a tolerance is not negative, got {tolerance}.")
    with torch.no_grad():
        values = over_rows(u, inputs, ROWS)
        if values.shape[-1] > 1:
            raise InputError("shapes are those of one output; choose it: solution.output(0).")
        limit = tolerance * (1.0 + values.squeeze(-1).abs())
        shapes = [(shape, _seen(family, shape)) for shape in family.shapes]
        rows = tuple(_check(u, family, shape, inputs, limit) for shape, seen in shapes if seen)
    return ShapeReport(rows, tolerance, tuple(s.sentence for s, seen in shapes if not seen))


def check_parity(
    u: Map,
    family: Family,
    partner: Map,
    partner_family: Family,
    inputs: Tensor,
    tolerance: float = TOLERANCE,
) -> Violations:
    """Put–call parity, C − P = D (F − K), of two solutions of one model.

    Args:
        u: values of the one, as in `check_shape`.
        family: of u.
        partner: values of the other, a put if u is a call.
        partner_family: of the partner, with the same variables.
        inputs: where to look, `(N, dim)`; those outside the partner's domain are left out.
        tolerance: relative to 1 + |u|.
    """
    _require_partners(family, partner_family)
    inputs = inputs[partner_family.domain.contains(inputs)]
    if not len(inputs):
        raise InputError("no input lies in both domains; solve both options on one domain.")
    _, quote = read_quote(family, inputs)
    sign = torch.where(torch.as_tensor(quote.call), 1.0, -1.0)
    forward_contract = quote.discount * (quote.forward - quote.strike)
    with torch.no_grad():
        value, other = (over_rows(f, inputs, ROWS) for f in (u, partner))
        gap = (sign * (value - other) - forward_contract).abs().squeeze(-1)
        limit = tolerance * (1.0 + value.abs().squeeze(-1))
    return _violations("is in put–call parity with its partner", family, inputs, gap, limit)


def _require_partners(family: Family, partner: Family) -> None:
    if list(family.domain.measures) != list(partner.domain.measures):
        raise InputError(
            f"put–call parity is between two options of one model; {family.name()} and "
            f"{partner.name()} have other variables."
        )
    middle = family.domain.mean[None]
    _, ours = read_quote(family, middle)
    _, theirs = read_quote(partner, middle)
    if bool(torch.as_tensor(ours.call).all()) == bool(torch.as_tensor(theirs.call).all()):
        raise InputError(
            "put–call parity is between a call and a put, but both are of one kind; solve the "
            'other one, such as fk.Heston(fk.Payoff("put")).'
        )


def _seen(family: Family, shape: Shape) -> bool:
    """Whether it is along variables that vary, or can be told from another one."""
    fixed = [name for name in shape.along if not has_slope(family.domain, name)]
    told = fixed == ["strike"] and isinstance(shape, Calendar) and homogeneous(family)
    return told or not fixed


def _check(u: Map, family: Family, shape: Shape, inputs: Tensor, limit: Tensor) -> Violations:
    found = over_rows(lambda block: shape.violation(u, family, block), inputs, ROWS)
    return _violations(shape.sentence, family, inputs, found, limit)


def _violations(
    sentence: str, family: Family, inputs: Tensor, found: Tensor, limit: Tensor
) -> Violations:
    looked = found > -torch.inf
    violated = found > limit
    count, checked = int(violated.sum()), int(looked.sum())
    worst = int(found.argmax())
    return Violations(
        sentence=sentence,
        share=count / max(1, checked),
        mean=found[violated].mean().item() if count else 0.0,
        largest=found[worst].item() if count else 0.0,
        worst=family.domain.named(inputs[worst]) if count else None,
        inputs=checked,
    )
