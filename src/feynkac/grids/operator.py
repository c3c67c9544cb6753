r"""The generator on a grid:  A = A_0 + A_1 + … + A_d  with

    A_i u = a_ii ∂_i² u + μ_i ∂_i u − c u / d,   A_0 u = f + Σ_{i<j} 2 a_ij ∂_i ∂_j u,   a = ½ σσ*,

by three-point differences on uneven nodes; c and f are means under hats (`start.py`). At the ends u
is taken to be linear; on a wall it does not change.
"""

from itertools import combinations
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.capabilities import ConstantDiscount, Discount, Source
from feynkac.families.family import Family, timed
from feynkac.families.point import Params
from feynkac.grids.axes import Axis, along
from feynkac.grids.coefficients import columns, drift
from feynkac.grids.start import coefficient

LARGEST_GROWTH = 4.0  # e-foldings that an outward drift at an end may cause

Bands = tuple[Tensor, Tensor, Tensor]
"""Lower, main and upper diagonal, each `(n₁, …, n_d, B, 1)`."""


class Operator(NamedTuple):
    """A_1, …, A_d as diagonals; factors of mixed differences; the source."""

    bands: list[Bands]
    mixed: list[tuple[int, int, Tensor]]
    source: Tensor | None

    def along(self, axis: int, u: Tensor) -> Tensor:
        """A_i u for i = axis + 1."""
        lower, main, upper = self.bands[axis]
        n, out = u.shape[axis] - 1, main * u
        after, before = out.narrow(axis, 1, n), out.narrow(axis, 0, n)
        after.addcmul_(lower.narrow(axis, 1, n), u.narrow(axis, 0, n))
        before.addcmul_(upper.narrow(axis, 0, n), u.narrow(axis, 1, n))
        return out

    def whole(self, u: Tensor, parts: list[Tensor]) -> Tensor:
        """A u, from A_1 u, …, A_d u."""
        total = sum(parts[1:], parts[0])
        if self.source is not None:
            total = total + self.source
        for i, j, factor in self.mixed:
            total = total + factor * _difference(_difference(u, i), j)
        return total


def _difference(u: Tensor, axis: int) -> Tensor:
    """u_{i+1} − u_{i−1}; 0 at the ends."""
    out, n = torch.zeros_like(u), u.shape[axis] - 2
    inner = out.narrow(axis, 1, n)
    torch.sub(u.narrow(axis, 2, n), u.narrow(axis, 0, n), out=inner)
    return out


def make_operator(
    family: Family, axes: list[Axis], x: Tensor, p: Params, t: Tensor, horizon: Tensor
) -> Operator:
    """The generator at time t `(B,)` of the PDE, at nodes x `(n₁, …, n_d, B, d)`."""
    p = timed(family, p, t.unsqueeze(-1))
    mu, sigma = drift(family, x, p), columns(family, x, p)
    decay = _discount(family, axes, x, p) / len(axes) if isinstance(family, Discount) else 0.0
    bands = []
    for i, axis in enumerate(axes):
        a = sum((0.5 * v[..., i : i + 1].square() for v in sigma), torch.zeros_like(x[..., :1]))
        lower, main, upper = _differences(axis, i, len(axes), a, mu[..., i : i + 1], horizon)
        bands.append((lower, main - decay, upper))
    source = None
    if isinstance(family, Source):
        source = coefficient(family.source, axes, p)
    return _still_on_walls(Operator(bands, _mixed(axes, sigma), source), axes)


def _discount(family: Discount, axes: list[Axis], x: Tensor, p: Params) -> Tensor:
    """c on the nodes."""
    constant = isinstance(family, ConstantDiscount)
    return family.discount(x, p) if constant else coefficient(family.discount, axes, p)


def _differences(axis: Axis, i: int, dims: int, a: Tensor, mu: Tensor, horizon: Tensor) -> Bands:
    """a ∂² + μ ∂ along axis i, one-sided at the ends, where an outward drift may be left out."""
    gaps = axis.nodes.diff(dim=0)
    before = along(torch.cat([gaps[:1], gaps]), i, dims)
    after = along(torch.cat([gaps, gaps[-1:]]), i, dims)
    lower = (2.0 * a - mu * after) / (before * (before + after))
    upper = (2.0 * a + mu * before) / (after * (before + after))
    n = len(axis.nodes) - 1
    for end, inward, gap in ((0, 1.0, gaps[0]), (n, -1.0, gaps[-1])):
        flow = inward * mu.narrow(i, end, 1) / gap.unsqueeze(-1)
        flow = torch.where(-flow * horizon.unsqueeze(-1) > LARGEST_GROWTH, 0.0, flow)
        inner, outer = (upper, lower) if end == 0 else (lower, upper)
        inner.narrow(i, end, 1).copy_(flow)
        outer.narrow(i, end, 1).zero_()
    return lower, -(lower + upper), upper


def _mixed(axes: list[Axis], sigma: list[Tensor]) -> list[tuple[int, int, Tensor]]:
    """2 a_ij over the products of the distances between the neighbours of a node."""
    found = []
    for i, j in combinations(range(len(axes)), 2):
        product = torch.stack([v[..., i : i + 1] * v[..., j : j + 1] for v in sigma]).sum(0)
        if bool(product.any()):
            found.append((i, j, product / (_width(axes, i) * _width(axes, j))))
    return found


def _width(axes: list[Axis], i: int) -> Tensor:
    nodes = axes[i].nodes
    wide = torch.ones_like(nodes)
    wide[1:-1] = nodes[2:] - nodes[:-2]
    return along(wide, i, len(axes))


def _still_on_walls(operator: Operator, axes: list[Axis]) -> Operator:
    """Nothing changes there."""
    parts = [diagonal for bands in operator.bands for diagonal in bands]
    parts += [] if operator.source is None else [operator.source]
    for i, axis in enumerate(axes):
        for end, wall in ((0, axis.low_wall), (len(axis.nodes) - 1, axis.high_wall)):
            for part in parts if bool(wall.any()) else []:
                part.narrow(i, end, 1).mul_((~wall).to(part).unsqueeze(-1))
    return operator
