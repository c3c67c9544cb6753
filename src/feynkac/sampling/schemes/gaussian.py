r"""States whose law is normal, without discretisation error: μ(S) = AS + b with constant σ.

That μ is affine and σ constant is found out by evaluating them: users need not know. The law is
that of `linear_law.py`, or of `time_pieces.py` where coefficients vary with time.
"""

import math
from dataclasses import dataclass as plain_dataclass
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import TimeDependent
from feynkac.families.evaluating import EQUAL, once_per_family
from feynkac.families.family import Family, noise_dim, on_the_way
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.schemes.linear_law import (
    Coefficients,
    Equation,
    coefficients_of,
    is_diagonal,
    transition,
)
from feynkac.sampling.schemes.scheme import Scheme, require_end, require_free
from feynkac.sampling.schemes.time_pieces import TimeVarying, find_pieces, in_pieces

TRIALS = 32
FAR = 30.0  # standard deviations away, where coefficients must still be affine
MOST_COUPLED = 10  # dimensions in which exponentials of matrices are affordable
MOST_CORRELATED = 256  # dimensions in which Cholesky's factors are
LEAST_VARIANCE = 1e-6  # of a coordinate, relative to its own, given those before it


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
            law = in_pieces(State(), family, start, wide, t.double())
        else:
            law = transition(coefficients(family, start, wide), start, t.double())
        return law.drawn(z)

    def check(self, family: Family) -> None:
        """μ must be affine and σ constant; there must be a normal for each coordinate."""
        require_free(family)
        require_end(family, "Gaussian")
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


def vectors_of(family: Family) -> int:
    """How many vectors of normals have one for each coordinate.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> vectors_of(Heston())
        1
    """
    return math.ceil(family.domain.state_dim / noise_dim(family))


def coefficients(family: Family, x: Tensor, p: Params) -> Coefficients:
    """From values at 0 and at unit vectors."""
    return coefficients_of(family, noise_dim(family), x, p)


@plain_dataclass(frozen=True)
class State(TimeVarying):
    """The state itself."""

    def start(self, x: Tensor) -> Tensor:
        """x."""
        return x

    def coefficients(self, family: Family, x: Tensor, p: Params) -> Coefficients:
        """From values at 0 and at unit vectors."""
        return coefficients(family, x, p)


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
    drawn = same and can_be_drawn(given, x, t)
    return drawn and (
        not isinstance(family, TimeDependent) or find_pieces(family, State()) is not None
    )


def is_affine_at(
    equation: Equation, given: Coefficients, at: Tensor, dw: Tensor, p: Params
) -> bool:
    """Whether the equation has these coefficients at `at`, too."""
    pairs = (
        (equation.drift(at, p) - given.constant, given.matrix, at, given.constant),
        (equation.diffusion(at, dw, p), given.noise, dw, torch.zeros_like(given.constant)),
    )
    return all(_is_product(*pair) for pair in pairs)


def _is_product(found: Tensor, matrix: Tensor, vector: Tensor, beside: Tensor) -> bool:
    """Whether it is matrix · vector, up to what rounding leaves of these terms and others."""
    column = vector.unsqueeze(-1)
    terms = (matrix.abs() @ column.abs()).squeeze(-1) + beside.abs()
    away = (found - (matrix @ column).squeeze(-1)).abs()
    return bool((away <= EQUAL * terms).all())  # false for NaN, too


def can_be_drawn(given: Coefficients, x: Tensor, t: Tensor) -> bool:
    """Whether noise reaches all directions, and matrices are not too large."""
    if x.shape[-1] > MOST_COUPLED and not is_diagonal(given.matrix):
        return False
    if x.shape[-1] > MOST_CORRELATED and not is_diagonal(given.noise @ given.noise.mT):
        return False
    root = transition(given, x, t).root
    own, all_of_it = root.diagonal(dim1=-2, dim2=-1).square(), root.square().sum(-1)
    return bool((own > LEAST_VARIANCE * all_of_it).all())  # false for NaN, too
