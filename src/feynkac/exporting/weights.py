"""The weights as JSON: the stages as plain data, for a forward pass in any language."""

import json
from typing import Any

from feynkac.exporting.description import describe
from feynkac.exporting.program import first_greeks, metadata
from feynkac.solution import Solution

FORMAT, VERSION = "feynkac-network", 1


def weights_record(solution: Solution) -> dict[str, Any]:
    """As plain data; see docs/export.md for the stages.

    Example:
        >>> weights_record(solution)["stages"][-1]["kind"]
        'units'
    """
    greeks = [
        {"name": name, "columns": columns, "sign": sign}
        for name, (columns, sign) in first_greeks(solution).items()
    ]
    stages = describe(solution).records()
    return {
        "format": FORMAT,
        "version": VERSION,
        **metadata(solution),
        "greeks": greeks,
        "stages": stages,
    }


def weights_bytes(solution: Solution) -> bytes:
    """As a file."""
    return (json.dumps(weights_record(solution), allow_nan=False) + "\n").encode()
