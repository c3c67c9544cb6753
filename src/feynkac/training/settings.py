"""The length, the seed and the device of a run."""

import re
from typing import Annotated, Any

import torch
from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from feynkac.errors import InputError
from feynkac.training.optimisers.optimiser import Positive

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(value: Any) -> float:
    """A wall-clock budget in seconds, from a number or a string such as "60s", "20m", "1.5h".

    Example:
        >>> seconds("1.5m")
        90.0
    """
    text = f"{value:f}" if type(value) in (int, float) else str(value)
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(s|m|min|h)?\s*", text)
    if match is None or float(match[1]) <= 0:
        raise ValueError(
            f'a budget is a positive time such as "60s", "20m" or "1.5h", not {value!r}'
        )
    return float(match[1]) * UNITS[match[2] or "s"]


@dataclass(frozen=True, config={"extra": "forbid"})
class Training:
    """Length, seed and device of a run. Give either `steps` or a wall-clock `budget`.

    Example:
        >>> Training(budget="2m").budget
        120.0
    """

    steps: Annotated[int, Field(ge=1)] | None = None
    """Number of updates."""
    budget: Annotated[float, BeforeValidator(seconds)] | None = None
    """Wall-clock seconds to spend instead, including pilots, evaluations and saving."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Determines parameters, inputs and paths."""
    workers: Annotated[int, Field(ge=1)] = 1
    """Number of streams that the inputs of a step come from, one per worker; see `team.py`."""
    device: str = "auto"
    """"auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", …"""
    compile: bool = False
    """Use torch.compile where it works; about 20 s once, then cached on disk."""
    evaluations: Annotated[int, Field(ge=1)] = 10
    """How often the error is measured, the last time at the end."""
    checkpoint_seconds: Positive = 30.0
    """Seconds between checkpoints."""

    @model_validator(mode="after")
    def _one_length(self) -> "Training":
        if (self.steps is None) == (self.budget is None):
            raise ValueError("give either steps or a budget, and not both")
        return self

    def per_worker(self, batch_size: int) -> int:
        """Inputs per step and worker, rounded up."""
        return -(-batch_size // self.workers)


def resolve_device(name: str) -> str:
    """The device that `name` means on this machine."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} is not available here; use 'auto' or 'cpu'.") from error
    return name


def one_sentence(error: ValidationError) -> str:
    """The first error that pydantic found, as one sentence for people."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or error.title
    what = first["msg"].removeprefix("Value error, ")
    given = first.get("input")
    shown = f" (got {given!r})" if isinstance(given, str | int | float) else ""
    return f"{where}: {what}{shown}."
