r"""Partial derivatives of any u(λ) by automatic differentiation (paper, Section 1.2).

    Δ = ∂u/∂x,   Vega = ∂u/∂σ,   Θ = −∂u/∂t,   Γ = ∂²u/∂x²  (its diagonal, asset by asset).

A ReLU network is piecewise linear: its second derivatives are zero almost everywhere.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.family import Greek

Map = Callable[[Tensor], Tensor]
"""A solution map on flat inputs: `(N, dim)` → `(N, 1)`, each row on its own."""


@torch.inference_mode(False)
@torch.enable_grad()
def partial(u: Map, domain: Domain, name: str, inputs: Tensor) -> Tensor:
    """∂u/∂name.  Shape: `(…, dim)` → `(…, *shape of the variable)`.

    Example:
        >>> from feynkac.families import Box, Domain
        >>> domain = Domain(x=Box(0, 1), t=Box(0, 1))
        >>> partial(lambda v: v[..., :1] * v[..., 1:] ** 2, domain, "t", torch.tensor([[2.0, 3.0]]))
        tensor([12.])
    """
    where = _columns(domain, name)
    leaf = inputs.detach().requires_grad_()
    return _shaped(_gradient(u(leaf), leaf)[..., where], domain, name)


@torch.inference_mode(False)
@torch.enable_grad()
def greek_value(u: Map, domain: Domain, greek: Greek, inputs: Tensor) -> Tensor:
    """A first or second derivative.  Shape: `(…, dim)` → `(…, *shape of its first variable)`."""
    first, *rest = greek.names
    if not rest:
        return greek.sign * partial(u, domain, first, inputs)
    where, other = _columns(domain, first), _columns(domain, rest[0])
    if len(rest) > 1 or (rest[0] != first and domain.boxes[rest[0]].size > 1):
        raise InputError(
            f"{greek.names} is not a Greek: expected one variable, or two of which the second is "
            "the first again or a scalar."
        )
    leaf = inputs.detach().requires_grad_()
    gradient = _gradient(u(leaf), leaf, create_graph=True)[..., where]
    columns = []
    for i, component in enumerate(gradient.unbind(-1)):
        along = _gradient(component, leaf)[..., other]
        columns.append(along[..., i if first == rest[0] else 0])
    return greek.sign * _shaped(torch.stack(columns, -1), domain, first)


def _gradient(values: Tensor, leaf: Tensor, create_graph: bool = False) -> Tensor:
    if not values.requires_grad:  # u does not depend on its inputs here
        return torch.zeros_like(leaf)
    (gradient,) = torch.autograd.grad(
        values.sum(), leaf, create_graph=create_graph, retain_graph=True, allow_unused=True
    )
    return torch.zeros_like(leaf) if gradient is None else gradient


def _columns(domain: Domain, name: str) -> slice:
    if name not in domain.boxes:
        known = ", ".join(domain.boxes)
        raise InputError(f"there is no variable {name!r} to differentiate; there are: {known}.")
    return domain.slices()[name]


def _shaped(values: Tensor, domain: Domain, name: str) -> Tensor:
    return values.detach().reshape((*values.shape[:-1], *domain.boxes[name].shape))
