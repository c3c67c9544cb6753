r"""Shapes that u must have, such as the absence of arbitrage demands; h is a hundredth of a range:

    monotone    ± (u(λ + h) − u(λ − h)) ≥ 0            what a spread of two options costs
    convex      u(λ + h) − 2u(λ) + u(λ − h) ≥ 0        what a butterfly costs
    bounded     lower ≤ u ≤ upper                      such as D (F − K)⁺ ≤ u ≤ D F
    calendar    u/(DF) grows with t while K/F is kept  what a calendar spread costs

Each shape says by how much u violates it at an input, in units of u.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.quoted import Quote, Quoted

Map = Callable[[Tensor], Tensor]
Bound = Callable[[Tensor, Tensor, Params], Tensor | float]

STEP = 0.01  # h, relative to the range of the variable


class Shape(ABC):
    """A property of u that can be violated.

    Example:
        >>> Monotone("strike", -1).sentence
        'falls with strike'
    """

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What u does."""

    @property
    def along(self) -> tuple[str, ...]:
        """The variables in which u is moved; where one is fixed, the shape says nothing."""
        return ()

    @abstractmethod
    def violation(self, u: Map, family: Family, inputs: Tensor) -> Tensor:
        """By how much u misses it, negative where it does not.

        Shape: `(N, dim)`, in float64 → `(N,)`.
        """


@dataclass(frozen=True)
class Monotone(Shape):
    """u rises (sign +1) or falls (−1) with a scalar variable or an entry such as `x[0]`.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> put = BlackScholes()
        >>> at = put.domain.join(dict(x=9.5, t=0.5, sigma=0.3, strike=11.0))[None]
        >>> u = lambda v: put.closed_form(*put.domain.split(v))
        >>> Monotone("x", -1).violation(u, put, at).item() < 0
        True
    """

    name: str
    sign: int

    @property
    def sentence(self) -> str:
        """In words."""
        return f"{'rises' if self.sign > 0 else 'falls'} with {self.name}"

    @property
    def along(self) -> tuple[str, ...]:
        """The variable."""
        return (self.name,)

    def violation(self, u: Map, family: Family, inputs: Tensor) -> Tensor:
        """∓ (u(λ + h) − u(λ − h)).  Shape: `(N, dim)` → `(N,)`."""
        low, _, high = _around(family, inputs, self.name)
        return _inside(family, -self.sign * (u(high) - u(low)), low, high)


@dataclass(frozen=True)
class Convex(Shape):
    """u is convex (sign +1) or concave (−1) in a scalar variable or an entry.

    Example:
        >>> Convex("strike").sentence
        'is convex in strike'
    """

    name: str
    sign: int = 1

    @property
    def sentence(self) -> str:
        """In words."""
        return f"is {'convex' if self.sign > 0 else 'concave'} in {self.name}"

    @property
    def along(self) -> tuple[str, ...]:
        """The variable."""
        return (self.name,)

    def violation(self, u: Map, family: Family, inputs: Tensor) -> Tensor:
        """∓ (u(λ + h) − 2u(λ) + u(λ − h)).  Shape: `(N, dim)` → `(N,)`."""
        low, middle, high = _around(family, inputs, self.name)
        return _inside(family, -self.sign * (u(high) - 2.0 * u(middle) + u(low)), low, high)


@dataclass(frozen=True)
class Bounded(Shape):
    """lower ≤ u ≤ upper, each a formula of (x, t, p) that returns `(…, 1)` or a number, or None.

    Example:
        >>> Bounded(lower=lambda x, t, p: 0.0, words="is not negative").sentence
        'is not negative'
    """

    lower: Bound | None = None
    upper: Bound | None = None
    words: str = "keeps its bounds"

    @property
    def sentence(self) -> str:
        """In words."""
        return self.words

    def violation(self, u: Map, family: Family, inputs: Tensor) -> Tensor:
        """The larger of lower − u and u − upper.  Shape: `(N, dim)` → `(N,)`."""
        point, values = family.domain.split(inputs), u(inputs)
        missed = [torch.full_like(values, -torch.inf)]
        missed += [self.lower(*point) - values] if self.lower else []
        missed += [values - self.upper(*point)] if self.upper else []
        return torch.stack(missed).amax(0).squeeze(-1)


@dataclass(frozen=True)
class Calendar(Shape):
    """Prices in units of the discounted forward rise with t while strike/forward is kept.

    For families that are `Quoted`, with a parameter `strike`.

    Example:
        >>> Calendar().sentence
        'rises with t, relative to the forward'
    """

    @property
    def sentence(self) -> str:
        """In words."""
        return "rises with t, relative to the forward"

    @property
    def along(self) -> tuple[str, ...]:
        """Time and strike."""
        return ("t", "strike")

    def violation(self, u: Map, family: Family, inputs: Tensor) -> Tensor:
        """Minus the price of the spread in units of now; −∞ if its strike leaves the range.

        If the strike is fixed, the asset is moved: the same, where prices are homogeneous.
        """
        early, _, late = _around(family, inputs, "t")
        first, second = _quote(family, early), _quote(family, late)
        growth, strike = second.forward / first.forward, family.domain.place("strike").columns
        if bool(family.domain.varies[strike].all()):
            late[:, strike] = early[:, strike] * growth
        else:
            late[:, :1] = early[:, :1] / growth
            second = _quote(family, late)
        relative = u(early) / (first.discount * first.forward)
        relative = relative - u(late) / (second.discount * second.forward)
        return _inside(family, relative * first.discount * first.forward, early, late)


class Shaped(ABC):
    """Capability: u has shapes that a solution should keep; see `solution.shape()`.

    Example:
        >>> class Calls(Shaped):
        ...     @property
        ...     def shapes(self):
        ...         return (Monotone("strike", -1), Convex("strike"))
        >>> Calls().shapes[0].sentence
        'falls with strike'
    """

    @property
    @abstractmethod
    def shapes(self) -> tuple[Shape, ...]:
        """All that are known to hold, for every domain."""


NOT_NEGATIVE = Bounded(lower=lambda x, t, p: 0.0, words="is not negative")


def strike_shapes(payoff: Payoff) -> tuple[Shape, ...]:
    """What holds for any law of the assets: along the strike, and u ≥ 0.

    Example:
        >>> [shape.sentence for shape in strike_shapes(Payoff("put"))]
        ['is not negative', 'rises with strike', 'is convex in strike']
    """
    rises = Monotone("strike", 1 if payoff.style == "put" else -1)
    return (NOT_NEGATIVE, rises) if payoff.jumps else (NOT_NEGATIVE, rises, Convex("strike"))


def quoted_shapes(family: Quoted) -> tuple[Shape, ...]:
    """What holds for a call or put on one asset whose forward is a martingale; () for others.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> [shape.sentence for shape in quoted_shapes(Heston())]
        ['is within the bounds of arbitrage', 'rises with t, relative to the forward']
    """

    def intrinsic(x: Tensor, t: Tensor, p: Params) -> Tensor:
        quote = _required(family.quote(x, t, p))
        gain = torch.as_tensor(quote.forward - quote.strike)
        paid = torch.where(torch.as_tensor(quote.call), gain, -gain)
        return paid.clamp_min(0.0) * quote.discount

    def most(x: Tensor, t: Tensor, p: Params) -> Tensor:
        quote = _required(family.quote(x, t, p))
        call = torch.as_tensor(quote.call)
        forward, strike = (torch.as_tensor(v) for v in (quote.forward, quote.strike))
        return torch.where(call, forward, strike) * quote.discount

    return Bounded(intrinsic, most, "is within the bounds of arbitrage"), Calendar()


def _around(family: Family, inputs: Tensor, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """λ − h, λ and λ + h, with λ moved inwards where these would leave the range."""
    columns = family.domain.place(name).columns
    least, most = (side[columns].to(inputs) for side in family.domain.bounds)
    if columns.stop - columns.start != 1:
        raise InputError(f"{name} has several entries; name one of them, such as {name}[0].")
    step = STEP * (most - least)
    middle = inputs.clone()
    middle[:, columns] = middle[:, columns].clamp(least + step, most - step)
    low, high = middle.clone(), middle.clone()
    low[:, columns] = (low[:, columns] - step).maximum(least)
    high[:, columns] = (high[:, columns] + step).minimum(most)
    return low, middle, high


def _inside(family: Family, missed: Tensor, *ends: Tensor) -> Tensor:
    """What is missed, −∞ where an end is no input.  Shape: `(N, 1)`, `(N, dim)` → `(N,)`."""
    contained = torch.stack([family.domain.contains(end) for end in ends]).all(0)
    return torch.where(contained, missed.squeeze(-1), -torch.inf)


def _quote(family: Family, inputs: Tensor) -> Quote:
    if not isinstance(family, Quoted):
        raise InputError(f"{type(family).__name__} is not Quoted, so it has no forward.")
    return _required(family.quote(*family.domain.split(inputs)))


def _required(quote: Quote | None) -> Quote:
    if quote is None:
        raise InputError("only calls and puts have an intrinsic value and a forward.")
    return quote
