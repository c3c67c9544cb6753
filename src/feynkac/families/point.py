r"""A batch of inputs λ = (x, t, γ), split by variable.

A scalar has shape `(…, 1)` and an array variable `(…, *shape)`, so that `p.kappa * x` and
`p.sigma @ x[..., None]` broadcast whatever the leading axes are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor


class Params:
    """The parameters γ by name: `p.sigma`, `p.strike`. Any name will do: there are no methods.

    Example:
        >>> import torch
        >>> p = Params(sigma=torch.tensor([0.3]))
        >>> p.sigma
        tensor([0.3000])
    """

    def __init__(self, /, **values: Tensor) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(self.__dict__) or "none"
        hint = "; p.t is for families that are TimeDependent" if name == "t" else ""
        raise AttributeError(f"there is no parameter {name!r} in the domain; it has: {known}{hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)


def at_time(p: Params, t: Tensor) -> Params:
    """The same parameters with the time of the PDE among them, as `p.t`."""
    return Params(**(vars(p) | {"t": t}))


class Point(NamedTuple):
    """A batch of inputs: x `(…, d)`, t `(…, 1)`, parameters p."""

    x: Tensor
    t: Tensor
    p: Params


def describe(point: Point) -> str:
    """One input in words, long arrays cut.

    Example:
        >>> import torch
        >>> describe(Point(torch.ones(5), torch.tensor([0.5]), Params(k=torch.tensor([2.0]))))
        'x = [1, 1, 1, …], t = 0.5, k = 2'
    """
    values = {"x": point.x, "t": point.t, **vars(point.p)}
    return ", ".join(f"{name} = {shortened(value)}" for name, value in values.items())


def shortened(value: Tensor, most: int = 3, digits: int = 6) -> str:
    """A number, or the first of several.

    Example:
        >>> import torch
        >>> shortened(torch.arange(5.0)), shortened(torch.tensor([0.25]))
        ('[0, 1, 2, …]', '0.25')
    """
    numbers = [f"{number:.{digits}g}" for number in value.flatten()[:most].tolist()]
    rest = ["…"] * (value.numel() > most)
    return numbers[0] if value.numel() == 1 else f"[{', '.join(numbers + rest)}]"
