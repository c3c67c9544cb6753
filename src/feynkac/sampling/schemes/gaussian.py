r"""States whose law is normal, without discretisation error: with μ(S) = AS + b and constant σ,

    S_t = e^{At} x + ∫₀ᵗ e^{As} b ds + L z,     L Lᵀ = Q = ∫₀ᵗ e^{As} σσ* e^{A*s} ds.

That μ is affine and σ constant is found out by evaluating them: users need not know. Where A is
diagonal, everything is an elementary function of its entries; otherwise it is read off from the
exponential of a block matrix, as Van Loan does. Coefficients that vary with time are frozen in the
middle of small pieces; moments of n and n/2 pieces are extrapolated to order 4.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple, Protocol

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import TimeDependent
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim, on_the_way
from feynkac.families.point import Params, at_time
from feynkac.sampling.generators import make_generator
from feynkac.sampling.schemes.scheme import Scheme, require_free

TRIALS = 32
FAR = 30.0  # standard deviations away, where coefficients must still be affine
MOST_COUPLED = 10  # dimensions in which exponentials of matrices are affordable
MOST_CORRELATED = 256  # dimensions in which Cholesky's factors are
LEAST_VARIANCE = 1e-6  # of a coordinate, relative to its own, given those before it
PIECES = 16  # of the time in which coefficients vary; an even number


@dataclass(frozen=True, config={"extra": "forbid"})
class Gaussian(Scheme):
    """The exact law of states with affine drift and noise that does not depend on x, in one step.

    Example:
        >>> Gaussian().draws
        1
    """

    steps: Annotated[int, Field(ge=1, le=1)] = 1
    vectors: Annotated[int, Field(ge=1)] = 1
    """Of normals, one per Brownian motion: as many as make a normal for each coordinate."""

    @property
    def draws(self) -> int:
        """All vectors."""
        return self.vectors

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(vectors, …, m)` → `(…, d)`."""
        wide = Params(**{name: value.double() for name, value in vars(p).items()})
        start = x.double()  # differences of large coefficients lose digits
        if isinstance(family, TimeDependent):
            law = in_pieces(coefficients, family, start, start, wide, t.double())
        else:
            law = transition(coefficients(family, start, wide), start, t.double())
        return law.drawn(z)

    def check(self, family: Family) -> None:
        """μ must be affine and σ constant; there must be a normal for each coordinate."""
        require_free(family)
        if self.vectors < vectors_of(family):
            raise InputError(
                f"{type(family).__name__} has fewer Brownian motions than coordinates; "
                f"use Gaussian(vectors={vectors_of(family)})."
            )
        if not is_gaussian(family):
            raise InputError(
                f"{type(family).__name__} is not Gaussian: the scheme needs an affine drift, "
                "noise that does not depend on x and reaches all directions; use "
                "ExtrapolatedEuler(steps=16)."
            )


class Coefficients(NamedTuple):
    """A `(…, d, d)`, b `(…, d)`, σ `(…, d, m)`."""

    matrix: Tensor
    constant: Tensor
    noise: Tensor


class Transition(NamedTuple):
    """Mean `(…, d)` and L `(…, d, d)`."""

    mean: Tensor
    root: Tensor

    def drawn(self, z: Tensor) -> Tensor:
        """A state, by the first d of all normals.  Shape: `(vectors, …, m)` → `(…, d)`."""
        normals = z.movedim(0, -2).flatten(-2)[..., : self.mean.shape[-1]]
        return self.mean.to(z) + torch.einsum("...ij,...j->...i", self.root.to(z), normals)


def vectors_of(family: Family) -> int:
    """How many vectors of normals have one for each coordinate.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> vectors_of(Heston())
        1
    """
    return math.ceil(family.domain.state_dim / noise_dim(family))


class Equation(Protocol):
    """μ and σ of a family, or of something that is computed from its state."""

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """μ."""

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ dw."""


def coefficients(family: Family, x: Tensor, p: Params) -> Coefficients:
    """From values at 0 and at unit vectors."""
    return coefficients_of(family, noise_dim(family), x, p)


def coefficients_of(equation: Equation, motions: int, x: Tensor, p: Params) -> Coefficients:
    """Those of an equation with so many Brownian motions."""
    origin = torch.zeros_like(x)
    units = unit_vectors(x.shape[-1], x)
    constant = equation.drift(origin, p)
    columns = equation.drift(units + origin, p) - constant
    waves = unit_vectors(motions, x).expand(-1, *x.shape[:-1], -1)
    noise = equation.diffusion(origin.unsqueeze(0), waves, p)
    return Coefficients(columns.movedim(0, -1), constant, noise.movedim(0, -1))


def unit_vectors(count: int, like: Tensor) -> Tensor:
    """Shape: `(count, 1, …, count)`, with as many axes as `like` and one more."""
    eye = torch.eye(count, dtype=like.dtype, device=like.device)
    return eye.view(count, *[1] * (like.ndim - 1), count)


def transition(given: Coefficients, x: Tensor, t: Tensor) -> Transition:
    """The law of S_t."""
    mean, covariance, _ = _moments(given, x, t)
    return Transition(mean, _root(covariance))


def in_pieces(
    found: Callable[[Family, Tensor, Params], Coefficients],
    family: Family,
    x: Tensor,
    start: Tensor,
    p: Params,
    h: Tensor,
) -> Transition:
    """The law after a time h, in whose middle `p.t` is left, by coefficients found at each time.

    They are found at x; the law is that of a path from `start`. All pieces are found at once.
    """

    def moments(pieces: int) -> tuple[Tensor, Tensor]:
        middles = (torch.arange(pieces).to(h) + 0.5) / pieces
        left = p.t + (0.5 - middles.view(-1, *[1] * h.ndim)) * h
        given = found(family, x.expand(pieces, *x.shape), at_time(p, left))
        parts = _moments(given, torch.zeros_like(given.constant), (h / pieces).expand_as(left))
        mean, covariance = start, torch.zeros_like(parts[1][0])
        for shift, added, flow in zip(*parts, strict=True):
            mean = (flow * mean.unsqueeze(-2)).sum(-1) + shift
            covariance = added + flow @ covariance @ flow.mT
        return mean, covariance

    both = zip(moments(PIECES), moments(PIECES // 2), strict=True)
    mean, covariance = ((4.0 * fine - coarse) / 3.0 for fine, coarse in both)
    return Transition(mean, _root(covariance))


def _moments(given: Coefficients, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and covariance of S_t, and e^{At}."""
    spread = given.noise @ given.noise.mT
    if not _is_diagonal(given.matrix):
        return _by_exponential(given, spread, x, t)
    rates = given.matrix.diagonal(dim1=-2, dim2=-1)
    flow = (rates * t).exp()
    mean = flow * x + _growth(rates, t) * given.constant
    both = rates.unsqueeze(-1) + rates.unsqueeze(-2)
    return mean, spread * _growth(both, t.unsqueeze(-1)), flow.diag_embed()


def _is_diagonal(matrix: Tensor) -> bool:
    return not (matrix - matrix.diagonal(dim1=-2, dim2=-1).diag_embed()).any()


def _growth(rate: Tensor, t: Tensor) -> Tensor:
    """∫₀ᵗ e^{rate·s} ds, also at a rate of 0, where its slopes are those of the series."""
    small = (rate * t).abs() < 1e-3
    safe = torch.where(small, 1.0, rate)
    power = rate * t
    series = t * (1.0 + power * (1.0 / 2.0 + power * (1.0 / 6.0 + power / 24.0)))
    return torch.where(small, series, torch.expm1(safe * t) / safe)


def _by_exponential(
    given: Coefficients, spread: Tensor, x: Tensor, t: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, Q and e^{At} from  exp(h [[A, σσ*, b], [0, −A*, 0], [0, 0, 0]]),  h doubled up to t."""
    d = x.shape[-1]
    matrix = given.matrix
    zero, column = torch.zeros_like(matrix), given.constant.unsqueeze(-1)
    upper = torch.cat([matrix, spread, column], dim=-1)
    middle = torch.cat([zero, -matrix.mT, torch.zeros_like(column)], dim=-1)
    whole = torch.cat([upper, middle, torch.zeros_like(upper[..., :1, :])], dim=-2)
    size = float((matrix * t.unsqueeze(-1)).detach().abs().sum(-1).max())
    halvings = max(0, math.ceil(math.log2(size))) if size > 1.0 else 0  # blocks grow as e^size
    found = torch.linalg.matrix_exp(whole * (t.unsqueeze(-1) / 2**halvings))
    flow, shift = found[..., :d, :d], found[..., :d, -1:]
    covariance = found[..., :d, d : 2 * d] @ flow.mT
    for _ in range(halvings):
        covariance = covariance + flow @ covariance @ flow.mT
        flow, shift = flow @ flow, shift + flow @ shift
    mean = (flow * x.unsqueeze(-2)).sum(-1) + shift.squeeze(-1)
    return mean, 0.5 * (covariance + covariance.mT), flow


def _root(covariance: Tensor) -> Tensor:
    """Cholesky's factor, of a matrix with unit diagonal: variances may differ by any factor.

    At t = 0 they are 0, and so is the factor.
    """
    deviation = covariance.diagonal(dim1=-2, dim2=-1).sqrt()
    if _is_diagonal(covariance):
        return deviation.diag_embed()
    still = deviation == 0
    unit = torch.where(still, 1.0, deviation)
    scaled = covariance / (unit.unsqueeze(-1) * unit.unsqueeze(-2)) + still.to(unit).diag_embed()
    factor: Tensor = torch.linalg.cholesky_ex(scaled).L
    return deviation.unsqueeze(-1) * factor


@once_per_family
def is_gaussian(family: Family) -> bool:
    """Whether μ is affine in x and σ does not depend on it, with noise in all directions.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> is_gaussian(Heston()), is_gaussian(HeatGaussian(dim=3))
        (False, True)
    """
    generator = make_generator(0, "gaussian")
    x, t, p = family.domain.split(family.domain.sample(TRIALS, generator, torch.float64))
    p = on_the_way(family, p, t)
    std = family.domain.std[family.domain.slices()["x"]]
    std = torch.where(std > 0.0, std, x.abs().amax(0).clamp_min(1.0))  # paths leave what is fixed
    far = x + FAR * std * torch.randn(x.shape, generator=generator, dtype=torch.float64)
    dw = torch.randn(TRIALS, noise_dim(family), generator=generator, dtype=torch.float64)
    given = coefficients(family, x, p)
    moved = (given.noise.square().sum(-1) * t).sqrt() + (family.drift(x, p) * t).abs()
    moved = moved * torch.randn(x.shape, generator=generator, dtype=torch.float64)
    same = all(
        is_affine_at(family, given, at, dw, p)
        for at in (x, far, x + moved, x + FAR * moved)  # paths may leave a small box far behind
    )
    return same and can_be_drawn(given, x, t)


def is_affine_at(
    equation: Equation, given: Coefficients, at: Tensor, dw: Tensor, p: Params
) -> bool:
    """Whether the equation has these coefficients at `at`, too."""
    drift = (given.matrix @ at.unsqueeze(-1)).squeeze(-1) + given.constant
    noise = (given.noise @ dw.unsqueeze(-1)).squeeze(-1)
    same_drift = _equal(equation.drift(at, p), drift)
    return same_drift and _equal(equation.diffusion(at, dw, p), noise)


def can_be_drawn(given: Coefficients, x: Tensor, t: Tensor) -> bool:
    """Whether noise reaches all directions, and matrices are not too large."""
    if x.shape[-1] > MOST_COUPLED and not _is_diagonal(given.matrix):
        return False
    if x.shape[-1] > MOST_CORRELATED and not _is_diagonal(given.noise @ given.noise.mT):
        return False
    root = transition(given, x, t).root
    own, all_of_it = root.diagonal(dim1=-2, dim2=-1).square(), root.square().sum(-1)
    return bool((own > LEAST_VARIANCE * all_of_it).all())  # false for NaN, too


def _equal(a: Tensor, b: Tensor) -> bool:
    """Coordinate by coordinate: their units may differ by any factor."""
    return all(equal(x, y) for x, y in zip(a.unbind(-1), b.unbind(-1), strict=True))
