r"""Heads for calls and puts: the network says how far the asset may move, a formula the price.

    u(λ) = D B(F, K, w),   w = w₀ e^{f(λ)},   w₀ = c √t ∏_j λ_j^{p_j},
    F = λ_a e^{t⟨g, λ⟩},   K = λ_k,   D = e^{−t⟨r, λ⟩},

f the scaled output of the core, and B, with θ = 1 for a call, −1 for a put and Ψ the normal law,

    Black      θ (F Ψ(θd₁) − K Ψ(θd₂)),              d₁, d₂ = ln(F/K)/w ± w/2,
    Bachelier  θ (F − K) Ψ(θd) + w ψ(d),              d = (F − K)/w.

Whatever f is, u has the kink of the payoff as t → 0, the right wings and no arbitrage between call,
put and forward; of the formula's own model f is constant. All is done in float64: it is one number
per input, and d₁ and d₂ are large where w is small. B is its limit where |d| ≥ 40.
"""

from abc import abstractmethod
from typing import Annotated, NamedTuple

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from feynkac.families.domain import Domain
from feynkac.families.formulas.normal_law import cdf, pdf
from feynkac.families.formulas.safe_root import root
from feynkac.parts import Part

FAR = 40.0  # of d: beyond, Ψ is 0 or 1 in float64
TINY = 1e-10  # the least w that anything is divided by
SMALLEST = 1e-30  # of F, K and what powers are taken of
LEAST_VEGA = 0.01  # of D √(FK) or D: below, an error counts by the price

Finite = Annotated[float, Field(allow_inf_nan=False)]
Terms = tuple[tuple[str, Finite], ...]
"""Coefficients by the names of entries."""


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class Head(Part):
    """Which entries of the inputs a formula for calls and puts needs."""

    asset: str
    """λ_a."""
    strike: str
    """λ_k."""
    call: bool = True
    """Otherwise it is a put."""
    growth: Terms = ()
    """g, of the forward."""
    rates: Terms = ()
    """r, of the discount factor."""
    factor: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    """c."""
    powers: Terms = ()
    """p, of positive entries."""

    @abstractmethod
    def price(self, forward: Tensor, strike: Tensor, w: Tensor, sign: float) -> Tensor:
        """B.  Shape: `(…, 1)` each → `(…, 1)`, float64."""

    @abstractmethod
    def level(self, forward: Tensor, strike: Tensor) -> Tensor:
        """In which B_w is the normal density.  Shape: `(…, 1)` each → `(…, 1)`."""


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class Black(Head):
    """Of a lognormal price; w is σ√t with the implied volatility σ.

    Example:
        >>> head = Black(asset="x", strike="strike", powers=(("sigma", 1.0),))
        >>> F, K, w = torch.tensor([[100.0], [100.0], [0.2]], dtype=torch.float64)
        >>> head.price(F, K, w, 1.0)
        tensor([7.9656], dtype=torch.float64)
    """

    def price(self, forward: Tensor, strike: Tensor, w: Tensor, sign: float) -> Tensor:
        """θ (F Ψ(θd₁) − K Ψ(θd₂))."""
        k = (forward.clamp_min(SMALLEST) / strike.clamp_min(SMALLEST)).log()
        v = divisor(w, k)
        d = sign * k / v
        return sign * (forward * cdf(d + 0.5 * sign * v) - strike * cdf(d - 0.5 * sign * v))

    def level(self, forward: Tensor, strike: Tensor) -> Tensor:
        """√(FK)."""
        return (forward * strike).clamp_min(SMALLEST).sqrt()


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class Bachelier(Head):
    """Of a normal price, which may be negative; w is σ√t with the normal volatility σ.

    Example:
        >>> head = Bachelier(asset="x", strike="strike", powers=(("sigma", 1.0),))
        >>> F, K, w = torch.tensor([[100.0], [100.0], [20.0]], dtype=torch.float64)
        >>> head.price(F, K, w, -1.0)
        tensor([7.9788], dtype=torch.float64)
    """

    def price(self, forward: Tensor, strike: Tensor, w: Tensor, sign: float) -> Tensor:
        """θ (F − K) Ψ(θd) + w ψ(d)."""
        gain = forward - strike
        d = gain / divisor(w, gain)
        return sign * gain * cdf(sign * d) + w * pdf(d)

    def level(self, forward: Tensor, strike: Tensor) -> Tensor:
        """1."""
        return torch.ones_like(forward)


def divisor(w: Tensor, distance: Tensor) -> Tensor:
    """w, or more where distance/w would exceed `FAR`.  Shape: `(…, 1)` each → `(…, 1)`."""
    return torch.maximum(w, distance.abs() / FAR).clamp_min(TINY)


class Jet(NamedTuple):
    """u `(N, 1)`, ∂u/∂f, ∂²u/∂f² alike, and at fixed f the slopes ∇u and ∇(∂u/∂f) `(N, dim)`."""

    value: Tensor
    first: Tensor
    second: Tensor
    gradient: Tensor
    mixed: Tensor


class Priced(nn.Module):
    """u from inputs and f, for a `Head` on a domain."""

    def __init__(self, head: Head, domain: Domain) -> None:
        super().__init__()
        self.head, self.sign = head, 1.0 if head.call else -1.0
        names = domain.entries
        self.asset, self.strike, self.time = map(names.index, (head.asset, head.strike, "t"))
        self.growth, self.rates, self.powers = (
            [(names.index(name), float(number)) for name, number in terms]
            for terms in (head.growth, head.rates, head.powers)
        )

    def forward(self, inputs: Tensor, f: Tensor) -> Tensor:
        """u.  Shape: `(…, dim)`, `(…, 1)` → `(…, 1)`."""
        return self.price(inputs.double(), f.double()).to(f.dtype)

    def price(self, inputs: Tensor, f: Tensor) -> Tensor:
        """u in float64.  Shape: as `forward`."""
        forward, strike, discount = self.quote(inputs)
        w = self.guess(inputs) * f.exp()
        return discount * self.head.price(forward, strike, w, self.sign)

    def quote(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """F, K and D.  Shape: `(…, dim)` → `(…, 1)` each."""
        t = _column(inputs, self.time)
        growth, rates = (combination(inputs, terms) for terms in (self.growth, self.rates))
        forward = _column(inputs, self.asset) * (t * growth).exp()
        return forward, _column(inputs, self.strike), (-t * rates).exp()

    def guess(self, inputs: Tensor) -> Tensor:
        """w₀.  Shape: `(…, dim)` → `(…, 1)`."""
        logs = [p * _column(inputs, i).clamp_min(SMALLEST).log() for i, p in self.powers]
        product = torch.stack(logs).sum(0).exp() if logs else 1.0
        return self.head.factor * root(_column(inputs, self.time)) * product

    def jet(self, inputs: Tensor, f: Tensor) -> Jet:
        """Derivatives of u in f and in the inputs, float64.  Shape: `(N, dim)`, `(N, 1)`."""
        with torch.enable_grad():
            at, g = (v.detach().double().requires_grad_() for v in (inputs, f))
            value = self.price(at, g)
            gradient, first = torch.autograd.grad(value.sum(), (at, g), create_graph=True)
            mixed, second = torch.autograd.grad(first.sum(), (at, g))
        return Jet(*(v.detach() for v in (value, first, second, gradient, mixed)))

    def weight(self, inputs: Tensor, by_w: Tensor) -> Tensor:
        """What turns errors of u into errors of σ, where a change of σ changes u.

        1/√(vega² + (`LEAST_VEGA` level)²), with vega = ∂u/∂σ = √t ∂u/∂w.
        Shape: `(N, dim)`, ∂u/∂w `(N, 1)` → `(N, 1)`, float64.
        """
        inputs = inputs.double()
        forward, strike, discount = self.quote(inputs)
        vega = root(_column(inputs, self.time)) * by_w
        return 1.0 / torch.hypot(vega, LEAST_VEGA * discount * self.head.level(forward, strike))


def combination(inputs: Tensor, terms: list[tuple[int, float]]) -> Tensor:
    """Σ_j c_j λ_j.  Shape: `(…, dim)` → `(…, 1)`."""
    parts = [number * _column(inputs, index) for index, number in terms]
    return torch.stack(parts).sum(0) if parts else torch.zeros_like(inputs[..., :1])


def _column(inputs: Tensor, index: int) -> Tensor:
    return inputs[..., index : index + 1]
