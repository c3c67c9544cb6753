r"""Constant elasticity of variance (Cox 1975): a forward price F, and interest r,

    dF = s F^β dB,   s = σ 100^{1−β},   c = r,   F stays at 0 once it is there.

σ is the lognormal volatility at F = 100. In y = (F/100)^b, b = 1 − β, the noise is additive and the
Stratonovich drift −½ bβσ²/y, so that both flows of Ninomiya and Victoir are known. A step of weak
order 2, with z standard normal:

    y² ← y² − ½ bβσ²h,   y ← y + bσ√h z,   y² ← y² − ½ bβσ²h.

The closed form is the noncentral χ² of Schroder (1989),
written as an integral (Antonov, Konikov and Spector 2013) that can be differentiated in all of its
arguments and loses no digits as t → 0. With ν = 1/2b, m = b ln(K/x) and

    a = (xK)^b / b²s²t,   D(φ) = cosh m − cos φ,   E(ψ) = cosh m + cosh ψ,

    e^{rt} u = φ₀ + √(xK)/π ( ∫₀^π sin φ sin νφ e^{−aD}/D dφ
                             + sin νπ ∫₀^∞ sinh ψ e^{−νψ} e^{−aE}/E dψ )

for a call and a put, φ₀ the payoff now. A digital option is minus the derivative of the call in K,
taken under the integral.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.capabilities import ClosedForm, OwnSteps, Pays, Rate
from feynkac.families.domain import Domain
from feynkac.families.elastic import SCALE, Elastic
from feynkac.families.family import Family
from feynkac.families.formulas.power import power
from feynkac.families.formulas.quadrature import gauss_legendre
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted, vanilla
from feynkac.families.shapes import Convex, Monotone, Shape, Shaped, quoted_shapes, strike_shapes

NEAR_NODES, FAR_NODES = 80, 32  # of the two integrals
NEGLIGIBLE = 40.0  # e^{−40} counts as nothing
LEAST = 1e-15  # of |m|: what float64 can tell from zero

KINKED: dict[str, Callable[[Tensor], Tensor]] = {
    "call": lambda gain: 0.5 * (gain.abs() + gain),
    "put": lambda gain: 0.5 * (gain.abs() - gain),
    "digital": lambda gain: 0.5 * (gain.sign() + 1.0),
}
"""The payoff of the gain x − K, at its kink the mean of both sides."""


@dataclass(frozen=True)
class Cev(Family, OwnSteps, Rate, Pays, ClosedForm, Quoted, Shaped, Elastic):
    """European option on a forward, constant elasticity of variance.

    Inputs x, t, sigma, beta, rate, strike.

    Example:
        >>> f = Cev()
        >>> at = dict(x=100.0, t=0.5, sigma=0.2, beta=0.5, rate=0.0, strike=100.0)
        >>> round(f.closed_form(*f.domain.split(f.domain.join(at))).item(), 6)
        5.638366
    """

    payoff: Payoff = Payoff("call")

    @property
    def domain(self) -> Domain:
        """From nearly a square-root process to nearly a lognormal one."""
        return Domain(
            x=Box(90.0, 110.0),
            t=Box(0.0, 1.0),
            sigma=Box(0.1, 0.4),
            beta=Box(0.4, 0.9),
            rate=Box(0.0, 0.05),
            strike=Box(90.0, 110.0),
        )

    @property
    def volatility(self) -> str:
        """σ."""
        return "sigma"

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """Zero."""
        return torch.zeros_like(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """s x^β dw."""
        return p.sigma * elastic(x, p.beta) * dw

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff; a step that went below zero counts as zero."""
        return self.payoff(x.clamp_min(0.0), p.strike)

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """F_h, by the formula above."""
        b = 1.0 - p.beta
        half = 0.5 * p.sigma.square() * h
        return elastic_step(x, p.beta, half, b * p.sigma * root(h) * z, half)

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Payoff and time value, in float64."""
        F, K, beta, rate, sigma = (v.double() for v in (x, p.strike, p.beta, p.rate, p.sigma))
        time = torch.where(t > 0, t, 1.0).double()
        gain = time_value(F, K, beta, sigma.square() * time, self.payoff.jumps)
        value = KINKED[self.payoff.style](F - K) + gain
        u = ((-rate * time).exp() * value).to(x.dtype)
        return torch.where(t > 0, u, self.initial(x, p))

    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """Forward x, discount e^{−rt}."""
        return vanilla(self.payoff, x, p.strike, (-p.rate * t).exp())

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of calls and puts on a forward; of digitals, those along strike, asset and rate."""
        sign = -1 if self.payoff.style == "put" else 1
        always = (*strike_shapes(self.payoff), Monotone("x", sign), Monotone("rate", -1))
        if self.payoff.jumps:
            return always
        return (*quoted_shapes(self), *always, Convex("x"), Monotone("sigma", 1))


def elastic(x: Tensor, beta: Tensor) -> Tensor:
    """100 (x/100)^β.  Shape: x, beta `(…, 1)` → `(…, 1)`."""
    return SCALE * power(x / SCALE, beta)


def elastic_step(x: Tensor, beta: Tensor, before: Tensor, noise: Tensor, after: Tensor) -> Tensor:
    """y² ← y² − bβ before, y ← y + noise, y² ← y² − bβ after.  Shape: x and all `(…, 1)`."""
    b = 1.0 - beta
    start = power(x / SCALE, b)
    moved = (root(start.square() - b * beta * before) + noise).clamp_min(0.0)
    end = root(moved.square() - b * beta * after)
    return torch.where(start > 0, SCALE * power(end, 1.0 / b), 0.0)


def time_value(F: Tensor, K: Tensor, beta: Tensor, variance: Tensor, digital: bool) -> Tensor:
    """The expected payoff minus the payoff now, with variance σ²t; call and put have the same.

    Shape: all `(…, 1)`, float64 → `(…, 1)`.
    """
    b = 1.0 - beta
    m, nu = b * (K / F).log(), 0.5 / b
    a = (F * K / SCALE**2) ** b / (b.square() * variance)

    def integral(weights: Tensor, D: Tensor) -> Tensor:
        part = weights * (-a * D).exp() / D
        if digital:  # −d/dK of √K e^{−aD}/D
            part = part * (b * (a * D + m.sinh() * (1.0 / D + a)) - 0.5) / K
        return part.sum(-1, keepdim=True)

    phi, d_phi = _angles(m.detach(), a.detach())
    near = 2.0 * ((0.5 * m).sinh().square() + (0.5 * phi).sin().square())
    psi, d_psi = gauss_legendre((1.0 + NEGLIGIBLE / a.detach()).acosh(), FAR_NODES)
    far = m.cosh() + psi.cosh()
    both = integral(d_phi * phi.sin() * (nu * phi).sin(), near) + integral(
        d_psi * psi.sinh() * (-nu * psi).exp() * (math.pi * nu).sin(), far
    )
    return (F * K).sqrt() / math.pi * both


def _angles(m: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights in φ = |m| sinh y, dense around the peak of width |m| at φ = 0."""
    width = m.abs().clamp_min(LEAST)
    last = 2.0 * (0.5 * NEGLIGIBLE / a).sqrt().clamp_max(1.0).asin()
    y, dy = gauss_legendre((last / width).asinh(), NEAR_NODES)
    return width * y.sinh(), dy * width * y.cosh()
