"""Examinations of a family's formulas against each other: jumps, samplers, closed form."""

import math

import torch
from torch import Tensor

from feynkac.analysis.checkup.agreement import Agreement, compare_closed_form, compare_sampler
from feynkac.analysis.checkup.discontinuity import Function, largest_jump, segments
from feynkac.analysis.checkup.finding import Finding, Subject
from feynkac.analysis.checkup.residual import Residual, residual
from feynkac.analysis.rehearsal import check_jumps
from feynkac.errors import InputError
from feynkac.families.family import ClosedForm, Family, jumps, noise_dim, timed
from feynkac.families.point import Params, Point, describe
from feynkac.sampling.noise.noise import make_generator
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps

INPUTS = 32
EARLIEST = 0.1  # of the longest time: where the PDE is looked at
SMALL_RESIDUAL, WRONG_RESIDUAL = 1e-6, 1e-3  # relative to the terms of the PDE


def discontinuity(subject: Subject) -> Finding:
    """Does φ jump, and does the family say so? Do the coefficients?"""
    family = subject.family
    try:
        check_jumps(family, subject.scheme)
    except InputError as error:
        return Finding("jumps", "fail", str(error).removesuffix("."))
    start, end, p = segments(family, subject.scheme)
    jump = largest_jump(family.initial, start, end, p)
    figures = {"jump": jump}
    if jumps(family) and not jump:
        return Finding("jumps", "note", "Jumps is declared, but φ was not seen to jump", figures)
    if broken := _broken_coefficients(family, start, end, p):
        return Finding("jumps", "note", f"{' and '.join(broken)} jump along paths", figures)
    return Finding("jumps", "ok", "φ jumps, as declared" if jump else "φ is continuous", figures)


def _broken_coefficients(family: Family, start: Tensor, end: Tensor, p: Params) -> list[str]:
    ones = torch.ones(*start.shape[:-1], noise_dim(family), dtype=start.dtype)
    coefficients: dict[str, Function] = {
        "μ": family.drift,
        "σ": lambda x, p: family.diffusion(x, ones.expand(-1, x.shape[1], -1), p),
    }
    return [name for name, f in coefficients.items() if largest_jump(f, start, end, p)]


def exact_sampler(subject: Subject) -> Finding:
    """Do exact draws have the law that μ and σ give?"""
    found = compare_sampler(subject.family, Exact())
    return _agreement("exact sampler", "exact", "steps of drift and diffusion", found)


def own_steps(subject: Subject) -> Finding:
    """Do the family's own steps have it?"""
    found = compare_sampler(subject.family, FamilySteps(steps=16))
    return _agreement("own steps", "step", "steps of drift and diffusion", found)


def expectation(subject: Subject) -> Finding:
    """Is the closed form the mean over paths?"""
    found = compare_closed_form(subject.family, subject.scheme)
    return _agreement("closed form, paths", "the closed form", "simulated paths", found)


def _agreement(name: str, one: str, other: str, found: Agreement) -> Finding:
    row, column = found.worst
    ours, theirs = (part[row, column].item() for part in (found.ours, found.theirs))
    excess, error = found.excess[row, column].item(), found.error[row, column].item()
    figures = {"excess": excess, "value": ours, "other": theirs, "standard error": error}
    if not math.isfinite(theirs):
        sentence = f"{other} are not finite, so that {one} could not be compared with them"
        return Finding(name, "note", sentence, figures)
    if excess <= 1.0:
        sentence = f"{one} agrees with {other}, at {100 * excess:.2g} % of the allowed difference"
        return Finding(name, "ok", sentence, figures)
    sentence = (
        f"{one} disagrees with {other}: {found.quantities[column]} is {ours:.6g}, "
        f"not {theirs:.6g} ± {error:.2g}, at {found.places[row]}"
    )
    return Finding(name, "fail", sentence, figures)


def beginning(subject: Subject) -> Finding:
    """Does u(x, t) → φ(x) as t → 0?"""
    family, name = subject.family, "closed form, t = 0"
    assert isinstance(family, ClosedForm)
    if earliest := family.domain.measures["t"].low[0]:
        return Finding(name, "ok", f"the domain begins at t = {earliest:g}: not looked at")
    x, t, p = _inside(family)
    with torch.no_grad():
        initial = family.initial(x, timed(family, p, 0.0 * t))
        gaps = [
            (family.closed_form(x, share * t, p) - initial).abs() / (1.0 + initial.abs().mean())
            for share in (0.0, 1e-8)
        ]
    figures = {"at 0": gaps[0].max().item(), "near 0": gaps[1].median().item()}
    if figures["at 0"] < 1e-6 and figures["near 0"] < 1e-3:
        return Finding(name, "ok", "the closed form starts from the initial condition", figures)
    return Finding(name, "fail", "the closed form at t = 0 is not the initial condition", figures)


def equation(subject: Subject) -> Finding:
    """Does the closed form solve the PDE?"""
    family, name = subject.family, "closed form, PDE"
    assert isinstance(family, ClosedForm)
    point = _inside(family)
    by_autograd = residual(family, family.closed_form, point, exact=True)
    if by_autograd is not None and by_autograd.largest < SMALL_RESIDUAL:
        return Finding(name, "ok", _solved(by_autograd), {"residual": by_autograd.largest})
    found = residual(family, family.closed_form, point, exact=False)
    assert found is not None
    figures = {"residual": found.largest}
    if found.largest > WRONG_RESIDUAL:
        return Finding(name, "fail", _two_sides(found, point), figures)
    if by_autograd is not None and by_autograd.largest > WRONG_RESIDUAL:
        sentence = f"{_solved(found)}, but autograd gives it wrong gradients"
        return Finding(name, "note", sentence, figures)
    return Finding(name, "ok", f"{_solved(found)}, by central differences", figures)


def _solved(found: Residual) -> str:
    return f"the closed form solves the PDE up to {found.largest:.1g} of the size of its terms"


def _two_sides(found: Residual, point: Point) -> str:
    row, column = divmod(int(found.relative.argmax()), found.relative.shape[1])
    left, right = (side[row, column].item() for side in (found.left, found.right))
    where = Point(
        point.x[row], point.t[row], Params(**{n: v[row] for n, v in vars(point.p).items()})
    )
    return (
        f"the closed form does not solve the PDE: ∂u/∂t = {left:.6g}, but the other side is "
        f"{right:.6g}, at {describe(where)}"
    )


def _inside(family: Family) -> Point:
    """Random inputs away from t = 0, in float64."""
    inputs = family.domain.sample(INPUTS, make_generator(0, "inside"), torch.float64)
    x, t, p = family.domain.split(inputs)
    return Point(x, t.clamp_min(EARLIEST * family.domain.measures["t"].high[0]), p)
