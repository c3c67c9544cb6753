r"""Random inputs Ξ: a distribution for each variable, or a number, or samples of it.

Distributions are frozen ones of SciPy, cut to the domain. If the random scalars have a correlation
matrix R, a Gaussian copula couples them: ranks of N(0, R).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.measure import Quantiles

Array = NDArray[np.float64]
MOST_OUTSIDE = 0.5


@dataclass(frozen=True)
class Inputs:
    """The law of Ξ over a domain; a variable that is not named has the measure of the domain."""

    domain: Domain
    given: Mapping[str, Any] = field(default_factory=dict)
    correlation: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := [name for name in self.given if name not in self.domain.measures]:
            known = ", ".join(self.domain.measures)
            raise InputError(f"there is no variable {unknown[0]!r}; there are: {known}.")
        for name in self.given:
            self._outside(name)
        if self.domain.join({n: self._fixed(n) for n in self.domain.measures}).ndim > 2:
            raise InputError("samples are a list of values: one axis more than the variable has.")
        self._root()

    @property
    def random(self) -> list[str]:
        """Variables that are not fixed."""
        return [name for name in self.domain.measures if self._kind(name) != "fixed"]

    @property
    def warnings(self) -> list[str]:
        """Which distributions were cut, one sentence each."""
        found = []
        for name in self.given:
            if (share := self._outside(name)) > 1e-6:
                found.append(
                    f"{share:.2%} of {name} would lie outside {self.domain.measures[name]}; "
                    "its distribution is cut there."
                )
        return found

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Independent draws.  Shape: `(count, dim)`, float64."""
        where = self.domain.slices()
        normal = torch.randn(count, self.domain.dim, generator=generator, dtype=torch.float64)
        row = torch.randint(2**62, (count,), generator=generator)
        uniform = stats.norm.cdf(normal.numpy() @ self._root().T)
        parts = [
            measure.draw(torch.as_tensor(uniform[:, where[n]]), generator)
            if self._kind(n) == "sampler"
            else self.transform(n, uniform[:, where[n]], row)
            for n, measure in self.domain.measures.items()
        ]
        return torch.cat(parts, dim=-1)

    def transform(self, name: str, uniform: Array, row: Tensor | None = None) -> Tensor:
        """A variable from uniforms on (0, 1).  Shape: `(count, size)` → `(count, size)`."""
        box, kind = self.domain.measures[name], self._kind(name)
        if kind == "fixed":
            value = torch.as_tensor(_array(name, self.given[name])).reshape(-1)
            return value.expand(len(uniform), box.size)
        if kind == "samples":
            if row is None:
                raise InputError(f"{name} is given by samples; indices need a distribution.")
            samples = torch.as_tensor(_array(name, self.given[name]))
            return samples.reshape(-1, box.size)[row % len(samples)]
        if kind == "sampler":
            raise InputError(f"{name} is given by a sampler; indices need a distribution.")
        if kind == "measure":
            assert isinstance(box, Quantiles)
            return box.quantile(torch.as_tensor(uniform))
        (low, high), law = self._edges(name), self.given[name]
        a, b = law.cdf(low), law.cdf(high)
        share = a + (b - a) * uniform.reshape(-1, *box.shape)
        return torch.as_tensor(np.clip(law.ppf(share), low, high).reshape(uniform.shape))

    def _kind(self, name: str) -> str:
        value = self.given.get(name)
        if value is None:
            return "measure" if isinstance(self.domain.measures[name], Quantiles) else "sampler"
        if hasattr(value, "ppf"):
            return "law"
        rank = len(self.domain.measures[name].shape)
        return "samples" if _array(name, value).ndim == rank + 1 else "fixed"

    def _fixed(self, name: str) -> Any:
        if self._kind(name) in ("fixed", "samples"):
            return _array(name, self.given[name])
        low, high = self._edges(name)
        return (low + high) / 2

    def _edges(self, name: str) -> tuple[Array, Array]:
        box = self.domain.measures[name]
        return np.reshape(box.low, box.shape), np.reshape(box.high, box.shape)

    def _outside(self, name: str) -> float:
        """Probability outside the box, at its worst coordinate."""
        if self._kind(name) != "law":
            return 0.0
        box, law = self.domain.measures[name], self.given[name]
        low, high = self._edges(name)
        try:
            share = float(np.max(np.broadcast_to(law.cdf(low) + law.sf(high), box.shape)))
        except ValueError as error:
            raise InputError(
                f"the distribution of {name} does not fit its shape {box.shape}."
            ) from error
        if not share <= MOST_OUTSIDE:
            raise InputError(
                f"the distribution of {name} lies {share:.0%} outside {box}, where the solution "
                "was trained; choose another, or train on a larger domain."
            )
        return share

    def _root(self) -> Array:
        """A factor of the correlation matrix of all inputs."""
        matrix, where = np.eye(self.domain.dim), self.domain.slices()
        for (a, b), value in self.correlation.items():
            if a == b or (b, a) in self.correlation:
                raise InputError(f"{a}, {b}: give a correlation of two different variables, once.")
            if not abs(value) < 1.0:
                raise InputError(f"a correlation lies between -1 and 1, got {value} of {a}, {b}.")
            for name in (a, b):
                if name not in where or where[name].stop - where[name].start != 1:
                    raise InputError(f"correlation needs scalar variables, got {name!r}.")
                if self._kind(name) not in ("measure", "law"):
                    raise InputError(f"{name} has no distribution, so it cannot be correlated.")
            i, j = where[a].start, where[b].start
            matrix[i, j] = matrix[j, i] = value
        try:
            return np.asarray(np.linalg.cholesky(matrix))
        except np.linalg.LinAlgError as error:
            raise InputError("the correlations are not those of any random variables.") from error


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
