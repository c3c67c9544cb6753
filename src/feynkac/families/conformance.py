"""Is a family well-formed? What it declares and what its formulas return, before any training.

Evaluates every formula on three layouts of leading axes, in both precisions, at random inputs, at
the corners of the domain and far outside (see `growth.py`). Says in one sentence what is wrong.
"""

from typing import Any

import torch
from torch import Tensor

from feynkac.errors import FeynkacError, InputError
from feynkac.families.domain import Domain
from feynkac.families.family import Family, NoiseDimension, Pays, VectorValued, noise_dim
from feynkac.families.formula import Formula, formulas
from feynkac.families.growth import check_growth
from feynkac.families.origin import Origin
from feynkac.families.payoff import Payoff
from feynkac.families.point import Point, describe

INPUTS, PATHS = 16, 5  # of the layouts
MOST_CORNERS = 256


def check_family(family: Family) -> None:
    """Raise `InputError` if `family` cannot be simulated.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> check_family(BlackScholes())
    """
    check_declarations(family)
    check_shapes(family)
    check_broadcasting(family)
    check_corners(family)
    check_linearity(family)
    check_growth(family)


def check_declarations(family: Family) -> None:
    """The domain, `noise_dim`, `outputs` and `payoff` must be what they are called."""
    name = type(family).__name__
    domain = _declared(family, "domain")
    if not isinstance(domain, Domain):
        raise InputError(
            f"{name}.domain must be a property that returns a Domain, got {type(domain).__name__}."
        )
    counts = {"noise_dim": NoiseDimension, "outputs": VectorValued}
    for attribute in (a for a, capability in counts.items() if isinstance(family, capability)):
        count = _declared(family, attribute)
        if type(count) is not int or count < 1:
            raise InputError(f"{name}.{attribute} must be a whole number ≥ 1, got {count!r}.")
    if isinstance(family, Pays) and not isinstance(payoff := _declared(family, "payoff"), Payoff):
        raise InputError(f"{name}.payoff must be a Payoff, such as Payoff('call'), got {payoff!r}.")


def _declared(family: Family, attribute: str) -> Any:
    try:
        return getattr(family, attribute)
    except FeynkacError:
        raise
    except Exception as error:
        raise InputError(
            f"{type(family).__name__}.{attribute} fails: {type(error).__name__}: {error}"
        ) from error


def check_shapes(family: Family) -> None:
    """Every formula has the right shape and the dtype of its inputs, and is finite."""
    for dtype in (torch.float32, torch.float64):
        inputs, dw = _batch(family, dtype)
        _check_layout(family, family.domain.split(inputs), dw[:, 0])
        _check_finite(family, inputs, dw[:, 0])


def check_broadcasting(family: Family) -> None:
    """Every formula serves several paths an input, from one start or from many."""
    inputs, dw = _batch(family)
    point = family.domain.split(inputs.unsqueeze(-2))
    _check_layout(family, point._replace(x=point.x.expand(-1, PATHS, -1)), dw)
    _check_layout(family, point, dw)


def check_corners(family: Family) -> None:
    """Every formula is finite at the corners of the domain."""
    generator = torch.Generator().manual_seed(1)
    inputs = corners(family.domain, generator)
    shape = (len(inputs), noise_dim(family))
    _check_finite(family, inputs, torch.randn(shape, generator=generator, dtype=inputs.dtype))


def check_linearity(family: Family) -> None:
    """σ(x) dw is linear in dw:  σ(2a − 3b) = 2σa − 3σb."""
    inputs, dw = _batch(family, torch.float64)
    point, diffusion = family.domain.split(inputs), _diffusion(family).value
    a, b = dw[:, 0], dw[:, 1]
    with torch.no_grad():
        apart = 2.0 * diffusion(point, a) - 3.0 * diffusion(point, b)
        off = (diffusion(point, 2.0 * a - 3.0 * b) - apart).abs().max()
    if off > 1e-6 * apart.abs().max():
        raise InputError(
            f"{type(family).__name__}.diffusion is not linear in dw; what is not multiplied by dw "
            "belongs into drift."
        )


def corners(
    domain: Domain,
    generator: torch.Generator,
    most: int = MOST_CORNERS,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """All corners of the domain, or `most` random ones.  Shape: `(N, dim)`."""
    low, high = (
        torch.tensor([v for m in domain.measures.values() for v in getattr(m, side)], dtype=dtype)
        for side in ("low", "high")
    )
    if 2**domain.dim <= most:
        upper = torch.cartesian_prod(*[torch.tensor([False, True])] * domain.dim)
    else:
        upper = torch.rand(most, domain.dim, generator=generator, dtype=torch.float32) < 0.5
    return torch.where(upper, high, low)


def _diffusion(family: Family) -> Formula:
    return next(formula for formula in formulas(family) if formula.name == "diffusion")


def _batch(family: Family, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Inputs `(N, dim)` and normals `(N, K, noise_dim)`."""
    generator = torch.Generator().manual_seed(0)
    inputs = family.domain.sample(INPUTS, generator, dtype)
    shape = (INPUTS, PATHS, noise_dim(family))
    return inputs, torch.randn(shape, generator=generator, dtype=dtype)


def _check_layout(family: Family, point: Point, dw: Tensor) -> None:
    for formula in formulas(family):
        _check_shape(family, formula, point, dw)


def _check_shape(family: Family, formula: Formula, point: Point, dw: Tensor) -> None:
    label = f"{type(family).__name__}.{formula.name}"
    lead = tuple((dw if formula.by_path else point.x).shape[:-1])
    try:
        with torch.no_grad():
            value = formula.value(point, dw)
    except Exception as error:
        _check_width(family, formula, point, dw)
        raise InputError(
            f"{label} fails on inputs with leading shape {lead}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(value, Tensor):
        raise InputError(f"{label} must return a tensor, got {type(value).__name__}.")
    found, width = tuple(value.shape), formula.width
    if width is None and found[:-1] == lead and found[-1] >= 1:
        width = found[-1]
    if found != (*lead, width):
        _check_width(family, formula, point, dw)
        hint = " (keepdim=True keeps the last axis)" if found == lead else ""
        expected = (*lead, "walls" if width is None else width)
        raise InputError(f"{label} must return shape {_shape(expected)}, got {found}{hint}.")
    if value.dtype != point.x.dtype:
        raise InputError(f"{label} must keep the dtype {point.x.dtype}, got {value.dtype}.")


def _check_width(family: Family, formula: Formula, point: Point, dw: Tensor) -> None:
    """Say so if σ works with normals of another length."""
    if formula.name != "diffusion":
        return
    dim, declared = point.x.shape[-1], dw.shape[-1]
    for width in [dim, *range(dim + 1, 2 * dim + 3), *range(dim - 1, 0, -1)]:
        other = dw.new_zeros(*dw.shape[:-1], width)
        if width != declared and _fits(formula, point, other):
            raise InputError(
                f"{type(family).__name__}.diffusion has a σ of the wrong width: it takes dw of "
                f"length {width}, but there are {declared} Brownian motions; make the family a "
                f"NoiseDimension with noise_dim = {width}, or use all of dw."
            )


def _fits(formula: Formula, point: Point, dw: Tensor) -> bool:
    try:
        return tuple(formula.value(point, dw).shape) == (*dw.shape[:-1], formula.width)
    except Exception:
        return False


def _shape(shape: tuple[object, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _check_finite(family: Family, inputs: Tensor, dw: Tensor) -> None:
    for formula in formulas(family):
        with torch.no_grad():
            finite = formula.value(family.domain.split(inputs), dw).isfinite().all(-1)
        if not finite.all():
            raise InputError(_not_finite(family, formula, inputs[~finite][:1], dw[~finite][:1]))


def _not_finite(family: Family, formula: Formula, inputs: Tensor, dw: Tensor) -> str:
    """The sentence for one bad input `(1, dim)`, with the operation that did it."""
    point = family.domain.split(inputs)
    with torch.no_grad(), Origin() as origin:
        formula.value(point, dw)
    why = f", which comes from {origin.sentence}" if origin.sentence else ""
    return (
        f"{type(family).__name__}.{formula.name} is not finite everywhere in the domain, but NaN "
        f"or infinite at {describe(point)}{why}."
    )
