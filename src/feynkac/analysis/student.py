r"""Quantiles of Student's t with n degrees of freedom, without the time that SciPy takes to start.

With tan θ = t/√n the distribution function is a finite sum (Abramowitz and Stegun, 26.7.3 and 4):

    n even   2F − 1 = sin θ (1 + ½ cos²θ + (1·3)/(2·4) cos⁴θ + … up to cosⁿ⁻²θ),
    n odd    2F − 1 = 2/π (θ + sin θ (cos θ + ⅔ cos³θ + (2·4)/(3·5) cos⁵θ + … up to cosⁿ⁻²θ)).
"""

import functools
import math

MANY = 10_000  # degrees of freedom; the sum has half as many terms
HALVINGS = 200


@functools.lru_cache(maxsize=256)
def student_quantile(chance: float, degrees: int) -> float:
    """t with F(t) = chance, to about 1e-12 relative, for chances that are not too near 0 and 1.

    Example:
        >>> round(student_quantile(0.975, 15), 6)
        2.13145
    """
    if chance < 0.5:
        return -student_quantile(1.0 - chance, degrees)
    degrees = min(degrees, MANY)
    low, high = 0.0, math.pi / 2.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if _twice_beyond_half(middle, degrees) < 2.0 * chance - 1.0:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(0.5 * (low + high))


def _twice_beyond_half(theta: float, degrees: int) -> float:
    """2F − 1."""
    square, odd = math.cos(theta) ** 2, degrees % 2
    term = math.cos(theta) if odd else 1.0
    total = 0.0
    for k in range(degrees // 2):
        total += term
        term *= square * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
    found = math.sin(theta) * total
    return 2.0 / math.pi * (theta + found) if odd else found
