"""The explorer's files, read into memory when the server starts: no path leads to another file."""

from dataclasses import dataclass
from pathlib import Path

BUILT = Path(__file__).parents[1] / "web" / "dist"
"""Where the built page is, if it came with the package."""
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}
NO_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>feynkac</title>
<h1>feynkac</h1><p>The service is running, but this installation has no explorer page.
Ask <a href="v1/solutions">/v1/solutions</a>, or read <a href="openapi.json">/openapi.json</a>.</p>
</html>
"""


@dataclass(frozen=True)
class Page:
    """One file."""

    content: bytes
    media_type: str


def read_pages(folder: Path = BUILT) -> dict[str, Page]:
    """All files by path; at "" the index, or a page that says that there is none.

    Example:
        >>> read_pages(Path("nowhere"))[""].media_type
        'text/html; charset=utf-8'
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    found = {
        str(path.relative_to(folder)): Page(path.read_bytes(), TYPES[path.suffix]) for path in files
    }
    index = found.get("index.html", Page(NO_PAGE.encode(), TYPES[".html"]))
    return {"": index, **found}
