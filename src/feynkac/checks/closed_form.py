r"""Is the closed form u a solution? It starts from φ, and with V_j the columns of σ the residual

    r = ∂u/∂t − ½ Σ_j ⟨V_j, ∇²u V_j⟩ − ⟨μ, ∇u⟩ + c u − f,

is zero, relative to the size of its terms. Derivatives come from automatic differentiation; where
a closed form carries no gradients (SciPy was used), or wrong ones, from central differences of
order 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.checks.finding import Finding, Subject
from feynkac.families.capabilities import ClosedForm, Discount, Source
from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.point import Params, Point, describe
from feynkac.sampling.generators import make_generator

PDE_INPUTS = 32
EARLIEST = 0.1  # of the longest time: where the PDE is looked at
SMALL_RESIDUAL, WRONG_RESIDUAL = 1e-6, 1e-3  # relative to the terms of the PDE
SOON = 1e-8  # in parts of t
LARGEST_GAP, LARGEST_GAP_SOON = 1e-6, 1e-3  # between u and φ at t = 0 and soon after
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


def start(subject: Subject) -> Finding:
    """u(x, t) → φ(x) as t → 0."""
    family = subject.family
    assert isinstance(family, ClosedForm)
    if earliest := family.domain.measures["t"].low[0]:
        return Finding("ok", f"the domain begins at t = {earliest:g}: not checked")
    x, t, p = _inside(family)
    with torch.no_grad():
        initial = family.initial(x, timed(family, p, 0.0 * t))
        gaps = [
            (family.closed_form(x, share * t, p) - initial).abs() / (1.0 + initial.abs().mean())
            for share in (0.0, SOON)
        ]
    figures = {"at 0": gaps[0].max().item(), "near 0": gaps[1].median().item()}
    if figures["at 0"] < LARGEST_GAP and figures["near 0"] < LARGEST_GAP_SOON:
        return Finding("ok", "the closed form starts from the initial condition", figures)
    sentence = "the closed form at t = 0 is not the initial condition; correct one of them"
    return Finding("fail", sentence, figures)


def equation(subject: Subject) -> Finding:
    """u solves the PDE."""
    family = subject.family
    assert isinstance(family, ClosedForm)
    point = _inside(family)
    by_autograd = residual(family, family.closed_form, point, exact=True)
    if by_autograd is not None and by_autograd.largest < SMALL_RESIDUAL:
        return Finding("ok", _solved(by_autograd), {"residual": by_autograd.largest})
    found = residual(family, family.closed_form, point, exact=False)
    assert found is not None
    figures = {"residual": found.largest}
    if found.largest > WRONG_RESIDUAL:
        return Finding("fail", _two_sides(found, point), figures)
    if by_autograd is not None and by_autograd.largest > WRONG_RESIDUAL:
        sentence = f"{_solved(found)}, but autograd gives it wrong gradients"
        return Finding("note", sentence, figures)
    return Finding("ok", f"{_solved(found)}, by central differences", figures)


def _solved(found: Residual) -> str:
    return f"the closed form solves the PDE up to {found.largest:.1g} of the size of its terms"


def _two_sides(found: Residual, point: Point) -> str:
    row, column = divmod(int(found.relative.argmax()), found.relative.shape[1])
    left, right = (side[row, column].item() for side in (found.left, found.right))
    where = Point(
        point.x[row], point.t[row], Params(**{n: v[row] for n, v in vars(point.p).items()})
    )
    return (
        f"the closed form does not solve the PDE: ∂u/∂t = {left:.6g}, but the other side is "
        f"{right:.6g}, at {describe(where)}; correct the formula that is wrong"
    )


def _inside(family: Family) -> Point:
    """Random inputs away from t = 0, in float64; what is not allowed so late is left out."""
    domain = family.domain
    inputs = domain.sample(PDE_INPUTS, make_generator(0, "inside"), torch.float64)
    later = inputs.clone()
    later[:, domain.slices()["t"]].clamp_min_(EARLIEST * domain.measures["t"].high[0])
    return domain.split(torch.where(domain.contains(later).unsqueeze(-1), later, inputs))


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
    size = torch.maximum(low.abs(), high.abs()).clamp_min(1.0)  # of what is fixed
    return torch.where(low < high, high - low, size) / 2


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
