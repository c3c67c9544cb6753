r"""Rows of the fit of a network behind a head (`networks/head.py`). With u = B(λ, f(λ)), labels Y,

    value  ρ (B − Y),      slope  ρ ω_j (∂_j B + B_f ∂_j f − ∂_j Y),

∂_j B at fixed f. Errors are those of prices, with the noise of labels as it is, and
ρ = 1/√(vega² + least²) makes them errors of volatility where that means something. Their
derivatives in the parameters are

    ρ B_f ∇f,      ρ ω_j (B_f ∇∂_j f + (∂_j B_f + B_ff ∂_j f) ∇f).

A price is flat in f where f is far off, so that tangents lead astray. With f* the f of the label,
secants take the place of B_f and of vega in the row of the value, if f* means something,

    B_f → (B − Y)/(f − f*),      vega → √t (B − Y)/(w − w*),

and a slope counts less the more secant and tangent differ. Where vega changes fast, as it does
before maturity, a slope says little about ∂_j f and much about f, with the noise of a slope. It is
divided by √(1 + (∂_j ln B_f)²), so that it counts no more for f than the value does.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.networks.head import TINY, Priced
from feynkac.networks.linearisation import End, Top

WIDEST = 6.0  # |f| up to which f* is looked for
HALVINGS, FOUND = 24, 5.9  # beyond the second, f* was not found
STEP = 1e-3  # in f, of differences
NEAR = 0.01  # |f − f*| from which on secants are used
SMALL = 1e-9  # what counts as none: processors are slow with numbers next to 0

SlopesOf = Callable[[Tensor, Tensor], Tensor]
"""Slopes `(N, s)` that are fitted, of anything with values `(N, 1)` and a gradient `(N, dim)`."""


class HeadRows(NamedTuple):
    """All terms above but f, times ρ: `(N,)`, and `(N, s)` of slopes."""

    value: Tensor
    """B − Y."""
    secant: Tensor
    """(B − Y)/(f − f*)."""
    first: Tensor
    """B_f."""
    second: Tensor
    """B_ff."""
    slopes: Tensor
    """∂_j B − ∂_j Y, NaN where there is no label."""
    mixed: Tensor
    """∂_j B_f."""

    @property
    def tamed(self) -> Tensor:
        """What slopes are multiplied by, between 0 and 1.  Shape: `(N, s)`."""
        bend = self.mixed / (self.first + SMALL).unsqueeze(-1)
        straight = torch.minimum(self._ratio, 1.0 / self._ratio).square()
        return straight.unsqueeze(-1) * torch.rsqrt(1.0 + bend.square())

    @property
    def _ratio(self) -> Tensor:
        """Of tangent and secant.  Shape: `(N,)`."""
        return (self.first + SMALL) / (self.secant + SMALL)

    def directions(self, weights: Tensor) -> Tensor:
        """Weights of the core's slopes, from those ω of slopes of u.  Shape: `(N, s)` both."""
        return weights * self._ratio.unsqueeze(-1)

    def top(self, scale: Tensor, weights: Tensor, chosen: Tensor) -> Top:
        """For `linearise`: all rows, of the chosen slopes, as functions of the core's output.

        Slopes of the core come with the weights of `directions` already.
        Shape: scale `()`, weights ω `(N, s)`, chosen `(k,)`.
        """
        slopes = (weights * torch.where(weights > 0, self.slopes, 0.0))[:, chosen]
        mixed = scale * (weights * self.mixed)[:, chosen]
        secant = (scale * self.secant).unsqueeze(-1)
        second = (scale**2 * self.second / self._ratio).unsqueeze(-1)

        def end(_output: Tensor, tangent: Tensor) -> End:
            along = tangent.squeeze(-1)
            bend = mixed + second * along
            return End(self.value, slopes + secant * along, secant, bend.unsqueeze(-1))

        return end


@torch.no_grad()
def head_rows(
    head: Priced,
    inputs: Tensor,
    f: Tensor,
    labels: tuple[Tensor, Tensor],
    slopes_of: SlopesOf,
    unit: Tensor | float,
) -> HeadRows:
    """At f.  Shape: `(N, dim)`, `(N, 1)`, labels `(N, 1)` and `(N, s)`; slopes are per `unit`."""
    jet, (values, slopes) = head.jet(inputs, f), labels
    error, guess = jet.value - values, head.guess(inputs.double())
    here, there = f.double(), implied(head, inputs, values)
    near = ((here - there).abs() < NEAR) | ~_told(head, inputs, there)
    w, moved = guess * here.exp(), guess * (here.exp() - there.exp())
    by_w = torch.where(near, jet.first / w.clamp_min(TINY), error / _apart(moved))
    by_f = torch.where(near, jet.first, error / _apart(here - there))
    weight = head.weight(inputs, by_w)

    def plain(v: Tensor) -> Tensor:
        return _without_small(weight * v).squeeze(-1).to(inputs)

    def sloped(v: Tensor) -> Tensor:
        return _without_small(weight * unit * v).to(inputs)

    return HeadRows(
        value=plain(error),
        secant=plain(by_f),
        first=plain(jet.first),
        second=plain(jet.second),
        slopes=sloped(slopes_of(jet.value.to(inputs), jet.gradient.to(inputs)) - slopes),
        mixed=sloped(slopes_of(jet.first.to(inputs), jet.mixed.to(inputs))),
    )


def _told(head: Priced, inputs: Tensor, f: Tensor) -> Tensor:
    """Whether the price at f tells a volatility: vega is large enough.  Shape: → `(N, 1)`."""
    inputs = inputs.double()
    w = head.guess(inputs) * f.exp()
    rise = head.price(inputs, f + STEP) - head.price(inputs, f - STEP)
    by_w = rise / (2.0 * STEP * w.clamp_min(TINY))
    least = head.weight(inputs, torch.zeros_like(by_w))
    large: Tensor = math.sqrt(2.0) * head.weight(inputs, by_w) <= least
    return (f.abs() < FOUND) & large


def _apart(v: Tensor) -> Tensor:
    """Not 0, to be divided by."""
    return torch.where(v == 0, 1.0, v)


def _without_small(v: Tensor) -> Tensor:
    return torch.where(v.abs() < SMALL, 0.0, v)


@torch.no_grad()
def implied(head: Priced, inputs: Tensor, values: Tensor) -> Tensor:
    """f* for which u is about `values`, by halving, float64.

    Shape: `(N, dim)`, `(N, 1)` → `(N, 1)`.
    """
    inputs, values = inputs.double(), values.double()
    (forward, strike, discount), guess = head.quote(inputs), head.guess(inputs)
    paid = values / discount
    low = torch.full_like(values, -WIDEST)
    high = -low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = head.head.price(forward, strike, guess * middle.exp(), head.sign) < paid
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return 0.5 * (low + high)
