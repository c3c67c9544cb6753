"""Put the measured errors of the catalogue into its pages.

    feynkac bench --suite catalogue --json > suite.json
    python benchmarks/model_pages.py suite.json

Rewrites the last section of each page of docs/models, and the table of its index.
"""

import json
import re
import sys
from pathlib import Path

PAGES = Path(__file__).parent.parent / "docs" / "models"
COLUMNS = "| | inputs | L1 ± s.e. | target | reference | scheme | seconds |\n" + "|---" * 7 + "|\n"
HEADING = "## Measured error"


def line(row):
    page = f"[{row['name']}]({row['family']}.md)"
    error = f"{row['l1']:.6f} ± {row['l1_se']:.6f}"
    reference = row["reference"]
    if reference == "simulated":
        reference += f" ± {row['reference_se']:.0e} ± {row['reference_bias']:.0e}"
    target = f"{row['target']}, {'met' if row['met'] else '**missed**'}"
    scheme = f"`{row['scheme']}:{row['steps']}`"
    cells = (page, row["inputs"], error, target, reference, scheme, f"{row['seconds']:.0f}")
    return "| " + " | ".join(map(str, cells)) + " |\n"


def conditions(suite):
    versions = ", ".join(f"{name} {number}" for name, number in suite["versions"].items())
    return (
        f"`feynkac bench --suite catalogue`, default settings, {suite['budget']:.0f} s of budget,\n"
        f"{suite['threads']} threads, mean over {suite['seeds']} seed(s), {versions}.\n"
        "L1 is Eq. (9) of the paper on fresh inputs. A simulated reference has a statistical and\n"
        "an estimated discretisation error. Seconds are wall clock around `solve`.\n"
    )


def main(path):
    suite = json.loads(Path(path).read_text())
    rows = suite["rows"]
    for family in dict.fromkeys(row["family"] for row in rows):
        page = PAGES / f"{family}.md"
        text = page.read_text().partition(f"\n{HEADING}\n")[0].rstrip("\n")
        own = "".join(line(row) for row in rows if row["family"] == family)
        page.write_text(f"{text}\n\n{HEADING}\n\n{COLUMNS}{own}\n{conditions(suite)}")
    index = PAGES / "index.md"
    table = COLUMNS + "".join(map(line, rows)) + "\n" + conditions(suite)
    index.write_text(
        re.sub(
            r"(<!-- table -->\n)(.*?)(<!-- end of table -->)",
            lambda found: f"{found[1]}\n{table}\n{found[3]}",
            index.read_text(),
            flags=re.DOTALL,
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
