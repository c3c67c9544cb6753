r"""Do paths exist for all times? Khasminskii's condition: with m the middle of the domain,

    κ(x) = (2⟨x − m, μ(x)⟩ + ‖σ(x)‖²) / |x − m|²    is bounded above for large |x|.

κ is evaluated on rays that leave the domain, at 10, 100 and 1000 times its size. A drift like x² or
a σ like x² makes κ grow tenfold or more from one to the next; x log x is let through. A drift like
−x³ points inwards, κ → −∞: paths exist.

κ asks for more than is needed: a growing one is an alarm only if

- it comes from μ and the flow dx/dt = μ(x) from that ray runs off, growing on while its time stands
  still. A particle in a confining potential does not, nor do predators and their prey;
- it comes from σ. If μ points inwards faster than linearly, as in the 3/2 model, paths exist with a
  finite mean, and only the growth is noted.

Only rays along one axis can fail, with κ of that coordinate. Where only several coordinates
together grow too fast, as in √v S, paths exist, but their large moments may be infinite; that is
noted if φ grows faster than linearly. States that cannot be reached
are left out: beyond a wall, below zero where σ vanishes at zero and μ points upwards, or along an
axis beyond any place where σ of that coordinate vanishes and μ does not lead outwards. Where
simulated paths of twice the noise stay near the domain, growth far away is noted: a radiation like
−T⁴ points outwards at a temperature below 0 K, where no path comes. Where a formula is not defined,
nothing is said.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.checks.finding import Finding, Subject
from feynkac.families.capabilities import Absorbing, Coupled
from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.point import Params

DISTANCES = torch.tensor([10.0, 100.0, 1000.0], dtype=torch.float64)  # in sizes of the domain
RAY_STARTS = 16
MOST_RAYS = 8  # of each kind
MOST_COLUMNS = 16  # of σ, that are all evaluated
SIGMA_NORMALS = 4  # for an estimate of ‖σ‖ beyond
ENTRIES_AT_ONCE = 2**20  # of states, one per coordinate and start: memory
FASTEST_DECADE = 1.6  # of κ, from one distance to the next: |x|^{0.2}
SUPERLINEAR = 1.0 + math.log10(FASTEST_DECADE)
FLOW_STEP, FLOW_STEPS = 0.05, 400  # relative change of x, and how often
STILL_GROWING = 0.5  # of the fastest growth, in the second half of the flow
ENDS_TRIED, BISECTIONS = 513, 40  # places along a ray at which noise may end
NO_NOISE, NO_DRIFT = 1e-9, 1e-6  # relative to those at its start
STANDING_STILL = 0.1  # time of a step at the end, relative to the middle
LOUD, LOUD_PATHS, LOUD_STEPS = 2.0, 64, 256  # noise, relative; paths per start, and their steps
FAR = 3.0  # from the middle, in sizes of the domain


class Growth(NamedTuple):
    """What was seen far outside. Exponents are the largest over the rays, NaN if nothing was."""

    drift: float
    """Exponent of |μ| in |x|."""
    diffusion: float
    """Exponent of ‖σ‖ in |x|."""
    initial: float
    """Exponent of |φ| in |x|."""
    explosive: str
    """`μ` or `σ` if it makes κ grow along one axis, else empty."""
    together: bool
    """Whether κ grows if several coordinates do."""
    checked: float
    """Share of the rays on which all formulas are defined and that can be reached."""
    enclosed: bool
    """Whether all rays meet a wall."""


def growth(subject: Subject) -> Finding:
    """Paths must not run off to infinity."""
    found, name = measure_growth(subject.family), type(subject.family).__name__
    figures = {"drift": found.drift, "diffusion": found.diffusion, "checked": found.checked}
    if found.explosive:
        if isinstance(subject.family, Coupled):  # such as a simplex, whose sides end the noise
            sentence = "coefficients grow fast, but only where no input is `allowed`: not judged"
            return Finding("note", sentence, figures)
        if not _is_reached(subject.family):
            power = found.drift if found.explosive == "μ" else found.diffusion
            sentence = (
                f"far from the domain {found.explosive} grows like |x|^{power:.3g} and leads paths "
                "away, but no simulated path comes there, even with twice the noise"
            )
            return Finding("note", sentence, figures)
        return Finding("fail", f"{name} {_explosion(found)}", figures)
    if found.enclosed:
        sentence = "paths cannot go far: all around are walls, or places they cannot cross"
        return Finding("ok", sentence, figures)
    if found.checked == 0.0:
        sentence = "the formulas are not defined far outside the domain: not checked there"
        return Finding("note", sentence, figures)
    power = max(v for v in (found.drift, found.diffusion, 0.0) if not math.isnan(v))
    if found.together:
        where = "with all coordinates at once " * (subject.family.domain.state_dim > 1)
        sentence = f"{where}the coefficients grow like |x|^{power:.2g}: "
        if found.initial > SUPERLINEAR:
            sentence += f"E φ(S) may be infinite, since φ grows like |x|^{found.initial:.2g}"
            return Finding("note", sentence, figures)
        sentence += "paths exist, and φ grows too slowly for their large moments to matter"
        return Finding("ok", sentence, figures)
    if power > SUPERLINEAR:
        sentence = f"the coefficients grow like |x|^{power:.2g}, but μ holds paths together"
        return Finding("ok", sentence, figures)
    return Finding("ok", "μ and σ grow at most linearly", figures)


def _explosion(found: Growth) -> str:
    power = found.drift if found.explosive == "μ" else found.diffusion
    return (
        f"explodes: superlinear growth of {found.explosive}, like |x|^{power:.3g} away from the "
        "domain, so that paths may run off to infinity in finite time; bound it outside the "
        "region that matters (clamp), or add a wall"
    )


@torch.no_grad()
def _is_reached(family: Family) -> bool:
    """Whether loud paths of the longest time go far out, or get lost."""
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(RAY_STARTS, generator, torch.float64)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    middle, size = _middle_and_size(family)
    t = torch.full_like(t, family.domain.measures["t"].high[0])
    h = t / LOUD_STEPS
    x = x.expand(-1, LOUD_PATHS, -1)
    for k in range(LOUD_STEPS):
        now, shape = timed(family, p, t - k * h), (*x.shape[:-1], noise_dim(family))
        dw = LOUD * h.sqrt() * torch.randn(shape, generator=generator, dtype=x.dtype)
        x = x + h * family.drift(x, now) + family.diffusion(x, dw, now)
        if not bool((((x - middle) / size).abs() < FAR).all()):
            return True
    return False


def measure_growth(family: Family) -> Growth:
    """Growth of the coefficients along rays that leave the domain.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> found = measure_growth(BlackScholes())
        >>> round(found.diffusion, 1), found.explosive
        (1.0, '')
    """
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(RAY_STARTS, generator, torch.float64)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    p = timed(family, p, t)
    upwards = _stays_positive(family, x, p, generator)
    rays = _rays(upwards, generator)
    middle, size = _middle_and_size(family)
    states = x + (DISTANCES[:, None] * rays[:, None] * size).flatten(0, 1)  # (N, R · distances, d)
    drift, squares = _coefficients(family, states, p, generator)
    inside = _inside(family, states, p)
    known = ~(drift.isnan() | squares.isnan()).any(-1) & inside
    parts = ((states - middle) / size, drift / size, squares / size.square())
    shape = (RAY_STARTS, len(rays), len(DISTANCES))
    away, drift, squares = (part.reshape(*shape, -1) for part in parts)
    known, inside = (part.reshape(shape).all(-1) for part in (known, inside))
    known = known & ~_noise_ends(family, x, p, rays, size)
    farthest = states.reshape(*shape, -1)[:, :, -1]
    found = _judge(
        away, drift, squares, known, rays, lambda: _runs_off(family, farthest, p, upwards)
    )
    payoff = family.initial(states, p).norm(dim=-1).reshape(shape)
    return found._replace(enclosed=not bool(inside.any()), initial=_exponent(payoff, known))


def _judge(
    away: Tensor,
    drift: Tensor,
    squares: Tensor,
    known: Tensor,
    rays: Tensor,
    runs_off: Callable[[], Tensor],
) -> Growth:
    """Shape: x − m, μ, squared rows of σ `(N, R, distances, d)`, known and runs off `(N, R)`."""
    moved = (rays != 0.0)[:, None]
    inwards = 2.0 * (away * drift * moved).sum(-1)
    spread = (squares * moved).sum(-1)
    distance = (away * moved).square().sum(-1)
    rate, typical = (inwards + spread) / distance, (inwards.abs() + spread) / distance
    bound = FASTEST_DECADE * torch.maximum(rate[..., 1], typical[..., 0])
    grows = known & ((rate[..., 2] > bound) | rate[..., 2].isposinf())
    by_noise, pull = (spread > inwards)[..., 2], inwards / distance
    held = by_noise & (pull[..., 2] < FASTEST_DECADE * pull[..., 1].clamp_max(0.0))
    if (grows & ~by_noise).any():
        grows = grows & (by_noise | runs_off())
    alone = grows & ~held & (moved.sum(-1) == 1).squeeze(-1)
    noisy = by_noise[alone]
    return Growth(
        drift=_exponent(drift.norm(dim=-1), known),
        diffusion=_exponent(squares.sum(-1).sqrt(), known),
        initial=math.nan,
        explosive=("σ" if noisy.any() else "μ") if alone.any() else "",
        together=bool(grows.any()),
        checked=known.double().mean().item(),
        enclosed=False,
    )


@torch.no_grad()
def _runs_off(family: Family, x: Tensor, p: Params, upwards: Tensor) -> Tensor:
    """Whether dx/dt = μ(x) explodes.  Shape: `(N, R, d)` → `(N, R)`."""
    middle, size = _middle_and_size(family)
    floor = torch.where(upwards, 0.0, -torch.inf)
    sizes, times = [], []
    for _ in range(FLOW_STEPS):
        drift = family.drift(x, p)
        away = ((x - middle) / size).norm(dim=-1, keepdim=True)
        h = FLOW_STEP * away / (drift / size).norm(dim=-1, keepdim=True)
        h = h.nan_to_num(0.0, posinf=0.0)  # at rest, or beyond all numbers
        x = torch.maximum(x + h * drift, floor)
        sizes.append(away)
        times.append(h)
    half = FLOW_STEPS // 2
    growing = (sizes[-1] / sizes[half]).log() > STILL_GROWING * FLOW_STEP * half
    standing = times[-1] < STANDING_STILL * times[half]
    lost = ~sizes[-1].isfinite() & sizes[0].isfinite()
    found: Tensor = (growing & standing) | lost
    return found.squeeze(-1)


def _exponent(values: Tensor, known: Tensor) -> float:
    """Largest power of |x| between the last two distances."""
    near, far = values[known][:, 1:].unbind(-1)
    powers = torch.where(far.isinf(), far, far / near).log10()[near > 0.0]
    return powers.max().item() if len(powers) else torch.nan


def _middle_and_size(family: Family) -> tuple[Tensor, Tensor]:
    """Of the box of x; the size is at least the distance from zero.  Shape: `(d,)` each."""
    box = family.domain.measures["x"]
    low, high = (torch.tensor(side, dtype=torch.float64) for side in (box.low, box.high))
    size = torch.maximum(low.abs(), high.abs())
    return (low + high) / 2, torch.where(size > 0.0, size, 1.0)


def _rays(upwards: Tensor, generator: torch.Generator) -> Tensor:
    """Along axes, both ways, and with all coordinates at once.  Shape: `(d,)` → `(R, d)`."""
    dim = len(upwards)
    axes = torch.eye(dim, dtype=torch.float64)
    axes = axes[torch.randperm(dim, generator=generator)[:MOST_RAYS]]
    signs = torch.randint(2, (MOST_RAYS, dim), generator=generator) * 2 - 1
    rays = torch.cat([axes, -axes, signs, torch.ones_like(axes[:1])])
    return torch.where(upwards, rays.abs(), rays)


def _stays_positive(family: Family, x: Tensor, p: Params, generator: torch.Generator) -> Tensor:
    """Which coordinates cannot fall below zero.  Shape: x `(N, 1, d)` → `(d,)`."""
    low = x.new_tensor(family.domain.measures["x"].low)
    leaves = []
    axes = torch.eye(x.shape[-1], dtype=torch.bool)
    for some in torch.split(axes, max(1, ENTRIES_AT_ONCE // x.numel())):
        states = torch.where(some, 0.0, x)
        drift, squares = (part[:, some] for part in _coefficients(family, states, p, generator))
        leaves.append(((squares > 0.0) | (drift < 0.0)).any(0))
    return (low >= 0.0) & ~torch.cat(leaves)


@torch.no_grad()
def _noise_ends(family: Family, x: Tensor, p: Params, rays: Tensor, size: Tensor) -> Tensor:
    """Which rays along one axis meet a place that paths cannot cross.

    Shape: x `(N, 1, d)`, rays `(R, d)` → `(N, R)`.
    """
    found = torch.zeros(len(x), len(rays), dtype=torch.bool)
    dw = torch.ones(noise_dim(family), dtype=x.dtype)
    shares = torch.linspace(0.0, float(DISTANCES[0]), ENDS_TRIED, dtype=x.dtype)[:, None]
    for number, ray in enumerate(rays):
        if int((ray != 0.0).sum()) != 1 or x.shape[-1] > MOST_COLUMNS:
            continue
        (axis,) = ray.nonzero().flatten().tolist()

        def at(share: Tensor, ray: Tensor = ray) -> Tensor:
            return x + share * ray * size

        def noise(share: Tensor, axis: int = axis) -> Tensor:
            state = at(share)
            return family.diffusion(state, dw.expand(*state.shape[:-1], -1), p)[..., axis]

        signs = noise(shares).sign()
        crossed = (signs * signs[:, :1] <= 0.0) & (signs[:, :1] != 0.0)
        first = crossed.int().argmax(1).clamp_min(1)
        low, high = shares[first - 1].unsqueeze(-1), shares[first].unsqueeze(-1)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            same = (noise(middle).sign() == signs[:, :1]).unsqueeze(-1)
            low, high = torch.where(same, middle, low), torch.where(same, high, middle)
        _, squares = _coefficients(family, at(high), p, torch.Generator().manual_seed(0))
        drift, start = family.drift(at(high), p)[..., axis], noise(shares[:1]).square()
        outwards = ray[axis] * drift > NO_DRIFT * family.drift(x, p)[..., axis].abs()
        quiet = squares[..., axis] <= NO_NOISE * start
        found[:, number] = (crossed.any(1, keepdim=True) & quiet & ~outwards).squeeze(-1)
    return found


def _coefficients(
    family: Family, x: Tensor, p: Params, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """μ and the squared norms of the rows of σ.  Shape: `(N, K, d)` each."""
    dim = noise_dim(family)
    with torch.no_grad():
        squares = [
            family.diffusion(x, dw.expand(*x.shape[:2], -1), p).square()
            for dw in _directions(dim, len(x), generator)
        ]
        return family.drift(x, p), torch.stack(squares).sum(0)


def _directions(dim: int, count: int, generator: torch.Generator) -> Iterator[Tensor]:
    """An orthonormal basis, or where that is large a few normals whose squares add up to as much.

    The basis is rotated: where σ overflows, 0 · ∞ would be NaN.

    Shape: `(count, 1, dim)` each, the same for all states of an input.
    """
    if dim <= MOST_COLUMNS:
        yield from torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=torch.float64))[
            0
        ]
        return
    shape = (SIGMA_NORMALS, count, 1, dim)
    yield from torch.randn(shape, generator=generator, dtype=torch.float64) * SIGMA_NORMALS**-0.5


def _inside(family: Family, x: Tensor, p: Params) -> Tensor:
    """Which states are on the right side of all walls.  Shape: `(N, K, d)` → `(N, K)`."""
    if not isinstance(family, Absorbing):
        return torch.ones_like(x[..., 0], dtype=torch.bool)
    return (family.distance(x, p) > 0.0).all(-1)
