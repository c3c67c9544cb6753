"""Execute the notebooks of docs/gallery and write a page of the site beside each.

python benchmarks/gallery.py [NAME …]

A page is the notebook as Markdown: cells as code blocks, texts and pictures below them. The site so
needs no notebook tools, and `tests/test_gallery.py` compares both.
"""

import argparse
import base64
import re
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"


def execute(path: Path) -> float:
    """Run a notebook in place; the seconds it took."""
    notebook = nbformat.read(path, as_version=4)
    start = time.perf_counter()
    NotebookClient(notebook, timeout=900, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata.clear()
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)
    return time.perf_counter() - start


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and its pictures by file name."""
    notebook, pictures = nbformat.read(path, as_version=4), {}
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            if (picture := output.get("data", {}).get("image/png")) is not None:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(picture)
                parts.append(f"![{_title(notebook)}: picture {len(pictures)}]({name})")
            elif text := _text(output):
                parts.append(f"```text\n{text}\n```")
    parts.append(f"[Download this notebook]({path.name})")
    return "\n\n".join(parts) + "\n", pictures


def _title(notebook: Any) -> str:
    return str(notebook.cells[0].source.splitlines()[0].lstrip("# "))


def _text(output: Any) -> str:
    """What an output says in plain text, without progress and colours."""
    if output.output_type == "stream":
        said = output.text if output.name == "stdout" else ""
    else:
        said = output.get("data", {}).get("text/plain", "")
    return re.sub(r"\x1b\[[0-9;]*m", "", said).strip()


def write_page(path: Path) -> None:
    """The page and its pictures beside the notebook."""
    text, pictures = page(path)
    path.with_suffix(".md").write_text(text)
    for name, content in pictures.items():
        (path.parent / name).write_bytes(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of notebooks; by default all")
    parser.add_argument("--render", action="store_true", help="only write the pages")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in GALLERY.glob("*.ipynb"))
    for name in names:
        path = GALLERY / f"{name}.ipynb"
        if not options.render:
            print(f"{name}: {execute(path):.0f} s", flush=True)
        write_page(path)


if __name__ == "__main__":
    main()
