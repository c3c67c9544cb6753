r"""Scaling symmetries of a family, found by evaluating its formulas:

    u(λ₁ s^{e₁}, …, λ_n s^{e_n}) = s^w u(λ)   for all s > 0,

such as the homogeneity of a price in spot and strike. They follow from those of the formulas,

    μᵢ → s^{eᵢ − e_t} μᵢ,   (σσ*)ᵢⱼ → s^{eᵢ + eⱼ − e_t} (σσ*)ᵢⱼ,   c → s^{−e_t} c,   φ → s^w φ,

f → s^{w − e_t} f, and walls that stay where they are. In their derivatives at s = 1 these are
linear equations for e and w, one per formula and point; what solves them is tried at finite s.
"""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.capabilities import Absorbing, BoundaryValue, Discount, Source
from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family, noise_dim, timed

MOST_INPUTS = 64  # memory grows like the cube
POINTS = 64  # at which formulas are evaluated
SMALL = 1e-9  # relative; what counts as zero
TRIED = (0.6, 1.7)  # values of s


@dataclass(frozen=True)
class Scaling:
    """Exponents by entry, those that are not zero, and that of u."""

    exponents: dict[str, float]
    value: float


@once_per_family
def scalings(family: Family) -> tuple[Scaling, ...]:
    """Independent symmetries of u; any product of them is one too.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> found = scalings(BlackScholes())
        >>> {"x": 1.0, "strike": 1.0} in [scaling.exponents for scaling in found]
        True
    """
    if family.domain.dim > MOST_INPUTS:
        return ()
    entries, inputs = family.domain.entries, _points(family)
    basis = _null_space(_equations(family, inputs), len(entries) + 1)
    pairs = [a + b for a, b in itertools.combinations(basis, 2)]
    found: list[Tensor] = []
    for candidate in [*basis, *pairs]:
        independent = torch.linalg.matrix_rank(torch.stack([*found, candidate])) > len(found)
        if independent and all(_holds(family, inputs, candidate, s) for s in TRIED):
            found.append(candidate)
    return tuple(
        Scaling({n: v for n, v in zip(entries, e.tolist(), strict=False) if v}, e[-1].item())
        for e in found
    )


def _points(family: Family) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return family.domain.where(None).sample(POINTS, generator, torch.float64)


def _formulas(family: Family, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """All formulas, `(N, n)`, and the coefficients of (e, w) in their exponents, `(n, dim + 1)`."""
    domain = family.domain
    x, t, p = domain.split(inputs)
    p = timed(family, p, t)
    d, dim, time = domain.state_dim, domain.dim, domain.slices()["t"].start
    unit = torch.eye(dim + 1, dtype=torch.float64)
    normals = torch.eye(noise_dim(family), dtype=x.dtype).unsqueeze(1).expand(-1, len(x), -1)
    columns = family.diffusion(x.expand(len(normals), -1, -1), normals, p)
    spread = torch.einsum("mni,mnj->nij", columns, columns)
    parts = [family.drift(x, p), spread.flatten(1), family.initial(x, p)]
    powers = [unit[:d] - unit[time], (unit[:d, None] + unit[None, :d] - unit[time]).flatten(0, 1)]
    powers.append(unit[-1].expand(parts[2].shape[-1], -1))
    if isinstance(family, Discount):
        parts.append(family.discount(x, p))
        powers.append(-unit[time, None])
    if isinstance(family, Source):
        parts.append(family.source(x, p))
        powers.append((unit[-1] - unit[time]).expand(parts[-1].shape[-1], -1))
    if isinstance(family, BoundaryValue):
        parts.append(family.boundary_value(x, p))
        powers.append(unit[-1].expand(parts[-1].shape[-1], -1))
    if isinstance(family, Absorbing):
        parts.append(family.distance(x, p))
        powers.append(torch.zeros(parts[-1].shape[-1], dim + 1, dtype=torch.float64))
    return torch.cat(parts, -1), torch.cat(powers)


def _equations(family: Family, inputs: Tensor) -> Tensor:
    """Σₖ eₖ λₖ ∂ₖ g = r(e, w) g.  Shape: `(N n, dim + 1)`."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = inputs.clone().requires_grad_()
        values, powers = _formulas(family, leaf)
        rows = [torch.autograd.grad(v.sum(), leaf, retain_graph=True)[0] for v in values.unbind(-1)]
    slopes = torch.stack(rows, 1) * inputs.unsqueeze(1)
    left = torch.cat([slopes, torch.zeros_like(slopes[..., :1])], -1)
    equations = (left - values.detach().unsqueeze(-1) * powers).flatten(0, 1)
    size = equations.abs().amax(-1, keepdim=True)
    return equations[size.squeeze(-1) > 0] / size[size.squeeze(-1) > 0]


def _null_space(equations: Tensor, size: int) -> list[Tensor]:
    """A basis in reduced form, so that exponents are plain numbers."""
    _, strength, directions = torch.linalg.svd(equations, full_matrices=True)
    rank = int((strength > SMALL**0.5 * strength.max()).sum())
    basis = directions[rank:].clone()
    row = 0
    for column in range(size):
        if row == len(basis):
            break
        best = row + int(basis[row:, column].abs().argmax())
        if abs(basis[best, column].item()) < SMALL**0.5:
            continue
        basis[[row, best]] = basis[[best, row]]
        basis[row] /= basis[row, column].clone()
        others = [i for i in range(len(basis)) if i != row]
        basis[others] -= basis[others, column, None] * basis[row]
        row += 1
    return [(24.0 * vector).round() / 24.0 + 0.0 for vector in basis]  # no −0


def _holds(family: Family, inputs: Tensor, exponents: Tensor, s: float) -> bool:
    """Whether all formulas scale, at inputs near each other's kinks and jumps too."""
    before, powers = _formulas(family, inputs)
    after, _ = _formulas(family, inputs * s ** exponents[:-1])
    expected = before * s ** (powers @ exponents)
    return bool(torch.allclose(after, expected, rtol=1e-7, atol=1e-9 * float(before.abs().max())))
