"""Artifacts of earlier formats load and answer the same bits."""

import json
from pathlib import Path

from benchmarks.torture.promise import Promise, Trial

import feynkac as fk

KEPT = Path(__file__).parents[2] / "tests" / "runs" / "kept"


def _try(trial: Trial) -> None:
    answers = json.loads((KEPT / "answers.json").read_text())
    for name, kept in answers.items():
        with trial.case(name):
            solution = fk.load(KEPT / name)
            assert solution(**kept["at"]).tolist() == kept["values"], "other values"
            assert solution.grad("x", **kept["at"]).tolist() == kept["delta"], "other slopes"


RELEASED = Promise(
    "bad files: earlier formats",
    "Artifacts of every earlier format load and answer the same bits.",
    "Artifacts kept in tests/runs/kept, with the answers of the version that wrote them.",
    _try,
)
