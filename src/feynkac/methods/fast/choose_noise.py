"""Which noise: the one whose labels and slopes vary least, measured on a few inputs.

Where φ jumps, values decide alone. Means over lines, which have slopes, are then candidates too;
they take about four times as long as single paths, and must have so much less variance.
"""

from math import inf, isfinite

import torch
from torch import Tensor

from feynkac.clock import Allowance, Clock
from feynkac.families.family import Family, jumps
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draws, weigh_sweeps
from feynkac.sampling.line_labels import found_to_jump, line_labels, suits_lines
from feynkac.sampling.noise.candidates import candidate_noises
from feynkac.sampling.noise.lines import Lines, ParallelLines, Rays
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.path import integrates_noise, label_normals
from feynkac.sampling.schemes.scheme import Scheme

PILOT_INPUTS = 16
MANY = 0.9  # of the inputs
LINE_COST = 4.0  # of a path on a line, relative to a single one: crossings, and their slopes
QUIET, FEWEST_NODES = 1e-5, 16  # relative variance of labels without noise to speak of


def choose_noise(
    family: Family,
    scheme: Scheme,
    paths: int = 64,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> Noise:
    """The noise whose labels of about `paths` paths vary least, measured on 16 inputs.

    Where they vary much, at nine of ten inputs less than there: a scheme that overshoots at one of
    them must not decide. On fewer inputs where time is short, and without a measurement where there
    is none.
    """
    normals = scheme.draws * label_normals(family, scheme)
    candidates = candidate_noises(normals, integrates_noise(family, scheme))
    values_only = jumps(family)
    if found_to_jump(family, scheme) or (values_only and suits_lines(family, scheme)):
        candidates = [noise for noise in candidates if noise != Stretched()]  # it has no slopes
        candidates += [ParallelLines(), Rays()]
        values_only = True
    inputs = _pilot_inputs(family, scheme, paths, allowance, len(candidates))

    def typical(noise: Noise) -> float:
        found = _variances(family, scheme, noise, paths, inputs, values_only=values_only)
        cost = LINE_COST if isinstance(noise, Lines) else 1.0
        typical = cost * float(found.quantile(MANY, dim=0).mean())
        return typical if isfinite(typical) else inf

    if not inputs:
        return Trapezoid() if Trapezoid() in candidates else Sobol()
    return min(candidates, key=typical)


def _pilot_inputs(
    family: Family, scheme: Scheme, paths: int, allowance: Allowance, pilots: int
) -> int:
    """How many of 16 inputs so many pilots can afford."""
    if not isfinite(allowance.left):
        return PILOT_INPUTS
    weigh_sweeps(family, scheme, family.domain.sample(1, make_generator(0, "pilot")))
    clock = Clock()
    _variances(family, scheme, Sobol(), paths, inputs=2)
    return min(PILOT_INPUTS, 2 * (allowance.times(clock.spent()) // pilots))


def enough_nodes(family: Family, scheme: Scheme, most: int, allowance: Allowance) -> int:
    """So many that the trapezoidal rule's labels have no noise to speak of."""

    def noise(nodes: int) -> Tensor:
        rule, values_only = Trapezoid(), jumps(family)
        return _variances(family, scheme, rule, nodes, values_only=values_only).mean()

    nodes = FEWEST_NODES
    while nodes < most and noise(nodes) > QUIET:
        nodes = 2 * nodes if allowance.left else most
    return nodes


def _variances(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    paths: int,
    inputs: int = PILOT_INPUTS,
    repeats: int = 8,
    values_only: bool = False,
) -> Tensor:
    """Of a label and its slopes, relative to their mean variance over the inputs.

    Shape: `(inputs, outputs + dim)`, or `(inputs, outputs)` for values only.
    """
    generator = make_generator(0, "pilot")
    domain = family.domain
    points = domain.sample(inputs, generator)
    together = 1 if noise.common else repeats
    found = []
    for _ in range(repeats // together):
        rows = points.repeat_interleave(together, 0)
        values, slopes = _labels(family, scheme, noise, rows, paths, generator)
        both = torch.cat([values, slopes * domain.std.to(slopes)], dim=-1)
        found.append((values if values_only else both).view(inputs, together, -1))
    labels = torch.cat(found, dim=1)
    scale = labels.mean(1).var(0).mean().clamp_min(torch.finfo(labels.dtype).tiny)
    variances: Tensor = labels.var(1) / scale
    return variances


def _labels(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    points: Tensor,
    paths: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Values and slopes at given inputs."""
    if isinstance(noise, Lines):
        return line_labels(family, scheme, noise, points, paths, generator)
    found = [
        differential_labels(family, scheme, points[rows], draw)
        for rows, draw in draws(family, scheme, noise, points, paths, generator)
    ]
    values, slopes = (torch.cat(parts) for parts in zip(*found, strict=True))
    return values, slopes
