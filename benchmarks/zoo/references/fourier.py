r"""Calls from characteristic functions (Lewis 2001):

C = F − √(FK)/π ∫₀^∞ Re[ e^{iu ln(F/K)} ψ(u − i/2) ] / (u² + ¼) du,   ψ(z) = E e^{iz ln(S/F)}.
"""

import numpy as np


def call(forward, strike, psi, highest=1000.0, panels=48, points=16):
    """Undiscounted, by Gauss–Legendre on panels that widen.

    Args:
        forward: `(N, 1)`.
        strike: `(N, 1)`.
        psi: ψ, from complex z `(1, M)` to `(N, M)`.
        highest: end of the integral.
        panels: how many.
        points: in each of them.
    """
    u, weights = _nodes(highest, panels, points)
    phase = np.exp(1j * u * np.log(forward / strike))
    integrand = (phase * psi(u - 0.5j)).real / (u**2 + 0.25)
    integral = (integrand * weights).sum(-1, keepdims=True)
    return forward - np.sqrt(forward * strike) / np.pi * integral


def _nodes(highest, panels, points):
    """Shape: `(1, panels · points)`."""
    z, w = np.polynomial.legendre.leggauss(points)
    edges = highest * np.linspace(0.0, 1.0, panels + 1) ** 2
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    nodes = (middle[:, None] + half[:, None] * z).reshape(1, -1)
    return nodes, (half[:, None] * w).reshape(1, -1)
