"""`docs/reliability.md`: each promise, how it is tried, and the figures last measured."""

import datetime
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.torture.promise import Promise, Verdict

from feynkac.files import write_atomically

DOCS = Path(__file__).parents[2] / "docs"
PAGE, KEPT = DOCS / "reliability.md", DOCS / "results" / "reliability.json"
TOP = """\
# Reliability

What the program promises, how each promise is tried, and what came of it when it was last tried.
`make torture` tries all of them, prints one line for each and writes this page; it takes an hour or
more. `make torture-quick` tries a tenth of the cases, or fewer. What it finds is corrected
and becomes a test. What is not in the table has not been measured yet.

The seconds are those of a machine with two cores that did other work as well.

| promise | cases | failures | seconds | measured |
|---|---|---|---|---|
"""


def record(verdict: Verdict, quick: bool) -> dict[str, Any]:
    """The figures, and where they come from."""
    return {
        "cases": verdict.cases,
        "failures": len(verdict.failures),
        "seconds": round(verdict.seconds, 1),
        "figures": verdict.figures,
        "quick": quick,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": version("feynkac"),
        "python": platform.python_version(),
    }


def keep(verdict: Verdict, quick: bool) -> None:
    """Write a promise's figures into those that are kept; fewer cases do not replace more."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    earlier = known.get(verdict.promise.name)
    if earlier is None or earlier["quick"] or not quick:
        known[verdict.promise.name] = record(verdict, quick)
        write_atomically(KEPT, (json.dumps(known, indent=1, ensure_ascii=False) + "\n").encode())


def write_page(promises: tuple[Promise, ...]) -> None:
    """From the figures that are kept."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    rows = [_row(promise, known[promise.name]) for promise in promises if promise.name in known]
    parts = [_part(promise, known.get(promise.name)) for promise in promises]
    write_atomically(PAGE, (TOP + "\n".join(rows) + "\n\n" + "\n".join(parts)).encode())


def _row(promise: Promise, found: dict[str, Any]) -> str:
    when = f"{found['date']}, {'quick' if found['quick'] else 'whole'}"
    return (
        f"| {promise.name} | {found['cases']:,} | {found['failures']} | {found['seconds']:g} | "
        f"{when} |"
    )


def _part(promise: Promise, found: dict[str, Any] | None) -> str:
    figures = found["figures"] if found else {}
    measured = "".join(f"; {name}: {value}" for name, value in figures.items()).removeprefix("; ")
    last = f"\n\nLast measured: {measured}." if measured else ""
    title = promise.name[0].upper() + promise.name[1:]
    return f"## {title}\n\n{promise.says}\n\n{promise.tried}{last}\n"
