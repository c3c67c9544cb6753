r"""States some of whose coordinates have logarithms that are normal, without discretisation error:

    y_i = ln(S_i / c_i)  for those,  y_i = S_i  for the others,
    dy_i = (μ_i/S_i − ½ Σ_j (σ_ij/S_i)²) dt + Σ_j (σ_ij/S_i) dB_j,

if that drift is affine in y and its noise constant: prices whose logarithm reverts to a mean,
convenience yields, rates that move a price, populations by Gompertz. It is found out by evaluating
μ and σ, as in `gaussian.py`, whose formulas draw y. The middle c of the domain only sets the scale.
"""

from dataclasses import dataclass as plain_dataclass
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import TimeDependent
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim, on_the_way
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.schemes.gaussian import (
    MOST_CORRELATED,
    can_be_drawn,
    is_affine_at,
    vectors_of,
)
from feynkac.sampling.schemes.linear_law import (
    Coefficients,
    coefficients_of,
    transition,
    unit_vectors,
)
from feynkac.sampling.schemes.scheme import Scheme, require_end, require_free
from feynkac.sampling.schemes.time_pieces import TimeVarying, find_pieces, in_pieces

TRIALS = 32
REACHES = (0.0, 1.0, 2.0, 4.0)  # of the law that is supposed, at which it must hold
TIMES = (0.25, 1.0)  # of t


@dataclass(frozen=True, config={"extra": "forbid"})
class LogGaussian(Scheme):
    """The exact law of states that are normal once logarithms are taken of some, in one step.

    Example:
        >>> LogGaussian().draws
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
        logs, h = Logarithms(family, logarithms(family)), t.double()
        start = x.double()
        if isinstance(family, TimeDependent):
            law = in_pieces(logs, family, start, wide, h)
        else:
            law = transition(logs.coefficients(family, start, wide), logs.start(start), h)
        return logs.outward(law.drawn(z))

    def check(self, family: Family) -> None:
        """There must be coordinates whose logarithms are normal, and a normal for each."""
        require_free(family)
        require_end(family, "LogGaussian")
        if self.vectors < vectors_of(family):
            raise InputError(
                f"{type(family).__name__} has fewer Brownian motions than coordinates; "
                f"use LogGaussian(vectors={vectors_of(family)})."
            )
        if not logarithms(family):
            raise InputError(
                f"{type(family).__name__} is not Gaussian after logarithms of some coordinates: "
                "LogGaussian needs an affine drift and constant noise then; use "
                "ExtrapolatedEuler(steps=16)."
            )


@plain_dataclass(frozen=True)
class Logarithms(TimeVarying):
    """The equation of y, with logarithms of some entries."""

    family: Family
    entries: tuple[int, ...]

    def _masks(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Which entries have logarithms, and c, 1 for others.  Shape: `(d,)` both."""
        law = self.family.domain.measures["x"]
        ends = torch.tensor([law.low, law.high], dtype=torch.float64)  # units may be extreme
        taken = torch.zeros_like(ends[0], dtype=torch.bool)
        taken[list(self.entries)] = True
        middle = torch.where(taken, ends.clamp_min(0.0).sqrt().prod(0), 1.0)
        size = like.shape[-1]
        return taken.to(like.device).expand(size), middle.to(like).expand(size)

    def start(self, x: Tensor) -> Tensor:
        """y.  Shape: `(…, d)` both."""
        taken, middle = self._masks(x)
        return torch.where(taken, (torch.where(taken, x, 1.0) / middle).log(), x)

    def outward(self, y: Tensor) -> Tensor:
        """S.  Shape: `(…, d)` both."""
        taken, middle = self._masks(y)
        return torch.where(taken, middle * torch.where(taken, y, 0.0).exp(), y)

    def _unit(self, state: Tensor) -> Tensor:
        """S_i where logarithms are taken, otherwise 1."""
        return torch.where(self._masks(state)[0], state, 1.0)

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """By Itô's formula, at y.  Shape: `(…, d)` both."""
        state = self.outward(x)
        unit, taken = self._unit(state), self._masks(state)[0]
        waves = unit_vectors(noise_dim(self.family), state).expand(-1, *state.shape[:-1], -1)
        relative = self.family.diffusion(state.unsqueeze(0), waves, p) / unit
        variance = relative.square().sum(0)
        return self.family.drift(state, p) / unit - 0.5 * torch.where(taken, variance, 0.0)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ dw in units of S where logarithms are taken, at y."""
        state = self.outward(x)
        return self.family.diffusion(state, dw, p) / self._unit(state)

    def coefficients(self, family: Family, x: Tensor, p: Params) -> Coefficients:
        """Of the equation of y."""
        return coefficients_of(self, noise_dim(family), x, p)


@once_per_family
def logarithms(family: Family) -> tuple[int, ...]:
    """The entries of x whose logarithms make the state normal; none if there are no such.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.families.models.heston import Heston
        >>> logarithms(BlackScholes()), logarithms(Heston())
        ((0,), ())
    """
    if family.domain.state_dim > MOST_CORRELATED:
        return ()
    generator = make_generator(0, "logarithms")
    inputs = family.domain.sample(TRIALS, generator, torch.float64)
    x, t, p = family.domain.split(inputs)
    now = on_the_way(family, p, t)
    entries = _proportional(family, x, now)
    logs = Logarithms(family, entries)
    if not entries or not _is_normal(logs, x, t, now):
        return ()
    known = not isinstance(family, TimeDependent) or find_pieces(family, logs) is not None
    return entries if known else ()


def _proportional(family: Family, x: Tensor, p: Params) -> tuple[int, ...]:
    """Positive entries whose noise doubles with them."""
    low = torch.tensor(family.domain.measures["x"].low).expand(x.shape[-1])
    waves = unit_vectors(noise_dim(family), x).expand(-1, *x.shape[:-1], -1)
    noise = family.diffusion(x.unsqueeze(0), waves, p).expand(-1, *x.shape)
    found = []
    for i in (low > 0.0).nonzero().flatten().tolist():
        double = x.clone()
        double[:, i] *= 2.0
        moved = family.diffusion(double.unsqueeze(0), waves, p).expand(-1, *x.shape)
        if bool(noise[..., i].any()) and equal(moved[..., i], 2.0 * noise[..., i]):
            found.append(i)
    return tuple(found)


def _is_normal(logs: Logarithms, x: Tensor, t: Tensor, p: Params) -> bool:
    """Whether coefficients are affine wherever paths go if they are: up to four times as far."""
    generator, start = make_generator(1, "logarithms"), logs.start(x)
    dw = torch.randn(len(x), noise_dim(logs.family), generator=generator, dtype=x.dtype)
    given = logs.coefficients(logs.family, x, p)
    if not can_be_drawn(given, start, t):
        return False
    for share in TIMES:
        law = transition(given, start, share * t)
        away = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        spread = (law.root @ away.unsqueeze(-1)).squeeze(-1)
        places = [start, *(law.mean + reach * spread for reach in REACHES)]
        if not all(is_affine_at(logs, given, place, dw, p) for place in places):
            return False
    return True
