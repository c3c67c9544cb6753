r"""Euler–Maruyama extrapolated to step size zero (Talay and Tubaro, 1990):

    Y = 2 Y_n − Y_{n/2},    both on the same Brownian path,

of weak order 2 for any coefficients, with one evaluation of μ and of σ dw per step, and 3/2 as many
steps. Coupled paths differ little, so that the variance of Y is hardly that of Y_n. What is
extrapolated is the label (`path.py`); as a path it is that of n steps.
"""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.scheme import Scheme


@dataclass(frozen=True, config={"extra": "forbid"})
class ExtrapolatedEuler(Scheme):
    """Labels of `steps` and of half as many Euler–Maruyama steps, extrapolated.

    Example:
        >>> ExtrapolatedEuler(steps=8).halves
        (EulerMaruyama(steps=8), EulerMaruyama(steps=4))
    """

    order: ClassVar[int] = 2
    steps: Annotated[int, Field(ge=1)] = 16

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    @property
    def halves(self) -> tuple[EulerMaruyama, EulerMaruyama]:
        """The fine scheme and the coarse one."""
        return EulerMaruyama(steps=self.steps), EulerMaruyama(steps=max(1, self.steps // 2))

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State of the fine path at time t.  Shape: as for `EulerMaruyama`."""
        return self.halves[0].terminal(family, x, t, p, z)

    def check(self, family: Family) -> None:
        """The number of steps must be even."""
        if self.steps % 2:
            raise InputError(f"ExtrapolatedEuler needs an even number of steps, got {self.steps}.")
