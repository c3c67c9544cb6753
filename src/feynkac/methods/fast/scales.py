r"""Scales of what is fitted, measured before the first step:

    T_j/ω_j = max(R_j, δ max_i T_i R_i),

R_j the root mean square of the slope ∂_j Y in normalised inputs, T_j how far it can be trusted
(`slopes.py`). Y is u in its unit, the logarithm of that, or what a head makes u of.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.errors import NonFiniteError
from feynkac.methods.fast.head_rows import FOUND, HeadRows, head_rows, implied
from feynkac.methods.fast.path_data import Data
from feynkac.networks.network import Network
from feynkac.training.diagnosis import bad_label
from feynkac.training.objective import Batch

SMALLEST_SCALE = 1e-30  # of u = 0, with room for its inverse
ROUNDING, LEAST_SCALE = 1e-5, 1e-4  # of a component's size, and of the largest scale: the least
BESIDE = (-0.7, 1.0)  # ln Y − f of a label beside the network
TOLD = 0.01  # the least vega, times σ, at which a label tells f
LEAST_HEAD_SCALE, LEAST_VOLATILITY, LEAST_HEAD_SLOPE = 0.05, 0.01, 1.0


@dataclass(frozen=True)
class Scales:
    """Mean and standard deviation of u in its unit `(m,)`, and weights ω `(f,)` of slopes.

    Behind a head, they are of f.
    """

    shift: Tensor
    scale: Tensor
    weights: Tensor
    typical: float = 1.0
    """Behind a head, how far volatility is from that of a constant f."""


def measure_scales(
    data: Data, network: Network, generator: torch.Generator, least_slope: float = 1e-3
) -> Scales:
    """From one batch of labels; δ is `least_slope`."""
    batch = data.sample(generator)
    if problem := bad_label(batch._replace(gradients=None), data.family.domain):
        raise NonFiniteError(f"before training: a NaN or infinity arose {problem}.")
    if network.head is not None:
        return _head_scales(data, network, batch, data.trusted(network, generator), least_slope)
    values, found, _ = as_fitted(data, network, batch)
    shift, scale = values.mean(0), values.std(0)
    rounding = torch.maximum(ROUNDING * values.abs().amax(0), LEAST_SCALE * scale.max())
    scale = scale.maximum(rounding).clamp_min(SMALLEST_SCALE)
    slopes = found / scale.mean()
    rms = torch.where(slopes.isfinite(), slopes, 0.0).square().mean(0).sqrt()
    trusted = data.trusted(network, generator)
    least = least_slope * (trusted * rms).max() + 1e-12
    return Scales(shift, scale, trusted / rms.clamp_min(least))


def as_fitted(
    data: Data, network: Network, batch: Batch, f: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels in what the core gives: u in its unit, Y, or ln u.

    Beside f, what the network gives now, ln Y is f + (Y e^{−f} − 1), and its slope ∇Y e^{−f}: this
    has no bias by the noise of Y. A label that is not positive counts as the least of the others.
    Shape: f `(N, 1)`; values `(N, m)`, slopes `(N, s)`, and along what they are (see `Slopes`).
    """
    values = batch.values / network.unit(batch.inputs)
    slopes, along = data.slopes(network, batch)
    if not network.positive:
        return values, slopes, along
    known = values > 0.0
    least = values[known].amin() if known.any() else torch.ones_like(values[0, 0])
    values = torch.where(known, values, least)
    slopes, values = torch.where(known, slopes / values, torch.nan), values.log()
    if f is None:
        return values, slopes, along
    away = values - f
    beside = (away > BESIDE[0]) & (away < BESIDE[1])
    ratio = away.clamp(*BESIDE).exp()
    return (
        torch.where(beside, f + ratio - 1.0, values),
        torch.where(beside, slopes * ratio, slopes),
        along,
    )


def _head_scales(
    data: Data, network: Network, batch: Batch, trusted: Tensor, least_slope: float
) -> Scales:
    """Of f, where it can be told from the labels."""
    assert network.head is not None
    f = implied(network.head, batch.inputs, batch.values).to(batch.inputs)
    rows, _ = rows_behind_head(data, network, batch, f)
    f = f.squeeze(-1)
    told = (f.abs() < FOUND) & (rows.first > TOLD)
    if not told.any():
        f, told = torch.zeros_like(f), torch.ones_like(told)
    shift, scale = f[told].mean(), f[told].std(correction=0).clamp_min(LEAST_HEAD_SCALE)
    spread = (rows.first * (f - shift))[told].square().mean().sqrt()
    typical = spread.clamp_min(LEAST_VOLATILITY)
    slopes = (rows.tamed * rows.slopes / typical)[told]
    rms = torch.where(slopes.isfinite(), slopes, 0.0).square().mean(0).sqrt()
    least = (least_slope * (trusted * rms).max()).clamp_min(LEAST_HEAD_SLOPE)
    weights = trusted / rms.maximum(least)
    return Scales(shift.unsqueeze(0), scale.unsqueeze(0), weights, typical.item())


def rows_behind_head(
    data: Data, network: Network, batch: Batch, f: Tensor
) -> tuple[HeadRows, Tensor | None]:
    """Rows of a batch at f `(N, 1)`, and along what their slopes are."""
    assert network.head is not None
    slopes, along = data.slopes(network, batch)

    def slopes_of(values: Tensor, gradients: Tensor) -> Tensor:
        return data.slopes(network, batch._replace(values=values, gradients=gradients)).values

    labels, unit = (batch.values, slopes), network.unit(batch.inputs)
    return head_rows(network.head, batch.inputs, f, labels, slopes_of, unit), along
