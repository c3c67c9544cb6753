r"""Payoffs together with a martingale. For v ≈ u and the path S on n steps of length h,

    M₁ = Σ_k W_k ⟨∇v, ΔS_k⟩,    M₂ = ½ Σ_k W_k (⟨ΔS_k, ∇²v ΔS_k⟩ − h Tr(σσ*∇²v)),

with ΔS_k = σ(S_k) √h z_k, v at (S_k, t − kh), and W the weight of the path (see `path.py`). Both
have mean zero for every v, because z_k is independent of the path so far. If v = u, Itô's formula
says that payoff − M₁ − M₂ is nearly constant, so a few paths give its mean: a control variate.
Outside the region where v is known, it is evaluated at the nearest point.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from feynkac.analysis.partials import Map, hessian, partial
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.sampling.path import PathState, path_states
from feynkac.sampling.schemes.scheme import Scheme

MOST_CURVED = 4  # dimensions in which the second-order term is affordable


class Control(NamedTuple):
    """An approximation v of u, and the domain on which it is valid."""

    map: Map
    domain: Domain
    budget: float | None = None
    """Seconds it was trained for, if that is known."""
    error: float = 0.0
    """Error relative to that of a linear fit, if known; a control with 1 or more is useless."""

    def at(self, inputs: Tensor) -> Map:
        """v for inputs of this dtype, which may differ from that of the network."""
        weights = list(self.map.parameters()) if isinstance(self.map, nn.Module) else []
        if not weights or weights[0].dtype == inputs.dtype:
            return self.map
        return lambda flat: self.map(flat.to(weights[0].dtype)).to(flat.dtype)


def controlled(
    family: Family, scheme: Scheme, control: Control, inputs: Tensor, z: Tensor
) -> tuple[Tensor, Tensor]:
    """The payoffs of paths and (M₁, M₂).

    Shape: inputs `(N, dim)`, z `(draws, N, K, m)` → `(N, K, 1)`, `(N, K, 2)`.
    """
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    h = t / scheme.steps
    *path, end = path_states(family, scheme, x, t, p, z)
    martingale = z.new_zeros(*z.shape[1:-1], 2)
    for moment, normal in zip(path, z, strict=False):  # the increments come first
        here = _nearest(control, inputs, moment.state, moment.time)
        martingale = martingale + _increment(family, control, here, moment, h, normal)
    return end.weight * family.initial(end.state, end.p) + end.gained, martingale


def _nearest(control: Control, inputs: Tensor, state: Tensor, time: Tensor) -> Tensor:
    """Flat inputs (S, t − kh, γ), moved into the control's domain.  Shape: `(N, K, dim)`."""
    where = control.domain.slices()
    flat = inputs.unsqueeze(-2).expand(*state.shape[:-1], -1).clone()
    flat[..., where["x"]] = state
    flat[..., where["t"]] = time
    return control.domain.nearest(flat)


def _increment(
    family: Family, control: Control, here: Tensor, moment: PathState, h: Tensor, z: Tensor
) -> Tensor:
    """One term of both.  Shape: `(N, K, 2)`."""
    state, p, dim = moment.state, moment.p, moment.state.shape[-1]
    step = family.diffusion(state, h.sqrt() * z, p)
    v = control.at(here)
    slope = partial(v, control.domain, "x", here).reshape(state.shape)
    first = (slope * step).sum(-1, keepdim=True)
    if dim > MOST_CURVED:
        return moment.weight * torch.cat([first, torch.zeros_like(first)], dim=-1)
    curvature = hessian(v, control.domain, "x", "x", here)
    curvature = curvature.reshape((*state.shape, dim))
    trace = torch.zeros_like(first)
    for unit in torch.eye(z.shape[-1], dtype=state.dtype, device=state.device):
        trace = trace + _quadratic(curvature, family.diffusion(state, unit.expand_as(z), p))
    second = 0.5 * (_quadratic(curvature, step) - h * trace)
    return moment.weight * torch.cat([first, second], dim=-1)


def _quadratic(matrix: Tensor, v: Tensor) -> Tensor:
    """⟨v, Av⟩.  Shape: `(…, d, d)`, `(…, d)` → `(…, 1)`."""
    return torch.einsum("...i,...ij,...j->...", v, matrix, v).unsqueeze(-1)
