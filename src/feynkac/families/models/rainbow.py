r"""A rainbow option: on the largest or smallest of correlated assets (see `correlated_assets.py`).

Given the common factor z₀ the prices are independent lognormal numbers with

    F_i = x_i exp((r − ½ρσ_i²) t + σ_i √(ρt) z₀),   v_i = σ_i √((1 − ρ) t),

so that the expected payoff given z₀ is an integral in one dimension (`extremes.py`): labels have
only the noise of z₀. Without that condition F_i = x_i e^{rt} and v_i = σ_i √t, with correlation ρ,
and u is an integral in two dimensions, here to about 10⁻⁷ of 1 + u, at worst 2 · 10⁻⁵ (Stulz 1982
for two assets, Johnson 1987 for any number).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm, ConditionalMean, ExactSteps
from feynkac.families.formulas.extremes import extreme
from feynkac.families.formulas.safe_root import root
from feynkac.families.models.correlated_assets import CorrelatedAssets
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params

CLOSED_FORM_NODES = 40
LABEL_NODES = 20  # to 10⁻⁶ of 1 + u, at worst 10⁻⁴


@dataclass(frozen=True)
class Rainbow(CorrelatedAssets, ExactSteps, ConditionalMean, ClosedForm):
    """European option on the largest (best of) or smallest (worst of) of `dim` assets.

    Example:
        >>> f = Rainbow(dim=2)
        >>> at = dict(x=[100.0, 95.0], t=1.0, sigma=[0.2, 0.3], rho=0.5, rate=0.05, strike=100.0)
        >>> inputs = f.domain.join(at)
        >>> round(f.closed_form(*f.domain.split(inputs)).item(), 5)
        16.64575
    """

    dim: int = 5
    payoff: Payoff = Payoff("call", on="max")

    def __post_init__(self) -> None:
        if self.payoff.on not in ("max", "min"):
            raise InputError(
                f"Rainbow pays on the largest or smallest asset, got the payoff {self.payoff}; "
                f"say {self.payoff.style}:max or {self.payoff.style}:min, or take MultiAsset."
            )

    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """Given the common factor of all steps, z₀ = Σ z₀ₖ/√steps."""
        factor = z[..., :1].sum(0) / math.sqrt(len(z))
        growth = (p.rate - 0.5 * p.rho * p.sigma.square()) * t
        forward = x * (growth + p.sigma * root(p.rho * t) * factor).exp()
        deviation = p.sigma * root((1.0 - p.rho) * t)
        value = extreme(*self._option, forward, p.strike, deviation, nodes=LABEL_NODES)
        return (-p.rate * t).exp() * value

    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """By quadrature, in float64."""
        time, sigma, rho, rate, K = (v.double() for v in (t, p.sigma, p.rho, p.rate, p.strike))
        forward = x.double() * (rate * time).exp()
        value = extreme(*self._option, forward, K, sigma * root(time), rho, CLOSED_FORM_NODES)
        u = ((-rate * time).exp() * value).to(x.dtype)
        return torch.where(t > 0, u, self.initial(x, p))

    @property
    def _option(self) -> tuple[str, str]:
        return self.payoff.style, self.payoff.on
