"""What would training meet? Paths that stay finite, slopes of labels, the scheme's error, its cost.

The paths start inside the domain and at its corners: what overflows or turns into NaN there would
do so in training, sooner or later.
"""

import math
import time
from collections.abc import Mapping

import torch
from torch import Tensor

from feynkac.checks.family_formula import FamilyFormula, formulas_of
from feynkac.checks.finding import Finding, Subject
from feynkac.checks.origin import Origin
from feynkac.families.corners import corners
from feynkac.families.family import Family, jumps, noise_dim
from feynkac.families.point import describe
from feynkac.methods import Fast
from feynkac.sampling.discretisation import refined, relative_bias
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, draw_paths, payoffs
from feynkac.sampling.noise.noise import Antithetic, normals
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import weak_order
from feynkac.sampling.reference import Estimate
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.sampling.weighed import Weighed

MOST_CORNER_STARTS, INNER_STARTS, PATHS_PER_START = 64, 64, 8
SLOPE_INPUTS, SLOPE_PATHS = 64, 16
BIAS_INPUTS, BIAS_PATHS, BIAS_REPLICATES = 16, 128, 4
NOTEWORTHY_BIAS = 3e-3  # of 1 + |u|, the metric of Eq. (9)
LARGE_MEGABYTES = 4096.0


def finite_paths(subject: Subject) -> Finding:
    """Paths of the scheme must stay finite, from the corners of the domain as well."""
    family, scheme = subject.family, subject.scheme
    domain, generator = family.domain, make_generator(0, "rehearsal")
    edge = corners(domain, generator, MOST_CORNER_STARTS)
    inputs = torch.cat([edge, domain.sample(INNER_STARTS, generator)])
    z = normals(scheme.draws, (len(inputs), PATHS_PER_START), noise_dim(family), generator)
    with torch.no_grad():
        bad = ~payoffs(family, scheme, inputs, z).isfinite().all(-1)
    if not bad.any():
        return Finding("ok", f"paths from the corners stay finite ({_in_words(scheme)})")
    row, path = bad.nonzero()[-1].tolist()  # not from a corner, if there is a choice
    first = inputs[row : row + 1]
    why = _origin(family, scheme, first, z[:, row : row + 1, path : path + 1])
    sentence = (
        f"{type(family).__name__} cannot be simulated: {int(bad.sum())} of {bad.numel()} paths are "
        f"not finite, one from {describe(domain.split(first[0]))}, which met {why}; keep the "
        "formulas finite wherever paths go (fk.safe_root(x) for a square root), or choose a "
        "scheme with more steps"
    )
    return Finding("fail", sentence)


def _origin(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor) -> str:
    with torch.no_grad(), Origin() as origin:
        payoffs(family, scheme, inputs, z)
    return origin.sentence or "a derivative that is not finite, as that of a square root at zero"


def _in_words(scheme: Scheme) -> str:
    return f"{type(scheme).__name__}, {scheme.steps} step{'s' * (scheme.steps > 1)}"


def slopes(subject: Subject) -> Finding:
    """Labels inside the domain must have finite slopes; formulas at its corners need not."""
    family, generator = subject.family, make_generator(0, "slopes")
    inputs = family.domain.sample(SLOPE_INPUTS, generator)
    draw = draw_paths(family, subject.scheme, Antithetic(), inputs, SLOPE_PATHS, generator)
    values, gradients = differential_labels(family, subject.scheme, inputs, draw)
    bad = int((~gradients.isfinite().all(-1)).sum())
    figures = {"inputs": float(SLOPE_INPUTS), "without slope": float(bad)}
    if bad and values.isfinite().all() and not jumps(family):
        return _without_slope(bad, figures)
    for formula in formulas_of(family):
        if formula.name in ("drift", "diffusion", "initial"):
            edge = _corner_without_slope(family, formula, generator)
            if edge is not None:
                where = describe(family.domain.split(edge))
                sentence = (
                    f"labels have finite slopes; {formula.name} has none at the corner {where}, "
                    "and slopes that are noisy near it count less"
                )
                return Finding("ok", sentence, figures)
    return Finding("ok", "formulas and labels have finite slopes", figures)


def _without_slope(bad: int, figures: Mapping[str, float]) -> Finding:
    """Of a few labels only the value is fitted; that does not do for all of them."""
    advice = (
        "where(x > 0, …) needs a harmless argument on its other branch, too, and a square root "
        "that reaches zero is fk.safe_root(x)"
    )
    if bad == SLOPE_INPUTS:
        sentence = f"the slopes of all {bad} labels are NaN or infinite; {advice}"
        return Finding("fail", sentence, figures)
    sentence = (
        f"{SLOPE_INPUTS - bad} of {SLOPE_INPUTS} labels have finite slopes, of the others only "
        f"values are fitted; for more slopes: {advice}"
    )
    return Finding("ok", sentence, figures)


def _corner_without_slope(
    family: Family, formula: FamilyFormula, generator: torch.Generator
) -> Tensor | None:
    """A corner where the gradient is not finite.  Shape: `(dim,)`."""
    leaf = corners(family.domain, generator, dtype=torch.float64).requires_grad_()
    dw = torch.randn(len(leaf), noise_dim(family), generator=generator, dtype=torch.float64)
    with torch.enable_grad():
        values = formula.value(family.domain.split(leaf), dw)
        if not values.requires_grad:
            return None
        (gradient,) = torch.autograd.grad(values.sum(), leaf)
    bad = ~gradient.isfinite().all(-1)
    return leaf.detach()[bad][0] if bad.any() else None


def scheme_error(subject: Subject) -> Finding:
    """How wrong are the labels of the scheme that training would take, and of which order?"""
    family, scheme = subject.family, subject.scheme
    if weak_order(family, scheme) is None:
        return Finding("ok", f"{_in_words(scheme)}: no discretisation error")
    generator = make_generator(0, "scheme")
    setting = Sobol(), family.domain.sample(BIAS_INPUTS, generator), BIAS_PATHS, generator
    bias, finer = (
        relative_bias(family, s, *setting, BIAS_REPLICATES) for s in (scheme, refined(scheme))
    )
    error, noise = (part.abs().mean().item() for part in bias)
    figures = {"error": error, "noise": noise, "order": _observed_order(bias, finer)}
    sentence = f"{_in_words(scheme)}: discretisation error {error:.2g} ± {noise:.1g} of 1 + |u|"
    if error > NOTEWORTHY_BIAS + 2.0 * noise:
        return Finding("note", f"{sentence}; choose a scheme with more steps", figures)
    return Finding("ok", sentence, figures)


def _observed_order(coarse: Estimate, fine: Estimate) -> float:
    """log₂ of the ratio of the errors; NaN where noise hides it."""
    hidden = [e.value.square().mean() < 9.0 * e.error.square().mean() for e in (coarse, fine)]
    if any(hidden):
        return math.nan
    ratio = (coarse.value * fine.value).sum() / fine.value.square().sum()
    return math.log2(ratio.item()) if ratio > 0 else math.nan


def cost(subject: Subject) -> Finding:
    """Time and memory of simulating one batch of the fast method, with slopes."""
    family = subject.family
    method = Fast(scheme=subject.scheme, noise=Sobol()).resolve(family)
    generator = make_generator(0, "cost")
    inputs = family.domain.sample(method.batch_size, generator)
    draw = draw_paths(family, method.scheme, method.noise, inputs, method.paths, generator)
    differential_labels(family, method.scheme, inputs, draw)  # the first is the slowest
    start = time.perf_counter()
    differential_labels(family, method.scheme, inputs, draw)
    seconds = time.perf_counter() - start
    with Weighed() as weighed:
        differential_labels(family, method.scheme, inputs, draw)
    figures = {"seconds": seconds, "megabytes": (draw.z.nbytes + weighed.most) / 2**20}
    sentence = (
        f"simulating a step's {method.batch_size} inputs × {draw.z.shape[2]} paths takes "
        f"{1000 * figures['seconds']:.3g} ms and at most {figures['megabytes']:.3g} MB"
    )
    return Finding("note" if figures["megabytes"] > LARGE_MEGABYTES else "ok", sentence, figures)
