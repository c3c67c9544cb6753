r"""How a network reads the columns of its (reduced) inputs: as they are, by roots or by logarithms.

√t in place of t, since u varies on that scale near a kink of φ; the logarithm of what is uniform in
it. A column that is measured in powers of t (`reduction.py`), such as vt, is read by its root, too.
Means and variances are known exactly, or estimated on a sample where symmetry has mixed inputs.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Measure, vector
from feynkac.networks.reduction import Reduction

SHORTEST_TIME = 1e-6  # of the longest: √t has no derivative at 0
SAMPLE = 2**15


class Columns(NamedTuple):
    """What is done to each column, and its moments after that."""

    rooted: list[int]
    logged: list[int]
    floor: Tensor
    """The smallest value whose root or logarithm is taken.  Shape: `(columns,)`."""
    mean: Tensor
    std: Tensor
    varies: Tensor
    places: dict[str, slice]
    """Where the variables stand that are left."""

    def read(self, values: Tensor) -> Tensor:
        """Roots and logarithms.  Shape: `(…, columns)` → `(…, columns)`."""
        if not self.rooted and not self.logged:
            return values
        seen, values = values, values.clone()
        floor = self.floor.to(values)
        for where in self.rooted:
            values[..., where] = seen[..., where].clamp_min(floor[where]).sqrt()
        for where in self.logged:
            values[..., where] = seen[..., where].clamp_min(floor[where]).log()
        return values

    def stretch(self, values: Tensor, std: Tensor) -> Tensor:
        """Derivatives of the columns in what is read of them, normalised.  Shape: as `read`."""
        factors = std.expand(values.shape).clone()
        for where in self.rooted:
            factors[..., where] *= 2.0 * values[..., where].sqrt()
        for where in self.logged:
            factors[..., where] *= values[..., where]
        return factors


def make_columns(
    domain: Domain, reduction: Reduction, root_time: bool, log_ranges: bool
) -> Columns:
    """Those that are left of the inputs, with √t and logarithms where they are wanted."""
    kept, touched = reduction.kept, reduction.touched
    logged = _logged(domain, reduction) if log_ranges else []
    rooted = [c for c in _rooted(domain, reduction) if c not in logged] if root_time else []
    mean, std = moments(domain, root_time, log_ranges)
    floor = torch.full((len(kept),), torch.finfo(torch.float32).tiny, dtype=torch.float64)
    time = domain.slices()["t"].start
    if time in kept:
        floor[kept.index(time)] = SHORTEST_TIME * domain.measures["t"].high[0]
    floor[logged] = torch.finfo(torch.float32).tiny
    found = Columns(
        rooted, logged, floor, mean[kept], std[kept], domain.varies[kept], _places(domain, kept)
    )
    return _estimated(domain, reduction, found) if touched.any() else found


def _estimated(domain: Domain, reduction: Reduction, columns: Columns) -> Columns:
    """With the moments of mixed columns from a sample.

    A sample of the measures alone: what was trained on inputs drawn together is loaded without.
    """
    touched, generator = reduction.touched, torch.Generator().manual_seed(0)
    independent = Domain(**domain.measures)
    sample = reduction.double()(independent.sample(SAMPLE, generator, torch.float64))
    reduction.float()
    floor = torch.where(touched, SHORTEST_TIME * sample.amax(0), columns.floor)
    read = columns._replace(floor=floor).read(sample)
    mean = torch.where(touched, read.mean(0), columns.mean)
    std = torch.where(touched, read.std(0), columns.std)
    return columns._replace(floor=floor, mean=mean, std=std, varies=columns.varies | touched)


def _logged(domain: Domain, reduction: Reduction) -> list[int]:
    """Columns of positive inputs that are, or are measured in, what is uniform in the logarithm."""
    laws = [isinstance(law, LogUniform) for law in domain.measures.values() for _ in law.low]
    units = [laws[pivot] for pivot in reduction.pivots]
    mixed = (reduction.powers[units, :-1] != 0.0).any(0)
    return [
        place
        for place, column in enumerate(reduction.kept)
        if laws[column] or (bool(mixed[place]) and domain.bounds[0][column] > 0.0)
    ]


def _rooted(domain: Domain, reduction: Reduction) -> list[int]:
    """That of time, or those measured in whole powers of it."""
    time = domain.slices()["t"].start
    if time in reduction.kept:
        return [reduction.kept.index(time)]
    powers = reduction.powers[reduction.pivots.index(time), :-1]
    low = domain.bounds[0][reduction.kept]
    return [c for c, power in enumerate(powers.tolist()) if power >= 1.0 and low[c] >= 0.0]


def _places(domain: Domain, kept: list[int]) -> dict[str, slice]:
    found = {}
    for name, where in domain.slices().items():
        inside = [place for place, c in enumerate(kept) if where.start <= c < where.stop]
        if inside:
            found[name] = slice(inside[0], inside[-1] + 1)
    return found


def logarithmic(domain: Domain) -> list[slice]:
    """Where the variables stand whose law is uniform in the logarithm."""
    where = domain.slices()
    return [where[name] for name, law in domain.measures.items() if isinstance(law, LogUniform)]


def moments(domain: Domain, root_time: bool, log_ranges: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the inputs, √t and logarithms where seen.  Shape: `(dim,)`."""
    mean, std = domain.mean.clone(), domain.std.clone()
    if root_time:
        time = domain.slices()["t"]
        mean[time], std[time] = _root_moments(domain.measures["t"])
    for where in logarithmic(domain) if log_ranges else []:
        low, high = domain.bounds
        low, high = low[where].log(), high[where].log()
        mean[where], std[where] = 0.5 * (low + high), (high - low) / 12**0.5
    return mean, std


def _root_moments(t: Measure) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of √t.  Shape: `(1,)`."""
    if not isinstance(t, Box):
        return t.moments(torch.sqrt)
    low, high = t.low[0], t.high[0]
    root = 2.0 / 3.0 * (high**1.5 - low**1.5) / (high - low)
    return vector([root]), (t.mean - root**2).sqrt()  # E(√t)² = E t
