r"""Finite differences in one dimension:  ∂u/∂t = a u'' + b u' − c u + f  on an even grid.

Crank–Nicolson after four half steps of implicit Euler, which smooth kinks and jumps of the start;
on two grids, extrapolated to the third order and more.
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import solve_banded

FREE = None
"""At such an end the equation holds without its second derivative, by one-sided differences."""


def solve(at, interval, t, coefficients, start, nodes=800, steps=100, ends=(FREE, FREE)):
    """u(·, t) at the points `at`.

    Args:
        at: points `(…,)` of the interval.
        interval: low and high.
        t: a number.
        coefficients: `coefficients(y, s)` → a, b, c, f on the nodes y for the time s of the PDE.
        start: u(y, 0) on the nodes; a jump lies on a node, which has the mean of both sides.
        nodes: number of intervals between them; the second grid has half of it.
        steps: in time; the second grid has half of it.
        ends: the value at each end, a number, or FREE.
    """
    fine, coarse = (
        CubicSpline(*_on_grid(interval, t, coefficients, start, nodes // k, steps // k, ends))(at)
        for k in (1, 2)
    )
    return fine + (fine - coarse) / 3.0


def _on_grid(interval, t, coefficients, start, nodes, steps, ends):
    y = np.linspace(*interval, nodes + 1)
    u = np.array(start(y), dtype=float)
    u[0], u[-1] = (old if end is FREE else end for old, end in zip(u[[0, -1]], ends, strict=True))
    h = t / steps
    for size, implicit, time in _schedule(h, steps):
        bands, f = _operator(y, coefficients, time, ends)
        right = u + size * (1.0 - implicit) * _times(bands, u) + size * f
        left = -size * implicit * bands
        left[2] += 1.0
        u = solve_banded((2, 2), left, right)
    return y, u


def _schedule(h, steps):
    """Size, share of the implicit part, and time at which coefficients are taken."""
    half = [(h / 2, 1.0, (k + 0.5) * h / 2) for k in range(4)]
    return half + [(h, 0.5, (k + 0.5) * h) for k in range(2, steps)]


def _operator(y, coefficients, time, ends):
    """Bands of L as for `solve_banded`, with L u = a u'' + b u' − c u, and f."""
    step = y[1] - y[0]
    a, b, c, f = (np.broadcast_to(part, y.shape).copy() for part in coefficients(y, time))
    bands = np.zeros((5, len(y)))
    inside = slice(1, -1)
    bands[1, 2:] = (a / step**2 + b / (2 * step))[inside]
    bands[3, :-2] = (a / step**2 - b / (2 * step))[inside]
    bands[2] = -c
    bands[2, inside] -= 2 * a[inside] / step**2
    if ends[0] is FREE:
        bands[2, 0] -= 1.5 * b[0] / step
        bands[1, 1], bands[0, 2] = 2 * b[0] / step, -0.5 * b[0] / step
    else:
        bands[2, 0], f[0] = 0.0, 0.0
    if ends[1] is FREE:
        bands[2, -1] += 1.5 * b[-1] / step
        bands[3, -2], bands[4, -3] = -2 * b[-1] / step, 0.5 * b[-1] / step
    else:
        bands[2, -1], f[-1] = 0.0, 0.0
    return bands, f


def _times(bands, u):
    """The banded matrix applied to u."""
    found = bands[2] * u
    for k in (1, 2):
        found[:-k] += bands[2 - k, k:] * u[k:]
        found[k:] += bands[2 + k, :-k] * u[:-k]
    return found
