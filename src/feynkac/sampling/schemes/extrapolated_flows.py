r"""Ninomiya–Victoir splitting of commuting noise, extrapolated to step size zero:

    Y = (4 Y_n − Y_{n/2}) / 3.

Where V_1 … V_m commute, a step e^{h/2 V_0} e^{√h z·V} e^{h/2 V_0} is symmetric, its mean is
Strang's splitting of the semigroup, and its error has even powers of h alone: the extrapolated
label would be of weak order 4 (`extrapolated.py`). Runge–Kutta steps of order 4 in √h z leave an
error of order 3, unless V_j are constant.
"""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from feynkac.sampling.schemes.extrapolated import Extrapolated
from feynkac.sampling.schemes.fields import NoiseKind
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir


@dataclass(frozen=True, config={"extra": "forbid"})
class ExtrapolatedFlows(Extrapolated):
    """Labels of `steps` and of half as many Ninomiya–Victoir steps, extrapolated.

    Example:
        >>> ExtrapolatedFlows(steps=4).order
        3
    """

    order: ClassVar[int] = 3
    steps: Annotated[int, Field(ge=1)] = 4
    noise: NoiseKind = "diagonal"
    """What may be relied on; not "general"."""

    @property
    def halves(self) -> tuple[NinomiyaVictoir, NinomiyaVictoir]:
        """The fine scheme and the coarse one."""
        fine = NinomiyaVictoir(steps=self.steps, noise=self.noise)
        return fine, fine.with_steps(max(1, self.steps // 2))
