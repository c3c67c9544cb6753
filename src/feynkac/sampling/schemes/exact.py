"""The exact scheme: one normal vector per step and no discretisation error (paper, Section 3.1).

One step is enough where only S_t counts. More steps see the path on the way, for a discount, source
or boundary that depends on it.
"""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import ExactSampler, TimeDependent
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.sampling.schemes.scheme import Scheme


@dataclass(frozen=True, config={"extra": "forbid"})
class Exact(Scheme):
    """Uses the family's own sampler of S_t; for families that are `ExactSampler`s.

    Example:
        >>> Exact().draws
        1
    """

    steps: Annotated[int, Field(ge=1)] = 1

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, m)` → `(…, d)`."""
        assert isinstance(family, ExactSampler)
        h = t / self.steps
        for normal in z.unbind(0):
            x = family.exact(x, h, p, normal)
        return x

    def check(self, family: Family) -> None:
        """The family must be an `ExactSampler`, with coefficients that do not vary with time."""
        name = type(family).__name__
        if not isinstance(family, ExactSampler):
            raise InputError(
                f"{name} has no exact sampler; use a scheme such as EulerMaruyama(steps=25)."
            )
        if isinstance(family, TimeDependent):
            raise InputError(
                f"the exact sampler of {name} does not know the time that its coefficients depend "
                "on; use NinomiyaVictoir(steps=4)."
            )
