"""A reproduced result: a table, a figure, the numbers behind them, and where they come from."""

import io
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.benchmarks.markdown import markdown_table
from feynkac.benchmarks.store import Used
from feynkac.files import make_folder, write_atomically
from feynkac.plotting.style import DPI

FULL = "full"
FORMATS = ("png", "svg")
UNRECORDED = (
    "Made by an earlier version, which recorded neither its options nor the seconds of its "
    "trainings."
)


@dataclass(frozen=True)
class Provenance:
    """Who made a result, and with what effort."""

    seeds: tuple[int, ...]
    """That were asked for, where no training says its own."""
    seconds: float
    """Wall clock of this call; what was found in the store took its time before."""
    versions: dict[str, str]
    hardware: str
    used: tuple[Used, ...] = ()
    """The trainings and numbers it rests on, with their own seconds."""
    commands: tuple[str, ...] = ()
    """That make it, one after the other."""

    @property
    def trainings(self) -> dict[str, list[Used]]:
        """By what was trained."""
        found: dict[str, list[Used]] = {}
        for each in self.used:
            if each.method is not None and each not in found.setdefault(each.what, []):
                found[each.what].append(each)
        return found

    @property
    def spent(self) -> float:
        """Seconds of all trainings and numbers, whenever they were made."""
        numbers = sum(each.seconds for each in self.used if each.method is None)
        return numbers + sum(each.seconds for group in self.trainings.values() for each in group)

    def sentence(self) -> str:
        """For a reader."""
        parts = [_describe(what, group) for what, group in self.trainings.items()]
        numbers = [each for each in self.used if each.method is None]
        if numbers:
            seconds = sum(each.seconds for each in numbers)
            parts.append(f"Numbers: {seconds:,.0f} s of computing, {_versions(numbers)}.")
        if not self.trainings and self.seeds and self.commands:
            parts.append(f"Seeds {', '.join(map(str, self.seeds))}.")
        return " ".join([*parts, f"This call: {self.seconds:.0f} s; {self.machine()}."])

    def seeds_text(self) -> str:
        """Those of the trainings, or those asked for."""
        found = {
            what: ", ".join(str(each.seed) for each in group)
            for what, group in self.trainings.items()
        }
        if len(set(found.values())) > 1:
            return "; ".join(f"{what} {seeds}" for what, seeds in found.items())
        asked = ", ".join(map(str, self.seeds)) if self.commands else ""
        return next(iter(found.values()), asked or "–")

    def machine(self) -> str:
        """What it ran on."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.hardware}; {versions}"

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self) | {"spent": self.spent}


def read_provenance(record: Mapping[str, Any]) -> Provenance:
    """What `Provenance.record` wrote down."""
    return Provenance(
        seeds=tuple(record["seeds"]),
        seconds=record["seconds"],
        versions=record["versions"],
        hardware=record["hardware"],
        used=tuple(Used(**each) for each in record.get("used", ())),
        commands=tuple(record.get("commands", ())),
    )


def _describe(what: str, group: Sequence[Used]) -> str:
    """Trainings of one kind: seeds, seconds, version, and whether they are committed."""
    seeds = ", ".join(str(each.seed) for each in group)
    seconds = ", ".join(f"{each.seconds:,.0f}" for each in group)
    kept = "; from `docs/results/trainings`" if all(e.committed for e in group) else ""
    name = what[:1].upper() + what[1:]
    return f"{name}: seeds {seeds}, {seconds} s of training, {_versions(group)}{kept}."


def _versions(group: Sequence[Used]) -> str:
    return "by feynkac " + ", ".join(dict.fromkeys(each.version for each in group))


@dataclass(frozen=True)
class Result:
    """What one function of this package returns."""

    name: str
    """As given to `feynkac reproduce`."""
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    scale: str = FULL
    """"full", or a sentence that says what was scaled down and how far; empty if neither."""
    notes: tuple[str, ...] = ()
    """Sentences below the table: what is compared, what was found."""
    data: dict[str, Any] = field(default_factory=dict)
    """The numbers behind the rows, as JSON-ready data."""
    figure: Figure | None = None
    seeds: tuple[int, ...] | None = None
    """That were used, if not those asked for."""

    def record(self, provenance: Provenance) -> dict[str, Any]:
        """As JSON-ready data."""
        return {
            "name": self.name,
            "title": self.title,
            "scale": self.scale,
            "columns": self.columns,
            "rows": self.rows,
            "notes": self.notes,
            "data": self.data,
            "provenance": provenance.record(),
        }

    def markdown(self, provenance: Provenance) -> str:
        """A page of its own."""
        parts = [f"# {self.title}", markdown_table(self.columns, self.rows)]
        if self.scale:
            full = self.scale == FULL
            parts.insert(1, "Full scale." if full else f"**Scaled down**: {self.scale}")
        if self.figure is not None:
            parts.append(f"![{self.title}]({self.name}.png)")
            parts.append(f"The same as [vectors]({self.name}.svg).")
        source = f"The numbers are in [{self.name}.json]({self.name}.json). {provenance.sentence()}"
        lines = "\n".join(f"    {command}" for command in provenance.commands)
        made = ["Made by", lines] if lines else [UNRECORDED]
        return "\n\n".join([*parts, *self.notes, source, *made]) + "\n"

    def write(self, folder: Path, provenance: Provenance) -> list[Path]:
        """The page, the numbers and the figure; returns their paths."""
        make_folder(folder)
        contents = {
            "md": self.markdown(provenance).encode(),
            "json": (json.dumps(self.record(provenance), indent=1) + "\n").encode(),
        }
        if self.figure is not None:
            contents |= {kind: render(self.figure, kind) for kind in FORMATS}
        paths = {kind: folder / f"{self.name}.{kind}" for kind in contents}
        for kind, content in contents.items():
            write_atomically(paths[kind], content)
        return list(paths.values())


def render(figure: Figure, kind: str) -> bytes:
    """The bytes of a figure's file; the same figure gives the same bytes."""
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(content, format=kind, dpi=DPI, metadata=metadata)
    return content.getvalue()


def describe_machine() -> str:
    """Threads, processor and system.

    Example:
        >>> "thread" in describe_machine()
        True
    """
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    count = torch.get_num_threads()
    threads = f"{count} thread{'s' if count > 1 else ''} on {os.cpu_count()} cores"
    return f"{threads}, {platform.machine()}, {platform.system()}, {device}"


def describe_versions() -> dict[str, str]:
    """Of feynkac, torch and Python."""
    found = {name: version(name) for name in ("feynkac", "torch")}
    return found | {"python": platform.python_version()}
