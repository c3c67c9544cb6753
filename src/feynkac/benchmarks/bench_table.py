"""The table of the benchmark: its rows, as data and as text."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from feynkac.analysis.rounding import error_text, number
from feynkac.benchmarks.markdown import markdown_table

PAPER = "the paper"
REMEASURED = "the authors' weights, re-measured: docs/results/authors-weights.json"
"""By `benchmarks/authors_weights.py`, against the true PDE."""
REMEASURED_GREEKS = {"delta": 0.0235, "vega": 0.0766, "theta": 0.0562}
"""Errors of the Greeks of these weights, measured in the same way; ReLU has no Gamma."""


@dataclass(frozen=True)
class Row:
    """One row of the table; means are over the seeds."""

    name: str
    l1: float
    """Eq. (9), mean over the seeds."""
    l1_se: float
    """Standard error of `l1` from the seeds, the inputs and the noise of the reference."""
    l1_low: float
    """Lower end of the 95 % interval, mean over the seeds; it covers inputs and noise only."""
    l1_high: float
    l1_by_seed: list[float]
    inputs: int
    """Number of inputs to measure on."""
    reference_se: float
    """Mean statistical error of the reference."""
    reference_bias: float
    """Mean estimated discretisation error of the reference."""
    reference_bias_se: float
    """Standard error of that estimate."""
    seconds: float
    """Wall clock of one training."""
    seconds_by_seed: list[float]
    memory_mb: float
    """Peak memory during the trainings, including torch itself."""
    published_l1: float
    source: str
    """Of the published error."""
    gpu_seconds: float
    """Of the paper's training on its graphics cards."""
    paper_step_seconds: float
    """One step of the paper's method on this machine."""
    projected_seconds: float
    """All steps of the paper's method on this machine."""
    ratio: float
    """Projected seconds over ours."""
    greeks: dict[str, float]
    """Errors of the named derivatives, in the same metric."""


@dataclass(frozen=True)
class Bench:
    """The whole table, with the versions that made it."""

    rows: tuple[Row, ...]
    seeds: int
    threads: int
    versions: dict[str, str]

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """The benchmark that `record` wrote."""
        return cls(**data | {"rows": tuple(Row(**row) for row in data["rows"])})

    def markdown(self) -> str:
        """Both tables, as in the README."""
        tables = [self.table(), *([self.greeks()] if self.greeks()[1] else [])]
        return "\n\n".join(markdown_table(*table) for table in tables)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows of the main table."""
        ours = ("", "L1 ± s.e.", "ref. ±", "± bias", "s", "MB")
        theirs = ("paper L1", "GPU s", "here s", "ratio")
        return ours + theirs, [_cells(row) for row in self.rows]

    def greeks(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows of the table of Greeks; no rows if no family names any."""
        columns = ("", "L1", "authors' weights")
        return columns, [
            (f"{row.name}: {name}", number(value), str(REMEASURED_GREEKS.get(name, "none (ReLU)")))
            for row in self.rows
            for name, value in row.greeks.items()
        ]


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        error_text(row.l1, row.l1_se, row.l1_low, row.l1_high),
        reference_text(row.reference_se, row.l1) if row.reference_se else "exact",
        f"{row.reference_bias:.1e}" if row.reference_bias else "–",
        f"{row.seconds:.1f}",
        f"{row.memory_mb:.0f}",
        f"{row.published_l1}" + ("" if row.source == PAPER else "*"),
        f"{row.gpu_seconds:.0f}",
        f"{row.projected_seconds:.0f}",
        f"{row.ratio:.0f}",
    )


def reference_text(se: float, l1: float) -> str:
    """The noise of the reference, marked if it is more than half of the error.

    Example:
        >>> reference_text(1e-5, 1e-3), reference_text(1e-3, 1e-3)
        ('1.0e-05', '1.0e-03 (large)')
    """
    return f"{se:.1e}" + (" (large)" if se > 0.5 * l1 else "")
