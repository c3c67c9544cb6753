"""Where the library's solutions are: one folder each, an artifact and its record.

NAME/manifest.json, weights.safetensors   the artifact (`runs/artifact.py`)
NAME/record.json                          what it is worth (`record.py`), sealed

They are part of the installed package, unless `FEYNKAC_LIBRARY` names another folder.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feynkac.errors import ArtifactError
from feynkac.files import make_folder, read_regular, seal, unseal, write_atomically

MANIFEST, WEIGHTS, RECORD = "manifest.json", "weights.safetensors", "record.json"
VARIABLE = "FEYNKAC_LIBRARY"
SHIPPED = Path(__file__).parent / "solutions"
"""Those that came with the package."""


@dataclass(frozen=True)
class Shelf:
    """A folder of named solutions.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Shelf(Path(folder)).names
        []
    """

    path: Path

    @property
    def names(self) -> list[str]:
        """What is here."""
        return sorted(found.parent.name for found in self.path.glob(f"*/{MANIFEST}"))

    def __contains__(self, name: str) -> bool:
        plain = name == Path(name).name and name not in ("", ".", "..")
        return plain and (self.path / name / MANIFEST).is_file()

    def folder(self, name: str) -> Path:
        """Of one solution."""
        return self.path / name

    @property
    def size(self) -> int:
        """Of all files, in bytes."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def put(self, name: str, source: Path, record: dict[str, Any]) -> None:
        """Take the artifact in `source` over, and its record; the manifest comes last."""
        target = self.folder(name)
        make_folder(target)
        (target / MANIFEST).unlink(missing_ok=True)
        write_atomically(target / WEIGHTS, (source / WEIGHTS).read_bytes())
        write_atomically(target / RECORD, seal(record))
        write_atomically(target / MANIFEST, (source / MANIFEST).read_bytes())

    def record(self, name: str) -> dict[str, Any]:
        """What a solution is worth.

        Raises:
            ArtifactError: there is no record, or it was altered.
        """
        path = self.folder(name) / RECORD
        try:
            return unseal(read_regular(path))
        except (OSError, ValueError) as error:
            raise ArtifactError(
                f"{path} is missing or damaged ({error}); train it again: library train {name}."
            ) from error


def open_shelf(folder: str | Path | None = None) -> Shelf:
    """The library in `folder`, or in the one that `FEYNKAC_LIBRARY` names, or the package's own."""
    return Shelf(Path(folder or os.environ.get(VARIABLE) or SHIPPED))
