r"""The zoo's benchmark: families that nobody prepared, solved with the defaults in the same time.

Each has a process of its own: a family that is refused or crashes is a row with its error, not the
end of the benchmark. Rows are kept in a file as they come; those made by the same code are reused.
"""

import functools
import json
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from feynkac.benchmarks.version import ROOT, hash_sources
from feynkac.benchmarks.zoo_members import Member
from feynkac.benchmarks.zoo_row import send_stages
from feynkac.files import make_folder, write_atomically

BUDGET = 60.0
PATIENCE, EXTRA = 3.0, 60.0  # a solve may take so many budgets and so many seconds more
AFTERWARDS = 900.0  # seconds for the reference, and again for the check
TARGETS = (0.001, 0.005)
OVER = 1.1
NOT_COUNTED = {"interfaces", "plotting", "tuning", "reproduction", "benchmarks"}
ZOO_FILES = ("zoo.py", "zoo_members.py", "zoo_row.py")


@dataclass(frozen=True)
class ZooRow:
    """One family; what is None was not reached."""

    name: str
    version: str
    """Of the code and of the family's file."""
    budget: float
    seed: int
    error: str | None = None
    """Why there is no result, if there is none, or why a stage after it failed."""
    area: str | None = None
    method: str | None = None
    """Of the reference."""
    inputs: int | None = None
    """Of the network."""
    threads: int | None = None
    seconds: float | None = None
    """Wall clock of `solve`."""
    megabytes: float | None = None
    """By which the peak of memory grew in `solve`."""
    steps: int | None = None
    """Of the training."""
    scheme: str | None = None
    own_l1: float | None = None
    """L1 that the solution itself reports."""
    warnings: list[str] = field(default_factory=list)
    """That the solution itself reports."""
    l1: float | None = None
    """Eq. (9), against the reference."""
    l1_se: float | None = None
    relative: float | None = None
    """Mean error over the standard deviation of u."""
    largest: float | None = None
    mean_baseline: float | None = None
    reference_se: float | None = None
    measured_on: int | None = None
    alarms: list[str] | None = None
    """Of `feynkac check`."""

    @property
    def refused(self) -> bool:
        """Whether `solve` gave no result."""
        return self.steps is None

    @property
    def over(self) -> bool:
        """Whether `solve` took more than a tenth over its budget."""
        return self.seconds is not None and self.seconds > OVER * self.budget


@dataclass(frozen=True)
class Zoo:
    """The whole table."""

    rows: tuple[ZooRow, ...]

    def summary(self) -> dict[str, float]:
        """Shares of all rows that meet each target, were refused, or took too long."""
        count = max(1, len(self.rows))
        met = {f"L1 ≤ {target}": self._share(target) for target in TARGETS}
        refused = sum(row.refused for row in self.rows) / count
        return met | {"refused": refused, "over budget": sum(r.over for r in self.rows) / count}

    def _share(self, target: float) -> float:
        met = [row.l1 is not None and row.l1 <= target for row in self.rows]
        return sum(met) / max(1, len(met))

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {"summary": self.summary(), "rows": [asdict(row) for row in self.rows]}


def read_rows(path: Path) -> list[ZooRow]:
    """The rows in a file; none if there is no file. Fields of other versions are left out."""
    if not path.exists():
        return []
    known = {f.name for f in fields(ZooRow)}
    found = json.loads(path.read_text())["rows"]
    return [ZooRow(**{k: v for k, v in row.items() if k in known}) for row in found]


def write_rows(path: Path, rows: Sequence[ZooRow]) -> None:
    """All rows and their summary."""
    make_folder(path.parent)
    text = json.dumps(Zoo(tuple(rows)).record(), indent=1, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


def run_zoo(
    members: Sequence[Member],
    path: Path,
    budget: float = BUDGET,
    seed: int = 0,
    announce: Callable[[str], None] = lambda _text: None,
) -> Zoo:
    """Solve and measure each member, or take its row from the file at `path`."""
    rows = []
    for member in members:
        key = (member.name, zoo_version(member), budget, seed)
        kept = read_rows(path)
        row = next((row for row in kept if identity(row) == key), None)
        if row is None:
            announce(f"{member.name}: solving")
            row = ZooRow(*key, **in_process(member.path, budget, seed))
            others = [old for old in kept if (old.name, *identity(old)[2:]) != (key[0], *key[2:])]
            write_rows(path, sorted([*others, row], key=lambda row: row.name))
        announce(f"{member.name}: {outcome(row)}")
        rows.append(row)
    return Zoo(tuple(rows))


def outcome(row: ZooRow) -> str:
    """A few words about a row."""
    if row.l1 is None or row.seconds is None:
        return row.error or "no result"
    return f"L1 {row.l1:.2g}, {row.steps} steps, {row.seconds:.0f} s"


def identity(row: ZooRow) -> tuple[str, str, float, int]:
    """What makes two rows the same."""
    return (row.name, row.version, row.budget, row.seed)


def zoo_version(member: Member) -> str:
    """A hash of all code that a row depends on, and of the member's own."""
    return f"{_code()}-{member.version}"


@functools.cache
def _code() -> str:
    core = [p for p in ROOT.rglob("*.py") if p.relative_to(ROOT).parts[0] not in NOT_COUNTED]
    files = [*sorted(core), *(ROOT / "benchmarks" / name for name in ZOO_FILES)]
    return hash_sources(path.read_text() for path in files)


def in_process(path: Path, budget: float, seed: int) -> dict[str, Any]:
    """The fields of a row, found in a process of their own."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    arguments = (path, budget, seed, sending)
    process = context.Process(target=send_stages, args=arguments, name=f"zoo-{path.stem}")
    process.start()
    sending.close()
    try:
        found = _collect(receiving, budget)
    finally:
        process.terminate()
        process.join(10.0)
        if process.is_alive():
            process.kill()
            process.join()
    if found.get("error") == CRASHED:
        found["error"] = f"{CRASHED} (exit code {process.exitcode})"
    return found


CRASHED = "the process ended without a result, as it does when memory runs out"


def _collect(receiving: Connection, budget: float) -> dict[str, Any]:
    """All stages until their end, a crash, or the end of our patience."""
    found: dict[str, Any] = {}
    while True:
        limit = AFTERWARDS if "seconds" in found else PATIENCE * budget + EXTRA
        if not receiving.poll(limit):
            return found | {"error": f"no answer within {limit:.0f} s while {_stage(found)}"}
        try:
            stage = receiving.recv()
        except EOFError:
            return found | {"error": CRASHED}
        if stage is None:
            return found
        found |= stage


def _stage(found: dict[str, Any]) -> str:
    if "seconds" not in found:
        return "solving"
    return "checking" if {"l1", "error"} & found.keys() else "computing the reference"
