r"""Training data:  λ random on the domain,  Y = φ(S_λ)  (paper, Section 2).

With `paths` > 1 the label is the mean over that many independent paths from the same input. Memory
is bounded: normals are drawn, and paths simulated, for some inputs after the other (`chunks.py`).
"""

import functools
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from feynkac.families.family import Family, noise_dim
from feynkac.sampling.chunks import (
    LITTLE,
    LITTLE_SWEPT,
    Chunk,
    Weight,
    cut,
    path_numbers,
    rows_drawn,
    weigh,
)
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.alignment import align
from feynkac.sampling.noise.noise import Draw, Noise, Shape, equally_weighted, normals
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.path import earned, label_normals, quieted
from feynkac.sampling.schemes.scheme import Scheme


def payoffs(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor) -> Tensor:
    """What each path earns.  Shape: inputs `(N, dim)`, z `(draws, N, K, m)` → `(N, K, outputs)`."""
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    return earned(family, scheme, x, t, p, z)


def labels(
    family: Family, scheme: Scheme, inputs: Tensor, generator: torch.Generator, paths: int = 1
) -> Tensor:
    """Unbiased labels of u (up to the scheme's error).  Shape: `(N, dim)` → `(N, outputs)`."""
    numbers = paths * path_numbers(family, scheme)
    found = []
    for block in torch.split(inputs, rows_drawn(numbers, inputs.element_size())):
        lead = (len(block), paths)
        z = normals(scheme.draws, lead, noise_dim(family), generator, inputs.dtype)
        found.append(payoffs(family, scheme, block, z).mean(-2))
    return torch.cat(found)


def draw_paths(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
) -> Draw:
    """Normals for about `paths` paths from each of `inputs`, turned where that helps.

    Where a part of the noise is integrated, only the rest is drawn; that and controlled noise is
    not turned.
    """
    dim = label_normals(family, scheme)
    shape = Shape(len(inputs), paths, scheme.draws, dim, scheme.increments)
    draw = noise.draw(shape, generator, inputs.dtype)
    turned = noise.aligned and not quieted(family, scheme)
    return align(family, inputs, draw) if turned else draw


def draws(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
) -> Iterator[tuple[slice, Draw]]:
    """`draw_paths` for some inputs after the other, where all at once take too much memory."""
    dims = scheme.draws * label_normals(family, scheme)
    given = 2 ** math.ceil(math.log2(paths))  # a noise may round up
    if isinstance(noise, SphericalRadial):
        given = 2 * dims + 1
    numbers = given * max(dims, family.domain.state_dim)
    for rows in cut(len(inputs), rows_drawn(numbers, inputs.element_size())):
        yield rows, draw_paths(family, scheme, noise, inputs[rows], paths, generator)


def mean_labels(family: Family, scheme: Scheme, inputs: Tensor, draw: Draw) -> Tensor:
    """Labels of u, without a graph.  Shape: `(N, dim)` → `(N, outputs)`."""
    return _in_chunks(family, scheme, inputs, draw, None, slopes=False)[0]


def differential_labels(
    family: Family, scheme: Scheme, inputs: Tensor, draw: Draw, mix: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Labels of u and of ∇u, pathwise: one reverse sweep through the simulator.

    Needs a payoff that is Lipschitz; across a jump the pathwise derivative is wrong. Where u has
    several components, the slopes are those of Σ_j mix_j u_j.

    Shape: `(N, dim)`, mix `(N, outputs)` → `(N, outputs)`, `(N, dim)`.
    """
    return _in_chunks(family, scheme, inputs, draw, mix, slopes=True)


def weigh_sweeps(family: Family, scheme: Scheme, inputs: Tensor) -> None:
    """Before something is timed: find out now how much memory a sweep with slopes takes."""
    dim = label_normals(family, scheme)
    _weight(_Same(family), scheme, dim, inputs.dtype, str(inputs.device), slopes=True)


def _in_chunks(
    family: Family, scheme: Scheme, inputs: Tensor, draw: Draw, mix: Tensor | None, slopes: bool
) -> tuple[Tensor, Tensor]:
    """Labels and slopes, of as many inputs and paths at once as memory allows."""
    (_, count, paths, _), sweep = draw.z.shape, _sweep if slopes else _means
    chunk = _chunk(family, scheme, inputs, draw.z, slopes)
    if chunk.inputs >= count and chunk.paths >= paths:
        return sweep(family, scheme, inputs, draw, mix)
    found = []
    for rows, parts in chunk.slices(count, paths):
        combined = None if mix is None else mix[rows]
        pieces = [
            sweep(family, scheme, inputs[rows], _part(draw, rows, part), combined) for part in parts
        ]
        found.append([torch.stack(same).sum(0) for same in zip(*pieces, strict=True)])
    values, gradients = (torch.cat(same) for same in zip(*found, strict=True))
    return values, gradients


def _part(draw: Draw, rows: slice, paths: slice) -> Draw:
    return Draw(draw.z[:, rows, paths], draw.weights[rows, paths])


def _sweep(
    family: Family, scheme: Scheme, inputs: Tensor, draw: Draw, mix: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Labels and slopes, all at once."""
    with torch.enable_grad():
        leaf = inputs.detach().requires_grad_()
        values = (payoffs(family, scheme, leaf, draw.z) * draw.weights).sum(-2)
        if not values.requires_grad:  # a payoff that depends on nothing
            return values, torch.zeros_like(leaf)
        total = values.sum() if mix is None else (values * mix).sum()
        (gradients,) = torch.autograd.grad(total, leaf)
    return values.detach(), gradients


@torch.no_grad()
def _means(
    family: Family, scheme: Scheme, inputs: Tensor, draw: Draw, _mix: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Labels, all at once, and slopes of zero."""
    values = (payoffs(family, scheme, inputs, draw.z) * draw.weights).sum(-2)
    return values, torch.zeros_like(inputs)


def _chunk(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor, slopes: bool) -> Chunk:
    """So many inputs and paths at once; few numbers are not weighed."""
    _, count, paths, dim = z.shape
    numbers = max(z.numel(), count * paths * family.domain.state_dim)
    if numbers <= (LITTLE_SWEPT if slopes else LITTLE):
        return Chunk(count, paths)
    same = _Same(family)
    return _weight(same, scheme, dim, inputs.dtype, str(inputs.device), slopes).chunk(paths)


class _Same:
    """A family as a key, even if a list among its fields keeps it from being one."""

    def __init__(self, family: Family) -> None:
        self.family = family

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.family is other.family

    def __hash__(self) -> int:
        return id(self.family)


@functools.lru_cache(maxsize=64)
def _weight(
    same: _Same, scheme: Scheme, dim: int, dtype: torch.dtype, device: str, slopes: bool
) -> Weight:
    """Of a sweep with `dim` normals per draw."""
    family = same.family
    start = family.domain.sample(1, make_generator(0, "weighing", device=device), dtype)

    def sweep(paths: int) -> None:
        z = start.new_zeros(scheme.draws, dim, 1, paths).movedim(1, -1)  # coordinates first
        (_sweep if slopes else _means)(family, scheme, start, equally_weighted(z), None)

    return weigh(sweep)
