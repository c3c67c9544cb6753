r"""The largest weak error of Euler–Maruyama,  sup |ū^M − ū|,  where the law of S^M is known.

Black–Scholes depends on σ√t and x/K only. In the basket put, if all entries of γ_σ are equal to σ,
all of γ_μ to μ and all assets to x, then these stay equal, and y = x + 1/d follows

    dy = d μ y dt + d^{3/2} σ y dB,    payoff ((K + 1/d) − y)⁺.

So both are scaled puts on a product (`euler_law.py`), to ten digits. The supremum is searched for
on a grid with all corners, then by quasi-Newton steps from the best points. For Black–Scholes it is
that over the whole domain, for the basket that over the five inputs left, hence a lower bound. The
norm in L² over these inputs, uniformly distributed, is a Gauss–Legendre rule in √t and the others.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from feynkac.families.family import Family
from feynkac.reproduction.euler_law import put_errors

Array = NDArray[np.float64]
GRID = {"t": 9, "sigma": 6, "mu": 4, "x": 5, "strike": 5}
STARTS = 3
LEGENDRE_NODES = 8  # of the Gauss–Legendre rule, per input


@dataclass(frozen=True)
class Line:
    """A family whose state is one geometric Brownian motion y = x + shift."""

    family: Family
    shift: float
    growth: float
    """Drift of y per μ."""
    volatility: float
    """Of y per σ."""

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Of each input, by name; x and strike last."""
        measures = self.family.domain.measures
        names = [name for name in GRID if name in measures]
        return {name: (measures[name].low[0], measures[name].high[0]) for name in names}

    def errors(self, steps: int, t: float, sigma: float, mu: float, at: Array) -> Array:
        """ū^M − ū for each x and strike.  Shape: at `(n, 2)` → `(n,)`."""
        spot, strike = (at + self.shift).T
        drift, volatility = self.growth * mu * t, self.volatility * sigma * math.sqrt(t)
        return np.asarray(strike * put_errors(spot / strike, drift, volatility, steps))


def line_of_black_scholes(family: Family) -> Line:
    """y = x."""
    return Line(family, 0.0, 0.0, 1.0)


def line_of_basket(family: Family) -> Line:
    """y = x + 1/d."""
    d = family.domain.state_dim
    return Line(family, 1 / d, d, d**1.5)


def search(line: Line, steps: int) -> dict[str, Any]:
    """The largest |ū^M − ū|, its sign, and where it is."""
    bounds = line.bounds
    candidates = sorted(_on_grid(line, steps), key=lambda each: -abs(each[0]))
    low, high = np.array([*bounds.values()]).T
    best = candidates[0]
    for error, place in candidates[:STARTS]:
        best = max(best, _climb(line, steps, error, place, low, high), key=lambda e: abs(e[0]))
    error, place = best
    where = dict(zip(bounds, (float(v) for v in low + place * (high - low)), strict=True))
    return {"steps": steps, "error": float(error), "at": where}


def mean_square(line: Line, steps: int) -> float:
    """E (ū^M − ū)² over uniformly distributed inputs."""
    nodes, weights = np.polynomial.legendre.leggauss(LEGENDRE_NODES)
    nodes, weights = (nodes + 1) / 2, weights / 2
    ends = np.array(list(itertools.product(nodes, nodes)))
    pairs = np.outer(weights, weights).ravel()
    total = 0.0
    for k in itertools.product(range(LEGENDRE_NODES), repeat=len(line.bounds) - 2):
        root, *rest = nodes[list(k)]
        errors = _evaluate(line, steps, np.array([root**2, *rest]), ends)
        total += 2 * root * weights[list(k)].prod() * float(pairs @ errors**2)
    return total


def _on_grid(line: Line, steps: int) -> list[tuple[float, Array]]:
    """The largest for each choice of the inputs besides x and strike, in coordinates of [0, 1]."""
    bounds = line.bounds
    axes = {name: np.linspace(0, 1, GRID[name]) for name in bounds}
    ends = np.array(list(itertools.product(axes["x"], axes["strike"])))
    found = []
    for point in itertools.product(*(axes[name] for name in [*bounds][:-2])):
        errors = _evaluate(line, steps, np.array(point), ends)
        k = int(np.abs(errors).argmax())
        found.append((float(errors[k]), np.array([*point, *ends[k]])))
    return found


def _evaluate(line: Line, steps: int, outer: Array, ends: Array) -> Array:
    """In coordinates of [0, 1]."""
    low, high = np.array([*line.bounds.values()]).T
    t, sigma, *rest = low[:-2] + outer * (high[:-2] - low[:-2])
    mu = rest[0] if rest else 0.0
    return line.errors(steps, t, sigma, mu, low[-2:] + ends * (high - low)[-2:])


def _climb(
    line: Line, steps: int, error: float, place: Array, low: Array, high: Array
) -> tuple[float, Array]:
    """Quasi-Newton steps within the box, in the direction of the error's sign."""
    sign = math.copysign(1.0, error)

    def objective(point: Array) -> float:
        return float(-sign * _evaluate(line, steps, point[:-2], point[None, -2:])[0])

    ended = minimize(objective, place, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(place))
    return (-sign * float(ended.fun), ended.x)
