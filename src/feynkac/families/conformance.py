"""Is a family well-formed? Shapes, dtype and finiteness of its formulas, before any training.

Evaluates domain, drift, diffusion and initial condition on two leading-axis layouts, and says in
one sentence what is wrong.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.family import ClosedForm, ExactSampler, Family
from feynkac.families.point import Point


def check_family(family: Family) -> None:
    """Raise `InputError` if `family` cannot be simulated.

    Example:
        >>> from feynkac.families.black_scholes import BlackScholes
        >>> check_family(BlackScholes())
    """
    domain = family.domain
    if not isinstance(domain, Domain):
        raise InputError(
            f"{type(family).__name__}.domain must be a property that returns a Domain, "
            f"got {type(domain).__name__}."
        )
    generator = torch.Generator().manual_seed(0)
    inputs = domain.sample(16, generator)
    dw = torch.randn(16, 5, domain.state_dim, generator=generator)
    _check_formulas(family, domain.split(inputs), dw[:, 0])
    _check_formulas(family, domain.split(inputs.unsqueeze(-2)), dw)


def _check_formulas(family: Family, point: Point, dw: Tensor) -> None:
    x, t, p = point
    lead = tuple(dw.shape[:-1])
    vector, scalar = (*lead, dw.shape[-1]), (*lead, 1)
    start = x.expand(vector)
    _check(family, "drift", lambda: family.drift(start, p), vector)
    _check(family, "diffusion", lambda: family.diffusion(start, dw, p), vector)
    _check(family, "initial", lambda: family.initial(start, p), scalar)
    if isinstance(family, ExactSampler):
        _check(family, "exact", lambda: family.exact(start, t, p, dw), vector)
    if isinstance(family, ClosedForm):
        _check(family, "closed_form", lambda: family.closed_form(start, t, p), scalar)


def _check(
    family: Family, method: str, formula: Callable[[], Tensor], shape: tuple[int, ...]
) -> None:
    label = f"{type(family).__name__}.{method}"
    try:
        value = formula()
    except Exception as error:
        raise InputError(
            f"{label} fails on inputs with leading shape {shape[:-1]}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(value, Tensor):
        raise InputError(f"{label} must return a tensor, got {type(value).__name__}.")
    if tuple(value.shape) != shape:
        hint = " (keepdim=True keeps the last axis)" if method == "initial" else ""
        raise InputError(f"{label} must return shape {shape}, got {tuple(value.shape)}{hint}.")
    if value.dtype != torch.float32:
        raise InputError(f"{label} must keep the dtype torch.float32, got {value.dtype}.")
    if not value.isfinite().all():
        raise InputError(f"{label} is not finite everywhere in the domain.")
