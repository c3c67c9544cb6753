"""How much of the paper's effort a reproduction spends."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from feynkac.benchmarks.store import Store
from feynkac.training.loop import Progress

METHODS = ("paper", "fast")
METHOD_NAMES = {"paper": "the paper's method", "fast": "the fast method"}


@dataclass(frozen=True)
class Settings:
    """What every result is given."""

    store: Store
    """Where trainings and numbers are kept."""
    budget: float = 120.0
    """Wall-clock seconds for one result, where it is scaled down."""
    full: bool = False
    """The paper's scale instead, however long it takes."""
    seeds: tuple[int, ...] = (0, 1)
    """Of the trainings."""
    methods: tuple[str, ...] = METHODS
    """Those that `full` applies to."""
    pages: Path = Path("docs/results")
    """Where results are written, and what is there already can be read."""
    report: Callable[[Progress], None] | None = None
    """Sees every step of every training."""
    announce: Callable[[str], None] = lambda _text: None
    """Told what is being done."""
