r"""Scalings of a family, its dimensional analysis: exponents e of the inputs and c of u with

    u(s^e λ) = s^c u(λ)   for all s > 0,   (s^e λ)_j = s^{e_j} λ_j.

Prices double if spot and strike do; time in months needs rates per month. Such e solve *linear*
equations: differentiate in s at s = 1. With D = Σ_j e_j λ_j ∂/∂λ_j and τ the exponent of t,

    D μ_i = (e_i − τ) μ_i,   D(σσ*)_ik = (e_i + e_k − τ)(σσ*)_ik,   D φ = c φ,   D g = c g,
    D(discount) = −τ discount,   D f = (c − τ) f,   D ρ ∝ ρ for walls and levels where φ jumps.

They are stacked at random inputs, also far outside the box, and their null space is found.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.capabilities import Absorbing, BoundaryValue, Discount, Reflected, Source
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, noise_dim, on_the_way, timed
from feynkac.families.levels import with_levels
from feynkac.families.point import Params

TRIALS = 24
MOST_INPUTS = 32  # beyond, the equations take long and little is gained
NONE = 1e-9  # a singular value, relative to the largest, that counts as zero
REACH = (1 / 30, 1 / 3, 1.0, 3.0, 30.0)  # how far from the box formulas are read, in turns
DIGITS = 6
TINY = 1e-250  # smaller numbers have fewer digits
FACTOR = 1.7  # by which a scaling is tried


@dataclass(frozen=True)
class Scaling:
    """One scaling: exponents by the names of entries, those of 0 omitted.

    Example:
        >>> Scaling((("x", 1.0), ("strike", 1.0)), 1.0).exponents
        {'x': 1.0, 'strike': 1.0}
    """

    powers: tuple[tuple[str, float], ...]
    value: float
    """c, the exponent of u."""

    @property
    def exponents(self) -> dict[str, float]:
        """e, by name."""
        return dict(self.powers)


@once_per_family
def scalings(family: Family, fixed: bool = True) -> tuple[Scaling, ...]:
    """A basis of all scalings; without `fixed`, of those that leave fixed inputs as they are.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> [(s.exponents, s.value) for s in scalings(BlackScholes())]
        [({'x': 1.0, 'strike': 1.0}, 1.0), ({'t': 1.0, 'sigma': -0.5}, 0.0)]
    """
    domain = family.domain
    if domain.dim > MOST_INPUTS or isinstance(family, Reflected):
        return ()
    formulas, inputs = _formulas(family), _trial_inputs(family)
    if not _seen_to_pay(family, inputs):
        return ()
    with torch.enable_grad():
        rows = _equations(formulas, inputs)
    if not fixed:
        still = torch.eye(domain.dim, rows.shape[1], dtype=rows.dtype)[~domain.varies]
        rows = torch.cat([rows, still])
    found = _reduced(_null_space(rows))[:, : domain.dim + 1]
    found = found[found[:, : domain.dim].any(-1)]
    held = [row for row in found if all(_holds(formula, inputs, row) for formula in formulas)]
    return tuple(
        Scaling(
            tuple((n, e) for n, e in zip(domain.entries, row.tolist(), strict=False) if e),
            row[-1].item(),
        )
        for row in held
    )


class _Formula(NamedTuple):
    """A formula of the inputs `(N, dim)` → `(N, k)`, and what each output's exponent is made of."""

    of: Callable[[Tensor], Tensor]
    exponents: Tensor
    """Coefficients of (e, c): `(k, dim + 1)`."""
    own: bool = False
    """Whether each output may have an exponent of its own besides."""
    often: bool = False
    """Whether it is read at more inputs: φ may be flat at most, or see one of many coordinates."""

    def trials(self, inputs: Tensor) -> Tensor:
        """Where it is read."""
        return inputs if self.often else inputs[: TRIALS * len(REACH)]


def _holds(formula: _Formula, inputs: Tensor, powers: Tensor) -> bool:
    """Whether it scales with `powers` of (e, c) by a whole factor, too: derivatives miss jumps."""
    if formula.own:
        return True
    exponents = formula.exponents @ powers
    inputs = formula.trials(inputs)
    scaled = formula.of(inputs * FACTOR ** powers[:-1])
    expected = formula.of(inputs) * FACTOR**exponents
    finite = scaled.isfinite() & expected.isfinite()
    return equal(scaled[finite], expected[finite])


def _equations(formulas: "list[_Formula]", inputs: Tensor) -> Tensor:
    """Rows of D f − (exponent of f) f, all alike in size.  Shape: `(rows, dim + 1 + own)`."""
    blocks = [_block(formula, formula.trials(inputs)) for formula in formulas]
    width = sum(block.shape[1] - inputs.shape[1] - 1 for block in blocks)
    rows, used = [], 0
    for block in blocks:
        plain, own = block[:, : inputs.shape[1] + 1], block[:, inputs.shape[1] + 1 :]
        padded = torch.zeros(len(block), width, dtype=block.dtype)
        padded[:, used : used + own.shape[1]] = own
        used += own.shape[1]
        rows.append(torch.cat([plain, padded], dim=1))
    return torch.cat(rows)


def _block(formula: _Formula, inputs: Tensor) -> Tensor:
    """The equations of one formula, those without a finite derivative left out."""
    inputs = inputs.detach().requires_grad_()
    values = formula.of(inputs)
    slopes = [_gradient(column.sum(), inputs) for column in values.unbind(-1)]
    jacobian = (
        torch.stack(slopes, 1) if slopes else inputs.new_zeros(len(inputs), 0, inputs.shape[1])
    )
    left = torch.cat([jacobian * inputs.unsqueeze(1), torch.zeros_like(values)[..., None]], -1)
    rows = left - values.unsqueeze(-1) * formula.exponents
    if formula.own:
        rows = torch.cat([rows, -torch.diag_embed(values)], dim=-1)
    size = rows.abs().amax(-1, keepdim=True)
    rows = torch.where(size > TINY, rows / size, 0.0 * rows).flatten(0, 1)
    return rows[rows.isfinite().all(-1)].detach()


def _gradient(value: Tensor, inputs: Tensor) -> Tensor:
    if not value.requires_grad:
        return torch.zeros_like(inputs)
    (found,) = torch.autograd.grad(value, inputs, retain_graph=True, materialize_grads=True)
    return found


def _trial_inputs(family: Family) -> Tensor:
    """Random inputs, x also far outside its box.  Shape: `(N, dim)`."""
    domain, generator = family.domain, torch.Generator().manual_seed(0)
    trials = TRIALS * domain.state_dim
    inputs = domain.sample(trials * len(REACH), generator, torch.float64)
    where = domain.slices()["x"]
    factors = torch.tensor(REACH, dtype=torch.float64).repeat(trials)[:, None]
    coins = torch.rand(len(inputs), domain.state_dim, generator=generator, dtype=torch.float64)
    coins[::2] = coins[::2, :1]  # all entries of x the same way
    inputs[:, where] *= torch.where(coins < 0.5, factors, 1.0 / factors)
    size = inputs[:, where].abs().amax(-1, keepdim=True).clamp_min(1e-3)
    reached = size * torch.rand(coins.shape, generator=generator, dtype=torch.float64)
    inputs[:, where] = torch.where(inputs[:, where] == 0.0, reached, inputs[:, where])
    return inputs


def _seen_to_pay(family: Family, inputs: Tensor) -> bool:
    """Whether anything but zeros was seen of what u is made of."""
    if isinstance(family, Source | BoundaryValue):
        return True
    x, t, p = family.domain.split(inputs)
    return bool(family.initial(x, timed(family, p, t)).any())


def _formulas(family: Family) -> list[_Formula]:
    domain, dim = family.domain, family.domain.dim
    unit = torch.eye(dim + 1, dtype=torch.float64)
    state, time, value = unit[: domain.state_dim], unit[domain.slices()["t"]], unit[dim:]

    def reading(formula: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
        def read(inputs: Tensor) -> Tensor:
            x, t, p = domain.split(inputs)
            return formula(x, on_the_way(family, p, t))

        return read

    pair = (state.unsqueeze(1) + state).flatten(0, 1)
    found = [
        _Formula(reading(family.drift), state - time),
        _Formula(reading(lambda x, p: _spread(family, x, p)), pair - time),
        _Formula(reading(family.initial), value, often=True),
        _Formula(reading(lambda x, p: with_levels(family, x, p)[1]), 0.0 * value, own=True),
    ]
    if isinstance(family, Discount):
        found.append(_Formula(reading(family.discount), -time))
    if isinstance(family, Source):
        found.append(_Formula(reading(family.source), value - time))
    if isinstance(family, Absorbing):
        found.append(_Formula(reading(family.distance), 0.0 * value, own=True))
    if isinstance(family, BoundaryValue):
        found.append(_Formula(reading(family.boundary_value), value))
    return found


def _spread(family: Family, x: Tensor, p: Params) -> Tensor:
    """σσ*.  Shape: `(N, d)` → `(N, d²)`."""
    units = torch.eye(noise_dim(family), dtype=x.dtype)
    columns = torch.stack(
        [family.diffusion(x, unit.expand(*x.shape[:-1], -1), p) for unit in units]
    )
    return torch.einsum("m...i,m...j->...ij", columns, columns).flatten(-2)


def _null_space(rows: Tensor) -> Tensor:
    """What all rows annihilate.  Shape: `(rows, n)` → `(k, n)`."""
    _, sizes, right = torch.linalg.svd(torch.linalg.qr(rows).R)
    found: Tensor = right[sizes <= NONE * sizes.max()]
    return found


def _reduced(basis: Tensor) -> Tensor:
    """The same space in reduced echelon form, rounded.  Shape: `(k, n)` → `(k, n)`."""
    basis, row = basis.clone(), 0
    for column in range(basis.shape[1]):
        if row == len(basis):
            break
        best = row + int(basis[row:, column].abs().argmax())
        if basis[best, column].abs() < 10.0**-DIGITS:
            continue
        basis[[row, best]] = basis[[best, row]]
        basis[row] /= basis[row, column].clone()
        others = torch.arange(len(basis)) != row
        basis[others] -= basis[others, column, None] * basis[row]
        row += 1
    return basis.round(decimals=DIGITS) + 0.0


def homogeneous(family: Family) -> bool:
    """Whether u(s x₀, s K) = s u(x₀, K), with all other variables as they are.

    Example:
        >>> from feynkac.families.models.cev import Cev
        >>> from feynkac.families.models.heston import Heston
        >>> homogeneous(Heston()), homogeneous(Cev())
        (True, False)
    """
    domain, found = family.domain, scalings(family)
    if not found:
        return False
    size = domain.dim + 1
    wanted, known = torch.zeros(size).double(), torch.zeros(len(found), size).double()
    wanted[[0, domain.place("strike").columns.start, -1]] = 1.0
    for row, scaling in zip(known, found, strict=True):
        row[-1] = scaling.value
        for name, exponent in scaling.exponents.items():
            row[domain.place(name).columns] = exponent
    weights = torch.linalg.lstsq(known.T, wanted.unsqueeze(-1)).solution
    return bool((known.T @ weights - wanted.unsqueeze(-1)).abs().max() < NONE)
