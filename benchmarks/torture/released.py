"""Artifacts of earlier formats load and answer the same, up to the last digits of float32."""

import json
from pathlib import Path

import torch
from benchmarks.torture.promise import Promise, Trial
from torch import Tensor

import feynkac as fk

KEPT = Path(__file__).parents[2] / "tests" / "runs" / "kept"


def _try(trial: Trial) -> None:
    answers = json.loads((KEPT / "answers.json").read_text())
    for name, kept in answers.items():
        with trial.case(name):
            solution = fk.load(KEPT / name)
            assert _same(solution(**kept["at"]), kept["values"]), "other values"
            assert _same(solution.grad("x", **kept["at"]), kept["delta"]), "other slopes"


def _same(found: Tensor, expected: list) -> bool:
    """Up to rounding, which depends on the processor."""
    return torch.allclose(found, torch.tensor(expected, dtype=found.dtype), rtol=2e-6, atol=2e-6)


RELEASED = Promise(
    "bad files: earlier formats",
    "Artifacts of every earlier format load and answer the same, up to 2e-6.",
    "Artifacts kept in tests/runs/kept, with the answers of the version that wrote them.",
    _try,
)
