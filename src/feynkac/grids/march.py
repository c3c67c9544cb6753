r"""Through time from u(·, 0) = φ: the splitting of Hundsdorfer and Verwer, θ = ½ + √3/6. With h a
step, and A the generator in its middle,

    Y_0 = u + h A u,                     Y_i = Y_{i−1} + θ h A_i (Y_i − u),
    Z_0 = Y_0 + ½ h (A Y_d − A u),       Z_i = Z_{i−1} + θ h A_i (Z_i − Y_d),     u ← Z_d,

of order 2, mixed derivatives included, and stable for every h. Times are t_k = T (k/n)²: u has its
sharpest features early.
"""

import math

import torch
from torch import Tensor

from feynkac.families.capabilities import TimeDependent
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.grids.axes import Axis, mesh
from feynkac.grids.operator import Operator, make_operator
from feynkac.grids.start import initial_values
from feynkac.grids.tridiagonal import factorise, substitute

THETA = 0.5 + math.sqrt(3.0) / 6.0


def march(family: Family, axes: list[Axis], horizon: Tensor, p: Params, steps: int) -> Tensor:
    """u at t_0, …, t_n.  Shape: horizon T `(B,)` → `(steps + 1, n₁, …, n_d, B, outputs)`."""
    x, u = mesh([axis.nodes for axis in axes]), initial_values(family, axes, p)
    levels, operator = [u], None
    for k in range(steps):
        start, end = (horizon * (i / steps) ** 2 for i in (k, k + 1))
        if operator is None or isinstance(family, TimeDependent):
            operator = make_operator(family, axes, x, p, 0.5 * (start + end), horizon)
        u = _step(operator, u, (end - start).unsqueeze(-1))
        levels.append(u)
    return torch.stack(levels)


def _step(operator: Operator, u: Tensor, h: Tensor) -> Tensor:
    """One step of length h `(B, 1)`."""
    dims = range(len(operator.bands))
    factors = [factorise(operator.bands[i], THETA * h, i) for i in dims]
    before = [operator.along(i, u) for i in dims]
    flow = operator.whole(u, before)
    first = torch.addcmul(u, h, flow)
    y = first
    for i in dims:
        y = substitute(factors[i], y - THETA * h * before[i])
    after = [operator.along(i, y) for i in dims]
    z = torch.addcmul(first, 0.5 * h, operator.whole(y, after) - flow)
    for i in dims:
        z = substitute(factors[i], z - THETA * h * after[i])
    return z
