"""A reproduced result: a table, a figure, the numbers behind them, and where they come from."""

import io
import json
import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from feynkac.files import make_folder, write_atomically

FULL = "full"
FORMATS = ("png", "svg")


@dataclass(frozen=True)
class Provenance:
    """Who made a result, and with what effort."""

    seeds: tuple[int, ...]
    seconds: float
    """Wall clock of this call; trainings found in the store took theirs before."""
    versions: dict[str, str]
    hardware: str

    def sentence(self) -> str:
        """For a reader."""
        seeds = ", ".join(map(str, self.seeds))
        return f"Seeds {seeds}; {self.seconds:.0f} s for this call; {self.machine()}."

    def machine(self) -> str:
        """What it ran on."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.hardware}; {versions}"


@dataclass(frozen=True)
class Result:
    """What one function of this package returns."""

    name: str
    """As given to `feynkac reproduce`."""
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    scale: str = FULL
    """"full", or a sentence that says what was scaled down and how far."""
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
            "provenance": {
                "seeds": provenance.seeds,
                "seconds": provenance.seconds,
                "versions": provenance.versions,
                "hardware": provenance.hardware,
            },
        }

    def markdown(self, provenance: Provenance) -> str:
        """A page of its own."""
        scale = "Full scale." if self.scale == FULL else f"**Scaled down**: {self.scale}"
        parts = [f"# {self.title}", scale, markdown_table(self.columns, self.rows)]
        if self.figure is not None:
            parts.append(f"![{self.title}]({self.name}.png)")
            parts.append(f"The same as [vectors]({self.name}.svg).")
        command = f"    feynkac reproduce {self.name}"
        source = f"The numbers are in [{self.name}.json]({self.name}.json). {provenance.sentence()}"
        return "\n\n".join([*parts, *self.notes, source, "Made by", command]) + "\n"

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


def markdown_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Columns and rows as Markdown.

    Example:
        >>> print(markdown_table(("a", "b"), [("1", "2")]))
        | a | b |
        | --- | --- |
        | 1 | 2 |
    """
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def render(figure: Figure, kind: str) -> bytes:
    """The bytes of a figure's file; the same figure gives the same bytes."""
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(content, format=kind, dpi=130, metadata=metadata)
    return content.getvalue()


def describe_machine() -> str:
    """Threads, processor and system.

    Example:
        >>> "thread" in describe_machine()
        True
    """
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    threads = f"{torch.get_num_threads()} threads on {os.cpu_count()} cores"
    return f"{threads}, {platform.machine()}, {platform.system()}, {device}"


def describe_versions() -> dict[str, str]:
    """Of feynkac, torch and Python."""
    found = {name: version(name) for name in ("feynkac", "torch")}
    return found | {"python": platform.python_version()}
