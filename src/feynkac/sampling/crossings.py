r"""Where paths jump: with z = b + s w the points of a line in the space of normals, all s with

    ρ(S(z)) = 0,    ρ a level of the payoff (`levels.py`).

A change of sign between nodes brackets one; so do a node and a point between nodes where a parabola
says that the level dips. Two interpolations, one evaluation apart, narrow the bracket.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.family import Family
from feynkac.families.levels import jump_across, with_levels
from feynkac.sampling.noise.lines import Line
from feynkac.sampling.path import PathState, path_end
from feynkac.sampling.schemes.scheme import Scheme

DIPPING = 0.5  # a node's level, relative to which one between nodes is small
BEYOND = 1e3  # times the largest level that is a number: of a path that explodes


class Brackets(NamedTuple):
    """Parts [low, high] of lines in which a level ρ changes its sign.

    Shape: `(C,)` each; in a table `(N, C)`, one row per input.
    """

    input: Tensor
    line: Tensor
    level: Tensor
    low: Tensor
    high: Tensor
    at_low: Tensor
    """ρ at `low`."""
    at_high: Tensor
    place: Tensor
    """Where the zero may be."""

    def where(self, chosen: Tensor) -> "Brackets":
        """Those that are `chosen`."""
        return Brackets(*(column[chosen] for column in self))

    def and_those(self, other: "Brackets") -> "Brackets":
        """Both."""
        return Brackets(*(torch.cat(columns) for columns in zip(self, other, strict=True)))


class Table(NamedTuple):
    """Brackets in rows: paths of one input stand side by side, as schemes expect them."""

    cells: Brackets
    used: Tensor
    """Which cells hold one; others hold zeros.  Shape: `(N, C)`."""


def tabulate(found: Brackets, inputs: int) -> Table:
    """`found`, ordered by input, in rows of equal length."""
    row = found.input
    count = torch.bincount(row, minlength=inputs)
    column = torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]
    size = (inputs, int(count.max()))

    def lay(values: Tensor) -> Tensor:
        return values.new_zeros(size).index_put((row, column), values)

    return Table(Brackets(*map(lay, found)), lay(torch.ones_like(row, dtype=torch.bool)))


@dataclass(frozen=True)
class Bundle:
    """Paths of `family` whose normals lie on lines."""

    family: Family
    scheme: Scheme
    line: Line

    def normals(self, table: Table, s: Tensor) -> Tensor:
        """Of the points s on the lines of `table`.  Shape: `(N, C)` → `(draws, N, C, m)`."""
        rows = torch.arange(len(s), device=s.device).unsqueeze(-1)
        base, way = (y[:, rows, table.cells.line] for y in self.line)
        return torch.addcmul(base, way, s.unsqueeze(-1))

    def level(self, inputs: Tensor, table: Table, z: Tensor) -> tuple[PathState, Tensor]:
        """Ends of paths, and each one's own level.  Shape: `(N, dim)` → …, `(N, C)`."""
        x, t, p = self.family.domain.split(inputs.unsqueeze(-2))
        end = path_end(self.family, self.scheme, x, t, p, z)
        levels = as_numbers(with_levels(self.family, end.state, end.p)[1])
        return end, levels.gather(-1, table.cells.level.unsqueeze(-1)).squeeze(-1)


def as_numbers(levels: Tensor) -> Tensor:
    """`levels` where far points of a line, hardly ever drawn, make paths explode by their steps.

    A comparison with NaN is false, as with a number far below.

    Example:
        >>> as_numbers(torch.tensor([1.0, -2.0, torch.inf, torch.nan])).tolist()
        [1.0, -2.0, 3000.0, -3000.0]
    """
    finite = levels.isfinite()
    far = BEYOND * (1.0 + torch.where(finite, levels, 0.0).detach().abs().max())
    infinite = torch.where(levels > 0.0, far, -far)
    return torch.where(finite, levels, infinite)


@torch.no_grad()
def find_crossings(
    bundle: Bundle, inputs: Tensor, nodes: Tensor, paid: Tensor, levels: Tensor
) -> Table | None:
    """All that were seen, in narrow brackets, if any.

    Shape: nodes `(N, 1, n)`, paid `(N, K, n, outputs)`, levels `(N, K, n, L)`.
    """
    found = _between_nodes(nodes, paid, levels)
    if dips := _dips(bundle, inputs, nodes, levels):
        found = found.and_those(dips)
        found = found.where(found.input.argsort(stable=True))
    if not len(found.input):
        return None
    return _narrowed(bundle, inputs, tabulate(found, len(inputs)))


def _between_nodes(nodes: Tensor, paid: Tensor, levels: Tensor) -> Brackets:
    """Brackets of neighbouring nodes, but for levels that nothing depends on there."""
    positive = levels > 0.0
    flips = positive[:, :, 1:] != positive[:, :, :-1]
    alone = flips.sum(-1, keepdim=True) == 1
    idle = alone & (paid[:, :, 1:] == paid[:, :, :-1]).all(-1, keepdim=True)
    i, k, left, which = (flips & ~idle).nonzero(as_tuple=True)
    a, b = nodes[i, 0, left], nodes[i, 0, left + 1]
    at_a, at_b = levels[i, k, left, which], levels[i, k, left + 1, which]
    return Brackets(i, k, which, a, b, at_a, at_b, _secant(a, b, at_a, at_b))


def _secant(a: Tensor, b: Tensor, at_a: Tensor, at_b: Tensor) -> Tensor:
    """Zero of the line through both points."""
    return a - at_a * (b - a) / (at_b - at_a)


def _dips(bundle: Bundle, inputs: Tensor, nodes: Tensor, levels: Tensor) -> Brackets | None:
    """Two where a level has the same sign at three nodes, but another one between them."""
    before, middle, after = (levels[:, :, j : levels.shape[2] - 2 + j] for j in range(3))
    lowest = (before / middle > 1.0) & (after / middle > 1.0)
    i, k, left, which = lowest.nonzero(as_tuple=True)
    s = [nodes[i, 0, left + j] for j in range(3)]
    r = [levels[i, k, left + j, which] for j in range(3)]
    place, value = _vertex(s, r)
    found = Brackets(i, k, which, s[0], s[2], r[0], r[2], place).where(value / r[1] < DIPPING)
    if not len(found.input):
        return None
    table = tabulate(found, len(inputs))
    z = bundle.normals(table, table.cells.place)
    value = bundle.level(inputs, table, z)[1][table.used]
    crossed = (value > 0.0) != (found.at_low > 0.0)
    found, value = found.where(crossed), value[crossed]
    a, c, b = found.low, found.place, found.high
    ahead, behind = (_secant(a, c, found.at_low, value), _secant(c, b, value, found.at_high))
    return found._replace(high=c, at_high=value, place=ahead).and_those(
        found._replace(low=c, at_low=value, place=behind)
    )


def _vertex(s: list[Tensor], r: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Of the parabola through three points: place and value."""
    first, second = (r[1] - r[0]) / (s[1] - s[0]), (r[2] - r[1]) / (s[2] - s[1])
    bend = (second - first) / (s[2] - s[0])
    place = 0.5 * (s[0] + s[1] - first / bend)
    return place, r[0] + (place - s[0]) * (first + bend * (place - s[1]))


def _narrowed(bundle: Bundle, inputs: Tensor, table: Table) -> Table | None:
    """After one evaluation in each bracket, without those where nothing jumps."""
    cells = table.cells
    c = cells.place
    end, at_c = bundle.level(inputs, table, bundle.normals(table, c))
    jump = jump_across(bundle.family, end.state, end.p, cells.level.unsqueeze(-1))
    matters = table.used & (jump != 0.0).any(-1)
    if not matters.any():
        return None
    beyond = (at_c > 0.0) == (cells.at_low > 0.0)
    low, at_low = torch.where(beyond, c, cells.low), torch.where(beyond, at_c, cells.at_low)
    high, at_high = torch.where(beyond, cells.high, c), torch.where(beyond, cells.at_high, at_c)
    place = _inverse_parabola((cells.low, c, cells.high), (cells.at_low, at_c, cells.at_high))
    inside = (place >= low) & (place <= high)
    secant = _secant(low, high, at_low, at_high)
    place = torch.where(inside, place, torch.where(secant.isfinite(), secant, c))
    cells = Brackets(*cells[:3], low, high, at_low, at_high, place)
    return tabulate(cells.where(matters)._replace(input=matters.nonzero()[:, 0]), len(inputs))


def _inverse_parabola(s: tuple[Tensor, ...], r: tuple[Tensor, ...]) -> Tensor:
    """Zero of the parabola s(r) through three points."""
    (a, c, b), (at_a, at_c, at_b) = s, r
    return (
        a * at_c * at_b / ((at_a - at_c) * (at_a - at_b))
        + c * at_a * at_b / ((at_c - at_a) * (at_c - at_b))
        + b * at_a * at_c / ((at_b - at_a) * (at_b - at_c))
    )
