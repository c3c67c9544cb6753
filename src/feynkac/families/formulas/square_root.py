r"""A step of the square-root process, and of its integral I = ∫₀ʰ v du, for all κ, θ, ν > 0:

    dv = κ(θ − v) dt + ν √v dW,     E = e^{−κh},  ε = (1 − E)/κ,  δ = 4κθ/ν².

v_h has a noncentral χ² law of δ degrees of freedom on the scale c = ν²ε/4. Its first two moments
m = θ + (v − θ)E and s² = ν²ε(vE + κθε/2) are kept exactly, by a smooth function of one normal z:

    δ ≥ 1:   v_h = C + (A + B z)²,   C = c(δ − 1)/3,  A⁴ = (m − C)² − s²/2,  B² = m − C − A²,
    δ < 1:   v_h = a (b + z)₊²,      with b from s²/m², as for δ ≥ 1 where that is small.

C/c keeps the third moment far from zero. Near zero v_h is of size h, so that two moments are enough
for weak order 2 (Alfonsi 2010). With Y = A + Bz, or √a (b + z)₊, and I's exact mean and covariance
with v_h,

    E[I | v_h] ≈ θh + (v − θ)ε + μ(v_h − m) + D(Y − EY),    μ = coth(κh/2)/κ − h/2 sinh⁻²(κh/2):

I is nearly the integral of the square of a line from √v to √v_h (Glasserman and Kim 2011 have the
exact law). What this leaves of I's exact variance is taken to be in proportion to E[I | v_h]. All
exponents of v_h and E[I | v_h] have means in closed form, for they are quadratic in z.
"""

import functools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from feynkac.families.formulas.normal_law import cdf, pdf
from feynkac.families.formulas.safe_root import positive, root

LEAST_SPREAD, MOST_SPREAD = 0.1, 2000.0  # s²/m² between which b is a polynomial of its logarithm
DEGREE = 10  # keeps s² to within 2e-4
LEAST_WIDTH = 1e-3  # of 1 − 2qB²: a mean of exp(q v_h) that is infinite is cut off there
ROUNDING = 1e-6  # of δ, in single precision


class Constants(NamedTuple):
    """What a step needs and v does not change.  Shape: `(…, 1)` each."""

    theta: Tensor
    decay: Tensor
    """E."""
    mean: tuple[Tensor, Tensor]
    """Mean of I: constant, and per v."""
    variance: tuple[Tensor, Tensor]
    """s²: constant, and per v."""
    left: tuple[Tensor, Tensor, Tensor]
    """(mean of I)·s² times I's variance given v_h, a polynomial of degree 2 in v."""
    along: Tensor
    """μ."""
    bend: Tensor
    """Covariance of I and v_h that μ does not explain, per v."""
    shift: Tensor
    """C."""
    quadratic: Tensor
    """Whether δ ≥ 1."""


class Transition(NamedTuple):
    """The law of (v_h, E[I | v_h]) given v.  Shape: `(…, 1)` each."""

    shift: Tensor
    start: Tensor
    """b, or A/B."""
    scale: Tensor
    """√a, or B."""
    folded: Tensor | None
    """Where Y is never negative; None: nowhere."""
    mean_root: Tensor
    """EY."""
    along: Tensor
    bend: Tensor
    """D."""
    constant: Tensor
    """E[I | v_h] = constant + μ v_h + D Y."""
    noise: Tensor
    """Variance of I given v_h, per E[I | v_h]."""

    def ends(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """v_h and E[I | v_h]."""
        y = self.start + self.scale * z
        y = y if self.folded is None else torch.where(self.folded, y.clamp_min(0.0), y)
        end = self.shift + y.square()
        return end, self.constant + self.along * end + self.bend * y

    def log_mean_exp(self, q: Tensor, k: Tensor) -> Tensor:
        """ln E exp(q v_h + k E[I | v_h])."""
        q, linear = q + k * self.along, k * self.bend
        width = (1.0 - 2.0 * q * self.scale.square()).clamp_min(LEAST_WIDTH)
        slope = (2.0 * q * self.start + linear) * self.scale
        exponent = (q * self.start + linear) * self.start + 0.5 * slope.square() / width
        full = exponent - 0.5 * width.log()
        constant = k * self.constant + q * self.shift
        if self.folded is None:
            return constant + full
        start = self.start / positive(self.scale)
        inside = torch.special.log_ndtr((slope + start * width) / width.sqrt())
        cut = torch.logaddexp(torch.special.log_ndtr(-start), full + inside)
        return constant + torch.where(self.folded, cut, full)


def constants(h: Tensor, kappa: Tensor, theta: Tensor, nu: Tensor) -> Constants:
    """What all paths of an input share, found in float64: small differences of large numbers."""
    dtype = h.dtype
    h, kappa, theta, nu = h.double(), kappa.double(), theta.double(), nu.double()
    decay, square = (-kappa * h).exp(), nu.square()
    held = -(-kappa * h).expm1() / kappa
    some, degrees = positive(held), 4.0 * kappa * theta / square
    p0, p1 = theta * (h - held), held
    q0, q1 = theta * (held - h * decay), h * decay
    r0, r1 = 0.5 * theta * kappa * held.square(), held * decay
    ratio = square / kappa.square()
    left = (p0 * r0 - q0.square(), p0 * r1 + p1 * r0 - 2.0 * q0 * q1, p1 * r1 - q1.square())
    gap = (1.0 + decay) * held
    found = Constants(
        theta=theta,
        decay=decay,
        mean=(p0, p1),
        variance=(square * r0, square * r1),
        left=(ratio * square * left[0], ratio * square * left[1], ratio * square * left[2]),
        along=(gap - 2.0 * q1) / (kappa * some).square(),
        bend=ratio * decay * (h * (1.0 + decay) - 2.0 * held) / some,
        shift=square * held * (degrees - 1.0).clamp_min(0.0) / 12.0,
        quadratic=degrees >= 1.0 - ROUNDING,
    )
    return _cast(found, dtype)


def _cast(found: Constants, dtype: torch.dtype) -> Constants:
    def cast(part: Tensor) -> Tensor:
        return part if part.dtype is torch.bool else part.to(dtype)

    return Constants(
        *(cast(e) if isinstance(e, Tensor) else tuple(cast(part) for part in e) for e in found)  # type: ignore[arg-type]
    )


def transition(v: Tensor, at: Constants) -> Transition:
    """The law of the step that starts at v."""
    mean = at.theta + (v - at.theta) * at.decay
    variance = at.variance[0] + v * at.variance[1]
    integral = at.mean[0] + v * at.mean[1]
    rest, bend = mean - at.shift, at.bend * v
    left = (at.left[0] + v * (at.left[1] + v * at.left[2])) / positive(variance)
    middle = root(rest.square() - 0.5 * variance)
    square = 0.5 * variance / positive(rest + middle)
    start, scale = root(middle), root(square)
    lever = bend * (rest + middle) / positive(variance * start)
    excess = 2.0 * lever.square() * square**3 / positive(variance)
    folded, mean_root = None, start
    if not at.quadratic.all():
        folded = ~at.quadratic & (variance > LEAST_SPREAD * rest.square())
        other = _folded(rest, variance, bend)
        start, scale, mean_root, lever, excess = (
            torch.where(folded, one, two)
            for one, two in zip(other, (start, scale, mean_root, lever, excess), strict=True)
        )
    constant = integral - at.along * mean - lever * mean_root
    noise = ((left - excess) / positive(integral)).clamp_min(0.0)
    return Transition(at.shift, start, scale, folded, mean_root, at.along, lever, constant, noise)


def _folded(
    mean: Tensor, variance: Tensor, bend: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """√a b, √a, EY, D, and the variance that a line in Y explains more than one in v_h."""
    spread = variance / positive(mean).square()
    b = _start_of(spread.clamp(LEAST_SPREAD, MOST_SPREAD))
    below, density, square = cdf(b), pdf(b), b.square()
    y1, y2 = b * below + density, (1.0 + square) * below + b * density
    y3 = (square + 3.0) * b * below + (square + 2.0) * density
    a, together = positive(mean) / y2, y3 - y1 * y2
    scale = a.sqrt()
    line = bend / (a * together)
    excess = line.square() * (y2 - y1.square()) - bend.square() / positive(variance)
    return scale * b, scale, scale * y1, line / scale, excess.clamp_min(0.0)


def _start_of(spread: Tensor) -> Tensor:
    """b for which (b + z)₊² has that variance relative to its squared mean."""
    low, high = np.log(LEAST_SPREAD), np.log(MOST_SPREAD)
    x = (spread.log() - low) * (2.0 / (high - low)) - 1.0
    first, *others = _polynomial()
    b = torch.full_like(x, first)
    for coefficient in others:
        b = b * x + coefficient
    return b


@functools.cache
def _polynomial() -> tuple[float, ...]:
    """Coefficients of b in the logarithm of the spread, scaled to [−1, 1], highest first."""
    low, high = np.log(LEAST_SPREAD), np.log(MOST_SPREAD)
    nodes = np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    b = torch.linspace(-4.0, 8.0, 24_001, dtype=torch.float64)
    below, density, square = cdf(b), pdf(b), b.square()
    one = (1.0 + square) * below + b * density
    two = (square.square() + 6.0 * square + 3.0) * below + (square + 5.0) * b * density
    logs = (two / one.square() - 1.0).log().flip(0)
    wanted = np.interp((nodes + 1.0) * (high - low) / 2.0 + low, logs.numpy(), b.flip(0).numpy())
    fitted = np.polynomial.Chebyshev.fit(nodes, wanted, DEGREE, domain=[-1, 1])
    return tuple(fitted.convert(kind=np.polynomial.Polynomial).coef[::-1].tolist())
