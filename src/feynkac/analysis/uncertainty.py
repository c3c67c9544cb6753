r"""Uncertainty: the law of u(Ξ) for random inputs Ξ (paper, Section 3.2), each figure ± its error.

    E u ≈ (1/n) Σ u(ξ_i),    V u ≈ (1/(n−1)) Σ (u(ξ_i) − mean)².

Draws are streamed in chunks; only the values u(ξ_i) are kept. Sobol' indices say which input causes
the variance: S_i alone, T_i with all its interactions.

The given map is Φ = u + e with a relative error ε, the root mean square of |e|/(1 + |u|). Its
contribution to an error does not shrink with n. With σ_e = ε √E(1 + |Φ|)² and y = Φ(Ξ),

    |E Φ − E u| ≤ E|e| ≤ ε E(1 + |u|),    |V Φ − V u| ≤ 2 σ_y σ_e + σ_e²,    quantiles: ε (1 + |q|),

and a correlation or an index is cos θ, cos² θ or sin² θ of an angle θ between y and what depends on
some inputs only, which e changes by at most arcsin(σ_e/σ_y).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
import torch

from feynkac.analysis.distributions import Array, Inputs
from feynkac.analysis.partials import Map
from feynkac.analysis.rounding import figure, number
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.sketches import bars

ROWS_AT_ONCE = 2**15
FEWEST = 64
BINS = 60
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class Figure:
    """A number ± its standard error."""

    value: float
    se: float


@dataclass(frozen=True)
class Statistic:
    """A number that describes u(Ξ) ± its error."""

    value: float
    se: float
    """Standard error of sampling."""
    network: float = 0.0
    """The most that the error of the map may add, a bias that more samples do not reduce."""

    @property
    def error(self) -> float:
        """Both together."""
        return self.se + self.network


@dataclass(frozen=True, repr=False)
class Uncertainty(Shown):
    """The law of u(Ξ).

    Example:
        >>> import feynkac as fk
        >>> from scipy import stats
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> found = solution.uncertainty({"sigma": stats.norm(0.3, 0.05)}, samples=1000)
        >>> found.mean.error > 0
        True
    """

    mean: Statistic
    variance: Statistic
    quantiles: dict[float, Statistic]
    correlation: dict[str, Statistic]
    """Of u with each random scalar input."""
    density: tuple[list[float], list[float]]
    """Edges of bins, and the density in each."""
    samples: int
    warnings: list[str]

    def card(self) -> Card:
        """Mean, deviation and quantiles of u, with its density."""
        quantiles = {f"quantile {q:g}": figure(f.value, f.error) for q, f in self.quantiles.items()}
        mean = figure(self.mean.value, self.mean.error)
        variance = figure(self.variance.value, self.variance.error)
        return Card(
            f"Uncertainty: mean {mean}, variance {variance}",
            [f"{self.samples} samples; " + ", ".join(f"{n} {v}" for n, v in quantiles.items())],
            {"mean": mean, "variance": variance, **quantiles},
            bars(self.density[1], "density of u"),
            self.warnings,
        )

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
    error: float = 0.0,
) -> Uncertainty:
    """Push `inputs` through `u`.

    Args:
        u: the solution map on flat inputs.
        inputs: the law of Ξ.
        samples: n, at least 64.
        seed: of the draws.
        quantiles: levels between 0 and 1.
        report: called with the fraction done.
        error: ε, the relative root mean square error of `u`.
    """
    if samples < FEWEST:
        raise InputError(f"error bars need at least {FEWEST} samples, got {samples}.")
    if bad := [q for q in quantiles if not 0.0 < q < 1.0]:
        raise InputError(f"a quantile lies between 0 and 1, got {bad[0]}.")
    generator = torch.Generator().manual_seed(seed)
    columns = inputs.columns
    values, sums, pilot = [], np.zeros((7, len(columns))), None
    for start in range(0, samples, ROWS_AT_ONCE):
        block = inputs.sample(min(ROWS_AT_ONCE, samples - start), generator)
        with torch.no_grad():
            y = u(block).squeeze(-1).double().numpy()
        x = block[:, list(columns.values())].numpy()
        pilot = pilot or _pilot(x, y)
        sums += pilot.sums(x, y)
        values.append(y)
        if report:
            report(min(1.0, (start + ROWS_AT_ONCE) / samples))
    y = np.concatenate(values)
    ordered = np.sort(y)
    heights, edges = np.histogram(y, BINS, density=True)
    return Uncertainty(
        mean=_mean(y, error),
        variance=_variance(y, error),
        quantiles={q: _quantile(ordered, q, error) for q in quantiles},
        correlation=_correlations(columns, sums / samples, samples, _angle(y, error)),
        density=(edges.tolist(), heights.tolist()),
        samples=samples,
        warnings=inputs.warnings,
    )


class _Pilot(NamedTuple):
    """Units and correlations r of the first chunk, so that sums lose no digits."""

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


def _mean(y: Array, error: float) -> Statistic:
    se = float(y.std(ddof=1)) / math.sqrt(len(y))
    return Statistic(float(y.mean()), se, error * float((1.0 + np.abs(y)).mean()))


def _variance(y: Array, error: float) -> Statistic:
    """The paper's estimator; its error comes from the fourth moment."""
    n, variance = len(y), float(y.var(ddof=1))
    fourth = float(((y - y.mean()) ** 4).mean())
    se = math.sqrt(max(0.0, fourth - variance**2 * (n - 3) / (n - 1)) / n)
    off = _deviation(y, error)
    return Statistic(variance, se, 2.0 * math.sqrt(variance) * off + off**2)


def _deviation(y: Array, error: float) -> float:
    """σ_e."""
    return error * math.sqrt(float(((1.0 + np.abs(y)) ** 2).mean()))


def _angle(y: Array, error: float) -> float:
    """By how much the error of the map may turn its deviation from the mean."""
    spread = float(y.std())
    return math.asin(min(1.0, _deviation(y, error) / spread)) if spread > 0.0 else 0.0


def _turned(cosines: Array, angle: float, power: int) -> Array:
    """The largest change of (cos θ)^power when θ changes by up to `angle`."""
    theta = np.arccos(np.clip(cosines, -1.0, 1.0))
    ends = [np.cos(np.clip(theta + side * angle, 0.0, np.pi)) ** power for side in (-1.0, 1.0)]
    return np.asarray(np.max([np.abs(end - np.cos(theta) ** power) for end in ends], axis=0))


def _quantile(ordered: Array, q: float, error: float) -> Statistic:
    """A quantile; its error comes from order statistics one standard deviation of rank away."""
    n = len(ordered)
    spread = math.sqrt(n * q * (1.0 - q))
    low, high = (int(np.clip(round(n * q + side * spread), 0, n - 1)) for side in (-1, 1))
    value = float(np.quantile(ordered, q))
    return Statistic(value, float(ordered[high] - ordered[low]) / 2.0, error * (1.0 + abs(value)))


def _correlations(
    columns: dict[str, int], means: Array, n: int, angle: float
) -> dict[str, Statistic]:
    """Correlations; their errors come from the delta method, which needs no normal law."""
    x, xx, y, yy, xy, w, ww = means
    scale = np.sqrt((xx - x * x) * (yy - y * y))
    r = np.divide(xy - x * y, scale, out=np.zeros_like(scale), where=scale > 0.0)
    return _figures(columns, r, np.sqrt((ww - w * w).clip(0.0) / n), _turned(r, angle, 1))


@dataclass(frozen=True, repr=False)
class SobolIndices(Shown):
    """Shares of the variance of u(Ξ), one per variable.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> sorted(solution.sobol_indices(base=64).total)
        ['sigma', 'strike', 't', 'x']
    """

    first: dict[str, Statistic]
    total: dict[str, Statistic]
    evaluations: int
    warnings: list[str]

    def card(self) -> Card:
        """The largest total indices first."""
        total = sorted(self.total.items(), key=lambda item: -item[1].value)
        rows = {
            name: f"{figure(f.value, f.error)} (first order {number(self.first[name].value)})"
            for name, f in total
        }
        shares = ", ".join(f"{name} {number(f.value)}" for name, f in total)
        return Card(
            f"Total Sobol' indices: {shares}",
            [f"{self.evaluations} evaluations"],
            rows,
            bars([f.value for _, f in total], "total index, largest first"),
            self.warnings,
        )

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def sobol_indices(
    u: Map, inputs: Inputs, base: int = 2**10, seed: int = 0, error: float = 0.0
) -> SobolIndices:
    """First-order and total indices by SALib (extra `uq`), with standard errors.

    Args:
        u: the solution map on flat inputs.
        inputs: the law of Ξ, its variables independent.
        base: size of the base sample, a power of two; base · (entries + 2) evaluations.
        seed: of the sample.
        error: ε, the relative root mean square error of `u`.
    """
    from SALib.analyze import sobol as analysis  # an extra, needed here only
    from SALib.sample import sobol as sampling

    if base < 2 or base & (base - 1):
        raise InputError(f"the size of the base sample must be a power of two, got {base}.")
    if inputs.correlation:
        raise InputError("Sobol' indices need independent inputs; omit the correlation.")
    if inputs.domain.sampler is not None:
        raise InputError(
            "Sobol' indices need independent inputs, but the domain's sampler draws them together; "
            "solve on a domain without `drawn_by`."
        )
    if inputs.domain.rule is not None:
        raise InputError(
            "Sobol' indices need independent inputs, but the family's `allowed` couples them; "
            "choose a box in which all inputs are allowed, by a family without Coupled."
        )
    columns = inputs.columns
    if not columns:
        raise InputError("no input is random, so there is no variance to explain.")
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
        raise InputError("u does not vary with these inputs, so there is no variance to explain.")
    # SALib takes seed 0 for none
    found = analysis.analyze(problem, y, calc_second_order=False, conf_level=0.95, seed=seed + 1)
    angle = _angle(y, error)
    return SobolIndices(
        first=_shares(columns, found["S1"], found["S1_conf"], angle),
        total=_shares(columns, found["ST"], found["ST_conf"], angle),
        evaluations=len(y),
        warnings=inputs.warnings,
    )


def _split(uniform: Array) -> list[Array]:
    return np.array_split(uniform, -(-len(uniform) // ROWS_AT_ONCE))


def _evaluate(u: Map, inputs: Inputs, uniform: Array) -> Array:
    with torch.no_grad():
        return np.asarray(u(inputs.transform(uniform)).squeeze(-1).double().numpy())


def _shares(
    columns: dict[str, int], values: Array, half_widths: Array, angle: float
) -> dict[str, Statistic]:
    """From 95 % intervals; a share is cos² of an angle, and one minus that is its sin²."""
    network = _turned(np.sqrt(np.clip(values, 0.0, 1.0)), angle, 2)
    return _figures(columns, values, half_widths / float(scipy.stats.norm.ppf(0.975)), network)


def _figures(
    columns: dict[str, int], values: Array, errors: Array, network: Array
) -> dict[str, Statistic]:
    rows = zip(columns, values, errors, network, strict=True)
    return {label: Statistic(float(v), float(se), float(own)) for label, v, se, own in rows}
