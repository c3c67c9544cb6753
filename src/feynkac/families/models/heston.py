r"""Heston's stochastic volatility (1993): x = (S, v), two Brownian motions with correlation ρ,

    dS = r S dt + √v S dB,   dv = κ(θ − v) dt + ν √v dW,   c = r,   payoff of S.

A step of weak order 2, with z₁, z₂ independent standard normals, for all κ, θ, ν > 0 and every h.
v_h and the mean of I = ∫v du given v_h come from z₁ by `square_root.py`, I's variance given both
ends is g E[I | v_h]. As ν∫√v dW = v_h − v − κθh + κI, with λ = ρκ/ν − ½,

    ln S_h = ln S + rh + ρ/ν v_h + λ I + Σ z₂ − ln M,     Σ² = (1 − ρ² + λ²g) I,   I = E[I | v_h],

and M, known in closed form, makes e^{−rh} S_h a martingale. Given the path of v and I of all steps,
ln S is normal: Black's formula integrates all z₂ at once (Romano and Touzi 1997). Labels take the
I of the whole path for lognormal, not just its noise for a part of z₂'s: they are means of Black's
formula over two of its values, by the rule of Gauss for that law.

The closed form is Lewis's (2001) integral of the characteristic function f, see `lewis.py`. f is
written so that its logarithm stays on one branch (Albrecher et al. 2007) and nothing cancels for
small ν, κ or t: with q = z(z + i), b = κ − iρνz, d² = b² + ν²q,

    ln f(z) = −q (v E/(1 + w) + κθ t/(b + d)) − 2κθ/ν² ln(1 + w),
    E = (1 − e^{−dt})/2d,   w = −ν² q E/(b + d).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.capabilities import (
    ClosedForm,
    ConditionalMean,
    NamedGreeks,
    OwnSteps,
    Pays,
    Rate,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.correlation import halves, pair
from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.lewis import expectation
from feynkac.families.formulas.safe_root import positive, root
from feynkac.families.formulas.square_root import constants, transition
from feynkac.families.greek import Greek
from feynkac.families.measures.box import Box
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted, vanilla
from feynkac.families.shapes import Convex, Monotone, Shape, Shaped, quoted_shapes, strike_shapes

GREEKS: Mapping[str, Greek] = {
    "delta": Greek(("x[0]",)),
    "gamma": Greek(("x[0]", "x[0]")),
    "vega": Greek(("x[1]",)),
    "vanna": Greek(("x[0]", "x[1]")),
    "decay": Greek(("t",), sign=-1.0),
}
"""Vega is the slope in x[1]; theta and rho name parameters here, so that Θ is called decay."""
MOST_GROWTH = 80.0  # of ln S: e^80 is a number in float32


@dataclass(frozen=True)
class Heston(
    Family, OwnSteps, ConditionalMean, Rate, Pays, ClosedForm, NamedGreeks, Quoted, Shaped
):
    """European option, Heston's stochastic variance.

    Inputs x = (price, variance), t, kappa, theta, nu, rho, rate, strike.

    Example:
        >>> f = Heston()
        >>> at = dict(x=[100.0, 0.04], t=0.5, kappa=2.0, theta=0.05, nu=0.3, rho=-0.5, rate=0.02)
        >>> inputs = f.domain.join(at | dict(strike=100.0))
        >>> round(f.closed_form(*f.domain.split(inputs)).item(), 6)
        6.247123
    """

    payoff: Payoff = Payoff("call")

    greeks: ClassVar[Mapping[str, Greek]] = GREEKS

    @property
    def domain(self) -> Domain:
        """ν² ≤ 4κθ everywhere, where the law of v is smooth enough for steps of half a year."""
        return Domain(
            x=Box([90.0, 0.02], [110.0, 0.12]),
            t=Box(0.0, 1.0),
            kappa=Box(1.0, 4.0),
            theta=Box(0.04, 0.1),
            nu=Box(0.1, 0.4),
            rho=Box(-0.9, 0.0),
            rate=Box(0.0, 0.05),
            strike=Box(90.0, 110.0),
        )

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """r S and κ(θ − v)."""
        S, v = halves(x)
        return torch.cat([p.rate * S, p.kappa * (p.theta - v)], dim=-1)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """√v S dB and ν √v dW; the first of the two increments is dW."""
        S, v = halves(x)
        dW, dB = halves(pair(dw, p.rho))
        return root(v) * torch.cat([S * dB, p.nu * dW], dim=-1)

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff of S."""
        return self.payoff(x[..., :1], p.strike)

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_h and v_h, by the formulas above."""
        (S, v), (z1, z2) = halves(x), halves(z)
        law = transition(v, constants(h, p.kappa, p.theta, p.nu))
        slope, lam = p.rho / p.nu, p.rho * p.kappa / p.nu - 0.5
        spread = 1.0 - p.rho.square() + lam.square() * law.noise
        end, integral = law.ends(z1)
        growth = slope * end + lam * integral - law.log_mean_exp(slope, lam + 0.5 * spread)
        noise = root(spread * integral) * z2
        return torch.cat([S * (p.rate * h + growth + noise).exp(), end], dim=-1)

    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """Black's formula given the path of v, for ln S is then normal: all z₂ are integrated."""
        S, v = halves(x)
        at = constants(t / len(z), p.kappa, p.theta, p.nu)
        slope, independent = p.rho / p.nu, 1.0 - p.rho.square()
        k = p.rho * p.kappa / p.nu - 0.5 * p.rho.square()
        growth, mean, variance = (torch.zeros_like(v) for _ in range(3))
        for normal in z.unbind(0):
            law = transition(v, at)
            v, integral = law.ends(halves(normal)[0])
            weight = k + 0.5 * k.square() * law.noise
            mean, variance = mean + integral, variance + law.noise * integral
            growth = growth + slope * v + weight * integral - law.log_mean_exp(slope, weight)
        integrals, weights = _two_values(mean, variance)
        tilts = k * (integrals - mean)
        tilts = (tilts - tilts.amax(0).detach()).exp()
        grown = (p.rate * t + growth).clamp_max(MOST_GROWTH).exp()
        forward = S * grown * tilts / (tilts * weights).sum(0)
        values = black(self.payoff.style, forward, p.strike, root(independent * integrals))
        return (-p.rate * t).exp() * (values * weights).sum(0)

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """A Fourier integral, in float64, with an error of about 1e-14 S."""
        now = Params(**{name: getattr(p, name).double() for name in p})
        later = t > torch.finfo(t.dtype).tiny
        time = torch.where(later, t, 1.0).double()
        S, v = halves(x.double())
        value = expectation(
            self.payoff.style,
            S * (now.rate * time).exp(),
            now.strike,
            lambda z: log_characteristic(z, v, time, now),
        )
        u = ((-now.rate * time).exp() * value).to(x.dtype)
        return torch.where(later, u, self.initial(x, p))

    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """Forward S e^{rt}, discount e^{−rt}."""
        growth = (p.rate * t).exp()
        return vanilla(self.payoff, x[..., :1] * growth, p.strike, 1.0 / growth)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of calls and puts; of digitals, those along strike and asset."""
        sign = -1 if self.payoff.style == "put" else 1
        always = (*strike_shapes(self.payoff), Monotone("x[0]", sign))
        if self.payoff.jumps:
            return always
        variance = Monotone("x[1]", 1), Monotone("theta", 1)
        return (*quoted_shapes(self), *always, Convex("x[0]"), *variance, Monotone("rate", sign))


def log_characteristic(z: Tensor, v: Tensor, t: Tensor, p: Params) -> Tensor:
    """ln E exp(iz ln(S_t/F)), F the mean of S_t.  Shape: z `(…, n)` complex → `(…, n)`."""
    square, pull = p.nu.square(), p.kappa * p.theta
    q = z * (z + 1j)
    b = p.kappa - (1j * p.rho * p.nu) * z
    d = (b.square() + square * q).sqrt()
    half, both = (-d * t).expm1() / (-2.0 * d), b + d
    w = -square * q * half / both
    return -q * (v * half / (1.0 + w) + pull * t / both) - 2.0 * pull / square * _log1p(w)


def _log1p(w: Tensor) -> Tensor:
    """ln(1 + w) of complex w; several times faster than `torch.log1p`."""
    real, imaginary = w.real, w.imag
    length = (2.0 * real + real.square() + imaginary.square()).log1p()
    return torch.complex(0.5 * length, torch.atan2(imaginary, 1.0 + real))


def _two_values(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """A lognormal's two values and weights of Gauss: three moments.  Shape: → `(2, …, 1)` each."""
    square = variance / positive(mean).square()
    spread = root(square)
    lean = 0.5 * spread * (3.0 + square)
    length = (1.0 + lean.square()).sqrt()
    values = mean * (1.0 + spread * torch.stack([lean + length, lean - length]))
    share = 0.5 * lean / length
    return values, torch.stack([0.5 - share, 0.5 + share])
