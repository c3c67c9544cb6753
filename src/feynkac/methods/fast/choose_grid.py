r"""Whether finite differences give the labels, how fine they are, and for how many parameter sets.

The error has a share per axis and one of time: what 1.5 times the nodes, or steps, there change.
Those whose share is large are refined until the whole is small, or labels would be too few.
"""

import math
from dataclasses import replace

from torch import Tensor

from feynkac.clock import Allowance, Clock
from feynkac.families.capabilities import ExactSampler
from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family, jumps
from feynkac.grids.grid import Grid, at_once, grid_dims, read_grid, suits
from feynkac.grids.table import grouped_inputs
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.methods.fast.path_data import PathData
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.path import weak_order

FIRST = {1: Grid((65,), 24), 2: Grid((65, 33), 24)}
QUIET, QUIET_PILOT = 7e-3, (64, 512)  # difference of two labels, relative; inputs and paths
NOISES = (Sobol(), Stretched())
SMALL, LARGE = 1e-4, 1e-3  # error, mean relative to s + |u|: enough; too much
PILOT_SETS, TIMED_SETS = {1: 64, 2: 8}, {1: 256, 2: 32}
LEAST_SHARE = 0.01  # of the deviation, in what errors are relative to
MATTERS = 0.3  # of the largest share
GAIN = 0.3  # of an error, after a refinement: (1/1.5)⁴ and to spare
FAR = 25.0  # times a small error: two refinements at once
MOST_REFINEMENTS = 8
LABELS = 4.0  # seconds for the table, relative to those for pilots
FEWEST_SETS, MOST_SETS, SETS = 512, 2**14, {1: 2**12, 2: 2**10}
LABELS_IN_ALL = 2**15


def choose_grid(family: Family, allowance: Allowance) -> Grid | None:
    """A grid whose labels have a small error, or None: paths are better."""
    if not suits(family) or _drawn_exactly(family):
        return None
    dims = grid_dims(family)
    grid = FIRST[dims]
    pilot = _pilot_inputs(family, PILOT_SETS[dims])
    error = math.inf
    for _ in range(MOST_REFINEMENTS):
        clock = Clock()
        shares = _shares(family, grid, pilot)
        error = sum(shares)
        finer = _refined(grid, shares)
        if not SMALL < error < math.inf or not _affordable(family, finer, allowance):
            break
        grid, error = finer, GAIN * error
        if 2.0 * clock.spent() > allowance.left:  # no time to look again
            break
    if not error <= LARGE or not _beyond(family, grid, pilot) <= LARGE:  # NaN is large, too
        return None
    return _with_sets(family, grid, allowance)


@once_per_family
def _drawn_exactly(family: Family) -> bool:
    """Whether paths have no error of their own and little noise: they have slopes in all inputs."""
    if isinstance(family, ExactSampler):
        return True
    scheme = suitable_scheme(family)
    if jumps(family) or weak_order(family, scheme) is not None:
        return False
    return any(_quiet(PathData(family, scheme, noise, *QUIET_PILOT)) for noise in NOISES)


def _quiet(data: PathData) -> bool:
    batch = data.repeated(data.batch_size, 2, make_generator(0, "quiet"))
    values = batch.values.unflatten(0, (-1, 2))  # type: ignore[no-untyped-call]
    scale = values.std().clamp_max(1.0) + values.abs().mean(1)
    return bool(((values[:, 0] - values[:, 1]) / scale).abs().mean() < QUIET)


def _pilot_inputs(family: Family, sets: int) -> Tensor:
    return grouped_inputs(family.domain, sets, 32, make_generator(0, "grid"))


def _shares(family: Family, grid: Grid, inputs: Tensor) -> list[float]:
    """Mean errors by axis, then by time, relative to s + |u|."""
    value = read_grid(family, grid, inputs).value
    scale = _scale(value)
    found = []
    for which in range(len(grid.nodes) + 1):
        finer = read_grid(family, grid.finer(which), inputs).value
        found.append(((finer - value) / scale).abs().mean().item())
    return found


def _beyond(family: Family, grid: Grid, inputs: Tensor) -> float:
    """Mean error by what lies beyond the ends, which all grids of `_shares` have in common."""
    value = read_grid(family, grid, inputs).value
    wide = read_grid(family, grid.refined(), inputs, wide=True).value
    return ((wide - value) / _scale(value)).abs().mean().item()


def _scale(value: Tensor) -> Tensor:
    """s + |u|: s is the deviation of u, at most 1 as in Eq. (9), but a hundredth of it at least."""
    deviation = value.std()
    return deviation.clamp_max(1.0).maximum(LEAST_SHARE * deviation) + value.abs()


def _refined(grid: Grid, shares: list[float]) -> Grid:
    """Finer where the share is large, once or twice: the error is of order 4."""
    for which, share in enumerate(shares):
        if share >= max(MATTERS * max(shares), 0.1 * SMALL):
            grid = grid.finer(which)
            grid = grid.finer(which) if share > FAR * SMALL else grid
    return grid


def _fewest_sets(family: Family) -> int:
    """So many that a smooth function of the parameters is known from them, roughly."""
    parameters = family.domain.dim - family.domain.state_dim - 1
    return int(min(FEWEST_SETS, 8 * 3**parameters))


def _seconds(family: Family, grid: Grid) -> float:
    """Of one set, from as many as are solved together, or a few of them."""
    inputs = _pilot_inputs(family, min(at_once(grid), TIMED_SETS[len(grid.nodes)]))
    clock = Clock()
    read_grid(family, grid, inputs)
    return clock.spent() / len(inputs)


def _affordable(family: Family, grid: Grid, allowance: Allowance) -> bool:
    """Whether there is time for the fewest sets."""
    if math.isinf(allowance.seconds):
        return math.prod(grid.nodes) * grid.steps < 2**20
    return _fewest_sets(family) * _seconds(family, grid) < LABELS * allowance.seconds


def _with_sets(family: Family, grid: Grid, allowance: Allowance) -> Grid:
    """As many as there is time for; a fixed number where time is not limited."""
    sets = SETS[len(grid.nodes)]
    if math.isfinite(allowance.seconds):
        affordable = LABELS * allowance.seconds / _seconds(family, grid)
        sets = int(min(MOST_SETS, 32 * _fewest_sets(family), max(16.0, affordable)))
    sets = 4 * (sets // 4)
    return replace(grid, sets=sets, points=max(grid.points, LABELS_IN_ALL // sets))
