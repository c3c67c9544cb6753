r"""Quotes as inputs of a family, at the level where it was solved:

    price = factor · u(inputs) + shift,     factor = s D / D̂,   shift from put–call parity.

The family's own forward must be the quoted one, F = s F̂, with strikes K = s K̂: so dividends and
rates that the family does not know are in its spot and in the factor. A family that is homogeneous
in spot and strike takes another s for each quote, every other family one s for all. Its parameters
are then those at prices divided by s. The network of an `Elastic` family is asked at yet another
level for each quote, with the volatility that belongs there (`levelled`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import ROUNDING, Domain
from feynkac.families.elastic import SCALE, Elastic, at_level
from feynkac.families.family import Family, outputs
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Measure
from feynkac.families.names import parse_name
from feynkac.families.quoted import Quoted
from feynkac.families.scaling import homogeneous
from feynkac.market.quotes import Array, BondQuotes, OptionQuotes, Quotes

TINY = 1e-300
SAME = 0.05  # relative: prices nearer to 100 are at that level
STRIKE, RATE, DIVIDEND, TIME = "strike", "rate", "dividend", "t"


@dataclass(frozen=True)
class Placed:
    """Quotes that the family covers, and what it must be asked for them."""

    quotes: Quotes
    domain: Domain
    """The family's; where its formula is asked, wide enough for all quotes."""
    known: dict[str, Any]
    """Values by name, `(n,)` each."""
    free: tuple[str, ...]
    factor: Array
    shift: Array
    notes: list[str]

    @property
    def observed(self) -> Array:
        """Quoted prices as values of u."""
        return (self.quotes.price - self.shift) / self.factor


def place(
    family: Family,
    quotes: Quotes,
    given: Mapping[str, Any],
    free: Sequence[str] | None,
    anywhere: bool,
) -> Placed:
    """The quotes at the family's level.

    Args:
        family: Heston and the like for options, Vasicek and the like for bonds.
        quotes: from a sheet.
        given: other variables that are known.
        free: variables to find; by default all that quotes and `given` leave open.
        anywhere: whether u is known outside the box too, as a formula is.
    """
    if isinstance(quotes, BondQuotes):
        asked = _bonds(family, quotes)
    elif isinstance(quotes, OptionQuotes):
        asked = _options(family, quotes)
    else:
        raise InputError(f"expected quotes of options or bonds, got {type(quotes).__name__}.")
    reasons = [""] * len(quotes) if anywhere else _outside(family.domain, asked.inside)
    keep = np.array([not reason for reason in reasons])
    kept = quotes.select(keep, reasons)
    if not len(kept):
        raise InputError(
            f"{family.name()} was solved where none of the {len(quotes)} quotes lies: "
            f"{kept.reading.dropped[-1].reason}."
        )
    columns = {name: column[keep] for name, column in asked.known.items()}
    if both := sorted(columns.keys() & given.keys()):
        raise InputError(
            f"{both[0]} follows from the quotes and cannot be given beside them; rates and "
            "dividends belong to the sheet (`rate=0.03`, `dividend=0.01`)."
        )
    wide = anywhere or isinstance(family, Elastic)
    domain = _widened(family.domain, columns) if wide else family.domain
    known = columns | dict(given)
    chosen = tuple(free) if free else _left(domain, known)
    return Placed(kept, domain, known, chosen, asked.factor[keep], asked.shift[keep], asked.notes)


class _Asked(NamedTuple):
    """What a family is asked for quotes, `(n,)` each."""

    known: dict[str, Array]
    inside: dict[str, Array]
    """The same where the network is asked."""
    factor: Array
    shift: Array
    notes: list[str]


def _bonds(family: Family, quotes: BondQuotes) -> _Asked:
    if isinstance(family, Quoted) or not _pays_one(family):
        raise InputError(
            f"the sheet quotes bonds, but {family.name()} does not price them; use vasicek or cir."
        )
    columns, ones = {TIME: quotes.t}, np.ones(len(quotes))
    return _Asked(columns, columns, ones, 0.0 * ones, [])


def quotable(family: Family) -> bool:
    """Whether a sheet of options or of bonds can be fitted.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> quotable(HeatGaussian(dim=1))
        False
    """
    options = isinstance(family, Quoted) and STRIKE in family.domain.measures
    return options or (outputs(family) == 1 and _pays_one(family))


def _pays_one(family: Family) -> bool:
    generator = torch.Generator().manual_seed(0)
    x, _, p = family.domain.split(family.domain.sample(8, generator, torch.float64))
    return bool((family.initial(x, p) == 1.0).all())


def _options(family: Family, quotes: OptionQuotes) -> _Asked:
    domain = family.domain
    asset = domain.entries[0]
    columns = {TIME: quotes.t, **_rates(domain, quotes)}
    forward, discount, call = _quoted(family, columns)
    spot = domain.mean[0].item() * quotes.forward / forward  # the family's F is proportional to it
    s, notes = _levels(family, spot, quotes.strike)
    columns |= {asset: spot / s, STRIKE: quotes.strike / s}
    own = _into_box(domain, columns) if isinstance(family, Elastic) else 1.0
    inside = columns | {name: columns[name] / own for name in (asset, STRIKE)}
    parity = quotes.discount * (quotes.strike - quotes.forward)  # of a put less a call
    shift = np.where(quotes.call == call, 0.0, np.where(quotes.call, -parity, parity))
    return _Asked(columns, inside, s * quotes.discount / discount, shift, notes)


def _rates(domain: Domain, quotes: OptionQuotes) -> dict[str, Array]:
    """Rates and dividends that the family has, as near to the quoted ones as it knows them."""
    wanted = {RATE: -np.log(quotes.discount) / quotes.t, DIVIDEND: np.zeros(len(quotes))}
    found = {}
    for name in wanted.keys() & domain.measures.keys():
        low, high = (side[domain.place(name).columns].item() for side in domain.bounds)
        found[name] = np.clip(wanted[name], low, high)
    return found


def _quoted(family: Family, columns: Mapping[str, Array]) -> tuple[Array, Array, Any]:
    """Forward, discount factor, and whether it is a call, of the family at its mean price."""
    domain, count = family.domain, len(columns[TIME])
    inputs = domain.mean.expand(count, -1).clone()
    for name, column in columns.items():
        inputs[:, domain.place(name).columns] = torch.as_tensor(column).unsqueeze(-1)
    quote = None
    if isinstance(family, Quoted) and STRIKE in domain.measures:
        quote = family.quote(*domain.split(inputs))
    if quote is None:
        raise InputError(
            f"the sheet quotes calls and puts, but {family.name()} does not price them; use a "
            "model of one asset with a strike, such as heston, sabr or cev."
        )
    sides = (quote.forward, quote.discount, quote.call)
    forward, discount, call = (
        np.asarray(torch.as_tensor(side).broadcast_to(count, 1).squeeze(-1)) for side in sides
    )
    return forward, discount, call


def _levels(family: Family, spot: Array, strike: Array) -> tuple[Array, list[str]]:
    """s, one per quote if the family is homogeneous."""
    domain = family.domain
    if homogeneous(family):
        return _into_box(domain, {domain.entries[0]: spot, STRIKE: strike}), []
    low, high = (side[0].item() for side in domain.bounds)
    level = float(np.exp(np.log(spot).mean()))
    if low <= spot.min() and spot.max() <= high:
        if not isinstance(family, Elastic) or abs(level / SCALE - 1.0) < SAME:
            return np.ones(len(spot)), []
        at = f"the volatility of {family.name()} is that at a price of {SCALE:g}"
        return np.ones(len(spot)), [f"{at}; the quotes are at about {level:.6g}."]
    middle = SCALE if isinstance(family, Elastic) else 0.5 * (low + high)
    note = f"prices are divided by {level / middle:.6g}: the parameters of {family.name()} are"
    return np.full(len(spot), level / middle), [f"{note} those where {level:.6g} is {middle:g}."]


def _into_box(domain: Domain, columns: Mapping[str, Array]) -> Array:
    """What divides price and strike such that both are in the box, if that is possible."""
    least, most = np.zeros(()), np.full((), np.inf)
    inside = np.ones((), dtype=bool)
    for name in (domain.entries[0], STRIKE):
        low, high = (side[domain.place(name).columns].item() for side in domain.bounds)
        value = columns[name]
        least, most = np.maximum(least, value / high), np.minimum(most, value / max(low, TINY))
        inside = inside & (value >= low) & (value <= high)
    return np.where(inside, 1.0, np.sqrt(least * most))


def levelled(family: Family, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs in the box of an elastic family, and what u there is to be multiplied by.

    Shape: `(…, dim)` → `(…, dim)`, `(…, 1)`; for other families the inputs themselves.
    """
    if not isinstance(family, Elastic):
        return inputs, inputs.new_ones(())
    domain = family.domain
    columns = {
        name: inputs[..., domain.place(name).columns].detach().double().numpy()
        for name in (domain.entries[0], STRIKE)
    }
    s = torch.as_tensor(_into_box(domain, columns)).to(inputs)
    return at_level(family, inputs, s), s


def _outside(domain: Domain, columns: Mapping[str, Array]) -> list[str]:
    """Why each quote is not in the box; empty if it is."""
    found = [""] * len(next(iter(columns.values())))
    for name, column in columns.items():
        low, high = (side[domain.place(name).columns].item() for side in domain.bounds)
        slack = ROUNDING * max(abs(low), abs(high))
        for i in np.flatnonzero((column < low - slack) | (column > high + slack)):
            found[i] = found[i] or (
                f"{name} = {column[i]:.5g} is outside [{low:g}, {high:g}], where the solution was "
                "trained"
            )
    return found


def _widened(domain: Domain, columns: Mapping[str, Array]) -> Domain:
    """Wide enough for these columns; the entries beside them keep their law."""
    low, high = (side.clone() for side in domain.bounds)
    names = set()
    for name, column in columns.items():
        if any(_outside(domain, {name: column})):
            place = domain.place(name).columns
            low[place] = min(low[place].item(), column.min())
            high[place] = max(high[place].item(), column.max())
            names.add(parse_name(name)[0])
    laws: dict[str, Measure] = {}
    for name in names:
        where, law = domain.slices()[name], domain.measures[name]
        kind = LogUniform if isinstance(law, LogUniform) else Box
        a, b = (side[where].reshape(law.shape).tolist() for side in (low, high))
        laws[name] = kind(a, b)
    return domain.replacing(laws)


def _left(domain: Domain, known: Mapping[str, Any]) -> tuple[str, ...]:
    """What is not known, in parts if a part is."""
    places = [domain.place(name).columns for name in known]
    columns = {i for place in places for i in range(place.start, place.stop)}
    varies = domain.varies.tolist()
    return tuple(name for i, name in enumerate(domain.entries) if i not in columns and varies[i])
