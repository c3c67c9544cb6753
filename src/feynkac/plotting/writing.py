"""Figures as files."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from feynkac.files import write_atomically
from feynkac.plotting.style import DPI


def write_figure(figure: Figure, path: Path) -> Path:
    """Save `figure` atomically."""
    content = io.BytesIO()
    figure.savefig(content, dpi=DPI)
    write_atomically(path, content.getvalue())
    return path
