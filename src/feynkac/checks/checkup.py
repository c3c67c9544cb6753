r"""Is a family right? Everything that can be found out about it without training, in one list.

Structure comes first: what the family declares, shapes, dtypes, finiteness, growth. Then formulas
are compared with each other: closed form with PDE and paths, samplers with μ and σ, φ with what is
declared of its jumps. Last comes what training would meet. `check` runs the whole list, `solve` its
quick part: what needs no scheme before it chooses one, what simulates paths afterwards.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from feynkac.cards import Card, Shown
from feynkac.checks import agreement, closed_form, discontinuity, growth, simulation, structure
from feynkac.checks.finding import Finding, Subject
from feynkac.display import showing
from feynkac.errors import InputError
from feynkac.families.capabilities import (
    Absorbing,
    ClosedForm,
    ExactSampler,
    OwnSteps,
    Reflected,
    TimeDependent,
)
from feynkac.families.catalogue import find_family
from feynkac.families.family import Family, jumps, require_family
from feynkac.phases import enter
from feynkac.sampling.schemes.scheme import Scheme


@dataclass(frozen=True)
class Check:
    """One thing to find out about a family."""

    name: str
    find: Callable[[Subject], Finding]
    """May raise an `InputError` instead, which counts as a failure."""
    concerns: Callable[[Family], bool] = lambda _family: True
    quick: bool = False
    """Whether `solve` runs it."""
    needs_scheme: bool = False
    """Whether it simulates with the scheme of a run."""
    essential: bool = False
    """Whether what follows makes no sense if it fails."""


def _has_closed_form(family: Family) -> bool:
    return isinstance(family, ClosedForm)


def _has_walls(family: Family) -> bool:
    return isinstance(family, Absorbing)


def _has_own_steps(family: Family) -> bool:
    return isinstance(family, OwnSteps) and not isinstance(family, Reflected)


def _is_drawn_exactly(family: Family) -> bool:
    return isinstance(family, ExactSampler) and not isinstance(family, TimeDependent | Reflected)


def _declares_no_jump(family: Family) -> bool:
    return not jumps(family)


CHECKS = (
    Check("domain", structure.declarations, quick=True, essential=True),
    Check("formulas", structure.shapes, quick=True, essential=True),
    Check("broadcasting", structure.broadcasting, quick=True, essential=True),
    Check("corners", structure.finiteness, quick=True, essential=True),
    Check("noise", structure.linearity, quick=True),
    Check("growth", growth.growth, quick=True),
    Check("walls", structure.walls, _has_walls, quick=True),
    Check("closed form, t = 0", closed_form.start, _has_closed_form),
    Check("closed form, PDE", closed_form.equation, _has_closed_form),
    Check("simulation", simulation.finite_paths, quick=True, needs_scheme=True, essential=True),
    Check("slopes", simulation.slopes, needs_scheme=True),
    Check("jumps", discontinuity.undeclared_jump, _declares_no_jump, needs_scheme=True),
    Check("jumps", discontinuity.declared_jump, jumps, needs_scheme=True),
    Check("coefficients", discontinuity.coefficient_jumps, needs_scheme=True),
    Check("exact sampler", agreement.exact_sampler, _is_drawn_exactly),
    Check("own steps", agreement.own_steps, _has_own_steps),
    Check("closed form, paths", agreement.expectation, _has_closed_form, needs_scheme=True),
    Check("scheme", simulation.scheme_error, needs_scheme=True),
    Check("cost", simulation.cost, needs_scheme=True),
)
"""In the order in which they run; of two checks with one name, only one concerns a family."""


@dataclass(frozen=True, repr=False)
class Checkup(Shown):
    """All that was found out about a family.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> check(HeatGaussian(dim=2)).passed
        True
    """

    family: str
    findings: Mapping[str, Finding]
    """By the names of the checks, in their order."""

    def card(self) -> Card:
        """Verdicts, and what to fix."""
        verdicts = [f.verdict for f in self.findings.values()]
        counted = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
        return Card(
            self.summary,
            [f"{name}: {f.sentence}" for name, f in self.failed.items()] or [counted],
            {name: f"{f.verdict}: {f.sentence}" for name, f in self.findings.items()},
        )

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def failed(self) -> dict[str, Finding]:
        """What to fix."""
        return {name: f for name, f in self.findings.items() if f.verdict == "fail"}

    @property
    def summary(self) -> str:
        """One line, such as `heston: no problems found`."""
        count = len(self.failed)
        problems = f"{count} problem{'s' * (count > 1)} to fix" if count else "no problems found"
        return f"{self.family}: {problems}"

    def __getitem__(self, name: str) -> Finding:
        """The finding of that name."""
        return self.findings[name]

    def record(self) -> dict[str, Any]:
        """As plain data."""
        findings = [{"name": name, **f.record()} for name, f in self.findings.items()]
        return {"family": self.family, "passed": self.passed, "findings": findings}


@torch.inference_mode(False)  # some checks differentiate, whatever the caller does
def check(
    family: Family | str,
    report: Callable[[float], None] | None = None,
    progress: bool | None = None,
) -> Checkup:
    """Run all checks of `family`, without training.

    Args:
        family: to check; a built-in one also by its name.
        report: called with the fraction done.
        progress: whether to show what is going on; by default on terminals and in notebooks.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> check(HeatGaussian(dim=2)).summary
        'heat-gaussian: no problems found'
    """
    family = find_family(family) if isinstance(family, str) else family
    require_family("check", family)
    with showing(progress):
        findings = _findings(family, enter("checking the family", report))
    return Checkup(family.name(), findings)


def _findings(family: Family, report: Callable[[float], None]) -> dict[str, Finding]:
    subject = Subject(family)
    findings: dict[str, Finding] = {}
    for done, current in enumerate(CHECKS, start=1):
        if current.concerns(family):
            findings[current.name] = _run(current, subject)
            if current.essential and findings[current.name].verdict == "fail":
                break
        report(done / len(CHECKS))
    return findings


def _run(current: Check, subject: Subject) -> Finding:
    try:
        return current.find(subject)
    except InputError as error:
        return Finding("fail", str(error).removesuffix("."))
    except Exception as error:  # a formula that fails in a way of its own
        return Finding("fail", f"could not be checked: {type(error).__name__}: {error}")


def require_sound(family: Family) -> None:
    """Raise `InputError` if a quick check that needs no scheme fails.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> require_sound(BlackScholes())
    """
    _require(Subject(family), needs_scheme=False)


def require_simulable(family: Family, scheme: Scheme) -> None:
    """Raise `InputError` if a quick check of paths fails, simulated with `scheme`.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> require_simulable(BlackScholes(), Exact())
    """
    _require(Subject(family, scheme), needs_scheme=True)


def _require(subject: Subject, needs_scheme: bool) -> None:
    for current in CHECKS:
        now = current.quick and current.needs_scheme == needs_scheme
        if now and current.concerns(subject.family):
            finding = current.find(subject)
            if finding.verdict == "fail":
                raise InputError(f"{finding.sentence}.")
