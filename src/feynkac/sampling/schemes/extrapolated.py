r"""Labels extrapolated to step size zero (Talay and Tubaro, 1990). For a scheme of weak order q,

    Y = (2^q Y_n − Y_{n/2}) / (2^q − 1),    both on the same Brownian path,

has no error of order q left. Coupled paths differ little, so that the variance of Y is hardly that
of Y_n. What is extrapolated is the label (`path.py`); as a path it is that of n steps.
"""

from abc import abstractmethod

from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.sampling.schemes.scheme import Scheme


class Extrapolated(Scheme):
    """Labels of `steps` and of half as many steps; one vector of normals per step."""

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    @property
    @abstractmethod
    def halves(self) -> tuple[Scheme, Scheme]:
        """The fine scheme and the coarse one."""

    def extrapolate(self, fine: Tensor, coarse: Tensor) -> Tensor:
        """From the labels, or slopes, of both halves."""
        order = self.halves[0].order
        assert order is not None
        remaining: Tensor = (fine - coarse) / (2.0**order - 1.0)
        return fine + remaining

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State of the fine path at time t.  Shape: as for its scheme."""
        return self.halves[0].terminal(family, x, t, p, z)

    def check(self, family: Family) -> None:
        """The number of steps must be even, and the halves must suit."""
        if self.steps % 2:
            name = type(self).__name__
            raise InputError(f"{name} needs an even number of steps, got {self.steps}.")
        self.halves[0].check(family)
