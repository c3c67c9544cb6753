r"""Does a function jump? Cut a segment into cells and halve each one again and again, keeping the
half in which the function changes more. After n halvings

    |change| ≤ L · length · 2⁻ⁿ   if it is Lipschitz,      |change| ≥ the jump   if there is one.

Segments run between states that paths of one input visit, and between starts.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.checks.finding import Finding, Subject
from feynkac.families.capabilities import BoundaryValue, Discount, Source, TimeDependent
from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.point import Params, at_time
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.path import path_states
from feynkac.sampling.schemes.scheme import Scheme

SEGMENT_STARTS = 32
CELLS, HALVINGS = 32, 36
VISIBLE_JUMP = 1e-4  # of the function's range

Function = Callable[[Tensor, Params], Tensor]
"""Of states and parameters: `(N, K, d)` → `(N, K, n)`."""


def undeclared_jump(subject: Subject) -> Finding:
    """φ should not jump where the family does not say so."""
    family = subject.family
    jump = largest_jump(family.initial, *segments(family, subject.scheme))
    if jump:
        sentence = (
            f"{type(family).__name__}.initial jumps by {100 * jump:.3g} % of its range, "
            "undeclared: slopes of labels are wrong, and solve fits values only; add Jumps to the "
            "base classes"
        )
        return Finding("fail", sentence, {"jump": jump})
    return Finding("ok", "φ is continuous", {"jump": jump})


def declared_jump(subject: Subject) -> Finding:
    """φ should jump where the family says so."""
    jump = largest_jump(subject.family.initial, *segments(subject.family, subject.scheme))
    if jump:
        return Finding("ok", "φ jumps, as declared", {"jump": jump})
    return Finding("note", "Jumps is declared, but φ was not seen to jump", {"jump": jump})


def coefficient_jumps(subject: Subject) -> Finding:
    """Coefficients should not jump, or schemes lose their order, and slopes of labels are wrong."""
    family = subject.family
    start, end, p = segments(family, subject.scheme)
    ones = torch.ones(*start.shape[:-1], noise_dim(family), dtype=start.dtype)
    coefficients: dict[str, Function] = {
        "μ": family.drift,
        "σ": lambda x, p: family.diffusion(x, ones.expand(-1, x.shape[1], -1), p),
    }
    if isinstance(family, Discount):
        coefficients["c"] = family.discount
    if isinstance(family, Source):
        coefficients["f"] = family.source
    if isinstance(family, BoundaryValue) and family.domain.state_dim > 1:  # else a wall is a point
        coefficients["g"] = family.boundary_value
    jumps = {
        name: max(largest_jump(f, start, end, p), _jump_in_time(family, f, start, p))
        for name, f in coefficients.items()
    }
    if jumping := [name for name, jump in jumps.items() if jump]:
        sentence = " and ".join(jumping) + (" jumps" if len(jumping) == 1 else " jump")
        return Finding("note", f"{sentence} along paths: solve fits values only", jumps)
    return Finding("ok", f"{', '.join(jumps)} are continuous along paths", jumps)


def _jump_in_time(family: Family, function: Function, x: Tensor, p: Params) -> float:
    """The largest jump on the way from `p.t` to 0; slopes in t, and in what moves it, miss it."""
    if not isinstance(family, TimeDependent):
        return 0.0

    def at(t: Tensor, p: Params) -> Tensor:
        return function(x.expand(-1, t.shape[1], -1), at_time(p, t))

    return largest_jump(at, 0.0 * p.t, p.t, p)


def segments(family: Family, scheme: Scheme) -> tuple[Tensor, Tensor, Params]:
    """Where paths go: both ends `(N, 1, d)` in float64, and the parameters there."""
    generator = make_generator(0, "segments")
    inputs = family.domain.sample(SEGMENT_STARTS, generator, torch.float64)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    z = normals(scheme.draws, (SEGMENT_STARTS, 2), noise_dim(family), generator, torch.float64)
    with torch.no_grad():
        *_, last = path_states(family, scheme, x, t, p, z)
    one, other = last.state[:, :1], last.state[:, 1:]
    _, t, p = family.domain.split(torch.cat([inputs, inputs]).unsqueeze(-2))
    p = timed(family, p, t)
    return torch.cat([x, one]), torch.cat([x.flip(0), other]), p


@torch.no_grad()
def largest_jump(function: Function, start: Tensor, end: Tensor, p: Params) -> float:
    """The largest jump on any of the segments, relative to the function's range; 0 if none.

    Shape: start, end `(N, 1, d)`.

    Example:
        >>> ends = torch.tensor([[[0.0]]]), torch.tensor([[[3.0]]])
        >>> largest_jump(lambda x, p: x.floor(), *ends, Params())
        0.3333333432674408
        >>> largest_jump(lambda x, p: x.abs().sqrt(), *ends, Params())
        0.0
    """
    share = torch.linspace(0.0, 1.0, CELLS + 1, dtype=start.dtype)[:, None]
    grid = torch.lerp(start, end, share)
    values = function(grid, p)
    low, high = grid[:, :-1], grid[:, 1:]
    below, above = values[:, :-1], values[:, 1:]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        value = function(middle, p)
        lower = _size(value - below) > _size(above - value)
        low, high = torch.where(lower, low, middle), torch.where(lower, middle, high)
        below, above = torch.where(lower, below, value), torch.where(lower, value, above)
    size = values.amax((0, 1)) - values.amin((0, 1))
    jump = ((above - below).abs() / size).nan_to_num(0.0).max().item()
    return jump if jump > VISIBLE_JUMP else 0.0


def _size(change: Tensor) -> Tensor:
    return change.square().sum(-1, keepdim=True)
