r"""The law of a variable that does not vary, a Dirac measure:  P(X = c) = 1.

Its mean is c and its standard deviation 0. A network does not see it, and nothing is learned of how
u depends on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from feynkac.families.measures.measure import Measure, fill, flatten, vector


@dataclass(frozen=True, init=False, repr=False)
class Fixed(Measure):
    """One value; a number fills `shape`.

    Args:
        value: a number or nested numbers.
        shape: shape of the variable; by default that of the value.

    Example:
        >>> Fixed(0.3), Fixed([1.0, 0.5]).mean.tolist()
        (Fixed(0.3), [1.0, 0.5])
    """

    kind: ClassVar[str | None] = "fixed"

    def __init__(self, value: Any, shape: tuple[int, ...] | None = None) -> None:
        target, (c,) = flatten("Fixed", {"value": value}, shape)
        fill(self, shape=target, low=c, high=c)

    @property
    def mean(self) -> Tensor:
        """c."""
        return vector(self.low)

    @property
    def std(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.mean)

    @property
    def parameters(self) -> Mapping[str, tuple[float, ...]]:
        """None."""
        return {}

    def draw(self, uniform: Tensor, generator: torch.Generator) -> Tensor:
        """c, as often as there are uniforms."""
        return uniform.new_tensor(self.low).expand_as(uniform)

    def moments(self, f: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """f(c) and 0."""
        return f(self.mean), self.std
