r"""Geometric Brownian motions, any number and however correlated, without discretisation error:

    S_i ← S_i exp( (m_i − ½ Σ_j s_ij²) h + Σ_j s_ij ΔB_j ),    m = μ(S)/S,  s = σ(S)/S,

for families whose m and s do not depend on S. That is found out by evaluating the coefficients:
users write μ and σ, and need not know. If m and s vary with time, ln S is normal (`gaussian.py`).
"""

import functools
from dataclasses import dataclass as plain_dataclass
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import TimeDependent
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim, on_the_way, timed
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.schemes.gaussian import vectors_of
from feynkac.sampling.schemes.linear_law import Coefficients
from feynkac.sampling.schemes.scheme import Scheme, require_free
from feynkac.sampling.schemes.time_pieces import TimeVarying, find_pieces, in_pieces

TRIALS = 32
ENTRIES_AT_ONCE = 2**22  # of σ: memory


@dataclass(frozen=True, config={"extra": "forbid"})
class Geometric(Scheme):
    """Exact steps of states that grow and fluctuate in proportion to themselves.

    Example:
        >>> Geometric().draws
        1
    """

    steps: Annotated[int, Field(ge=1)] = 1

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, m)` → `(…, d)`."""
        if isinstance(family, TimeDependent):
            wide = Params(**{name: value.double() for name, value in vars(p).items()})
            law = in_pieces(Growth(), family, x.double(), wide, t.double())
            return x * law.drawn(z).exp()
        total = z.sum(0) * (t / self.steps).sqrt()
        growth = family.drift(x, p) / x - 0.5 * relative_variance(family, x, p)
        return x * (growth * t + family.diffusion(x, total, p) / x).exp()

    def check(self, family: Family) -> None:
        """μ and σ must be proportional to the state."""
        require_free(family)
        if not is_geometric(family):
            raise InputError(
                f"{type(family).__name__} is no geometric Brownian motion: Geometric needs μ and σ "
                "that are proportional to x > 0; use ExtrapolatedEuler(steps=16)."
            )


@plain_dataclass(frozen=True)
class Growth(TimeVarying):
    """ln(S/x):  A = 0,  b = m − ½ Σ_j s_ij²,  σ = s."""

    def start(self, x: Tensor) -> Tensor:
        """0."""
        return torch.zeros_like(x)

    def coefficients(self, family: Family, x: Tensor, p: Params) -> Coefficients:
        """From m and s at x."""
        units = torch.eye(noise_dim(family), dtype=x.dtype, device=x.device)
        units = units.view(len(units), *[1] * (x.ndim - 1), len(units))
        waves = units.expand(-1, *x.shape[:-1], -1)
        noise = (family.diffusion(x.unsqueeze(0), waves, p) / x).movedim(0, -1)
        constant = family.drift(x, p) / x - 0.5 * noise.square().sum(-1)
        return Coefficients(torch.zeros_like(noise @ noise.mT), constant, noise)


def relative_variance(family: Family, x: Tensor, p: Params) -> Tensor:
    """Σ_j (σ_ij/x_i)².  Shape: `(…, d)` → `(…, d)`."""
    groups, found = column_groups(family).to(x), []
    for units in torch.split(groups, max(1, ENTRIES_AT_ONCE // x.numel())):
        units = units.view(-1, *[1] * (x.ndim - 1), units.shape[-1])
        columns = family.diffusion(x.unsqueeze(0), units.expand(-1, *x.shape[:-1], -1), p)
        found.append((columns / x).square().sum(0))
    return functools.reduce(torch.add, found)


def column_groups(family: Family) -> Tensor:
    """Columns of σ that share no entry, in groups of ones: (Σ_j σ_ij)² is Σ_j σ_ij² over a group.

    Of 1,000 assets with a noise of their own and a common one, there are two groups. What is
    zero is found at random points of the domain, once per family.  Shape: `(groups, m)`.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> column_groups(BlackScholes(dim=3))
        tensor([[1., 1., 1.]], dtype=torch.float64)
    """
    try:
        hash(family)
    except TypeError:  # a list among its fields: they would be found anew at every step
        return torch.eye(noise_dim(family), dtype=torch.float64)
    return _column_groups(family)


@once_per_family
@torch.inference_mode(False)  # what is kept serves autograd later
@torch.no_grad()
def _column_groups(family: Family) -> Tensor:
    generator, units = make_generator(0, "columns"), torch.eye(noise_dim(family)).double()
    x, t, p = family.domain.split(family.domain.sample(TRIALS, generator, torch.float64))
    p = timed(family, p, t)
    columns = (family.diffusion(x, unit.expand(TRIALS, -1), p).expand_as(x) for unit in units)
    entries = torch.stack([(column != 0.0).any(0) for column in columns])
    if entries.all(0).any():  # an entry that all move: no two go together
        return units
    groups, taken, count = torch.zeros_like(units), torch.zeros_like(entries), 0
    for unit, entry in zip(units, entries, strict=True):
        crossed = (taken[:count] & entry).any(1).tolist()
        place = (*crossed, False).index(False)  # the first that fits, or a new one
        groups[place] += unit
        taken[place] |= entry
        count = max(count, place + 1)
    return groups[:count]


@once_per_family
def is_geometric(family: Family) -> bool:
    """Whether μ and σ are proportional to x, which is positive.

    Example:
        >>> from feynkac.families.models.bachelier import Bachelier
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> is_geometric(BlackScholes()), is_geometric(Bachelier())
        (True, False)
    """
    several = isinstance(family, TimeDependent) and vectors_of(family) > 1
    if several or min(family.domain.measures["x"].low) <= 0.0:  # a vector has too few normals
        return False
    generator = make_generator(0, "geometric")
    x, t, p = family.domain.split(family.domain.sample(TRIALS, generator, torch.float64))
    p = on_the_way(family, p, t)
    dw = torch.randn(TRIALS, noise_dim(family), generator=generator, dtype=torch.float64)
    away = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    up = 1.0 + (relative_variance(family, x, p) * t).sqrt()  # as far as paths go that earn much
    ratios = []
    for state in (x, torch.where(away > 0.0, away * up, away).exp() * x):
        both = (family.drift(state, p).expand_as(x), family.diffusion(state, dw, p).expand_as(x))
        ratios.append(torch.cat(both, dim=-1) / torch.cat([state, state], dim=-1))
    if not equal(*ratios):
        return False
    return not isinstance(family, TimeDependent) or find_pieces(family, Growth()) is not None
