"""`pretrained(name)`: a solution from the library, at once and offline."""

from pathlib import Path

from feynkac.errors import ArtifactError
from feynkac.library.shelf import Shelf, open_shelf
from feynkac.solution import Solution


def pretrained(name: str, library: str | Path | None = None) -> Solution:
    """The solution of this name.

    Args:
        name: such as "heston"; `feynkac library` lists them, with their errors.
        library: folder of another library; by default the one that `FEYNKAC_LIBRARY` names, or the
            package's own.

    Raises:
        ArtifactError: it is not there.

    Example:
        >>> import feynkac as fk
        >>> channel = fk.pretrained("channel")
        >>> channel(x=[-1.0, 0.0], t=1.0, velocity=1.0, diffusivity=0.1, decay=0.0).shape
        torch.Size([])
    """
    shelf = open_shelf(library)
    if name not in shelf:
        raise ArtifactError(missing(name, shelf))
    return Solution.load(shelf.folder(name))


def missing(name: str, shelf: Shelf) -> str:
    """Why there is no such solution, and what to do."""
    from feynkac.library.entries import ENTRIES, suggestion  # takes time, and is rarely needed

    listed = [entry.name for entry in ENTRIES]
    if name in listed:
        return (
            f"the library's {name} is not in {shelf.path}; install the wheel that has it, or "
            f"train it: feynkac library train {name} (make library trains all)."
        )
    others = [other for other in shelf.names if other not in listed]
    return f"the library has no {name!r}; {suggestion(name, [*listed, *others])}"
