r"""Random inputs Ξ: a distribution for each variable, or a number, or samples of it.

Distributions are frozen ones of SciPy, cut to the domain. If the random scalars have a correlation
matrix R, a Gaussian copula couples them: ranks of N(0, R).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.measure import Measure, Quantiles
from feynkac.families.rejection import accept

Array = NDArray[np.float64]
MOST_OUTSIDE = 0.5


@dataclass(frozen=True)
class Inputs:
    """The law of Ξ over a domain; a variable that is not named has the measure of the domain.

    Single entries may be named too, as `x[1]`; the others keep the law of their variable. Where the
    domain allows only a part of the box, Ξ is drawn from that part.
    """

    domain: Domain
    given: Mapping[str, Any] = field(default_factory=dict)
    correlation: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.given:
            self._outside(name)
        middles = {n: self._middle(n) for n in (*self.domain.measures, *self.given)}
        if self.domain.where(None).join(middles).ndim > 2:
            raise InputError("samples are a list of values: one axis more than the variable has.")
        self._root()

    @property
    def columns(self) -> dict[str, int]:
        """The random entries by name, and where they stand in the flat input."""
        still = {
            column
            for name in self.given
            if self._kind(name) == "fixed"
            for column in self._where(name)
        }
        moves = self.domain.varies.tolist()
        free = (i for i in range(self.domain.dim) if moves[i] and i not in still)
        return {self.domain.entries[i]: i for i in free}

    @property
    def warnings(self) -> list[str]:
        """Which distributions were cut, one sentence each."""
        found = []
        for name in self.given:
            if (share := self._outside(name)) > 1e-6:
                found.append(
                    f"{share:.2%} of {name} would lie outside {self._range(name)}; "
                    "its distribution is cut there."
                )
        return found

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Independent draws.  Shape: `(count, dim)`, float64."""
        if self.domain.sampler is not None:
            if self.given or self.correlation:
                raise InputError(
                    "all inputs are drawn together, by the domain's sampler; give none of them, or "
                    "solve on a domain without `drawn_by`."
                )
            return self.domain.sample(count, generator, torch.float64)
        if self.domain.rule is None:
            return self._draw(count, generator)
        return accept(lambda n: self._draw(n, generator), self.domain.allowed, count)

    def _draw(self, count: int, generator: torch.Generator) -> Tensor:
        normal = torch.randn(count, self.domain.dim, generator=generator, dtype=torch.float64)
        row = torch.randint(2**62, (count,), generator=generator)
        uniform = scipy.stats.norm.cdf(normal.numpy() @ self._root().T)
        return self.transform(uniform, row, generator)

    def transform(
        self, uniform: Array, row: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Inputs from uniforms on (0, 1).  Shape: `(count, dim)` → `(count, dim)`.

        Args:
            uniform: one number per entry.
            row: which of given samples to take.
            generator: for measures that are known by their draws alone.
        """
        where, flat = self.domain.slices(), torch.as_tensor(uniform).clone()
        for name, measure in self.domain.measures.items():
            if name not in self.given:
                flat[:, where[name]] = _measured(name, measure, flat[:, where[name]], generator)
        for name in sorted(self.given, key=lambda text: "[" in text):  # entries say more
            columns = self.domain.place(name).columns
            flat[:, columns] = self._transformed(name, uniform[:, columns], row)
        return flat

    def _transformed(self, name: str, uniform: Array, row: Tensor | None) -> Tensor:
        """What is given.  Shape: `(count, size)` → `(count, size)`."""
        kind, law = self._kind(name), self.given[name]
        shape, size = self.domain.place(name).shape, uniform.shape[-1]
        if kind == "fixed":
            return torch.as_tensor(_array(name, law)).reshape(-1).expand(len(uniform), size)
        if kind == "samples":
            if row is None:
                raise InputError(f"{name} is given by samples; indices need a distribution.")
            samples = torch.as_tensor(_array(name, law))
            return samples.reshape(-1, size)[row % len(samples)]
        low, high = self._edges(name)
        a, b = law.cdf(low), law.cdf(high)
        share = a + (b - a) * uniform.reshape(-1, *shape)
        return torch.as_tensor(np.clip(law.ppf(share), low, high).reshape(uniform.shape))

    def _kind(self, name: str) -> str:
        value = self.given[name]
        if hasattr(value, "ppf"):
            return "law"
        rank = len(self.domain.place(name).shape)
        return "samples" if _array(name, value).ndim == rank + 1 else "fixed"

    def _middle(self, name: str) -> Any:
        """A value of the variable, or the samples of it."""
        if name in self.given and self._kind(name) != "law":
            return _array(name, self.given[name])
        low, high = self._edges(name)
        return (low + high) / 2

    def _where(self, name: str) -> range:
        columns = self.domain.place(name).columns
        return range(columns.start, columns.stop)

    def _edges(self, name: str) -> tuple[Array, Array]:
        place = self.domain.place(name)
        low, high = (
            side[place.columns].numpy().reshape(place.shape) for side in self.domain.bounds
        )
        return low, high

    def _range(self, name: str) -> str:
        place = self.domain.place(name)
        if place.index is None:
            return str(self.domain.measures[place.name])
        low, high = self._edges(name)
        return f"[{low:g}, {high:g}]"

    def _outside(self, name: str) -> float:
        """Probability outside the box, at its worst coordinate."""
        if self._kind(name) != "law":
            return 0.0
        if not self.domain.varies[self.domain.place(name).columns].all():
            free = ", ".join(self.domain.free)
            raise InputError(f"{name} is fixed and cannot be random; there are: {free}.")
        law, shape = self.given[name], self.domain.place(name).shape
        low, high = self._edges(name)
        try:
            share = float(np.max(np.broadcast_to(law.cdf(low) + law.sf(high), shape)))
        except ValueError as error:
            raise InputError(
                f"the distribution of {name} does not fit its shape {shape}."
            ) from error
        if not share <= MOST_OUTSIDE:
            raise InputError(
                f"the distribution of {name} lies {share:.0%} outside {self._range(name)}, where "
                "the solution was trained; choose another, or train on a larger domain."
            )
        return share

    def _root(self) -> Array:
        """A factor of the correlation matrix of all inputs."""
        matrix = np.eye(self.domain.dim)
        for (a, b), value in self.correlation.items():
            if a == b or (b, a) in self.correlation:
                raise InputError(f"{a}, {b}: give a correlation of two different variables, once.")
            if not abs(value) < 1.0:
                raise InputError(f"a correlation lies between -1 and 1, got {value} of {a}, {b}.")
            i, j = (self._correlated(name) for name in (a, b))
            matrix[i, j] = matrix[j, i] = value
        try:
            return np.asarray(np.linalg.cholesky(matrix))
        except np.linalg.LinAlgError as error:
            raise InputError("the correlations are not those of any random variables.") from error

    def _correlated(self, name: str) -> int:
        """The column of a scalar variable, or of one entry, that has quantiles."""
        place = self.domain.place(name)
        if place.size != 1:
            raise InputError(f"correlation needs scalar variables, got {name!r}.")
        column, drawn = place.columns.start, self.domain.measures[place.name]
        covers = [n for n in self.given if column in self._where(n)]
        kinds = [self._kind(n) for n in covers] or [
            "law" if isinstance(drawn, Quantiles) else "sampler"
        ]
        if kinds != ["law"] or not self.domain.varies[column]:
            raise InputError(f"{name} has no distribution, so it cannot be correlated.")
        return int(column)


def _measured(
    name: str, measure: Measure, uniform: Tensor, generator: torch.Generator | None
) -> Tensor:
    """A variable by the measure of the domain.  Shape: `(count, size)` → `(count, size)`."""
    if isinstance(measure, Quantiles):
        return measure.quantile(uniform)
    if generator is None and not isinstance(measure, Fixed):
        raise InputError(f"{name} is given by a sampler; indices need a distribution.")
    return measure.draw(uniform, generator or torch.Generator())


def _array(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be a frozen distribution of SciPy, numbers or samples, got {value!r}."
        ) from error
    if not array.size:
        raise InputError(f"{name} has no samples.")
    return array
