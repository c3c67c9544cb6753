"""The family's own step, for models that have a better one than any general scheme."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.capabilities import OwnSteps
from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.sampling.schemes.scheme import Scheme


@dataclass(frozen=True, config={"extra": "forbid"})
class FamilySteps(Scheme):
    """`steps` equal steps of the family's own; for families that are `OwnSteps`.

    Example:
        >>> FamilySteps(steps=8).draws
        8
    """

    order: ClassVar[int] = 2
    steps: Annotated[int, Field(ge=1)] = 8

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, m)` → `(…, d)`."""
        assert isinstance(family, OwnSteps)
        h = t / self.steps
        for normal in z.unbind(0):
            x = family.step(x, h, p, normal)
        return x

    def check(self, family: Family) -> None:
        """The family must have `OwnSteps`."""
        if not isinstance(family, OwnSteps):
            raise InputError(
                f"{type(family).__name__} has no steps of its own; use a scheme such as "
                "NinomiyaVictoir(steps=4)."
            )
