"""Is a family well-formed? What it declares and what each formula returns.

Every formula is evaluated on three layouts of leading axes, in both precisions, at random inputs
and at the corners of the domain. A failure is one sentence that names the formula.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from feynkac.checks.family_formula import FamilyFormula, formulas_of
from feynkac.checks.finding import Finding, Subject
from feynkac.checks.origin import Origin
from feynkac.errors import FeynkacError, InputError
from feynkac.families.capabilities import Absorbing, Coupled, NoiseDimension, Pays, VectorValued
from feynkac.families.corners import corners
from feynkac.families.domain import Domain
from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.payoff import Payoff
from feynkac.families.point import Point, describe
from feynkac.families.rejection import LEAST_SHARE

LAYOUT_INPUTS, LAYOUT_PATHS = 16, 5
LINEAR_UP_TO = 1e-6  # of the largest value
MIXED_INPUTS, MIXED_UP_TO = 3, 1e-6  # inputs taken alone, and relative difference that is rounding
DIFFERENTIATED = ("drift", "diffusion", "initial", "discount", "source")
SLOPE_STEP, SLOPES_UP_TO = 1e-5, 1e-3  # of the spread of the inputs; relative difference
KINKED = 0.5  # share of inputs that may be next to a kink or a jump
SHARE_INPUTS = 2**14
WALL_LINES, WALL_POINTS, WALL_THIRDS = 32, 257, 60  # on which a wall is looked for
TOUCHES = 1e-8  # a distance, relative to the largest, that is none


def declarations(subject: Subject) -> Finding:
    """The domain, `noise_dim`, `outputs` and `payoff` must be what they are called."""
    if fault := next(_declaration_faults(subject.family), None):
        return Finding("fail", fault)
    domain = subject.family.domain
    sentence = f"{domain.dim} inputs, {domain.state_dim} of them the state"
    figures: dict[str, float] = {"inputs": domain.dim, "state": domain.state_dim}
    if fixed := domain.dim - int(domain.varies.sum()):
        sentence, figures = f"{sentence}, {fixed} fixed", figures | {"fixed": fixed}
    if domain.rule is not None:
        share = _allowed_share(domain)
        sentence = f"{sentence}; {share:.1%} of the box is allowed"
        figures = figures | {"allowed": share}
    return Finding("ok", sentence, figures)


def _allowed_share(domain: Domain) -> float:
    """Share of the box that holds inputs; too small a share is refused."""
    drawn = domain.where(None).sample(SHARE_INPUTS, torch.Generator().manual_seed(0))
    share = domain.allowed(drawn).double().mean().item()
    if share < LEAST_SHARE:
        raise InputError(
            f"`allowed` allows {share:.2%} of the box, and at least {LEAST_SHARE:.0%} is needed; "
            "choose narrower ranges around what it allows."
        )
    return share


def _declaration_faults(family: Family) -> Iterator[str]:
    name = type(family).__name__
    domain = _declared(family, "domain")
    if not isinstance(domain, Domain):
        kind = type(domain).__name__
        yield f"{name}.domain must be a property that returns a Domain, got {kind}"
    elif isinstance(family, Coupled) and domain.rule is None:
        yield f"{name}.domain must be a property, or `allowed` is not heard"
    counts = {"noise_dim": NoiseDimension, "outputs": VectorValued}
    for attribute in (a for a, capability in counts.items() if isinstance(family, capability)):
        count = _declared(family, attribute)
        if type(count) is not int or count < 1:
            yield f"{name}.{attribute} must be a whole number ≥ 1, got {count!r}"
    if isinstance(family, Pays) and not isinstance(payoff := _declared(family, "payoff"), Payoff):
        yield f"{name}.payoff must be a Payoff, such as Payoff('call'), got {payoff!r}"


def _declared(family: Family, attribute: str) -> Any:
    try:
        return getattr(family, attribute)
    except FeynkacError:
        raise
    except Exception as error:
        raise InputError(
            f"{type(family).__name__}.{attribute} fails: {type(error).__name__}: {error}"
        ) from error


def shapes(subject: Subject) -> Finding:
    """Every formula has the right shape and the dtype of its inputs, and is finite."""
    if fault := next(_formula_faults(subject.family), None):
        return Finding("fail", fault)
    names = ", ".join(formula.name for formula in formulas_of(subject.family))
    return Finding("ok", f"{names} keep shape and dtype, float32 and float64")


def _formula_faults(family: Family) -> Iterator[str]:
    for dtype in (torch.float32, torch.float64):
        inputs, dw = _batch(family, dtype)
        yield from _layout_faults(family, family.domain.split(inputs), dw[:, 0])
        yield from _finiteness_faults(family, inputs, dw[:, 0])


def _mixing_faults(family: Family, inputs: Tensor, dw: Tensor) -> Iterator[str]:
    """Formulas whose value at one input depends on the others."""
    for formula in formulas_of(family):
        with torch.no_grad():
            together = formula.value(family.domain.split(inputs), dw)
            alone = torch.cat(
                [
                    formula.value(family.domain.split(inputs[row : row + 1]), dw[row : row + 1])
                    for row in range(MIXED_INPUTS)
                ]
            )
        size = MIXED_UP_TO * together.abs().max().item()
        if not torch.allclose(alone, together[:MIXED_INPUTS], rtol=MIXED_UP_TO, atol=size):
            yield (
                f"{type(family).__name__}.{formula.name} depends on the other inputs of a batch; "
                "reduce along the last axis alone, as x.sum(-1, keepdim=True) does"
            )


def _slope_faults(family: Family, inputs: Tensor, dw: Tensor) -> Iterator[str]:
    """Formulas through which gradients do not flow: autograd against central differences."""
    domain, generator = family.domain, torch.Generator().manual_seed(2)
    shape = inputs.shape
    step = SLOPE_STEP * domain.std * torch.randn(shape, generator=generator, dtype=inputs.dtype)
    for formula in (each for each in formulas_of(family) if each.name in DIFFERENTIATED):
        label = f"{type(family).__name__}.{formula.name}"
        at = inputs.clone().requires_grad_()
        try:
            value = formula.value(domain.split(at), dw)
        except Exception as error:
            raise InputError(
                f"{label} fails on tensors that carry gradients: {type(error).__name__}: {error} "
                "Write it with torch, without numpy, .item() and .detach()."
            ) from error
        slope = torch.zeros_like(inputs)
        if value.requires_grad:
            slope = torch.autograd.grad(value.sum(), at, materialize_grads=True)[0]
        with torch.no_grad():
            high, low = (formula.value(domain.split(inputs + s * step), dw) for s in (1.0, -1.0))
        expected, found = 0.5 * (high - low).sum(-1), (slope * step).sum(-1)
        rounding = 1e-9 * SLOPE_STEP * value.detach().abs().max()
        off = (found - expected).abs() > SLOPES_UP_TO * expected.abs() + rounding
        if off.double().mean() > KINKED:
            yield (
                f"{label} has slopes that its values contradict: gradients do not flow through it; "
                "write it with torch, without numpy, .item(), .detach() and torch.no_grad()"
            )


def broadcasting(subject: Subject) -> Finding:
    """Every formula serves several paths per input, from one start or from many, and gradients."""
    if fault := next(_broadcasting_faults(subject.family), None):
        return Finding("fail", fault)
    return Finding("ok", "formulas serve many paths per input, from one start or from many")


def _broadcasting_faults(family: Family) -> Iterator[str]:
    inputs, dw = _batch(family, torch.float32)
    point = family.domain.split(inputs.unsqueeze(-2))
    many_starts = point._replace(x=point.x.expand(-1, LAYOUT_PATHS, -1))
    yield from _layout_faults(family, many_starts, dw)
    yield from _layout_faults(family, point, dw)
    inputs, dw = _batch(family, torch.float64)
    yield from _mixing_faults(family, inputs, dw[:, 0])
    yield from _slope_faults(family, inputs, dw[:, 0])


def finiteness(subject: Subject) -> Finding:
    """Every formula is finite at the corners of the domain."""
    family, generator = subject.family, torch.Generator().manual_seed(1)
    inputs = corners(family.domain, generator)
    shape = (len(inputs), noise_dim(family))
    dw = torch.randn(shape, generator=generator, dtype=inputs.dtype)
    if fault := next(_finiteness_faults(family, inputs, dw), None):
        return Finding("fail", fault)
    return Finding("ok", "all formulas are finite at the corners of the domain")


def linearity(subject: Subject) -> Finding:
    """σ(x) dw is linear in dw:  σ(2a − 3b) = 2σa − 3σb."""
    family = subject.family
    inputs, dw = _batch(family, torch.float64)
    x, t, p = family.domain.split(inputs)
    p = timed(family, p, t)
    a, b = dw[:, 0], dw[:, 1]
    with torch.no_grad():
        apart = 2.0 * family.diffusion(x, a, p) - 3.0 * family.diffusion(x, b, p)
        off = (family.diffusion(x, 2.0 * a - 3.0 * b, p) - apart).abs().max()
    if off > LINEAR_UP_TO * apart.abs().max():
        sentence = (
            f"{type(family).__name__}.diffusion is not linear in dw; what is not multiplied by dw "
            "belongs in drift"
        )
        return Finding("fail", sentence)
    return Finding("ok", "diffusion is linear in dw")


def walls(subject: Subject) -> Finding:
    """A distance to a wall is negative beyond it, or a step across it would not be seen."""
    family, generator = subject.family, torch.Generator().manual_seed(3)
    assert isinstance(family, Absorbing)
    inputs = family.domain.sample(WALL_LINES, generator, torch.float64)
    low, high = (side[: family.domain.state_dim] for side in family.domain.bounds)
    size = torch.where(low < high, high - low, high.abs().clamp_min(1.0))
    way = size * torch.randn(WALL_LINES, 1, len(size), generator=generator, dtype=torch.float64)

    def distance(rows: Tensor, share: Tensor) -> Tensor:
        x, t, p = family.domain.split(inputs[rows].unsqueeze(-2))
        return family.distance(x + share * way[rows], timed(family, p, t))

    shares = torch.linspace(-2.0, 2.0, WALL_POINTS, dtype=torch.float64)
    with torch.no_grad():
        found = distance(torch.arange(WALL_LINES), shares[:, None])
        before, here, after = found[:, :-2], found[:, 1:-1], found[:, 2:]
        rows, place, wall = ((here > 0.0) & (here < before) & (here <= after)).nonzero(
            as_tuple=True
        )
        left, right = shares[place], shares[place + 2]
        for _ in range(WALL_THIRDS):
            thirds = torch.lerp(left, right, 1 / 3), torch.lerp(left, right, 2 / 3)
            a, b = (distance(rows, s[:, None, None])[range(len(s)), 0, wall] for s in thirds)
            left, right = torch.where(a < b, left, thirds[0]), torch.where(a < b, thirds[1], right)
        least = distance(rows, left[:, None, None])[range(len(left)), 0, wall]
    if (least.abs() <= TOUCHES * found[found.isfinite()].abs().max()).any():
        sentence = (
            f"{type(family).__name__}.distance is positive on both sides of a wall, so that paths "
            "step across it unseen; make it negative beyond the wall, as x - p.level is for paths "
            "that start above the level, and solve each side by itself"
        )
        return Finding("fail", sentence)
    return Finding("ok", "distances change their sign at walls")


def _batch(family: Family, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Inputs `(N, dim)` and normals `(N, K, noise_dim)`."""
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(LAYOUT_INPUTS, generator, dtype)
    shape = (LAYOUT_INPUTS, LAYOUT_PATHS, noise_dim(family))
    return inputs, torch.randn(shape, generator=generator, dtype=dtype)


def _layout_faults(family: Family, point: Point, dw: Tensor) -> Iterator[str]:
    """Formulas with the wrong shape or dtype, one by one."""
    for formula in formulas_of(family):
        label = f"{type(family).__name__}.{formula.name}"
        if fault := _layout_fault(label, formula, point, dw):
            yield f"{label} {fault}"


def _layout_fault(label: str, formula: FamilyFormula, point: Point, dw: Tensor) -> str | None:
    lead = tuple((dw if formula.by_path else point.x).shape[:-1])
    value: Any
    try:
        with torch.no_grad():
            value = formula.value(point, dw)
    except Exception as error:
        if fault := _width_fault(formula, point, dw):
            return fault
        raise InputError(
            f"{label} fails on inputs with leading shape {lead}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(value, Tensor):
        return f"must return a tensor, got {type(value).__name__}"
    if fault := _shape_fault(formula, tuple(value.shape), lead):
        return _width_fault(formula, point, dw) or fault
    if value.dtype != point.x.dtype:
        return (
            f"must keep the dtype {point.x.dtype}, got {value.dtype}; make constants with "
            "torch.tensor(…, dtype=x.dtype), and write (x > a).to(x.dtype), not .float()"
        )
    return None


def _shape_fault(
    formula: FamilyFormula, found: tuple[int, ...], lead: tuple[int, ...]
) -> str | None:
    width = formula.width
    if width is None and found[:-1] == lead and found[-1] >= 1:
        width = found[-1]
    if found == (*lead, width):
        return None
    hint = " (keepdim=True keeps the last axis)" if found == lead else ""
    expected = ", ".join(map(str, (*lead, "walls" if width is None else width)))
    return f"must return shape ({expected}), got {found}{hint}"


def _width_fault(formula: FamilyFormula, point: Point, dw: Tensor) -> str | None:
    """Say so if σ works with normals of another length."""
    if formula.name != "diffusion":
        return None
    dim, declared = point.x.shape[-1], dw.shape[-1]
    for width in [dim, *range(dim + 1, 2 * dim + 3), *range(dim - 1, 0, -1)]:
        other = dw.new_zeros(*dw.shape[:-1], width)
        if width != declared and _fits(formula, point, other):
            return (
                f"has a σ of the wrong width: it takes dw of length {width}, but there are "
                f"{declared} Brownian motions; make the family a NoiseDimension with noise_dim = "
                f"{width}, or use all of dw"
            )
    return None


def _fits(formula: FamilyFormula, point: Point, dw: Tensor) -> bool:
    try:
        return tuple(formula.value(point, dw).shape) == (*dw.shape[:-1], formula.width)
    except Exception:
        return False


def _finiteness_faults(family: Family, inputs: Tensor, dw: Tensor) -> Iterator[str]:
    """Formulas that are not finite at some of the inputs, one by one."""
    for formula in formulas_of(family):
        with torch.no_grad():
            finite = formula.value(family.domain.split(inputs), dw).isfinite().all(-1)
        if not finite.all():
            yield _not_finite(family, formula, inputs[~finite][:1], dw[~finite][:1])


def _not_finite(family: Family, formula: FamilyFormula, inputs: Tensor, dw: Tensor) -> str:
    """The sentence for one bad input `(1, dim)`, with the operation that did it."""
    point = family.domain.split(inputs)
    with torch.no_grad(), Origin() as origin:
        formula.value(point, dw)
    why = f", which comes from {origin.sentence}" if origin.sentence else ""
    return (
        f"{type(family).__name__}.{formula.name} is not finite everywhere in the domain, but NaN "
        f"or infinite at {describe(point)}{why}; correct it, or choose ranges without such inputs"
    )
