r"""Expected payoffs from a characteristic function (Lewis 2001). With F the mean of S,

    f(u) = E exp(iu ln(S/F)),   k = ln(F/K),   z = u − i/2,   b(u) = exp(−½V(u² + ¼)),

and b the same function of a lognormal number with ln S of variance V,

    call and put:   Black's value − √(FK)/π ∫₀^∞ Re[ e^{iuk} (f(z) − b(u)) ] / (u² + ¼) du,
    digital:        Black's value + √(F/K)/π ∫₀^∞ Re[ e^{iuk} (f(z) − b(u)) / (½ + iu) ] du.

With Black's value taken out, the integrand vanishes as S becomes lognormal, as for t → 0. The
integral ends where f and b have decayed to e^{−16}. Far out of the money, at 12 deviations, it is
left out: it oscillates faster than its nodes, and what it stands for is nothing.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.families.formulas.expected_payoff import black
from feynkac.families.formulas.quadrature import gauss_legendre

FOURIER_NODES = 48
NODES_AT_ONCE = 8  # memory
DECAYED = 16.0  # the integral ends where f and b are e^{−16}
FAR_OUT = 12.0  # deviations from the money, where the integral is left out


def expectation(
    style: str,
    forward: Tensor,
    strike: Tensor,
    variance: Tensor,
    decay: Tensor,
    log_f: Callable[[Tensor], Tensor],
) -> Tensor:
    """E of a payoff, not discounted.  Shape: all `(…, 1)`, float64 → `(…, 1)`.

    Args:
        style: call, put or digital.
        forward: F.
        strike: K.
        variance: V, of ln S, or nearly.
        decay: how fast ln |f| falls in u for large u.
        log_f: ln f at complex arguments, `(…, n)` → `(…, n)`.
    """
    k, deviation = (forward / strike).log(), variance.sqrt()
    last = (math.sqrt(2.0 * DECAYED) / deviation + DECAYED / decay).detach()
    nodes, weights = gauss_legendre(last, FOURIER_NODES)
    integral = torch.zeros_like(k)
    for n in range(0, FOURIER_NODES, NODES_AT_ONCE):
        u, du = nodes[..., n : n + NODES_AT_ONCE], weights[..., n : n + NODES_AT_ONCE]
        difference = log_f(u - 0.5j).exp() - (-0.5 * variance * (u.square() + 0.25)).exp()
        wave = (1j * u * k).exp() * difference * _kernel(style, forward, strike, u)
        integral = integral + (wave.real * du).sum(-1, keepdim=True)
    correction = torch.where(k.abs() < FAR_OUT * deviation, integral / math.pi, 0.0)
    return black(style, forward, strike, deviation) + correction


def _kernel(style: str, forward: Tensor, strike: Tensor, u: Tensor) -> Tensor:
    if style == "digital":
        return (forward / strike).sqrt() / (0.5 + 1j * u)
    return -(forward * strike).sqrt() / (u.square() + 0.25)
