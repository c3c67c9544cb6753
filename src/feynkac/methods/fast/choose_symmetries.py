r"""Which symmetries of a family leave its network fewer inputs, and which inputs become pivots.

Of all choices of pivots, the one is taken after which the inputs are spread most evenly: the sum of
their excesses E z⁴ − 9/5 over that of the uniform law is least. Dividing by what may be nearly 0
makes that sum huge, so time is a pivot only where others are multiplied by it. Likewise for u in
its unit M, if it is spread less evenly than u, by rough labels: u/σ² is, unless u falls with σ².
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
from feynkac.sampling.chunks import path_numbers, rows_drawn
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama

SAMPLE = 2**11
ROUGH, PATHS = EulerMaruyama(steps=4), 16
UNEVEN = 15.0  # the largest sum that is accepted, for each input that is saved
UNEVEN_VALUES = 4.0  # the same of u/M, over that of u
NONE = 1e-6
FEW_INPUTS = 12  # up to here, a network can see all of them
LONG = 4  # entries of a variable that may be seen through a few combinations of them


class Sample(NamedTuple):
    """Inputs of a family `(N, dim)` and rough values of u there `(N, outputs)`, float64."""

    domain: Domain
    inputs: Tensor
    values: Tensor


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
    if not found:
        return Symmetries(radial)
    rows = [[s.exponents.get(name, 0.0) for name in domain.entries] + [s.value] for s in found]
    basis = torch.tensor(rows, dtype=torch.float64).reshape(len(rows), domain.dim + 1)
    sample = _sample(family)
    chosen = _chosen(sample, radial, basis)
    if domain.dim - chosen.saved(domain) <= FEW_INPUTS:
        return chosen
    long = [law.size >= LONG for law in domain.measures.values() for _ in law.low]
    mixes_long = basis[:, :-1][:, long].any(-1)  # `choose_subspaces` needs these as they are
    return _chosen(sample, radial, basis[~mixes_long])


@torch.no_grad()
def _sample(family: Family) -> Sample:
    generator = make_generator(1, "symmetries")
    inputs = family.domain.sample(SAMPLE, generator, torch.float64)
    rows = rows_drawn(PATHS * path_numbers(family, ROUGH), inputs.dtype.itemsize)
    found = [labels(family, ROUGH, some, generator, PATHS) for some in torch.split(inputs, rows)]
    return Sample(family.domain, inputs, torch.cat(found))


def _chosen(sample: Sample, radial: bool, basis: Tensor) -> Symmetries:
    left = int(sample.domain.varies.sum()) - Symmetries(radial).saved(sample.domain)
    for size in range(min(len(basis), left - 1), 0, -1):  # a network needs something to see
        tried = [
            (_unevenness(sample, radial, units), units)
            for some in itertools.combinations(range(len(basis)), size)
            for units in _choices(sample.domain, radial, basis[list(some)])
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


def _unevenness(sample: Sample, radial: bool, units: tuple[Unit, ...]) -> float:
    """Σ_j (E z_j⁴ − 9/5)₊ over the inputs that are mixed, and what u/M has more than u."""
    reduction = Reduction(sample.domain, radial, units)
    columns = make_columns(sample.domain, reduction, root_time=True, log_ranges=True)
    unit = reduction.double().unit(sample.inputs)
    read = columns.read(reduction(sample.inputs))[:, reduction.touched]
    found = _excess(read).sum()
    if isinstance(unit, Tensor):
        more = _excess(_tame(sample.values / unit)) - _excess(_tame(sample.values))
        found += torch.where(more.mean() < UNEVEN_VALUES, more.mean().clamp_min(0.0), math.inf)
    return found.item() if found.isfinite() else math.inf


def _tame(values: Tensor) -> Tensor:
    """Without outliers, which rough labels have."""
    values = values[values.isfinite().all(-1)]
    if not len(values):
        return torch.zeros(2, values.shape[-1], dtype=values.dtype)
    low, high = values.quantile(torch.tensor([0.01, 0.99], dtype=values.dtype), dim=0)
    return values.clamp(low, high)


def _excess(values: Tensor) -> Tensor:
    """(E z⁴ − 9/5)₊, 0 of what does not vary.  Shape: `(N, n)` → `(n,)`."""
    if not values.shape[-1]:
        return values.new_zeros(0)
    z = (values - values.mean(0)) / values.std(0)
    return torch.where(z.isfinite(), z, 0.0).pow(4).mean(0).sub(1.8).clamp_min(0.0)
