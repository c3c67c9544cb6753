"""The exact scheme: one normal vector a path and no discretisation error (paper, Section 3.1)."""

from typing import Literal

from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import ExactSampler, Family
from feynkac.families.point import Params
from feynkac.sampling.scheme import Scheme


@dataclass(frozen=True, config={"extra": "forbid"})
class Exact(Scheme):
    """Uses the family's own sampler of S_t; for families that are `ExactSampler`s.

    Example:
        >>> Exact().draws
        1
    """

    kind: Literal["exact"] = "exact"

    @property
    def draws(self) -> int:
        """One."""
        return 1

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(1, …, d)` → `(…, d)`."""
        assert isinstance(family, ExactSampler)
        return family.exact(x, t, p, z[0])

    def check(self, family: Family) -> None:
        """The family must be an `ExactSampler`."""
        if not isinstance(family, ExactSampler):
            raise InputError(
                f"{type(family).__name__} has no exact sampler; use a scheme such as "
                "EulerMaruyama(steps=25) (--scheme euler:25)."
            )
