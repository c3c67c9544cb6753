r"""What a solution of the library is worth: errors, certified points, where the error is largest.

errors      Eq. (9), absolute and relative, on fresh inputs (`analysis/metrics.py`)
certified   the share of random inputs at which a certificate shows |Φ − u| ≤ 0.001 (1 + |u|)
map         the error over the domain, from the same certificates (`analysis/error_map.py`)
"""

from typing import Any

from feynkac.analysis.certificates import Certificate, Effort
from feynkac.analysis.error_map import error_map
from feynkac.library.entries import Entry
from feynkac.sampling.generators import make_generator
from feynkac.solution import Solution

TOLERANCE = 1e-3  # relative to 1 + |u|
MAP_INPUTS = 256
SECONDS = 0.05  # per certificate
SEED = 3


def make_record(entry: Entry, solution: Solution, inputs: int = MAP_INPUTS) -> dict[str, Any]:
    """The record of a trained solution, as plain data."""
    manifest = solution.manifest
    domain = solution.family.domain
    generator = make_generator(SEED, "map")
    points = domain.sample(inputs, generator)
    effort = Effort(seconds=SECONDS, aim=TOLERANCE / 10.0)
    found = solution.certify(points, effort=effort, seed=SEED)
    return {
        "name": entry.name,
        "about": entry.about,
        "inputs": len(domain.free),
        "steps": manifest.steps,
        "seconds": manifest.seconds,
        "parameters": manifest.parameters,
        "versions": manifest.versions,
        "warnings": solution.warnings,
        "errors": solution.error().record(),
        "certified": {
            "share": certified_share(found),
            "tolerance": TOLERANCE,
            "inputs": inputs,
            "confidence": found.confidence,
        },
        "map": error_map(domain, points, found).record(),
    }


def certified_share(found: Certificate) -> float:
    """The share of inputs at which the network is surely within the tolerance."""
    limit = TOLERANCE * (1.0 + found.value.abs() - found.half_width)
    return float((found.error.abs() + found.half_width <= limit).double().mean())
