r"""Partial derivatives of any u(λ) by automatic differentiation (paper, Section 1.2).

    Δ = ∂u/∂x,   Vega = ∂u/∂σ,   Θ = −∂u/∂t,   Γ = ∂²u/∂x²  (its diagonal, asset by asset).

These functions also work under `torch.no_grad` and `torch.inference_mode`. If the inputs require
gradients, or belong to a transform of `torch.func`, the derivatives are differentiable themselves.

A ReLU network is piecewise linear: its second derivatives are zero almost everywhere.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import Greek
from feynkac.families.domain import Domain
from feynkac.families.names import Place
from feynkac.families.reach import Reach

Map = Callable[[Tensor], Tensor]
"""A solution map on flat inputs: `(N, dim)` → `(N, 1)`, each row on its own."""
Variables = Domain | Reach
"""Names of the inputs, and which of them u has slopes in."""


def partial(u: Map, variables: Variables, name: str, inputs: Tensor) -> Tensor:
    """∂u/∂name, of a variable or one entry.  Shape: `(…, dim)` → `(…, *shape of the variable)`.

    Example:
        >>> from feynkac.families import Box, Domain
        >>> domain = Domain(x=Box(0, 1), t=Box(0, 1))
        >>> partial(lambda v: v[..., :1] * v[..., 1:] ** 2, domain, "t", torch.tensor([[2.0, 3.0]]))
        tensor([12.])
    """
    place = _moving(variables, name)
    return _shaped(gradient(u, inputs)[..., place.columns], place)


def gradient(u: Map, inputs: Tensor) -> Tensor:
    """All first derivatives.  Shape: `(…, dim)` → `(…, dim)`."""
    with differentiable(inputs) as at:
        return _gradient(u, at)


def hessian(u: Map, variables: Variables, first: str, second: str, inputs: Tensor) -> Tensor:
    """∂²u/∂first∂second.  Shape: `(…, dim)` → `(…, *shape of first, *shape of second)`.

    Example:
        >>> from feynkac.families import Box, Domain
        >>> domain = Domain(x=Box(0, 1), t=Box(0, 1))
        >>> u = lambda v: v[..., :1] * v[..., 1:] ** 2
        >>> hessian(u, domain, "x", "t", torch.tensor([[2.0, 3.0]]))
        tensor([6.])
    """
    rows, columns = _moving(variables, first), _moving(variables, second)
    with differentiable(inputs) as at:
        slopes, pull = _pull_back(lambda v: _gradient(u, v)[..., rows.columns], at)
        units = torch.eye(slopes.shape[-1], dtype=slopes.dtype, device=slopes.device)
        block = [pull(unit.expand_as(slopes))[..., columns.columns] for unit in units]
    return torch.stack(block, dim=-2).reshape((*inputs.shape[:-1], *rows.shape, *columns.shape))


def along(u: Map, inputs: Tensor, direction: Tensor) -> Tensor:
    """The derivative of u along a direction.  Shape: `(…, dim)`, `(…, dim)` → `(…,)`, broadcast."""
    same: list[Tensor] = torch.broadcast_tensors(inputs, direction)  # type: ignore[no-untyped-call]
    with differentiable(torch.stack(same)) as both:  # a copy: forward mode takes no views
        slope: Tensor = torch.func.jvp(u, (both[0],), (both[1],))[1]
    return slope.squeeze(-1)


def greek_value(u: Map, variables: Variables, greek: Greek, inputs: Tensor) -> Tensor:
    """A first or second derivative.  Shape: `(…, dim)` → `(…, *shape of its first variable)`."""
    place, *others = (_moving(variables, name) for name in greek.names)
    first, *rest = greek.names
    if not rest:
        return greek.sign * partial(u, variables, first, inputs)
    if len(rest) > 1 or (rest[0] != first and others[0].size > 1):
        raise InputError(
            f"{greek.names} is not a Greek: expected one variable, or two, the second being the "
            "first again or a scalar."
        )
    block = hessian(u, variables, first, rest[0], inputs)
    columns = block.reshape((*inputs.shape[:-1], place.size, others[0].size))
    kept = columns.diagonal(dim1=-2, dim2=-1) if first == rest[0] else columns[..., 0]
    return greek.sign * _shaped(kept, place)


def traced(inputs: Tensor) -> bool:
    """Whether a caller may want derivatives of what is computed from `inputs`."""
    return inputs.requires_grad or _transformed(inputs)


def _transformed(inputs: Tensor) -> bool:
    """Whether a transform of `torch.func` is under way."""
    return torch.func.debug_unwrap(inputs) is not inputs


@contextmanager
def differentiable(inputs: Tensor) -> Iterator[Tensor]:
    """Inputs to differentiate in, even under `inference_mode`; keeps a graph only if traced."""
    keep = torch.is_grad_enabled() and traced(inputs)
    with torch.inference_mode(False), torch.set_grad_enabled(keep):
        yield inputs.clone() if inputs.is_inference() else inputs


def _gradient(u: Map, inputs: Tensor) -> Tensor:
    total, pull = _pull_back(lambda v: _total(u(v), v), inputs)
    return pull(torch.ones_like(total))


def _pull_back(f: Map, inputs: Tensor) -> tuple[Tensor, Map]:
    """f, and the map from w to wᵀ∇f.

    A transform of `torch.func` needs `vjp`; otherwise plain autograd is quicker.
    """
    if _transformed(inputs):
        moved, pull = torch.func.vjp(f, inputs)  # type: ignore[misc]
        return moved, lambda w: pull(w)[0]
    keep = torch.is_grad_enabled() and inputs.requires_grad
    leaf = inputs if keep else inputs.detach().requires_grad_()
    with torch.enable_grad():
        values = f(leaf)

    def plain(w: Tensor) -> Tensor:
        if not values.requires_grad:  # f does not depend on its inputs here
            return torch.zeros_like(leaf)
        (found,) = torch.autograd.grad(
            values, leaf, w, create_graph=keep, retain_graph=True, allow_unused=True
        )
        return torch.zeros_like(leaf) if found is None else found

    return values.detach(), plain


def _total(values: Tensor, inputs: Tensor) -> Tensor:
    if values.ndim == inputs.ndim and values.shape[-1] > 1:
        raise InputError(
            f"u has {values.shape[-1]} components; choose one to differentiate: solution.output(0)."
        )
    return values.sum()


def has_slope(variables: Variables, name: str) -> bool:
    """Whether u is known along a variable, since it is not fixed, not even in part.

    Example:
        >>> from feynkac.families import Box, Domain, Fixed
        >>> domain = Domain(x=Box(0, 1), t=Box(0, 1), sigma=Fixed(0.3))
        >>> has_slope(domain, "x"), has_slope(domain, "sigma")
        (True, False)
    """
    return bool(variables.varies[variables.place(name).columns].all())


def _moving(variables: Variables, name: str) -> Place:
    """The place of what u is differentiated in."""
    place = variables.place(name)
    if not has_slope(variables, name):
        free = ", ".join(variables.free)
        raise InputError(f"{name} is fixed, so u has no derivative in it; there are: {free}.")
    return place


def _shaped(values: Tensor, place: Place) -> Tensor:
    return values.reshape((*values.shape[:-1], *place.shape))
