"""How results present themselves: a few lines in a shell, a table with a picture in a notebook.

A class that has a `card` gets both from `Shown`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

MOST_ROWS = 12  # of a table in a notebook
LONGEST = 100  # characters of a line in a shell


@dataclass(frozen=True)
class Card:
    """What there is to say about an object.

    Example:
        >>> Card("Errors: L1 0.01", ["1000 inputs"], {"L1 error": "0.01"}).text()
        'Errors: L1 0.01\\n  1000 inputs'
    """

    title: str
    lines: Sequence[str] = ()
    """At most two further lines, for a shell."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """The table, for a notebook."""
    picture: str = ""
    """An SVG, see `sketches.py`."""
    warnings: Sequence[str] = ()

    def text(self) -> str:
        """One to three lines."""
        return "\n".join([_cut(self.title), *(f"  {_cut(line)}" for line in self.lines[:2])])

    def html(self) -> str:
        """The table with its picture, and warnings below."""
        shown = list(self.rows.items())[:MOST_ROWS]
        if left := len(self.rows) - len(shown):
            shown.append(("…", f"{left} more"))
        rows = "".join(
            f'<tr><td style="text-align:left">{escape(name)}</td>'
            f'<td style="text-align:right">{escape(value)}</td></tr>'
            for name, value in shown
        )
        notes = "".join(f"<div>⚠ {escape(sentence)}</div>" for sentence in self.warnings)
        return (
            f"<div><b>{escape(self.title)}</b>"
            '<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1em">'
            f"<table>{rows}</table>{self.picture}</div>{notes}</div>"
        )


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


class Shown(ABC):
    """What has a card is printed as it."""

    @abstractmethod
    def card(self) -> Card:
        """What there is to say about it."""

    def __repr__(self) -> str:
        return self.card().text()

    def _repr_html_(self) -> str:
        return self.card().html()
