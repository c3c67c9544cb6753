r"""How S_t is drawn: a scheme turns standard normals into the state at time t.

A scheme is a pure function of its normals. Where they come from (independent, antithetic,
quasi-random, coupled to a finer grid) is decided elsewhere, see `noise.py`.
"""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar, Self

from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import (
    Absorbing,
    ConstantDiscount,
    Discount,
    Reflected,
    Source,
    TimeDependent,
)
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.parts import Part


class Scheme(Part):
    """Simulates dS = μ(S) dt + σ(S) dB from S_0 = x to time t.

    Example:
        >>> from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
        >>> EulerMaruyama(steps=4).with_steps(8).draws
        8
    """

    order: ClassVar[int | None] = None
    """Weak order in 1/steps; None: there is no discretisation error."""
    steps: int
    """Equal parts of the time t."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """How many standard normal vectors one path needs."""

    @property
    def increments(self) -> int:
        """How many of them, the first ones, are increments of the Brownian path, in order."""
        return self.draws

    def with_steps(self, steps: int) -> Self:
        """The same scheme with another number of steps."""
        settings: Any = self
        chosen: Self = dataclasses.replace(settings, steps=steps)
        return chosen

    @abstractmethod
    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(draws, …, m)` → `(…, d)`.

        m is the number of Brownian motions, `noise_dim(family)`.
        """

    @abstractmethod
    def check(self, family: Family) -> None:
        """Raise `InputError` if this scheme cannot simulate `family`."""


def require_end(family: Family, scheme: str) -> None:
    """Refuse families whose labels depend on the whole path, where only its end is drawn.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> require_end(BlackScholes(), "Gaussian")
    """
    discounted = isinstance(family, Discount)
    varying = discounted and not isinstance(family, ConstantDiscount)
    late = discounted and isinstance(family, TimeDependent)
    if varying or late or isinstance(family, Source | Absorbing):
        raise InputError(
            f"what paths of {type(family).__name__} earn depends on the whole path, and {scheme} "
            "draws only its end; use ExtrapolatedEuler(steps=16)."
        )


def require_free(family: Family) -> None:
    """Refuse families whose paths are pushed back, where only μ and σ are followed.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> require_free(BlackScholes())
    """
    if isinstance(family, Reflected):
        raise InputError(
            f"the paths of {type(family).__name__} are pushed back, which its drift and diffusion "
            "do not say; give it steps of its own (OwnSteps), which may read p.t."
        )
