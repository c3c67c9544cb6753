r"""Heston's stochastic volatility (1993): x = (S, v), two Brownian motions with correlation ρ,

    dS = r S dt + √v S dB,   dv = κ(θ − v) dt + ν √v dW,   c = r,   payoff of S.

A step of weak order 2, with z₁, z₂ independent standard normals. The variance moves as in the
splitting of Ninomiya and Victoir with the flows of Alfonsi (2010), but with constants that make the
mean and variance of v_h exact. With s = sinh(κh/2), e = e^{−κh/2},

    v_h = e ((A + B z₁)² + C),   A² = C + e v,   B² = ν²s/2κ,   C = (θ − ν²/4κ) s ≥ 0.

Given both ends, ∫v du is about θ(h − τ) + τ(v + v_h)/2, τ = 2 tanh(κh/2)/κ, with variance
ν²h³(v + v_h)/24; and v_h counts more than v if the noise fades from √v to √θ. With λ = ρκ/ν − ½,

    ln S_h = ln S + rh + α v_h + Σ z₂ − ln M,   α = ρ/ν + λ(τ/2 + κh²/12 · (v − θ)/(v + κθh/2)),
    Σ² = ω(v + v_h) + (1 − ρ²)θ(h − τ),         ω = (1 − ρ²)τ/2 + λ²ν²h³/24,

and M, known in closed form, makes e^{−rh} S_h a martingale. All this needs ν² ≤ 4κθ. Given the path
of v, ln S is normal: Black's formula integrates all z₂ at once (Romano and Touzi 1997).

The closed form is that of Black with the same mean of ∫v ds, plus Lewis's (2001) integral of the
difference of the characteristic functions, see `lewis.py`; f is written so that its logarithm stays
on one branch (Albrecher et al. 2007).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.capabilities import ClosedForm, ConditionalMean, OwnSteps, Pays, Rate
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.correlation import halves, pair
from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.lewis import expectation
from feynkac.families.formulas.safe_root import root
from feynkac.families.measures.box import Box
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params


@dataclass(frozen=True)
class Heston(Family, OwnSteps, ConditionalMean, Rate, Pays, ClosedForm):
    """European option; inputs x = (price, variance), t, kappa, theta, nu, rho, rate, strike.

    Example:
        >>> f = Heston()
        >>> at = dict(x=[100.0, 0.04], t=0.5, kappa=2.0, theta=0.05, nu=0.3, rho=-0.5, rate=0.02)
        >>> inputs = f.domain.join(at | dict(strike=100.0))
        >>> round(f.closed_form(*f.domain.split(inputs)).item(), 6)
        6.247123
    """

    payoff: Payoff = Payoff("call")

    @property
    def domain(self) -> Domain:
        """ν² ≤ 4κθ everywhere."""
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
        growth, variance, end = self._advance(v, h, p, z1)
        return torch.cat([S * (growth + root(variance) * z2).exp(), end], dim=-1)

    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """Black's formula given the path of v, for ln S is then normal: all z₂ are integrated."""
        S, v = halves(x)
        h, total, square = t / len(z), torch.zeros_like(v), torch.zeros_like(v)
        for normal in z.unbind(0):
            growth, variance, v = self._advance(v, h, p, halves(normal)[0])
            total, square = total + growth, square + variance
        forward = S * (total + 0.5 * square).exp()
        value = black(self.payoff.style, forward, p.strike, root(square))
        return (-p.rate * t).exp() * value

    def _advance(
        self, v: Tensor, h: Tensor, p: Params, z1: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and variance of ln S_h/S given v_h, and v_h.  Shape: `(…, 1)` each."""
        s, e = (0.5 * p.kappa * h).sinh(), (-0.5 * p.kappa * h).exp()
        C = (p.theta - 0.25 * p.nu.square() / p.kappa) * s
        A, B = root(C + e * v), p.nu * root(0.5 * s / p.kappa)
        end = e * ((A + B * z1).square() + C)
        alpha, omega, rest = _coefficients(v, h, p)
        variance = omega * (v + end) + rest
        q = e * (alpha + 0.5 * omega)
        log_M = q * C + _log_mean_exp(q, A, B) + 0.5 * (omega * v + rest)
        return p.rate * h + alpha * end - log_M, variance, end

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Black's formula and a correction by Fourier integral, in float64."""
        now = Params(**{name: getattr(p, name).double() for name in p})
        time = torch.where(t > 0, t, 1.0).double()
        S, v = halves(x.double())
        mean = now.theta * time - (v - now.theta) * (-now.kappa * time).expm1() / now.kappa
        decay = (v + now.kappa * now.theta * time) * (1.0 - now.rho.square()).sqrt() / now.nu
        value = expectation(
            self.payoff.style,
            S * (now.rate * time).exp(),
            now.strike,
            mean,
            decay,
            lambda u: log_characteristic(u, v, time, now),
        )
        u = ((-now.rate * time).exp() * value).to(x.dtype)
        return torch.where(t > 0, u, self.initial(x, p))


def log_characteristic(u: Tensor, v: Tensor, t: Tensor, p: Params) -> Tensor:
    """ln E exp(iu ln(S_t/F)), F the mean of S_t.  Shape: u `(…, n)` complex → `(…, n)`."""
    b = p.kappa - 1j * p.rho * p.nu * u
    d = (b.square() + p.nu.square() * u * (u + 1j)).sqrt()
    g, e = (b - d) / (b + d), (-d * t).exp()
    by_theta = (b - d) * t - 2.0 * ((1.0 - g * e) / (1.0 - g)).log()
    by_variance = (b - d) * (1.0 - e) / (1.0 - g * e)
    return (p.kappa * p.theta * by_theta + v * by_variance) / p.nu.square()


def _coefficients(v: Tensor, h: Tensor, p: Params) -> tuple[Tensor, Tensor, Tensor]:
    """α, ω and (1 − ρ²)θ(h − τ)."""
    independent = 1.0 - p.rho.square()
    tau = 2.0 * (0.5 * p.kappa * h).tanh() / p.kappa
    lam = p.rho * p.kappa / p.nu - 0.5
    fading = (v - p.theta) / (v.clamp_min(0.0) + 0.5 * p.kappa * p.theta * h)
    alpha = p.rho / p.nu + lam * (0.5 * tau + p.kappa * h.square() / 12.0 * fading)
    omega = 0.5 * independent * tau + (lam * p.nu).square() * h**3 / 24.0
    return alpha, omega, independent * p.theta * (h - tau)


def _log_mean_exp(q: Tensor, A: Tensor, B: Tensor) -> Tensor:
    """ln E exp(q (A + BZ)²), Z standard normal."""
    spread = 1.0 - 2.0 * q * B.square()
    return q * A.square() / spread - 0.5 * spread.log()
