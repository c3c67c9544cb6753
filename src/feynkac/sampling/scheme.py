r"""How S_t is drawn: a scheme turns standard normals into the state at time t.

A scheme is a pure function of its normals. Where they come from (independent, antithetic,
quasi-random, coupled to a finer grid) is decided elsewhere, see `noise.py`.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor

from feynkac.families.family import Family
from feynkac.families.point import Params


class Scheme(ABC):
    """Simulates dS = μ(S) dt + σ(S) dB from S_0 = x to time t."""

    order: ClassVar[int | None] = None
    """Weak order in 1/steps; None: there is no discretisation error."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """How many standard normal vectors one path needs."""

    @property
    def increments(self) -> int:
        """How many of them, the first ones, are increments of the Brownian path, in order."""
        return self.draws

    @abstractmethod
    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(draws, …, d)` → `(…, d)`."""

    @abstractmethod
    def check(self, family: Family) -> None:
        """Raise `InputError` if this scheme cannot simulate `family`."""
