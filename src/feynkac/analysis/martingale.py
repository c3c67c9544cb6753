r"""Payoffs with a martingale beside them. For v ≈ u and the path S on n steps of length h,

    M₁ = Σ_k ⟨∇v, ΔS_k⟩,    M₂ = ½ Σ_k ⟨ΔS_k, ∇²v ΔS_k⟩ − h Tr(σσ*∇²v),    ΔS_k = σ(S_k) √h z_k,

with v at (S_k, t − kh). Both have mean zero whatever v is, since z_k is independent of S_k. If
v = u, Itô's formula says that φ(S_t) − M₁ − M₂ is nearly constant, so that a few paths give its
mean: a control variate. Outside the region where v is known it is taken at the nearest point.
"""

import dataclasses
from typing import Any, NamedTuple

import torch
from torch import Tensor

from feynkac.analysis.partials import Map, hessian, partial
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.sampling.exact import Exact
from feynkac.sampling.scheme import Scheme

MOST_CURVED = 4  # dimensions in which the second-order term is affordable


class Control(NamedTuple):
    """An approximation v of u and the domain on which it is one."""

    map: Map
    domain: Domain


def steps_of(scheme: Scheme, steps: int) -> Scheme:
    """The same scheme with `steps` steps; the exact one has none to choose."""
    if isinstance(scheme, Exact):
        return scheme
    settings: Any = scheme
    chosen: Scheme = dataclasses.replace(settings, steps=steps)
    return chosen


def draws_of(scheme: Scheme, steps: int) -> int:
    """Normal vectors a path needs."""
    return steps * steps_of(scheme, 1).draws


def controlled(
    family: Family, scheme: Scheme, steps: int, control: Control, inputs: Tensor, z: Tensor
) -> tuple[Tensor, Tensor]:
    """φ(S_t) and (M₁, M₂).

    Shape: inputs `(N, dim)`, z `(draws, N, K, d)` → `(N, K, 1)`, `(N, K, 2)`.
    """
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    single, h = steps_of(scheme, 1), t / steps
    state = x.expand(z.shape[1:])
    martingale = state.new_zeros(*state.shape[:-1], 2)
    for k in range(steps):
        now = z[k::steps]
        here = _nearest(control, inputs, state, t - k * h)
        martingale = martingale + _increment(family, control, here, state, h, p, now[0])
        state = single.terminal(family, state, h, p, now)
    return family.initial(state, p), martingale


def _nearest(control: Control, inputs: Tensor, state: Tensor, time: Tensor) -> Tensor:
    """Flat inputs (S, t − kh, γ), moved into the control's domain.  Shape: `(N, K, dim)`."""
    where = control.domain.slices()
    flat = inputs.unsqueeze(-2).expand(*state.shape[:-1], -1).clone()
    flat[..., where["x"]] = state
    flat[..., where["t"]] = time
    return control.domain.nearest(flat)


def _increment(
    family: Family, control: Control, here: Tensor, state: Tensor, h: Tensor, p: Params, z: Tensor
) -> Tensor:
    """One term of both.  Shape: `(N, K, 2)`."""
    dim = state.shape[-1]
    step = family.diffusion(state, h.sqrt() * z, p)
    slope = partial(control.map, control.domain, "x", here).reshape(state.shape)
    first = (slope * step).sum(-1, keepdim=True)
    if dim > MOST_CURVED:
        return torch.cat([first, torch.zeros_like(first)], dim=-1)
    curvature = hessian(control.map, control.domain, "x", "x", here)
    curvature = curvature.reshape((*state.shape, dim))
    trace = torch.zeros_like(first)
    for unit in torch.eye(dim, dtype=state.dtype, device=state.device):
        trace = trace + _quadratic(curvature, family.diffusion(state, unit.expand_as(state), p))
    return torch.cat([first, 0.5 * (_quadratic(curvature, step) - h * trace)], dim=-1)


def _quadratic(matrix: Tensor, v: Tensor) -> Tensor:
    """⟨v, Av⟩.  Shape: `(…, d, d)`, `(…, d)` → `(…, 1)`."""
    return torch.einsum("...i,...ij,...j->...", v, matrix, v).unsqueeze(-1)
