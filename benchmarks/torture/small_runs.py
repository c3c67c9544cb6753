"""A small training that every trial of faults disturbs, and what it gives if nobody does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import feynkac as fk
from feynkac.runs.artifact import read_artifact

SETTINGS: dict[str, Any] = {
    "method": "paper",
    "architecture": fk.Multilevel(levels=2, factor=2),
    "batch_size": 32,
    "evaluations": 4,
    "seed": 3,
}


def train(folder: Path | None, steps: int = 60, **settings: Any) -> fk.Solution:
    """Train, or continue what is in the folder."""
    length = {} if "budget" in settings else {"steps": steps}
    return fk.solve(fk.BlackScholes(), out=folder, **{**SETTINGS, **length, **settings})


def differences(
    folder: Path, other: Path, measured: tuple[str, ...] = ("step", "loss", "l1")
) -> str:
    """In what two finished runs differ, to the bit; empty: in nothing."""
    (a, weights), (b, others) = read_artifact(folder), read_artifact(other)
    if weights.keys() != others.keys():
        return "the weights have other names"
    if bad := [name for name in weights if not torch.equal(weights[name], others[name])]:
        return f"other bits in {bad[0]}"
    for key in measured:
        if [row[key] for row in a.history] != [row[key] for row in b.history]:
            return f"another history of {key}"
    if left := {p.name for p in folder.iterdir()} ^ {p.name for p in other.iterdir()}:
        return f"other files: {sorted(left)}"
    return ""


def straight(folder: Path, **settings: Any) -> Callable[[Path], str]:
    """Train undisturbed into `folder`; returns the comparison with it."""
    train(folder, **settings)
    return lambda other: differences(other, folder)
