r"""How S_t is drawn: a scheme turns standard normals into the state at time t.

A scheme is a pure function of its normals. Where they come from (independent, antithetic,
quasi-random, coupled to a finer grid) is decided elsewhere, see `noise.py`.
"""

from abc import ABC, abstractmethod

from torch import Tensor

from feynkac.families.family import Family
from feynkac.families.point import Params


class Scheme(ABC):
    """Simulates dS = μ(S) dt + σ(S) dB from S_0 = x to time t."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """How many standard normal vectors one path needs."""

    @abstractmethod
    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(draws, …, d)` → `(…, d)`."""

    @abstractmethod
    def check(self, family: Family) -> None:
        """Raise `InputError` if this scheme cannot simulate `family`."""
