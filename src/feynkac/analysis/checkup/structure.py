"""Examinations of a family's formulas, one by one: shapes, finiteness, slopes, growth."""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from feynkac.analysis.checkup.finding import Finding, Subject
from feynkac.analysis.rehearsal import check_paths
from feynkac.errors import InputError
from feynkac.families.conformance import (
    check_broadcasting,
    check_corners,
    check_declarations,
    check_linearity,
    check_shapes,
    corners,
)
from feynkac.families.family import Family, jumps, noise_dim
from feynkac.families.formula import Formula, formulas
from feynkac.families.growth import FASTER, check_growth, measure_growth
from feynkac.families.point import describe
from feynkac.sampling.labels import differential_labels, draw_paths
from feynkac.sampling.noise.noise import Antithetic, make_generator

INPUTS, PATHS = 64, 16
SUPERLINEAR = 1.0 + math.log10(FASTER)


def declarations(subject: Subject) -> Finding:
    """Is the domain a domain, is each count a count?"""
    finding = _unless_refused("domain", check_declarations, subject.family, "")
    if finding.verdict == "fail":
        return finding
    domain = subject.family.domain
    sentence = f"{domain.dim} inputs, {domain.state_dim} of them the state"
    return Finding("domain", "ok", sentence, {"inputs": domain.dim, "state": domain.state_dim})


def shapes(subject: Subject) -> Finding:
    """Shapes and dtypes, and finite values inside."""
    names = ", ".join(formula.name for formula in formulas(subject.family))
    good = f"{names} keep shape and dtype, float32 and float64"
    return _unless_refused("formulas", check_shapes, subject.family, good)


def broadcasting(subject: Subject) -> Finding:
    """Several paths an input."""
    good = "one start with many paths and many starts with many paths are served alike"
    return _unless_refused("broadcasting", check_broadcasting, subject.family, good)


def finiteness(subject: Subject) -> Finding:
    """Finite at the corners of the domain."""
    good = "all formulas are finite at the corners of the domain"
    return _unless_refused("corners", check_corners, subject.family, good)


def linearity(subject: Subject) -> Finding:
    """σ(x) dw as a function of dw."""
    return _unless_refused("noise", check_linearity, subject.family, "diffusion is linear in dw")


def slopes(subject: Subject) -> Finding:
    """Derivatives of the formulas at the corners, and of the labels inside the domain."""
    family, generator = subject.family, make_generator(0, "slopes")
    inputs = family.domain.sample(INPUTS, generator)
    draw = draw_paths(family, subject.scheme, Antithetic(), inputs, PATHS, generator)
    values, gradients = differential_labels(family, subject.scheme, inputs, draw)
    bad = int((~gradients.isfinite().all(-1)).sum())
    figures = {"inputs": float(INPUTS), "without slope": float(bad)}
    if bad and values.isfinite().all() and not jumps(family):
        sentence = (
            f"the slopes of {bad} of {INPUTS} labels are NaN or infinite; where(x > 0, …) needs "
            "a harmless argument on its other branch, too"
        )
        return Finding("slopes", "fail", sentence, figures)
    for formula in formulas(family):
        if formula.name in ("drift", "diffusion", "initial"):
            edge = _without_slope(family, formula, generator)
            if edge is not None:
                where = describe(family.domain.split(edge))
                sentence = f"{formula.name} has no finite slope at the corner {where}"
                return Finding("slopes", "note", sentence, figures)
    return Finding("slopes", "ok", "formulas and labels have finite slopes", figures)


def _without_slope(family: Family, formula: Formula, generator: torch.Generator) -> Tensor | None:
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


def growth(subject: Subject) -> Finding:
    """Far outside of the domain."""
    finding = _unless_refused("growth", check_growth, subject.family, "")
    if finding.verdict == "fail":
        return finding
    found = measure_growth(subject.family)
    figures = {"drift": found.drift, "diffusion": found.diffusion, "checked": found.checked}
    if found.checked == 0.0:
        sentence = "the formulas are not defined far outside of the domain: not checked there"
        return Finding("growth", "note", sentence, figures)
    power = max(v for v in (found.drift, found.diffusion, 0.0) if not math.isnan(v))
    if found.together:
        sentence = (
            f"with all coordinates at once the coefficients grow like |x|^{power:.2g}: large "
            "moments of S may be infinite"
        )
        return Finding("growth", "note", sentence, figures)
    if power > SUPERLINEAR:
        sentence = (
            f"the coefficients grow like |x|^{power:.2g}, but μ points inwards: paths exist, and "
            "need small steps far outside"
        )
        return Finding("growth", "note", sentence, figures)
    return Finding("growth", "ok", "μ and σ grow at most linearly", figures)


def simulation(subject: Subject) -> Finding:
    """Paths from the corners, as training draws them."""
    good = f"paths from the corners stay finite ({subject.steps})"
    check = functools.partial(check_paths, scheme=subject.scheme)
    return _unless_refused("simulation", check, subject.family, good)


def _unless_refused(
    name: str, check: Callable[[Family], None], family: Family, good: str
) -> Finding:
    try:
        check(family)
    except InputError as error:
        return Finding(name, "fail", str(error).removesuffix("."))
    return Finding(name, "ok", good)
