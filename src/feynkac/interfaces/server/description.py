"""A solution as the service lists it: variables and ranges, quantities, error, warnings."""

import inspect
from typing import Any

import numpy as np
import torch

from feynkac.exporting.program import measured_error
from feynkac.families.capabilities import ClosedForm
from feynkac.families.domain import Domain
from feynkac.families.family import outputs
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Measure
from feynkac.market.placing import quotable
from feynkac.solution import Solution

CANDIDATES = 64  # for a starting point where not all are allowed
MANY = 8  # entries of a variable, of which a sample is never near the middle


def describe_solution(name: str, solution: Solution, run: str | None) -> dict[str, Any]:
    """One element of `GET /v1/solutions`."""
    family, manifest = solution.family, solution.manifest
    domain, error = family.domain, measured_error(solution)
    return {
        "id": name,
        "family": manifest.family.name,
        "title": str(type(family).__name__) if len(repr(family)) > 100 else repr(family),
        "description": _first_paragraph(type(family)),
        "variables": _variables(domain),
        "outputs": outputs(family),
        "quantities": quantities(solution),
        "greeks": [
            {
                "name": greek_name,
                "of": list(greek.names),
                "sign": greek.sign,
                "shape": list(domain.place(greek.names[0]).shape),
            }
            for greek_name, greek in solution.named_greeks.items()
        ],
        "exchanged": list(domain.exchanged),
        "coupled": domain.rule is not None,
        "closed_form": isinstance(family, ClosedForm),
        "quoted": quotable(family),
        "error": error,
        "warnings": solution.warnings,
        "parameters": manifest.parameters,
        "steps": manifest.steps,
        "seconds": manifest.seconds,
        "created": manifest.created,
        "run": run,
    }


def quantities(solution: Solution) -> list[str]:
    """The value, the family's Greeks, and all first derivatives by variable."""
    slopes = [f"∂u/∂{name}" for name in solution.family.domain.free]
    return ["value", *solution.named_greeks, *slopes]


def _variables(domain: Domain) -> list[dict[str, Any]]:
    start, where = _start(domain), domain.slices()
    return [
        _variable(name, law, domain.entries[where[name]], start[where[name]].tolist())
        for name, law in domain.measures.items()
    ]


def _variable(name: str, law: Measure, entries: list[str], start: list[float]) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(law.shape),
        "entries": entries,
        "low": list(law.low),
        "high": list(law.high),
        "default": start,
        "scale": "log" if isinstance(law, LogUniform) else "linear",
        "fixed": law.low == law.high,
    }


def _start(domain: Domain) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """An allowed input in the middle of the domain, as training sees it.  Shape: `(dim,)`.

    Many entries are all near their middles in no sample: there nothing was trained. Those are
    drawn.
    """
    middle = domain.mean.clone()
    typical = domain.sample(1, torch.Generator().manual_seed(0), torch.float64)[0]
    for name, where in domain.slices().items():
        law = domain.measures[name]
        if law.size >= MANY:
            middle[where] = typical[where]
        elif isinstance(law, LogUniform):
            low, high = law.bounds(middle)
            middle[where] = (low * high).sqrt()
    if domain.rule is None or bool(domain.allowed(middle)):
        return np.asarray(middle.numpy())
    drawn = domain.sample(CANDIDATES, torch.Generator().manual_seed(0), torch.float64)
    far = ((drawn - middle) / domain.std.clamp_min(1e-300)).square().sum(-1)
    return np.asarray(drawn[int(far.argmin())].numpy())


def _first_paragraph(cls: type) -> str:
    text = inspect.getdoc(cls) or cls.__name__
    return " ".join(text.split("\n\n")[0].split())
