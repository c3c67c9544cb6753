r"""Which symmetries of a family leave its network fewer inputs, and which inputs become pivots.

Of all choices of pivots, the one is taken after which the inputs are spread most evenly: the sum of
their excesses E z⁴ − 9/5 over that of the uniform law is least. Dividing by what may be nearly 0
makes that sum huge, so time is a pivot only where others are multiplied by it.
"""

import itertools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.scaling import scalings
from feynkac.families.symmetry import is_radial
from feynkac.networks.columns import make_columns
from feynkac.networks.reduction import Reduction, Unit

SAMPLE = 2**11
UNEVEN = 15.0  # the largest sum that is accepted, for each input that is saved
NONE = 1e-6
FEW_INPUTS = 12  # up to here, a network can see all of them
LONG = 4  # entries of a variable that may be seen through a few combinations of them


class Symmetries(NamedTuple):
    """What a network may make use of; by default nothing."""

    radial: bool = False
    units: tuple[Unit, ...] = ()

    def saved(self, domain: Domain) -> int:
        """How many inputs that leaves out."""
        return len(self.units) + (domain.state_dim - 1 if self.radial else 0)


def choose_symmetries(family: Family) -> Symmetries:
    """All of them, or as many as leave the inputs evenly spread.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> family = BlackScholes()
        >>> choose_symmetries(family).saved(family.domain)
        2
    """
    radial, found = is_radial(family), scalings(family, fixed=False)
    domain = family.domain
    rows = [[s.exponents.get(name, 0.0) for name in domain.entries] + [s.value] for s in found]
    basis = torch.tensor(rows, dtype=torch.float64).reshape(len(rows), domain.dim + 1)
    chosen = _chosen(domain, radial, basis)
    if domain.dim - chosen.saved(domain) <= FEW_INPUTS:
        return chosen
    long = [law.size >= LONG for law in domain.measures.values() for _ in law.low]
    mixes_long = basis[:, :-1][:, long].any(-1)  # `choose_subspaces` needs these as they are
    return _chosen(domain, radial, basis[~mixes_long])


def _chosen(domain: Domain, radial: bool, basis: Tensor) -> Symmetries:
    for size in range(len(basis), 0, -1):
        tried = [
            (_unevenness(domain, radial, units), units)
            for some in itertools.combinations(range(len(basis)), size)
            for units in _choices(domain, radial, basis[list(some)])
        ]
        cost, units = min(tried, key=lambda pair: pair[0], default=(math.inf, ()))
        if cost <= UNEVEN * size:
            return Symmetries(radial, units)
    return Symmetries(radial)


def _choices(domain: Domain, radial: bool, basis: Tensor) -> list[tuple[Unit, ...]]:
    """All choices of pivots, positive inputs that vary, for the scalings of `basis`."""
    exchanged = [domain.slices()[name] for name in domain.exchanged]
    exchanged += [domain.slices()["x"]] if radial else []
    taken = {column for where in exchanged for column in range(where.start, where.stop)}
    low = domain.bounds[0]
    open_to = [
        column
        for column in range(domain.dim)
        if domain.varies[column] and low[column] >= 0.0 and column not in taken
    ]
    found = []
    for pivots in itertools.combinations(reversed(open_to), len(basis)):
        square = basis[:, pivots]
        if torch.linalg.det(square).abs() > NONE:
            found.append(_units(domain, pivots, torch.linalg.solve(square, basis)))
    return found


def _units(domain: Domain, pivots: tuple[int, ...], exponents: Tensor) -> tuple[Unit, ...]:
    entries = domain.entries
    return tuple(
        Unit(
            entries[pivot],
            tuple(
                (entries[c], round(power, 6))
                for c, power in enumerate(row[:-1].tolist())
                if c not in pivots and abs(power) > NONE
            ),
            round(row[-1].item(), 6) + 0.0,
        )
        for pivot, row in zip(pivots, exponents, strict=True)
    )


def _unevenness(domain: Domain, radial: bool, units: tuple[Unit, ...]) -> float:
    """Σ_j (E z_j⁴ − 9/5)₊ over the inputs that are mixed, and over the unit of u."""
    reduction = Reduction(domain, radial, units)
    columns = make_columns(domain, reduction, root_time=True, log_ranges=True)
    inputs = domain.sample(SAMPLE, torch.Generator().manual_seed(1), torch.float64)
    unit = reduction.double().unit(inputs)
    read = columns.read(reduction(inputs))[:, reduction.touched]
    if isinstance(unit, Tensor):
        read = torch.cat([read, unit], dim=-1)
    if not read.shape[-1]:  # u does not depend on the pivots
        return 0.0
    z = (read - read.mean(0)) / read.std(0)
    found = (z.pow(4).mean(0) - 1.8).clamp_min(0.0).sum().item()
    return found if math.isfinite(found) else math.inf
