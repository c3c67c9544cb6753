r"""Fewer inputs by symmetry: u depends on |x| alone, or scales with some of its inputs.

With pivots q (a strike K, the time t) and exponents E, c of the family's scalings (`scaling.py`),

    u(λ) = M(q) v(λ′),    λ′_j = λ_j ∏_i q_i^{−E_ij},    M = ∏_i q_i^{c_i},

so that a network for v sees x/K and σ√t in place of x, K, σ and t. Pivots are not among the λ′, and
at fixed q the slopes follow at once:  ∂v/∂λ′_j = ∏_i q_i^{E_ij} ∂u/∂λ_j / M.
"""

from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from feynkac.families.domain import Domain

Exponent = Annotated[float, Field(allow_inf_nan=False)]
SMALLEST = 1e-30  # of a pivot, and of |x|²: powers and roots have no derivative at 0


@dataclass(frozen=True, config={"extra": "forbid"})
class Unit:
    """A pivot, in whose powers other inputs and u are measured.

    Example:
        >>> Unit("strike", (("x", 1.0),), value=1.0).pivot
        'strike'
    """

    pivot: str
    """Name of the entry."""
    powers: tuple[tuple[str, Exponent], ...]
    """E, by the names of other entries."""
    value: Exponent = 0.0
    """c, of u."""


class Reduction(nn.Module):
    """What is left of the inputs.  Shape: `(…, dim)` → `(…, columns)`."""

    powers: Tensor
    """−E of the columns and c of u: `(pivots, columns + 1)`."""

    def __init__(self, domain: Domain, radial: bool, units: tuple[Unit, ...]) -> None:
        super().__init__()
        self.radial, self.state = radial, domain.slices()["x"]
        self.pivots = [domain.place(unit.pivot).columns.start for unit in units]
        entries = domain.entries
        self.kept = [
            column
            for column in range(domain.dim)
            if column not in self.pivots and not (radial and 0 < column < domain.state_dim)
        ]
        """Columns of the flat input, that of |x| at its first entry."""
        rows = [
            [-dict(u.powers).get(entries[c], 0.0) for c in self.kept] + [u.value] for u in units
        ]
        powers = torch.tensor(rows, dtype=torch.float32).reshape(len(units), len(self.kept) + 1)
        self.register_buffer("powers", powers, persistent=False)

    @property
    def touched(self) -> Tensor:
        """Which columns differ from the inputs they come from.  Shape: `(columns,)`, bool."""
        found = self.powers[:, :-1].abs().sum(0) > 0
        if self.radial:
            found[0] = True
        return found

    def forward(self, inputs: Tensor) -> Tensor:
        """λ′."""
        if self.radial:
            radius = (inputs[..., self.state].square().sum(-1, keepdim=True) + SMALLEST).sqrt()
            inputs = torch.cat([radius, inputs[..., 1:]], dim=-1)
        kept = inputs[..., self.kept] if len(self.kept) < inputs.shape[-1] else inputs
        return kept * self._monomials(inputs)[..., :-1] if self.pivots else kept

    def slopes(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """∇v from ∇u.  Shape: `(N, dim)` → `(N, columns)`."""
        if self.radial:
            x, along = inputs[..., self.state], gradients[..., self.state]
            radial = (x * along).sum(-1, keepdim=True) / (
                x.square().sum(-1, keepdim=True) + SMALLEST
            ).sqrt()
            gradients = torch.cat([radial, gradients[..., 1:]], dim=-1)
        found = gradients[..., self.kept] if len(self.kept) < inputs.shape[-1] else gradients
        if not self.pivots:
            return found
        factors = self._monomials(inputs)
        return found / (factors[..., :-1] * factors[..., -1:])

    def in_units(self, inputs: Tensor, values: Tensor, gradients: Tensor) -> Tensor:
        """∇(u/M) in the inputs, from u `(N, 1)` and ∇u.  Shape: `(N, dim)` → `(N, dim)`."""
        if not self.powers[:, -1:].any():
            return gradients
        change = torch.zeros_like(gradients)  # of ln M
        change[:, self.pivots] = self.powers[:, -1] / inputs[:, self.pivots].clamp_min(SMALLEST)
        return (gradients - values * change) / self._monomials(inputs)[..., -1:]

    def moves(self, inputs: Tensor) -> Tensor:
        """Directions along which u may be known to vary: of x, or away from 0, and of t.

        Shape: `(N, dim)` → `(f, N, dim)`.
        """
        count = self.state.stop + 1
        units = torch.eye(inputs.shape[-1], dtype=inputs.dtype, device=inputs.device)[:count]
        found = units.unsqueeze(1).expand(-1, *inputs.shape)
        if not self.radial:
            return found
        away = torch.zeros_like(inputs)
        away[:, self.state] = torch.nn.functional.normalize(inputs[:, self.state], dim=-1)
        return torch.stack([away, found[-1]])

    def unit(self, inputs: Tensor) -> Tensor | float:
        """M, in which u is measured.  Shape: `(…, dim)` → `(…, 1)`."""
        if not self.powers[:, -1:].any():
            return 1.0
        return self._monomials(inputs)[..., -1:]

    def _monomials(self, inputs: Tensor) -> Tensor:
        """Shape: `(…, dim)` → `(…, columns + 1)`."""
        logarithms = inputs[..., self.pivots].clamp_min(SMALLEST).log()
        return (logarithms @ self.powers).exp()
