r"""Whether u is a call or put whose forward and discount a head can write down.

By evaluating the formulas of a `Quoted` family at random inputs and differentiating them:

    ln(F/λ_a)/t = ⟨g, λ⟩  and  −ln(D)/t = ⟨r, λ⟩,   with constant g and r,
    p_j = E[λ_j ∂_j ln s],   s the volatility of the asset at the start:  s² = |σ(x)*e_a|²,

s in units of the asset for Black's formula, which is taken where s grows with the asset, and as it
is for Bachelier's. The mean of these elasticities scales as s does, so that symmetries stay exact.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.evaluating import equal, once_per_family
from feynkac.families.family import Family, jumps, noise_dim, outputs, timed
from feynkac.families.quoted import Quote, Quoted
from feynkac.methods.fast.choose_symmetries import Symmetries
from feynkac.networks.head import Bachelier, Black, Head, Priced, Terms
from feynkac.networks.reduction import Unit
from feynkac.sampling.generators import make_generator

SAMPLE = 256
SHORTEST = 1e-3  # of the longest time
DIGITS = 6
NONE = 1e-9  # a coefficient or a difference that counts as zero
LEAST_POWER = 0.01
FACTOR = 1.7  # by which symmetries are tried


@once_per_family
def choose_head(family: Family, symmetries: Symmetries = Symmetries()) -> Head | None:  # noqa: B008
    """The head of a family, if it has one.

    Example:
        >>> import feynkac as fk
        >>> choose_head(fk.BlackScholesMerton()).growth, choose_head(fk.Digital())
        ((('rate', 1.0), ('dividend', -1.0)), None)
    """
    asks = isinstance(family, Quoted) and family.learns_volatility
    if not asks or outputs(family) > 1 or jumps(family) or symmetries.radial:
        return None
    with torch.enable_grad():
        found = _found(family, _sample(family.domain))
    scales = found is not None and _scales(Priced(found, family.domain), family, symmetries.units)
    return found if scales else None


def _sample(domain: Domain) -> Tensor:
    """Shape: `(SAMPLE, dim)`, float64; none of them at t = 0."""
    inputs = domain.sample(SAMPLE, make_generator(0, "head"), torch.float64)
    time = inputs[:, domain.slices()["t"]]
    time.clamp_min_(SHORTEST * domain.measures["t"].high[0])
    return inputs.requires_grad_()


def _found(family: Family, inputs: Tensor) -> Head | None:
    quoted = _read(family, inputs)
    if quoted is None:
        return None
    asset, strike, quote = quoted
    x, t, _ = family.domain.split(inputs)
    growth = _linear((quote.forward / x[:, asset, None]).log() / t, inputs)
    rates = _linear(-torch.as_tensor(quote.discount * torch.ones_like(t)).log() / t, inputs)
    if growth is None or rates is None:
        return None
    names = family.domain.entries
    by_name = [_terms(names, found) for found in (growth, rates)]
    start = _volatility(family, inputs, asset)
    powers = _elasticities(start, inputs)
    lognormal = bool((inputs[:, [asset, strike]] > 0).all()) and powers[asset] > 0.5
    if lognormal:
        powers[asset] -= 1.0
        start = start / inputs[:, asset, None]
    powers[(family.domain.bounds[0] <= 0.0) | (powers.abs() < LEAST_POWER)] = 0.0
    powers = (powers * 10**DIGITS).round() / 10**DIGITS
    moving = powers != 0.0
    rest = start.log() - (inputs[:, moving].log() @ powers[moving]).unsqueeze(-1)
    factor = rest.mean().exp().item()
    if not (powers.isfinite().all() and 0.0 < factor < torch.inf):
        return None
    return (Black if lognormal else Bachelier)(
        asset=names[asset],
        strike=names[strike],
        call=bool(quote.call),
        growth=by_name[0],
        rates=by_name[1],
        factor=float(f"{factor:.{DIGITS}g}"),
        powers=_terms(names, powers),
    )


class _Read(NamedTuple):
    """Columns of asset and strike, and the quote."""

    asset: int
    strike: int
    quote: Quote


def _read(family: Family, inputs: Tensor) -> _Read | None:
    """None if the strike is no entry, or the forward depends on more than one state."""
    assert isinstance(family, Quoted)
    x, t, p = family.domain.split(inputs)
    quote = family.quote(x, t, p)
    if quote is None or not isinstance(quote.forward, Tensor) or isinstance(quote.call, Tensor):
        return None
    strike = torch.as_tensor(quote.strike, dtype=t.dtype).expand_as(t).detach()
    strikes = [
        column
        for column in range(x.shape[-1], inputs.shape[-1])
        if equal(inputs[:, column].detach(), strike[:, 0])
    ]
    slopes = _gradient(quote.forward, inputs)[:, : x.shape[-1]].abs().amax(0)
    assets = (slopes > NONE).nonzero().flatten().tolist()
    named = [c for c in strikes if family.domain.entries[c] == "strike"] or strikes
    return _Read(assets[0], named[0], quote) if len(assets) == 1 and named else None


def _linear(values: Tensor, inputs: Tensor) -> Tensor | None:
    """c with values = ⟨c, λ⟩, if there is one.  Shape: `(N, 1)`, `(N, dim)` → `(dim,)`."""
    slopes = _gradient(values, inputs)
    found = (slopes.mean(0) / NONE).round() * NONE
    expected = (inputs @ found).unsqueeze(-1)
    holds = values.isfinite().all() and (values - expected).abs().max() < 1e-7
    return found if holds else None


def _volatility(family: Family, inputs: Tensor, asset: int) -> Tensor:
    """s, not in units of the asset.  Shape: `(N, dim)` → `(N, 1)`."""
    x, t, p = family.domain.split(inputs)
    units = torch.eye(noise_dim(family), dtype=inputs.dtype)
    moved = [family.diffusion(x, unit.expand(len(x), -1), timed(family, p, t)) for unit in units]
    return torch.stack([m[:, asset, None] for m in moved]).square().sum(0).sqrt()


def _elasticities(values: Tensor, inputs: Tensor) -> Tensor:
    """Shape: `(N, 1)`, `(N, dim)` → `(dim,)`."""
    return (inputs * _gradient(values.log(), inputs)).mean(0).detach()


def _gradient(values: Tensor, inputs: Tensor) -> Tensor:
    if not values.requires_grad:
        return torch.zeros_like(inputs)
    (found,) = torch.autograd.grad(values.sum(), inputs, retain_graph=True, allow_unused=True)
    return torch.zeros_like(inputs) if found is None else found


def _terms(names: list[str], numbers: Tensor) -> Terms:
    pairs = zip(names, numbers.tolist(), strict=True)
    return tuple((name, round(number, DIGITS)) for name, number in pairs if abs(number) > NONE)


def _scales(head: Priced, family: Family, units: tuple[Unit, ...]) -> bool:
    """Whether the price for a given f scales as u does: then f depends on what is left alone."""
    domain = family.domain
    inputs = _sample(domain).detach()
    f = torch.linspace(-1.0, 1.0, len(inputs), dtype=inputs.dtype).unsqueeze(-1)
    return all(
        equal(
            head.price(inputs * _factors(domain.entries, unit), f),
            FACTOR**unit.value * head.price(inputs, f),
        )
        for unit in units
    )


def _factors(names: list[str], unit: Unit) -> Tensor:
    """Of the entries, if the pivot grows `FACTOR` times.  Shape: `(dim,)`, float64."""
    powers = {unit.pivot: 1.0, **dict(unit.powers)}
    return torch.tensor([FACTOR ** powers.get(name, 0.0) for name in names], dtype=torch.float64)
