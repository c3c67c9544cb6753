"""What `solve` is to do: a family, all settings and a folder, before anything runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feynkac.clock import Clock
    from feynkac.families.family import Family
    from feynkac.runs.run import Run
    from feynkac.solution import Solution
    from feynkac.training.loop import Progress


@dataclass(frozen=True)
class Place:
    """Where Ray runs."""

    address: str | None = None
    """Address of an existing cluster, ray://host:port; None: a private one on this machine."""
    dashboard: bool = False
    """Whether the private one has Ray's web page, on loopback."""


@dataclass(frozen=True)
class Job:
    """One run."""

    spec: str
    """Name or path by which another process finds the family."""
    family: "Family"
    run: "Run"
    folder: Path
    retrain: bool = False
    """Whether to start over."""
    prepared: float = 0.0
    """Seconds that its choices took: they count towards its budget."""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.run.family.name}, seed {self.run.training.seed}"

    def finished(self) -> bool:
        """Whether the folder holds a result."""
        from feynkac.runs.artifact import MANIFEST

        return (self.folder / MANIFEST).exists()

    def execute(
        self,
        report: "Callable[[Progress], Any] | None" = None,
        clock: "Clock | None" = None,
    ) -> "Solution":
        """Run it in this process, or return its result."""
        from feynkac.clock import Clock
        from feynkac.execution import execute

        clock = clock or Clock(Clock().started - self.prepared)
        return execute(self.run, self.family, self.folder, report, clock, retrain=self.retrain)


def absolute_spec(spec: str) -> str:
    """`spec` in a form that is valid in any folder.

    Example:
        >>> absolute_spec("black-scholes")
        'black-scholes'
    """
    location, colon, name = spec.rpartition(":")
    return f"{Path(location).resolve()}:{name}" if colon else spec
