r"""The stage that makes a price of a volatility (`networks/head.py`).

u = D B(F, K, w),   w = w₀ e^{f},   f the inner stages;   with B_F = θΨ(θd₁), B_K = −θΨ(θd₂),
∇u = D (B_F ∇F + B_K ∇K + B_w ∇w) + B ∇D.

ONNX has erf in single precision only, so the normal law is written out: for a ≥ 0, τ = 2/(2 + a),
erfc(a) = τ exp(−a² + P(2τ − 1)) with a polynomial P in Chebyshev's form, to rounding. Tracers round
numbers of Python to single precision, too, so constants are tensors.
"""

import math

import numpy as np
import torch
from numpy.polynomial.chebyshev import chebinterpolate
from scipy.special import erfcx
from torch import Tensor, nn

from feynkac.exporting.stage import Chain, Record, Stage
from feynkac.families.formulas.safe_root import positive, root
from feynkac.networks.head import (
    FAR,
    SMALLEST,
    TINY,
    Bachelier,
    Black,
    Priced,
    combination,
    divisor,
)

DEGREE = 27
COEFFICIENTS = chebinterpolate(
    lambda x: np.log(erfcx(4.0 / (1.0 + x) - 2.0) / (0.5 + 0.5 * x)), DEGREE
).tolist()
"""Of P."""
FORMULAS = {Black: "black", Bachelier: "bachelier"}
Slopes = tuple[Tensor, Tensor, Tensor, Tensor]
"""B, B_F, B_K and B_w.  Shape: `(N, 1)` each."""
Terms = list[tuple[int, float]]
"""Coefficients by column."""


class Option(Stage):
    """A call or put by Black's or Bachelier's formula, with the volatility of inner stages."""

    def __init__(self, head: Priced, dim: int, stages: list[Stage]) -> None:
        super().__init__()
        self.head, self.dim, self.inner = head, dim, Chain(stages)
        self.formula = FORMULAS[type(head.head)]
        self.law, self.guess = Law(), Guess(head, self._dense(head.powers))

    def forward(self, h: Tensor) -> Tensor:
        """u."""
        forward, strike, discount = self.head.quote(h)
        return discount * self._slopes(forward, strike, self._deviation(h))[0]

    def _deviation(self, h: Tensor) -> Tensor:
        """w."""
        guess: Tensor = self.guess(h)
        f: Tensor = self.inner(h)
        return guess * f.exp()

    def pull(self, h: Tensor, g: Tensor) -> Tensor:
        """By the chain rule, along every input and f."""
        head, t = self.head, h[:, self.head.time, None]
        forward, strike, discount = head.quote(h)
        w = self._deviation(h)
        value, by_forward, by_strike, by_w = self._slopes(forward, strike, w)
        worth, risen, by_f = discount * value, discount * by_forward * forward, discount * by_w * w
        rise, fall = (combination(h, terms) for terms in (head.growth, head.rates))
        along = self._by_terms(h, t * risen, t * worth, by_f)
        later = torch.where(t > 0, 0.5 / positive(t), 0.0)
        along[head.time] = along[head.time] + risen * rise - worth * fall + by_f * later
        along[head.strike] = along[head.strike] + discount * by_strike
        along[head.asset] = along[head.asset] + discount * by_forward * (t * rise).exp()
        return g * torch.cat(along, -1).unsqueeze(1) + self.inner.pull(h, g * by_f.unsqueeze(1))

    def _by_terms(self, h: Tensor, risen: Tensor, fallen: Tensor, by_f: Tensor) -> list[Tensor]:
        """Slopes through growth, rates and powers, by column."""
        growth, rates, _ = (self._dense(terms) for terms in self._terms)
        found = [g * risen - r * fallen for g, r in zip(growth, rates, strict=True)]
        for i, power in self.head.powers:
            base = h[:, i, None]
            found[i] = found[i] + torch.where(base > 0, power * by_f / positive(base), 0.0)
        return found

    @property
    def _terms(self) -> tuple[Terms, Terms, Terms]:
        return self.head.growth, self.head.rates, self.head.powers

    def _dense(self, terms: Terms) -> list[float]:
        """A coefficient per input."""
        known = dict(terms)
        return [known.get(i, 0.0) for i in range(self.dim)]

    def record(self) -> Record:
        """Where asset, strike and time stand, the formula's terms, and the stages that give f."""
        head = self.head
        names = ("growth", "rates", "powers")
        terms = zip(names, map(self._dense, self._terms), strict=True)
        return {
            "kind": "option",
            "formula": self.formula,
            "sign": head.sign,
            "asset": head.asset,
            "strike": head.strike,
            "time": head.time,
            **dict(terms),
            "factor": head.head.factor,
            "far": FAR,
            "least": TINY,
            "floor": SMALLEST,
            "stages": self.inner.records(),
        }

    def _slopes(self, forward: Tensor, strike: Tensor, w: Tensor) -> Slopes:
        sign = self.head.sign
        if self.formula == "bachelier":
            gain = forward - strike
            d = gain / divisor(w, gain)
            rise = sign * self.law.cdf(sign * d)
            return gain * rise + w * self.law.pdf(d), rise, -rise, self.law.pdf(d)
        k = (forward.clamp_min(SMALLEST) / strike.clamp_min(SMALLEST)).log()
        v = divisor(w, k)
        up, down = k / v + 0.5 * v, k / v - 0.5 * v
        by_forward, by_strike = sign * self.law.cdf(sign * up), -sign * self.law.cdf(sign * down)
        by_w = torch.where(w >= v, strike * self.law.pdf(down), 0.0)
        return forward * by_forward + strike * by_strike, by_forward, by_strike, by_w


class Guess(nn.Module):
    """w₀.  Shape: `(N, dim)` → `(N, 1)`."""

    powers: Tensor
    factor: Tensor

    def __init__(self, head: Priced, powers: list[float]) -> None:
        super().__init__()
        self.time = head.time
        self.register_buffer("powers", torch.tensor(powers, dtype=torch.float64).unsqueeze(-1))
        self.register_buffer("factor", torch.tensor([head.head.factor], dtype=torch.float64))

    def forward(self, h: Tensor) -> Tensor:
        """c √t ∏_j h_j^{p_j}."""
        product = (h.clamp_min(SMALLEST).log() @ self.powers.to(h.dtype)).exp()
        return self.factor.to(h.dtype) * root(h[:, self.time, None]) * product


class Law(nn.Module):
    """The normal law by elementary functions.

    Example:
        >>> Law().cdf(torch.tensor([0.0, -1.0], dtype=torch.float64))
        tensor([0.5000, 0.1587], dtype=torch.float64)
    """

    coefficients: Tensor
    roots: Tensor
    """1/√2 and 1/√2π."""

    def __init__(self) -> None:
        super().__init__()
        roots = [math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)]
        self.register_buffer("coefficients", torch.tensor(COEFFICIENTS, dtype=torch.float64))
        self.register_buffer("roots", torch.tensor(roots, dtype=torch.float64))

    def cdf(self, z: Tensor) -> Tensor:
        """Ψ(z); P after Clenshaw."""
        first, *others = self.coefficients.to(z.dtype).unbind()
        a = z.abs() * self.roots.to(z.dtype)[0]
        share = 2.0 / (2.0 + a)
        x = 2.0 * share - 1.0
        this, before = torch.zeros_like(x), torch.zeros_like(x)
        for coefficient in reversed(others):
            this, before = 2.0 * x * this - before + coefficient, this
        tail = 0.5 * share * (x * this - before + first - a.square()).exp()
        return torch.where(z > 0, 1.0 - tail, tail)

    def pdf(self, z: Tensor) -> Tensor:
        """ψ(z)."""
        return (-0.5 * z.square()).exp() * self.roots.to(z.dtype)[1]
