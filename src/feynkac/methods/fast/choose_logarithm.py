r"""Whether the network gives ln u in place of u:

    u > 0.1 wherever it is looked at,   √V ln(u/M) > 1,   labels with a relative noise ε < 0.05,

M the unit of u (`reduction.py`). Then errors relative to 1 + |u| are errors of ln u, and those of
populations from a thousand to a million, or of moments of prices, count alike. Labels must be
quiet: the mean of the logarithm of a noisy one is too small (`scales.py`).
"""

import torch
from torch import Tensor

from feynkac.families.family import Family, outputs
from feynkac.grids.grid import Grid, read_grid
from feynkac.grids.table import grouped_inputs
from feynkac.methods.fast.path_data import PathData
from feynkac.networks.reduction import Reduction
from feynkac.sampling.generators import make_generator

FIRST_INPUTS, INPUTS = 16, 128  # a few tell of most families that they do not
LEAST = 0.1
WIDE = 1.0  # standard deviation of ln u; a factor of 32 if it is uniform
NOISE = 0.05  # everywhere; fewer paths may double it later
FARTHEST = 2.7  # of 128 normals, in deviations


def spans_decades(family: Family, reduction: Reduction, labels: PathData | Grid) -> bool:
    """By a few labels of paths, or values on the grid."""
    if outputs(family) > 1:
        return False
    return all(_spans(family, reduction, labels, count) for count in (FIRST_INPUTS, INPUTS))


@torch.no_grad()
def _spans(family: Family, reduction: Reduction, labels: PathData | Grid, count: int) -> bool:
    inputs, values, noise = _from(family, labels, count)
    if not bool((values > LEAST).all()) or not bool(values.isfinite().all()) or noise > NOISE:
        return False
    return bool((values / reduction.unit(inputs)).log().std() > WIDE)


def _from(family: Family, labels: PathData | Grid, count: int) -> tuple[Tensor, Tensor, float]:
    """Inputs `(N, dim)`, values `(N, 1)` and their relative noise."""
    generator = make_generator(0, "logarithm")
    if isinstance(labels, Grid):
        inputs = grouped_inputs(family.domain, count // 4, 4, generator)
        value = read_grid(family, labels, inputs).value.reshape(-1, 1)
        return inputs.flatten(0, -2).float(), value.float(), 0.0
    batch = labels.repeated(count, 2, generator)
    one, other = batch.values[::2], batch.values[1::2]
    noise = ((one - other) / (one + other)).abs().amax() * 2.0**0.5 / FARTHEST
    return batch.inputs[::2], torch.minimum(one, other), float(noise)
