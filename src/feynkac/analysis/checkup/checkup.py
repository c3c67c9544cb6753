r"""Is a family right? Everything that can be found out about it without training.

Structure first: what it declares, shapes, dtypes, broadcasting, finiteness. If that holds, formulas
are compared with each other: closed form with PDE and paths, sampler with μ and σ, φ with what is
said of its jumps. Last, what training would do. Each examination gives one `Finding`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from feynkac.analysis.checkup import consistency, outlook, structure
from feynkac.analysis.checkup.finding import Finding, Subject
from feynkac.errors import InputError
from feynkac.families.family import ClosedForm, ExactSampler, Family, OwnSteps, TimeDependent

Examination = Callable[[Subject], Finding]
ESSENTIAL: tuple[Examination, ...] = (
    structure.declarations,
    structure.shapes,
    structure.broadcasting,
    structure.finiteness,
    structure.simulation,
)
"""If one of these fails, what comes after it makes no sense."""


@dataclass(frozen=True)
class Checkup:
    """All that was found out about a family."""

    family: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        """What is to be mended."""
        return tuple(f for f in self.findings if f.verdict == "fail")

    def __getitem__(self, name: str) -> Finding:
        """The finding of that name."""
        return next(f for f in self.findings if f.name == name)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        findings = [finding.record() for finding in self.findings]
        return {"family": self.family, "passed": self.passed, "findings": findings}


@torch.inference_mode(False)  # examinations differentiate, whatever the caller does
def examine(family: Family, report: Callable[[float], None] | None = None) -> Checkup:
    """Examine `family`; `report` is called with the fraction done.

    Example:
        >>> from feynkac.families.models.heat_gaussian import HeatGaussian
        >>> examine(HeatGaussian(dim=2)).passed
        True
    """
    if not isinstance(family, Family):
        raise InputError(f"examine expects a Family, got {type(family).__name__}.")
    subject, findings = Subject(family), []
    planned = list(_examinations(family))
    for done, examination in enumerate(planned, start=1):
        findings.append(_carried_out(examination, subject))
        if report:
            report(done / len(planned))
        if examination in ESSENTIAL and findings[-1].verdict == "fail":
            break
    return Checkup(family.name(), tuple(findings))


def _examinations(family: Family) -> Iterator[Examination]:
    yield from (structure.declarations, structure.shapes, structure.broadcasting)
    yield from (structure.finiteness, structure.linearity, structure.growth)
    if isinstance(family, ClosedForm):
        yield from (consistency.beginning, consistency.equation)
    yield from (structure.simulation, structure.slopes, consistency.discontinuity)
    if isinstance(family, ExactSampler) and not isinstance(family, TimeDependent):
        yield consistency.exact_sampler
    if isinstance(family, OwnSteps):
        yield consistency.own_steps
    if isinstance(family, ClosedForm):
        yield consistency.expectation
    yield from (outlook.scheme_error, outlook.cost)


def _carried_out(examination: Examination, subject: Subject) -> Finding:
    try:
        return examination(subject)
    except Exception as error:  # a formula that fails in a way of its own
        name = examination.__name__.replace("_", " ")
        sentence = f"could not be examined: {type(error).__name__}: {error}"
        return Finding(name, "fail", sentence)
