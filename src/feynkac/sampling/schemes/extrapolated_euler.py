r"""Euler–Maruyama extrapolated to step size zero:

    Y = 2 Y_n − Y_{n/2},

of weak order 2 for any coefficients, with one evaluation of μ and of σ dw per step, and 3/2 as many
steps (`extrapolated.py`).
"""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.extrapolated import Extrapolated


@dataclass(frozen=True, config={"extra": "forbid"})
class ExtrapolatedEuler(Extrapolated):
    """Labels of `steps` and of half as many Euler–Maruyama steps, extrapolated.

    Example:
        >>> ExtrapolatedEuler(steps=8).halves
        (EulerMaruyama(steps=8), EulerMaruyama(steps=4))
    """

    order: ClassVar[int] = 2
    steps: Annotated[int, Field(ge=1)] = 16

    @property
    def halves(self) -> tuple[EulerMaruyama, EulerMaruyama]:
        """The fine scheme and the coarse one."""
        return EulerMaruyama(steps=self.steps), EulerMaruyama(steps=max(1, self.steps // 2))
