r"""Do paths exist for all times? Khasminskii's condition: with m the middle of the domain,

    κ(x) = (2⟨x − m, μ(x)⟩ + ‖σ(x)‖²) / |x − m|²    is bounded above for large |x|.

κ is evaluated on rays that leave the domain, at 10, 100 and 1000 times its size. A drift like x² or
a σ like x² makes κ grow tenfold or more from one to the next; x log x is let through. A drift like
−x³ points inwards, κ → −∞: paths exist, and only the growth of μ is noted.

An error is made of rays along one axis alone, with κ of that coordinate. Where only several
coordinates together grow too fast, as in √v S, paths may exist; that is noted. States that cannot
be reached are left out: beyond a wall, or below zero where σ vanishes at zero and μ points upwards.
Where a formula is not defined, nothing is said.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import Absorbing, Family, noise_dim, timed
from feynkac.families.point import Params

SCALES = torch.tensor([10.0, 100.0, 1000.0], dtype=torch.float64)
INPUTS, RAYS, NORMALS = 16, 8, 4
FASTER = 1.6  # in a decade; |x|^{0.2}


class Growth(NamedTuple):
    """What was seen far outside. Exponents are the largest over the rays, NaN if nothing was."""

    drift: float
    """Exponent of |μ| in |x|."""
    diffusion: float
    """Exponent of ‖σ‖ in |x|."""
    explosive: str
    """`μ` or `σ` if it makes κ grow along one axis, else empty."""
    together: bool
    """Whether κ grows if several coordinates do."""
    checked: float
    """Share of the rays on which all formulas are defined and that can be reached."""


def check_growth(family: Family) -> None:
    """Raise `InputError` if paths run off to infinity."""
    growth = measure_growth(family)
    if growth.explosive:
        power = growth.drift if growth.explosive == "μ" else growth.diffusion
        raise InputError(
            f"{type(family).__name__} explodes: superlinear growth of {growth.explosive}, like "
            f"|x|^{power:.3g} away from the domain, so that paths may run off to infinity in "
            "finite time; bound it outside of where it matters (clamp), or set up a wall."
        )


def measure_growth(family: Family) -> Growth:
    """Growth of the coefficients along rays that leave the domain.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> growth = measure_growth(BlackScholes())
        >>> round(growth.diffusion, 1), growth.explosive
        (1.0, '')
    """
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(INPUTS, generator, torch.float64)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    p = timed(family, p, t)
    rays = _rays(_stays_positive(family, x, p, generator), generator)
    middle, size = _middle_and_size(family)
    states = x + (SCALES[:, None] * rays[:, None] * size).flatten(0, 1)  # (N, R · scales, d)
    drift, squares = _coefficients(family, states, p, generator)
    known = ~(drift.isnan() | squares.isnan()).any(-1) & _inside(family, states, p)
    parts = ((states - middle) / size, drift / size, squares / size.square())
    shape = (INPUTS, len(rays), len(SCALES))
    away, drift, squares = (part.reshape(*shape, -1) for part in parts)
    return _judge(away, drift, squares, known.reshape(shape).all(-1), rays)


def _judge(away: Tensor, drift: Tensor, squares: Tensor, known: Tensor, rays: Tensor) -> Growth:
    """Shape: x − m, μ and the squared rows of σ `(N, R, scales, d)`, known `(N, R)`."""
    moved = (rays != 0.0)[:, None]
    inwards = 2.0 * (away * drift * moved).sum(-1)
    spread = (squares * moved).sum(-1)
    distance = (away * moved).square().sum(-1)
    rate, typical = (inwards + spread) / distance, (inwards.abs() + spread) / distance
    bound = FASTER * torch.maximum(rate[..., 1], typical[..., 0])
    grows = known & ((rate[..., 2] > bound) | rate[..., 2].isposinf())
    alone = grows & (moved.sum(-1) == 1).squeeze(-1)
    noisy = (spread > inwards)[..., 2][alone]
    return Growth(
        drift=_exponent(drift.norm(dim=-1), known),
        diffusion=_exponent(squares.sum(-1).sqrt(), known),
        explosive=("σ" if noisy.any() else "μ") if alone.any() else "",
        together=bool(grows.any()),
        checked=known.double().mean().item(),
    )


def _exponent(values: Tensor, known: Tensor) -> float:
    """Largest power of |x| between the last two scales."""
    near, far = values[known][:, 1:].unbind(-1)
    powers = (far / near).log10()[near > 0.0]
    return powers.max().item() if len(powers) else torch.nan


def _middle_and_size(family: Family) -> tuple[Tensor, Tensor]:
    """Of the box of x; the size is at least the distance from zero.  Shape: `(d,)` each."""
    box = family.domain.measures["x"]
    low, high = (torch.tensor(side, dtype=torch.float64) for side in (box.low, box.high))
    return (low + high) / 2, torch.maximum(low.abs(), high.abs())


def _rays(upwards: Tensor, generator: torch.Generator) -> Tensor:
    """Along axes, both ways, and with all coordinates at once.  Shape: `(d,)` → `(R, d)`."""
    dim = len(upwards)
    axes = torch.eye(dim, dtype=torch.float64)
    axes = axes[torch.randperm(dim, generator=generator)[:RAYS]]
    signs = torch.randint(2, (RAYS, dim), generator=generator) * 2 - 1
    rays = torch.cat([axes, -axes, signs, torch.ones_like(axes[:1])])
    return torch.where(upwards, rays.abs(), rays)


def _stays_positive(family: Family, x: Tensor, p: Params, generator: torch.Generator) -> Tensor:
    """Which coordinates cannot fall below zero.  Shape: x `(N, 1, d)` → `(d,)`."""
    low = x.new_tensor(family.domain.measures["x"].low)
    states = torch.where(torch.eye(x.shape[-1], dtype=torch.bool), 0.0, x)
    drift, squares = (
        part.diagonal(dim1=-2, dim2=-1) for part in _coefficients(family, states, p, generator)
    )
    leaves = (squares > 0.0) | (drift < 0.0)
    return (low >= 0.0) & ~leaves.any(0)


def _coefficients(
    family: Family, x: Tensor, p: Params, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """μ and the squared norms of the rows of σ (estimated).  Shape: `(N, K, d)` each."""
    shape = (NORMALS, len(x), 1, noise_dim(family))  # the same for all states of an input
    normals = torch.randn(shape, generator=generator, dtype=x.dtype).expand(-1, -1, x.shape[1], -1)
    with torch.no_grad():
        squares = [family.diffusion(x, z, p).square() for z in normals]
        return family.drift(x, p), torch.stack(squares).mean(0)


def _inside(family: Family, x: Tensor, p: Params) -> Tensor:
    """Which states are on the right side of all walls.  Shape: `(N, K, d)` → `(N, K)`."""
    if not isinstance(family, Absorbing):
        return torch.ones_like(x[..., 0], dtype=torch.bool)
    return (family.distance(x, p) > 0.0).all(-1)
