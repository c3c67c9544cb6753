r"""SABR (Hagan, Kumar, Lesniewski, Woodward 2002): x = (F, α), a forward and its volatility,

    dF = α 100^{1−β} F^β dB,   dα = ν α dW,   F stays at 0 once it is there,   payoff of F.

α is the lognormal volatility at F = 100; ρ is the correlation of the two Brownian motions. No
closed form is known. For ν = 0 it is `Cev` without interest.

A step of weak order 2 in y = (F/100)^b, b = 1 − β, as there; z₁, z₂ independent standard normals:

    α_h = α exp(ν√h z₁ − ½ν²h),   A = h α²/2,   A_h = h α_h²/2,
    y² ← y² − bβ A,   y ← y + b (ρ (α_h − α)/ν + √((1 − ρ²)(A + A_h)) z₂),   y² ← y² − bβ A_h.

Labels have a control variate: the payoff of a displaced lognormal price on the same path. With
M = Σ (ρ (α_h − α)/ν + √((1 − ρ²)(A + A_h)) z₂), V = Σ (A + A_h) and w = β (F/100)^{β−1}, it ends at

    F̂ = F/β exp(wM − ½w²V) − F (1 − β)/β,   with the slope of α F^β at the start for all times.

Given the path of α, F̂ is lognormal, and Black's formula is the mean of its payoff.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.capabilities import ControlVariate, NamedGreeks, OwnSteps, Pays
from feynkac.families.domain import Domain
from feynkac.families.elastic import SCALE, Elastic
from feynkac.families.family import Family
from feynkac.families.formulas.correlation import halves, pair
from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.power import power
from feynkac.families.formulas.safe_root import root
from feynkac.families.greek import Greek
from feynkac.families.measures.box import Box
from feynkac.families.models.cev import elastic, elastic_step
from feynkac.families.models.heston import GREEKS
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted, vanilla
from feynkac.families.shapes import Monotone, Shape, Shaped, quoted_shapes, strike_shapes


@dataclass(frozen=True)
class Sabr(Family, OwnSteps, ControlVariate, Pays, NamedGreeks, Quoted, Shaped, Elastic):
    """European option, SABR's stochastic volatility.

    Inputs x = (forward price, its volatility), t, beta, nu, rho, strike.

    Example:
        >>> Sabr().domain.dim
        7
    """

    payoff: Payoff = Payoff("call")

    greeks: ClassVar[Mapping[str, Greek]] = GREEKS

    @property
    def domain(self) -> Domain:
        """Skews of both signs, mostly downwards."""
        return Domain(
            x=Box([90.0, 0.1], [110.0, 0.4]),
            t=Box(0.0, 1.0),
            beta=Box(0.4, 0.9),
            nu=Box(0.1, 0.6),
            rho=Box(-0.7, 0.3),
            strike=Box(90.0, 110.0),
        )

    @property
    def volatility(self) -> str:
        """α."""
        return "x[1]"

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """Zero."""
        return torch.zeros_like(x)

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """α 100^{1−β} F^β dB and ν α dW; the first of the two increments is dW."""
        F, alpha = halves(x)
        dW, dB = halves(pair(dw, p.rho))
        return alpha * torch.cat([elastic(F, p.beta) * dB, p.nu * dW], dim=-1)

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """The payoff of F; a step that went below zero counts as zero."""
        return self.payoff(x[..., :1].clamp_min(0.0), p.strike)

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """F_h and α_h, by the formulas above."""
        (F, alpha), (z1, z2) = halves(x), halves(z)
        log_growth = p.nu * root(h) * z1 - 0.5 * p.nu.square() * h
        end = alpha * log_growth.exp()
        before, after = 0.5 * h * alpha.square(), 0.5 * h * end.square()
        common = p.rho * alpha * log_growth.expm1() / p.nu
        own = root((1.0 - p.rho.square()) * (before + after)) * z2
        noise = (1.0 - p.beta) * (common + own)
        return torch.cat([elastic_step(F, p.beta, before, noise, after), end], dim=-1)

    def controlled(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """The payoff of F, minus that of F̂, plus its mean given the path of α."""
        (F, alpha), (z1, z2), h = halves(x), halves(z), t / len(z)
        growth = (p.nu * root(h) * z1 - 0.5 * p.nu.square() * h).cumsum(0).exp()
        path = alpha * torch.cat([torch.ones_like(growth[:1]), growth])
        A = 0.5 * h * path.square()
        variance = A[:-1] + A[1:]
        common = p.rho / p.nu * path.diff(dim=0)
        own = root((1.0 - p.rho.square()) * variance) * z2
        control = self._control(F, p, *(part.sum(0) for part in (common, own, variance)))
        return self.payoff(_elastic_path(F, p.beta, A, common + own), p.strike) + control

    def quote(self, x: Tensor, t: Tensor, p: Params) -> Quote | None:
        """Forward F, no discount."""
        return vanilla(self.payoff, x[..., :1], p.strike, torch.ones_like(t))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of calls and puts on a forward; of digitals, those along strike and forward."""
        sign = -1 if self.payoff.style == "put" else 1
        always = (*strike_shapes(self.payoff), Monotone("x[0]", sign))
        return always if self.payoff.jumps else (*quoted_shapes(self), *always)

    def _control(
        self, F: Tensor, p: Params, common: Tensor, own: Tensor, variance: Tensor
    ) -> Tensor:
        """Mean of the payoff of F̂ given the path of α, minus the payoff."""
        w, shift = p.beta * power(F / SCALE, p.beta - 1.0), F * (1.0 / p.beta - 1.0)
        start, half = F / p.beta, 0.5 * w.square() * variance
        deviation = w * root((1.0 - p.rho.square()) * variance)
        forward = start * (w * common - p.rho.square() * half).exp()
        mean = black(self.payoff.style, forward, p.strike + shift, deviation)
        end = start * (w * (common + own) - half).exp()
        return mean - self.payoff(end - shift, p.strike)


def _elastic_path(F: Tensor, beta: Tensor, A: Tensor, noise: Tensor) -> Tensor:
    """F after all steps; both parts of the drift between two noises are one.

    Shape: F, beta `(…, 1)`, A `(steps + 1, …, 1)`, noise `(steps, …, 1)` → `(…, 1)`.
    """
    b = 1.0 - beta
    first, *between, last = (b * beta * A).unbind(0)
    y = root(power(F / SCALE, b).square() - first)
    for dy, drift in zip(noise.unbind(0), [*(2.0 * part for part in between), last], strict=True):
        moved = (y + b * dy).clamp_min(0.0)
        y = torch.where(y > 0, root(moved.square() - drift), 0.0)
    return SCALE * power(y, 1.0 / b)
