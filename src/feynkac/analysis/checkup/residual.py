r"""Does u solve its PDE? With V_j the columns of σ,

    r = ∂u/∂t − ½ Σ_j ⟨V_j, ∇²u V_j⟩ − ⟨μ, ∇u⟩ + c u − f,

relative to the size of its terms. Derivatives come from automatic differentiation; where a closed
form does not carry gradients (SciPy was used), or carries wrong ones, from central differences of
order 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.family import Discount, Family, Source, noise_dim, timed
from feynkac.families.point import Params, Point

REACH = 0.02  # of central differences, in half-widths of the domain and in parts of t
STENCIL = (-2.0, -1.0, 0.0, 1.0, 2.0)
FIRST = (1 / 12, -2 / 3, 0.0, 2 / 3, -1 / 12)
SECOND = (-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12)

Value = Callable[[Tensor, Tensor], Tensor]
"""u(x, t) at fixed parameters: `(N, d)`, `(N, 1)` → `(N, outputs)`."""


class Derivatives(NamedTuple):
    """Of u, all `(N, outputs)`."""

    by_time: Tensor
    along_drift: Tensor
    """⟨μ, ∇u⟩."""
    spread: Tensor
    """½ Σ_j ⟨V_j, ∇²u V_j⟩."""


@dataclass(frozen=True)
class Residual:
    """The sides of the PDE and how far they are apart, all `(N, outputs)`."""

    left: Tensor
    """∂u/∂t."""
    right: Tensor
    """½ Tr(σσ*∇²u) + ⟨μ, ∇u⟩ − c u + f."""
    size: Tensor
    """Sum of the absolute values of all terms."""

    @property
    def relative(self) -> Tensor:
        """|left − right| / size; sizes below a hundredth of the mean count as that."""
        return (self.left - self.right).abs() / self.size.clamp_min(0.01 * self.size.mean())

    @property
    def largest(self) -> float:
        """The largest relative residual; infinite where one is not a number."""
        return self.relative.nan_to_num(torch.inf).max().item()


def residual(
    family: Family, u: Callable[..., Tensor], point: Point, exact: bool
) -> Residual | None:
    """The residual of u(x, t, p) at N inputs; None if u carries no gradients and they are needed.

    Args:
        family: whose equation it is.
        u: the candidate, a function of x, t and p.
        point: float64 inputs in the inside of the domain, `(N, …)`.
        exact: by automatic differentiation, otherwise by central differences.
    """
    x, t, p = point
    known = timed(family, p, t)
    drift, columns = family.drift(x, known), _columns(family, x, known)

    def value(x: Tensor, t: Tensor) -> Tensor:
        return u(x, t, p)

    if exact:
        found = _by_autograd(value, x, t, drift, columns)
    else:
        found = _by_differences(value, x, t, drift, columns, _half_widths(family))
    if found is None:
        return None
    terms = [found.spread, found.along_drift, *_potential(family, value(x, t), x, known)]
    size = sum((term.abs() for term in terms), found.by_time.abs())
    return Residual(found.by_time.detach(), sum(terms[1:], terms[0]).detach(), size.detach())


def _columns(family: Family, x: Tensor, p: Params) -> list[Tensor]:
    """V_j(x), each `(N, d)`."""
    units = torch.eye(noise_dim(family), dtype=x.dtype)
    return [family.diffusion(x, unit.expand(len(x), -1), p) for unit in units]


def _potential(family: Family, value: Tensor, x: Tensor, p: Params) -> list[Tensor]:
    """−c u and f, where the family has them."""
    terms = [-family.discount(x, p) * value] if isinstance(family, Discount) else []
    return terms + ([family.source(x, p)] if isinstance(family, Source) else [])


def _half_widths(family: Family) -> Tensor:
    box = family.domain.measures["x"]
    low, high = box.bounds(family.domain.mean)  # float64
    return (high - low) / 2


@torch.enable_grad()
def _by_autograd(
    u: Value, x: Tensor, t: Tensor, drift: Tensor, columns: list[Tensor]
) -> Derivatives | None:
    x, t = x.detach().requires_grad_(), t.detach().requires_grad_()
    values = u(x, t)
    if not values.requires_grad:
        return None
    parts = [_row_derivatives(value, x, t, drift, columns) for value in values.unbind(-1)]
    return Derivatives(*(torch.stack(part, dim=-1) for part in zip(*parts, strict=True)))


def _row_derivatives(
    value: Tensor, x: Tensor, t: Tensor, drift: Tensor, columns: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """The three derivatives of one output, `(N,)` each."""
    slope, by_time = _gradients(value, x, create_graph=True), _gradients(value, t)
    spread = torch.zeros_like(value)
    for column in columns:
        bend = _gradients((slope * column).sum(-1), x)
        spread = spread + 0.5 * (bend * column).sum(-1)
    return by_time.squeeze(-1), (slope * drift).sum(-1), spread


def _gradients(values: Tensor, leaf: Tensor, create_graph: bool = False) -> Tensor:
    if not values.requires_grad:
        return torch.zeros_like(leaf)
    (gradient,) = torch.autograd.grad(
        values.sum(), leaf, create_graph=create_graph, retain_graph=True, allow_unused=True
    )
    return torch.zeros_like(leaf) if gradient is None else gradient


@torch.no_grad()
def _by_differences(
    u: Value, x: Tensor, t: Tensor, drift: Tensor, columns: list[Tensor], widths: Tensor
) -> Derivatives:
    def along(direction: Tensor, weights: tuple[float, ...], order: int) -> Tensor:
        h = REACH / (direction / widths).abs().amax(-1, keepdim=True).clamp_min(1e-300)
        values = (w * u(x + k * h * direction, t) for k, w in zip(STENCIL, weights, strict=True))
        return sum(values, torch.zeros_like(t)) / h**order

    times = (w * u(x, t + k * REACH * t) for k, w in zip(STENCIL, FIRST, strict=True))
    return Derivatives(
        by_time=sum(times, torch.zeros_like(t)) / (REACH * t),
        along_drift=along(drift, FIRST, 1),
        spread=sum((0.5 * along(column, SECOND, 2) for column in columns), torch.zeros_like(t)),
    )
