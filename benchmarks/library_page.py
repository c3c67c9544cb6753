"""Write the tables of docs/library.md from the records in the package.

python benchmarks/library_page.py            (after `make library`)
"""

import re
from pathlib import Path
from typing import Any

from feynkac.analysis.rounding import number
from feynkac.benchmarks.markdown import markdown_table
from feynkac.library.listing import list_library, table
from feynkac.library.shelf import open_shelf

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
PART = re.compile(r"(<!-- tables -->\n).*(?=\n## Any level)", re.S)


def tables() -> str:
    """Errors, and the shape that each solution violates most."""
    records = list_library(open_shelf())
    worst = [(r["name"], *_worst(r["shape"])) for r in records if r.get("shape")]
    columns = ("name", "shape: u …", "violated at", "by at most")
    return f"\n{markdown_table(*table(records))}\n\n{markdown_table(columns, worst)}\n"


def _worst(report: dict[str, Any]) -> tuple[str, str, str]:
    row = max(report["shapes"], key=lambda row: row["share"])
    if not row["share"]:
        return f"all {len(report['shapes'])} shapes", "no input", "–"
    return row["sentence"], f"{row['share']:.2%} of inputs", number(row["largest"])


def written(text: str) -> str:
    """The page with today's tables."""
    return PART.sub(lambda match: match[1] + tables(), text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
