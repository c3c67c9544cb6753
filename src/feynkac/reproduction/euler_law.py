r"""The weak error of Euler–Maruyama for dS = a S dt + v S dB on [0, 1], without simulation.

After M steps  S^M = S₀ P,  P = Π_k (1 + a/M + v Z_k/√M),  with a put paying (1 − r P)⁺ at S₀ = r.
With s = ½ − iω and the moments A±(s) = E[|F|^s; ±F > 0] of one factor F, Lewis's formula gives

    E(1 − r P)⁺ = 1 − (√r/2π) ∫ r^{−iω} m(s) / (ω² + ¼) dω + r E[|P|; P < 0],
    m(s) = E[P^s; P > 0] = ½ ((A₊ + A₋)^M + (A₊ − A₋)^M).

The limit M → ∞ has m(s) = exp(a s + ½v²(s² − s)) and no P < 0. The moments are integrals over
log |F|, where all integrands are analytic and decay: the trapezoidal rule converges exponentially.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

SPACING = 0.14  # of ω: the poles at ±i/2 leave an error of e^{−π/SPACING}
TAIL = 9.0  # standard deviations beyond which a normal is left out


class Factor(NamedTuple):
    """F = mean (1 + κ Z): one step."""

    mean: float
    kappa: float

    @property
    def crosses(self) -> bool:
        """Whether F < 0 is likely enough to count."""
        return self.kappa * TAIL > 1.0


def put_errors(ratios: Array, drift: float, volatility: float, steps: int) -> Array:
    """E(1 − r P_M)⁺ − E(1 − r P_∞)⁺ for each ratio r > 0.  Shape: `(n,)` → `(n,)`.

    Example:
        >>> exact = 1 - 2 * norm.cdf(-0.1) - 0.2 * norm.pdf(0.0)  # Bachelier − Black–Scholes
        >>> found = put_errors(np.array([1.0]), drift=0.0, volatility=0.2, steps=1)
        >>> bool(abs(found[0] + exact) < 1e-9)
        True
    """
    if volatility == 0.0:
        grown = np.array([(1 + drift / steps) ** steps, math.exp(drift)])
        one, limit = np.maximum(1 - np.multiply.outer(grown, ratios), 0.0)
        return np.asarray(one - limit)
    mean = 1 + drift / steps
    factor = Factor(mean, volatility / math.sqrt(steps) / mean)
    last = TAIL / volatility + 30.0
    omega = np.arange(0.0, last, SPACING)
    s = np.asarray(0.5 - 1j * omega, np.complex128)
    limit = np.exp(drift * s + 0.5 * volatility**2 * (s * s - s))
    difference = (limit - positive_moment(factor, s, steps)) / (omega**2 + 0.25)
    difference[0] /= 2  # the other half of the line is the complex conjugate
    waves = np.exp(-1j * np.multiply.outer(np.log(ratios), omega))
    integral = 2 * SPACING * (waves @ difference).real
    smooth = np.sqrt(ratios) / (2 * math.pi) * integral
    return np.asarray(smooth + ratios * negative_part(factor, steps))


def positive_moment(factor: Factor, s: Complex, steps: int) -> Complex:
    """E[P^s; P > 0]."""
    above = moment(factor, s, 1)
    if not factor.crosses:
        return above**steps
    below = moment(factor, s, -1)
    return ((above + below) ** steps + (above - below) ** steps) / 2


def moment(factor: Factor, s: Complex, sign: int) -> Complex:
    """E[|F|^s; sign F > 0], trapezoidal in y = log |F / mean|."""
    kappa = factor.kappa
    low = -25.0 if factor.crosses else math.log(1 - TAIL * kappa)
    high = math.log(max(sign + TAIL * kappa, 1e-9))
    frequency = np.abs(s.imag).max() + max(8 / kappa, 30.0)
    count = max(16, math.ceil((high - low) * frequency / (2 * math.pi)))
    y, width = np.linspace(low, high, count, retstep=True)
    size = np.exp(y)
    density = norm.pdf((sign * size - 1) / kappa) * size / kappa * width
    return np.exp(np.multiply.outer(s, y)) @ density * factor.mean**s  # type: ignore[no-any-return]


def negative_part(factor: Factor, steps: int) -> float:
    """E[|P|; P < 0]: with E F and E|F|, an odd number of the factors being negative."""
    if not factor.crosses:
        return 0.0
    kappa = factor.kappa
    below = kappa * norm.pdf(1 / kappa) - norm.cdf(-1 / kappa)  # E[|1 + κZ|; 1 + κZ < 0]
    return float(factor.mean**steps * ((1 + 2 * below) ** steps - 1) / 2)
