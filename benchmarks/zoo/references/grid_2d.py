r"""Finite differences in two dimensions, on an even grid:

    ∂u/∂t = a₁₁ u_yy + a₁₂ u_yz + a₂₂ u_zz + b₁ u_y + b₂ u_z.

Crank–Nicolson after four half steps of implicit Euler, each step one sparse solve, on two grids and
extrapolated. At the ends of y, u stays what it was at the start, as a call on a martingale does; at
those of z, all derivatives in z are dropped but a slope along which nothing comes in.
"""

import numpy as np
from scipy.interpolate import RectBivariateSpline
from scipy.sparse import diags, identity, kron
from scipy.sparse.linalg import splu


def solve(at, box, t, coefficients, start, nodes=(120, 60), steps=40):
    """u(y, z, t) at one point.

    Args:
        at: y and z.
        box: low and high of y, and of z.
        t: a number.
        coefficients: `coefficients(y, z)` → a₁₁, a₁₂, a₂₂, b₁, b₂ for y `(n, 1)` and z `(1, m)`.
        start: u(y, z, 0); a kink in y lies on nodes.
        nodes: intervals in y and z; the second grid has half of them.
        steps: in time; the second grid has half of them.
    """
    fine, coarse = (
        _on_grid(at, box, t, coefficients, start, [n // k for n in nodes], steps // k)
        for k in (1, 2)
    )
    return fine + (fine - coarse) / 3.0


def _on_grid(at, box, t, coefficients, start, nodes, steps):
    y, z = (np.linspace(*side, n + 1) for side, n in zip(box, nodes, strict=True))
    operator = _operator(y, z, coefficients(y[:, None], z[None, :]))
    u = np.broadcast_to(start(y[:, None], z[None, :]), (len(y), len(z))).flatten()
    h, one = t / steps, identity(len(u), format="csc")
    implicit = splu((one - 0.5 * h * operator).tocsc())
    for _ in range(4):
        u = implicit.solve(u)
    for _ in range(steps - 2):
        u = implicit.solve(u + 0.5 * h * (operator @ u))
    return RectBivariateSpline(y, z, u.reshape(len(y), len(z)))(*at).item()


def _operator(y, z, coefficients):
    shape = (len(y), len(z))
    first = [_first(v) for v in (y, z)]
    second = [_second(v) for v in (y, z)]
    ones = [identity(n) for n in shape]
    parts = (
        kron(second[0], ones[1]),
        kron(first[0], first[1]),
        kron(ones[0], second[1]),
        kron(first[0], ones[1]),
        kron(ones[0], first[1]),
    )
    a11, a12, a22, b1, b2 = (np.broadcast_to(c, shape).copy() for c in coefficients)
    for c in (a12, a22):
        c[:, [0, -1]] = 0.0
    b2[:, 0], b2[:, -1] = np.maximum(b2[:, 0], 0.0), np.minimum(b2[:, -1], 0.0)
    found = 0.0 * kron(*ones)
    for c, part in zip((a11, a12, a22, b1, b2), parts, strict=True):
        c[[0, -1]] = 0.0
        found = found + diags(c.flatten()) @ part
    return found.tocsc()


def _first(v):
    """Central differences, one-sided at the ends."""
    h, n = v[1] - v[0], len(v)
    found = diags([-0.5, 0.5], [-1, 1], shape=(n, n)).tolil()
    found[0, :3], found[-1, -3:] = [-1.5, 2.0, -0.5], [0.5, -2.0, 1.5]
    return found / h


def _second(v):
    """Central differences, zero at the ends."""
    h, n = v[1] - v[0], len(v)
    found = diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n)).tolil()
    found[0], found[-1] = 0.0, 0.0
    return found / h**2
