r"""How many inputs are treated at once, so that memory stays within `BOUND`.

    bytes of a sweep  ≈  n (b + c k)  ≤  BOUND,     n inputs with k paths each.

A sweep that finds slopes keeps much of every step of every path; how much depends on the formulas.
So b and c come from weighing the tensors of two tiny sweeps. Normals are drawn for as many inputs
at once as their numbers allow. Neither looks at the clock or at free memory, so that a resumed run
has the same chunks. What fits is not cut. The normals of one input are always drawn together.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from feynkac.families.family import Family, noise_dim
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.sampling.weighed import Weighed

BOUND = 2**28  # bytes: 256 MB
COPIES = 4  # of the normals, at most, while they are drawn and turned
LITTLE, LITTLE_SWEPT = 2**20, 2**16  # numbers that are not worth weighing; with slopes
TRIAL_PATHS = 32  # and twice as many: paths then weigh more than what is made per input


class Chunk(NamedTuple):
    """What is treated at once: so many inputs, with so many of their paths."""

    inputs: int
    paths: int

    def slices(self, inputs: int, paths: int) -> Iterator[tuple[slice, list[slice]]]:
        """Inputs, and for these their paths.

        Example:
            >>> len(list(Chunk(inputs=2, paths=8).slices(5, 8)))
            3
        """
        parts = list(cut(paths, self.paths))
        for rows in cut(inputs, self.inputs):
            yield rows, parts


class Weight(NamedTuple):
    """Bytes of a sweep: b per input and c per path."""

    per_input: float
    per_path: float

    def chunk(self, paths: int, bound: int = BOUND) -> Chunk:
        """As many inputs as stay within the bound; if not even one does, some of its paths.

        Example:
            >>> Weight(per_input=10, per_path=1).chunk(paths=90, bound=1000)
            Chunk(inputs=10, paths=90)
            >>> Weight(per_input=10, per_path=1).chunk(paths=9000, bound=1000)
            Chunk(inputs=1, paths=990)
        """
        each = self.per_input + paths * self.per_path
        if each <= bound:
            return Chunk(int(bound / max(each, 1.0)), paths)
        few = int((bound - self.per_input) / max(self.per_path, 1.0))
        return Chunk(1, min(paths, max(1, few)))


def weigh(sweep: Callable[[int], object]) -> Weight:
    """The weight of `sweep(paths)`, which treats one input."""

    def most(paths: int) -> int:
        with Weighed() as weighed:
            sweep(paths)
        found: int = weighed.most
        return found

    sweep(TRIAL_PATHS)  # fills caches, which stay
    few, more = most(TRIAL_PATHS), most(2 * TRIAL_PATHS)
    per_path = max(0.0, (more - few) / TRIAL_PATHS)
    return Weight(max(0.0, few - TRIAL_PATHS * per_path), per_path)


def path_numbers(family: Family, scheme: Scheme) -> int:
    """Numbers that a path without slopes takes: its normals, or its state.

    Example:
        >>> from feynkac.families.models.basket_put import BasketPut
        >>> from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
        >>> path_numbers(BasketPut(), EulerMaruyama(steps=25))
        75
    """
    return max(scheme.draws * noise_dim(family), family.domain.state_dim)


def rows_drawn(numbers: int, itemsize: int, bound: int = BOUND) -> int:
    """For how many inputs normals are drawn at once, with so many numbers per input.

    Example:
        >>> rows_drawn(numbers=2**20, itemsize=4)
        16
    """
    return max(1, bound // (COPIES * itemsize * numbers))


def cut(count: int, size: int) -> Iterator[slice]:
    """Slices of at most `size`, one after the other.

    Example:
        >>> list(cut(5, 3))
        [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
