r"""Along a path, step by step: the full Feynman–Kac formula. With S the path, the label is

    W_n φ(S_n) + G_n,    W the weight left after discounting and absorption, G what was gained.

A step of length h is symmetric, which keeps the weak order 2 of a scheme:

    W ← e^{−hc/2} W,   S ← one step of the scheme, coefficients at the middle of its time,
    W ← Π_walls (1 − P) W,   W ← e^{−hc/2} W,   G ← G + h/2 (W f before + W f after).

P = exp(−2ρρ′/v) is the chance that a Brownian bridge between distances ρ, ρ′ > 0 of variance
v = h |σ*∇ρ|² meets the wall; P = 1 if ρ′ ≤ 0. Nothing is drawn for it: W is a continuous function
of the path, so that pathwise derivatives hold. What meets a wall gains g at the point next to
that where the line from the start to the mirrored end crosses it. With walls the weak order is 1.
"""

import functools
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    Absorbing,
    BoundaryValue,
    ConditionalMean,
    ConstantDiscount,
    ControlVariate,
    Discount,
    ExactSteps,
    Source,
    TimeDependent,
)
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim, outputs, timed
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import normals, of_fewer_steps
from feynkac.sampling.schemes.extrapolated import Extrapolated
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.fields import pullback
from feynkac.sampling.schemes.gaussian import Gaussian
from feynkac.sampling.schemes.geometric import Geometric
from feynkac.sampling.schemes.log_gaussian import LogGaussian
from feynkac.sampling.schemes.scheme import Scheme

EARNING = (
    *("initial", "discount", "discount_rate", "source", "distance", "boundary_value"),
    *("drift", "diffusion", "step", "exact"),
)
"""Formulas of what a path earns."""
NEVER = -80.0  # the logarithm of a chance that is none; smaller numbers are denormal, and slow
TRIALS = 16  # inputs, and places for each, at which speeds are compared


class PathState(NamedTuple):
    """A path at one time: state `(…, d)`, time left `(…, 1)`, W `(…, 1)`, G `(…, outputs)`."""

    state: Tensor
    time: Tensor
    weight: Tensor
    gained: Tensor
    p: Params
    """Parameters, with `p.t` if the family depends on time."""


def ends_only(family: Family) -> bool:
    """Whether the label depends on the end of the path alone, and on the time it took."""
    varying = isinstance(family, Discount) and not isinstance(family, ConstantDiscount)
    return not varying and not isinstance(family, Source | TimeDependent | Absorbing)


def knows_time(family: Family, scheme: Scheme) -> bool:
    """Whether a scheme follows coefficients that vary with time, and nothing else happens."""
    exact = isinstance(scheme, Gaussian | Geometric | LogGaussian)
    return exact and not isinstance(family, Discount | Source | Absorbing)


def integrates_noise(family: Family, scheme: Scheme) -> TypeGuard[ConditionalMean]:
    """Whether the label is a mean over a part of the noise, in closed form."""
    known = isinstance(family, ConditionalMean) and isinstance(scheme, FamilySteps)
    return known and _knows_all(family, "expected")


def controls_noise(family: Family, scheme: Scheme) -> TypeGuard[ControlVariate]:
    """Whether the label has a control variate."""
    known = isinstance(family, ControlVariate) and isinstance(scheme, FamilySteps)
    return known and _knows_all(family, "controlled")


@functools.cache
def _written_in(cls: type, name: str) -> type | None:
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def _knows_all(family: Family, formula: str) -> bool:
    """Whether no subclass of the one that wrote `formula` has changed what it is made of."""
    writer = _written_in(type(family), formula)
    owners = (_written_in(type(family), name) for name in EARNING)
    return writer is not None and all(o is None or issubclass(writer, o) for o in owners)


def quieted(family: Family, scheme: Scheme) -> bool:
    """Whether the family's own formulas take noise out of the label, by either way."""
    return integrates_noise(family, scheme) or controls_noise(family, scheme)


def label_normals(family: Family, scheme: Scheme) -> int:
    """How many normals of a step a label depends on.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> label_normals(Heston(), FamilySteps())
        1
    """
    return family.kept if integrates_noise(family, scheme) else noise_dim(family)


def earned(family: Family, scheme: Scheme, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
    """W_n φ(S_n) + G_n, or its mean over a part of z, or that minus a control.

    Shape: x `(…, d)`, t `(…, 1)`, z `(draws, …, m)` → `(…, outputs)`.
    """
    if integrates_noise(family, scheme):
        return family.expected(x, t, p, z)
    if controls_noise(family, scheme):
        return family.controlled(x, t, p, z)
    if isinstance(scheme, Extrapolated):
        fine, coarse = scheme.halves
        rough = earned(family, coarse, x, t, p, of_fewer_steps(z, coarse.steps))
        return scheme.extrapolate(earned(family, fine, x, t, p, z), rough)
    last = path_end(family, scheme, x, t, p, z)
    return last.weight * family.initial(last.state, last.p) + last.gained


def path_end(
    family: Family, scheme: Scheme, x: Tensor, t: Tensor, p: Params, z: Tensor
) -> PathState:
    """The path at its end.  Shape: x `(…, d)`, t `(…, 1)`, z `(draws, …, m)`."""
    if not ends_only(family) and weak_order(family, scheme) is not None:
        *_, last = path_states(family, scheme, x, t, p, z)
        return last
    nothing = torch.zeros_like(t)
    state = scheme.terminal(family, x, t, timed(family, p, 0.5 * t), z)
    end = timed(family, p, nothing)
    return PathState(state, nothing, discount_factor(family, t, p), nothing, end)


def discount_factor(family: Family, t: Tensor, p: Params) -> Tensor:
    """e^{−ct} where c does not depend on the path, else 1.  Shape: `(…, 1)`."""
    if isinstance(family, ConstantDiscount):
        return (-t * family.discount_rate(p)).exp()
    return torch.ones_like(t)


def path_states(
    family: Family,
    scheme: Scheme,
    x: Tensor,
    t: Tensor,
    p: Params,
    z: Tensor,
    duration: Tensor | None = None,
) -> Iterator[PathState]:
    """The path at all steps, start and end included; it runs for `duration`, by default t.

    Shape: x `(…, d)`, t and duration `(…, 1)`, z `(draws, …, m)`.
    """
    single, h = scheme.with_steps(1), (t if duration is None else duration) / scheme.steps
    moment = _start(family, x.expand(*z.shape[1:-1], x.shape[-1]), t, p)
    yield moment
    for k in range(scheme.steps):
        moment = _move(family, single, moment, h, z[k :: scheme.steps])
        yield moment


def _start(family: Family, x: Tensor, t: Tensor, p: Params) -> PathState:
    """Paths that start beyond a wall have met it."""
    weight = torch.ones_like(x[..., :1])
    gained = weight.new_zeros(*x.shape[:-1], outputs(family))
    moment = PathState(x, t, weight, gained, timed(family, p, t))
    if not isinstance(family, Absorbing):
        return moment
    inside = (family.distance(x, moment.p) > 0).all(-1, keepdim=True).to(x.dtype)
    return _outside(family, moment._replace(weight=inside))


def _outside(family: Family, moment: PathState) -> PathState:
    """`moment` with what those have gained that start beyond a wall."""
    if not isinstance(family, BoundaryValue):
        return moment
    value = family.boundary_value(moment.state, moment.p)
    return moment._replace(gained=(1.0 - moment.weight) * value)


def _move(family: Family, single: Scheme, start: PathState, h: Tensor, z: Tensor) -> PathState:
    """One step."""
    time = (start.time - h).clamp_min(0.0)  # by rounding it may fall below, where √t is no number
    middle = timed(family, start.p, start.time - 0.5 * h)
    state = single.terminal(family, start.state, h, middle, z)
    end = start._replace(state=state, time=time, p=timed(family, start.p, time))
    end = _gain(family, _discount(family, start, end, 0.5 * h), start, 0.5 * h)
    if isinstance(family, Absorbing):
        end = _absorb(family, start, end, h)
    return _gain(family, _discount(family, end, end, 0.5 * h), None, 0.5 * h)


def _discount(family: Family, where: PathState, moment: PathState, h: Tensor) -> PathState:
    """`moment` with its weight discounted for a time h at the rate of `where`."""
    if isinstance(family, ConstantDiscount):  # one number for all paths of an input
        rate = family.discount_rate(where.p)
    elif isinstance(family, Discount):
        rate = family.discount(where.state, where.p)
    else:
        return moment
    return moment._replace(weight=moment.weight * (-h * rate).exp())


def _gain(family: Family, moment: PathState, before: PathState | None, h: Tensor) -> PathState:
    """`moment` with what flowed in for a time h: at the rate of `before`, or its own."""
    if not isinstance(family, Source):
        return moment
    at = before or moment
    flow = at.weight * family.source(at.state, at.p)
    return moment._replace(gained=moment.gained + h * flow)


def _absorb(family: Family, start: PathState, end: PathState, h: Tensor) -> PathState:
    """`end` with the part taken off that met a wall on the way, wall after wall."""
    assert isinstance(family, Absorbing)
    before = family.distance(start.state, start.p).clamp_min(0.0)
    after = family.distance(end.state, end.p)
    one = _has_even_speed(family) and h.shape[-2:-1] == (1,)  # the same for all paths of an input
    place = start._replace(state=start.state[..., :1, :]) if one else start
    variance = (h * _speed(family, place)).clamp_min(torch.finfo(h.dtype).tiny)
    exponent = -2.0 * before * after.clamp_min(0.0) / variance
    met = torch.where(exponent < NEVER, 0.0, exponent.clamp_min(NEVER).exp())
    if not _pays_at_walls(family):
        stays = functools.reduce(torch.mul, (1.0 - met).unbind(-1))
        return end._replace(weight=end.weight * stays.unsqueeze(-1))
    share = before / (before + after.abs()).clamp_min(torch.finfo(h.dtype).tiny)
    weight, gained = end.weight, end.gained
    for wall in range(met.shape[-1]):
        now, part = met[..., wall : wall + 1], share[..., wall : wall + 1]
        gained = gained + weight * now * _wall_value(family, wall, start, end, part, h)
        weight = weight * (1.0 - now)
    return end._replace(weight=weight, gained=gained)


def _pays_at_walls(family: Family) -> bool:
    return isinstance(family, BoundaryValue)


def _wall_value(
    family: Family, wall: int, start: PathState, end: PathState, part: Tensor, h: Tensor
) -> Tensor:
    """g where the path met the wall, after `part` of a step."""
    assert isinstance(family, BoundaryValue)
    p = timed(family, end.p, start.time - part * h)
    point = start.state + part * (end.state - start.state)
    return family.boundary_value(_nearest(family, wall, point, p), p)


def _nearest(family: BoundaryValue, wall: int, x: Tensor, p: Params) -> Tensor:
    """The point of the wall next to x, to first order: x − ρ ∇ρ / |∇ρ|²."""
    distance, pull = pullback(lambda y: family.distance(y, p)[..., wall : wall + 1], x)
    normal = pull(torch.ones_like(distance))
    return x - distance * normal / normal.square().sum(-1, keepdim=True)


def _speed(family: Family, moment: PathState) -> Tensor:
    """|σ*∇ρ|² of each distance.  Shape: `(…, walls)`."""
    assert isinstance(family, Absorbing)
    x, p = moment.state, moment.p
    still = x.new_zeros(()).expand(*x.shape[:-1], noise_dim(family))
    _, normals_of = pullback(lambda y: family.distance(y, p), x)
    _, noise_of = pullback(lambda dw: family.diffusion(x, dw, p).expand_as(x), still)
    walls = torch.eye(family.distance(x, p).shape[-1], dtype=x.dtype, device=x.device)
    speeds = [noise_of(normals_of(w.expand(*x.shape[:-1], -1))).square().sum(-1) for w in walls]
    return torch.stack(speeds, dim=-1)


@once_per_family
def _has_even_speed(family: Family) -> bool:
    """Whether |σ*∇ρ|² is the same at all x, as for flat walls and constant noise."""
    inputs = family.domain.sample(TRIALS, make_generator(0, "speed"), torch.float64)
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    z = normals(2, (TRIALS, TRIALS), x.shape[-1], make_generator(1, "speed"), torch.float64)
    low, high = (side[: x.shape[-1]] for side in family.domain.bounds)
    places = torch.cat([x, x + (high - low) * z[0], x * z[1].exp()], dim=-2)
    nothing = torch.zeros_like(places[..., :1])
    now = timed(family, p, t)
    with torch.no_grad():
        found = _speed(family, PathState(places, t, nothing, nothing, now))
    first = found[..., :1, :].expand_as(found)
    return equal(torch.where(found.isnan(), first, found), first)  # prices are not below 0


def weak_order(family: Family, scheme: Scheme) -> int | None:
    """Weak order of the labels in 1/steps; None: they have no discretisation error.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> weak_order(BlackScholes(), Exact()) is None
        True
    """
    if isinstance(family, Absorbing):
        return 1
    if isinstance(family, TimeDependent) and knows_time(family, scheme):
        return None
    varying = isinstance(family, Discount) and not isinstance(family, ConstantDiscount)
    if varying or isinstance(family, Source | TimeDependent):
        return min(2, scheme.order or 2)
    exact = isinstance(scheme, FamilySteps) and isinstance(family, ExactSteps)
    return None if exact else scheme.order
