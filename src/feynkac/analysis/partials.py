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
    return _shaped(gradient(u, inputs)[..., where], domain, name)


@torch.inference_mode(False)
@torch.enable_grad()
def gradient(u: Map, inputs: Tensor) -> Tensor:
    """All first derivatives.  Shape: `(…, dim)` → `(…, dim)`."""
    leaf = inputs.detach().requires_grad_()
    return _gradient(u(leaf), leaf).detach()


@torch.inference_mode(False)
@torch.enable_grad()
def hessian(u: Map, domain: Domain, first: str, second: str, inputs: Tensor) -> Tensor:
    """∂²u/∂first∂second.  Shape: `(…, dim)` → `(…, *shape of first, *shape of second)`.

    Example:
        >>> from feynkac.families import Box, Domain
        >>> domain = Domain(x=Box(0, 1), t=Box(0, 1))
        >>> u = lambda v: v[..., :1] * v[..., 1:] ** 2
        >>> hessian(u, domain, "x", "t", torch.tensor([[2.0, 3.0]]))
        tensor([6.])
    """
    rows, columns = _columns(domain, first), _columns(domain, second)
    leaf = inputs.detach().requires_grad_()
    slopes = _gradient(u(leaf), leaf, create_graph=True)[..., rows]
    block = torch.stack([_gradient(g, leaf)[..., columns] for g in slopes.unbind(-1)], dim=-2)
    shape = (*domain.boxes[first].shape, *domain.boxes[second].shape)
    return block.detach().reshape((*inputs.shape[:-1], *shape))


@torch.inference_mode(False)
def along(u: Map, inputs: Tensor, direction: Tensor) -> Tensor:
    """The derivative of u along a direction.  Shape: `(…, dim)`, `(…, dim)` → `(…,)`, broadcast."""
    same: list[Tensor] = torch.broadcast_tensors(inputs, direction)  # type: ignore[no-untyped-call]
    at, change = (part.clone() for part in same)  # forward mode takes no broadcast views
    slope: Tensor = torch.func.jvp(u, (at,), (change,))[1]
    return slope.squeeze(-1).detach()


def greek_value(u: Map, domain: Domain, greek: Greek, inputs: Tensor) -> Tensor:
    """A first or second derivative.  Shape: `(…, dim)` → `(…, *shape of its first variable)`."""
    for name in greek.names:
        _columns(domain, name)  # refuse an unknown one
    first, *rest = greek.names
    if not rest:
        return greek.sign * partial(u, domain, first, inputs)
    if len(rest) > 1 or (rest[0] != first and domain.boxes[rest[0]].size > 1):
        raise InputError(
            f"{greek.names} is not a Greek: expected one variable, or two of which the second is "
            "the first again or a scalar."
        )
    block = hessian(u, domain, first, rest[0], inputs)
    sizes = (domain.boxes[first].size, domain.boxes[rest[0]].size)
    columns = block.reshape((*inputs.shape[:-1], *sizes))
    kept = columns.diagonal(dim1=-2, dim2=-1) if first == rest[0] else columns[..., 0]
    return greek.sign * _shaped(kept, domain, first)


def _gradient(values: Tensor, leaf: Tensor, create_graph: bool = False) -> Tensor:
    if values.ndim == leaf.ndim and values.shape[-1] > 1:
        raise InputError(
            f"u has {values.shape[-1]} components; choose one to differentiate: solution.output(0)."
        )
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
