r"""Uncertainty: the law of u(Ξ) for random inputs Ξ (paper, Section 3.2), each figure ± its error.

    E u ≈ (1/n) Σ u(ξ_i),    V u ≈ (1/(n−1)) Σ (u(ξ_i) − mean)².

Draws are streamed in chunks; only the values u(ξ_i) are kept. Sobol' indices say which input the
variance comes from: S_i alone, T_i with all its interactions.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import stats

from feynkac.analysis.distributions import Array, Inputs
from feynkac.analysis.partials import Map
from feynkac.errors import InputError

CHUNK = 2**15
FEWEST = 64
BINS = 60
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class Figure:
    """A number ± its standard error."""

    value: float
    se: float


@dataclass(frozen=True)
class Uncertainty:
    """The law of u(Ξ)."""

    mean: Figure
    variance: Figure
    quantiles: dict[float, Figure]
    correlation: dict[str, Figure]
    """Of u with each random scalar input."""
    density: tuple[list[float], list[float]]
    """Edges of bins, and the density in each."""
    samples: int
    warnings: list[str]

    def record(self) -> dict[str, Any]:
        """As plain data."""
        plain = asdict(self)
        plain["quantiles"] = {f"{q:g}": v for q, v in plain["quantiles"].items()}
        edges, heights = self.density
        return plain | {"density": {"edges": edges, "heights": heights}}


def propagate(
    u: Map,
    inputs: Inputs,
    samples: int = 10**6,
    seed: int = 0,
    quantiles: Sequence[float] = QUANTILES,
    report: Callable[[float], None] | None = None,
) -> Uncertainty:
    """Push `inputs` through `u`.

    Args:
        u: the solution map on flat inputs.
        inputs: the law of Ξ.
        samples: n, at least 64.
        seed: of the draws.
        quantiles: which, between 0 and 1.
        report: called with the fraction done.
    """
    if samples < FEWEST:
        raise InputError(f"error bars need at least {FEWEST} samples, got {samples}.")
    if bad := [q for q in quantiles if not 0.0 < q < 1.0]:
        raise InputError(f"a quantile lies between 0 and 1, got {bad[0]}.")
    generator = torch.Generator().manual_seed(seed)
    columns = _scalars(inputs)
    values, sums, pilot = [], np.zeros((7, len(columns))), None
    for start in range(0, samples, CHUNK):
        block = inputs.sample(min(CHUNK, samples - start), generator)
        with torch.no_grad():
            y = u(block).squeeze(-1).double().numpy()
        x = block[:, list(columns.values())].numpy()
        pilot = pilot or _pilot(x, y)
        sums += pilot.sums(x, y)
        values.append(y)
        if report:
            report(min(1.0, (start + CHUNK) / samples))
    y = np.concatenate(values)
    ordered = np.sort(y)
    heights, edges = np.histogram(y, BINS, density=True)
    return Uncertainty(
        mean=Figure(float(y.mean()), float(y.std(ddof=1)) / math.sqrt(samples)),
        variance=_variance(y),
        quantiles={q: _quantile(ordered, q) for q in quantiles},
        correlation=_correlations(columns, sums / samples, samples),
        density=(edges.tolist(), heights.tolist()),
        samples=samples,
        warnings=inputs.warnings,
    )


def _scalars(inputs: Inputs) -> dict[str, int]:
    """Columns of the random variables, entry by entry."""
    where, found = inputs.domain.slices(), {}
    for name in inputs.random:
        shape = inputs.domain.boxes[name].shape
        for i, index in enumerate(np.ndindex(*shape)):
            found[f"{name}{list(index)}" if shape else name] = where[name].start + i
    return found


class _Pilot(NamedTuple):
    """Units and correlations r as the first chunk has them, so that sums lose no digits."""

    x: tuple[Array, Array]
    y: tuple[Array, Array]
    r: Array

    def sums(self, x: Array, y: Array) -> Array:
        """Of x, x², y, y², xy, w, w², where w = xy − r (x² + y²) / 2 is what a draw adds to r.

        Shape: `(n, k)`, `(n,)` → `(7, k)`.
        """
        x, y = _in_units(x, self.x), np.broadcast_to(_in_units(y, self.y)[:, None], x.shape)
        xx, yy, xy = x * x, y * y, x * y
        w = xy - 0.5 * self.r * (xx + yy)
        return np.stack([part.sum(0) for part in (x, xx, y, yy, xy, w, w * w)])


def _pilot(x: Array, y: Array) -> _Pilot:
    of_x, of_y = _units(x), _units(y)
    r = (_in_units(x, of_x) * _in_units(y, of_y)[:, None]).mean(0)
    return _Pilot(of_x, of_y, r)


def _units(values: Array) -> tuple[Array, Array]:
    """Centre and scale of each column; one that does not vary becomes exactly 0."""
    varies = np.ptp(values, axis=0) > 0.0
    centre = np.where(varies, values.mean(0), values[0])
    return centre, np.where(varies, values.std(0), 1.0)


def _in_units(values: Array, units: tuple[Array, Array]) -> Array:
    centre, scale = units
    return (values - centre) / scale


def _variance(y: Array) -> Figure:
    """The paper's estimator; its error from the fourth moment."""
    n, variance = len(y), float(y.var(ddof=1))
    fourth = float(((y - y.mean()) ** 4).mean())
    return Figure(variance, math.sqrt(max(0.0, fourth - variance**2 * (n - 3) / (n - 1)) / n))


def _quantile(ordered: Array, q: float) -> Figure:
    """Its error from the order statistics one standard deviation of the rank apart."""
    n = len(ordered)
    spread = math.sqrt(n * q * (1.0 - q))
    low, high = (int(np.clip(round(n * q + side * spread), 0, n - 1)) for side in (-1, 1))
    value = float(np.quantile(ordered, q))
    return Figure(value, float(ordered[high] - ordered[low]) / 2.0)


def _correlations(columns: dict[str, int], means: Array, n: int) -> dict[str, Figure]:
    """Their errors by the delta method, which needs no normal law."""
    x, xx, y, yy, xy, w, ww = means
    scale = np.sqrt((xx - x * x) * (yy - y * y))
    r = np.divide(xy - x * y, scale, out=np.zeros_like(scale), where=scale > 0.0)
    return _figures(columns, r, np.sqrt((ww - w * w).clip(0.0) / n))


@dataclass(frozen=True)
class SobolIndices:
    """Shares of the variance of u(Ξ), a variable each."""

    first: dict[str, Figure]
    total: dict[str, Figure]
    evaluations: int
    warnings: list[str]

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def sobol_indices(u: Map, inputs: Inputs, base: int = 2**10, seed: int = 0) -> SobolIndices:
    """First-order and total indices by SALib (extra `uq`), with standard errors.

    Args:
        u: the solution map on flat inputs.
        inputs: the law of Ξ, its variables independent.
        base: size of the base sample, a power of two; base · (entries + 2) evaluations.
        seed: of the sample.
    """
    from SALib.analyze import sobol as analysis  # an extra, needed here only
    from SALib.sample import sobol as sampling

    if base < 2 or base & (base - 1):
        raise InputError(f"the base sample has a power of two of points, got {base}.")
    if inputs.correlation:
        raise InputError("Sobol' indices need independent inputs; leave the correlation out.")
    columns = _scalars(inputs)
    if not columns:
        raise InputError("no input is random, so there is no variance to share out.")
    problem = {
        "num_vars": len(columns),
        "names": list(columns),
        "bounds": [[0.0, 1.0]] * len(columns),
    }
    uniform = np.full((base * (len(columns) + 2), inputs.domain.dim), 0.5)
    uniform[:, list(columns.values())] = sampling.sample(
        problem, base, calc_second_order=False, seed=seed
    )
    y = np.concatenate([_evaluate(u, inputs, part) for part in _split(uniform)])
    if not np.ptp(y) > 0.0:
        raise InputError("u does not vary with these inputs, so there is no variance to share out.")
    # SALib takes seed 0 for none
    found = analysis.analyze(problem, y, calc_second_order=False, conf_level=0.95, seed=seed + 1)
    z = float(stats.norm.ppf(0.975))
    return SobolIndices(
        first=_figures(columns, found["S1"], found["S1_conf"] / z),
        total=_figures(columns, found["ST"], found["ST_conf"] / z),
        evaluations=len(y),
        warnings=inputs.warnings,
    )


def _split(uniform: Array) -> list[Array]:
    return np.array_split(uniform, -(-len(uniform) // CHUNK))


def _evaluate(u: Map, inputs: Inputs, uniform: Array) -> Array:
    where = inputs.domain.slices()
    parts = [inputs.transform(n, uniform[:, where[n]]) for n in inputs.domain.boxes]
    with torch.no_grad():
        return np.asarray(u(torch.cat(parts, dim=-1)).squeeze(-1).double().numpy())


def _figures(columns: dict[str, int], values: Array, errors: Array) -> dict[str, Figure]:
    return {
        label: Figure(float(value), float(error))
        for label, value, error in zip(columns, values, errors, strict=True)
    }
