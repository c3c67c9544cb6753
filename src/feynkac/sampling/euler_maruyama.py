r"""Euler–Maruyama:  S ← S + μ(S) h + σ(S) ΔB,  h = t / steps  (paper, Eq. 8).

Weak order 1, strong order ½. On strongly multiplicative noise the constant is large: 25 steps are
4 % off on the paper's basket.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.families.family import Family
from feynkac.families.point import Params
from feynkac.sampling.scheme import Scheme


@dataclass(frozen=True, config={"extra": "forbid"})
class EulerMaruyama(Scheme):
    """Explicit Euler–Maruyama with `steps` equal steps.

    Example:
        >>> EulerMaruyama(steps=25).draws
        25
    """

    order: ClassVar[int] = 1
    steps: Annotated[int, Field(ge=1)] = 25
    kind: Literal["euler"] = "euler"

    @property
    def draws(self) -> int:
        """One vector a step."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, d)` → `(…, d)`."""
        h = t / self.steps
        root = h.sqrt()
        for normal in z.unbind(0):
            x = x + h * family.drift(x, p) + family.diffusion(x, root * normal, p)
        return x

    def check(self, family: Family) -> None:
        """Any family will do."""
