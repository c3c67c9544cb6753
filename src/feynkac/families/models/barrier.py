r"""A call that is lost once the asset meets the barrier B: from above (down and out, B below x and
K) or from below (up and out, B above both). With ρ = ± ln(x/B) the distance to the barrier,

    dS = (r − q) S dt + σ S dB,   c = r,   φ(x) = max(x − K, 0),   u = 0 at x = B.

By reflection (Merton 1973; Reiner and Rubinstein 1991), with V the European value of what φ pays on
the living side of B:

    u(x) = V(x) − (x/B)^{1 − 2(r − q)/σ²} V(B²/x),
    down  V = e^{−rt} (F Ψ(d₁) − K Ψ(d₂)),
    up    V = e^{−rt} (F (Ψ(−b₁) − Ψ(−d₁)) − K (Ψ(−b₂) − Ψ(−d₂))),

with F, d₁, d₂ as in `expected_payoff.py` and b₁, b₂ the same for the strike B (Ψ of −d, because the
power is large where all the Ψ(d) are nearly one).

ln S is a Brownian motion with drift, so that one exact step and a bridge have no error.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import Absorbing, ClosedForm
from feynkac.families.domain import Domain
from feynkac.families.formulas.expected_payoff import moneyness
from feynkac.families.formulas.normal_law import cdf
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.models.lognormal import Lognormal, market
from feynkac.families.point import Params
from feynkac.families.shapes import NOT_NEGATIVE, Bounded, Convex, Monotone, Shape, Shaped

BARRIERS = {"down": Box(70.0, 85.0), "up": Box(120.0, 140.0)}
"""Where the barrier lies, by kind."""


@dataclass(frozen=True)
class Barrier(Lognormal, Absorbing, ClosedForm, Shaped):
    """Knock-out call, `kind` "down" or "up"; inputs of `market` and barrier.

    Example:
        >>> f = Barrier()
        >>> at = dict(x=100, t=1, sigma=0.2, rate=0.05, dividend=0.02, strike=100, barrier=85)
        >>> round(f.closed_form(*f.domain.split(f.domain.join(at))).item(), 6)
        8.75946
    """

    kind: str = "down"

    def __post_init__(self) -> None:
        if self.kind not in BARRIERS:
            raise InputError(f"the kind of a barrier is down or up, got {self.kind!r}.")

    @property
    def domain(self) -> Domain:
        """That of `market`, and the barrier."""
        return market(barrier=BARRIERS[self.kind])

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """max(x − K, 0)."""
        return (x - p.strike).clamp_min(0.0)

    def distance(self, x: Tensor, p: Params) -> Tensor:
        """ln(x/B), or ln(B/x) below an upper barrier."""
        above = (x / p.barrier).log()
        return above if self.kind == "down" else -above

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """V(x) − (x/B)^{1 − 2(r − q)/σ²} V(B²/x), and 0 beyond the barrier."""
        power = 1.0 - 2.0 * (p.rate - p.dividend) / p.sigma.square()
        mirrored = (x / p.barrier) ** power * self._living(p.barrier.square() / x, t, p)
        value = torch.where(t > 0, self._living(x, t, p) - mirrored, self.initial(x, p))
        return torch.where(self.distance(x, p) > 0, value, 0.0)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Below the call without a barrier, the further off the barrier the nearer to it."""
        call = Bounded(
            upper=lambda x, t, p: self.european("call", x, t, p, p.strike),
            words="is below the call without a barrier",
        )
        farther = Monotone("barrier", -1 if self.kind == "down" else 1)
        along_strike = Monotone("strike", -1), Convex("strike")
        rising = (Monotone("x", 1),) if self.kind == "down" else ()
        return (NOT_NEGATIVE, call, farther, *along_strike, *rising)

    def _living(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """V(x)."""
        if self.kind == "down":
            return self.european("call", x, t, p, p.strike)
        forward, v = self.forward(x, t, p), p.sigma * root(t)
        d1, d2 = moneyness(forward, p.strike, v)
        b1, b2 = moneyness(forward, p.barrier, v)
        paid = forward * (cdf(-b1) - cdf(-d1)) - p.strike * (cdf(-b2) - cdf(-d2))
        return (-p.rate * t).exp() * paid
