"""A C header with weights and forward pass: no dependency but the C library, one row at a time."""

import re
from pathlib import Path
from typing import Any

from feynkac.exporting.c_stages import FUNCTIONS, Writing
from feynkac.exporting.description import describe
from feynkac.exporting.program import metadata
from feynkac.solution import Solution

HEAD = """\
/* {family}: u({inputs}), a network trained by feynkac {version}.
   Measured error, relative to 1 + |u|: {error}.
   {NAME}_INPUTS numbers in, in this order; {NAME}_OUTPUTS out. Compile with -lm.
   {name}_value returns 0, or i if input i (from 1) lies outside the domain: then the value is an
   extrapolation.{remarks} */
#ifndef {NAME}_H
#define {NAME}_H
#include <math.h>

#define {NAME}_INPUTS {dim}
#define {NAME}_OUTPUTS {outputs}
{bounds}
"""
BODY = """
static int {name}_value(const double *inputs, double *value) {{
    double a[{widest}], b[{widest}];
    int outside = 0;
    for (int i = {dim} - 1; i >= 0; i--) {{
        a[i] = inputs[i];
        if (!(a[i] >= {name}_low[i] && a[i] <= {name}_high[i])) outside = i + 1;
    }}
{calls}
    for (int i = 0; i < {outputs}; i++) value[i] = {here}[i];
    return outside;
}}
#endif
"""


def header_text(solution: Solution, name: str) -> str:
    """The header; its names start with `name`."""
    about = metadata(solution)
    dim = len(about["inputs"])
    out = Writing(here="a", size=dim, widest=dim)
    out.write(describe(solution).records())
    error = about["error"] or {}
    shown = ", ".join(f"{k} {v:.2g}" for k, v in error.items() if v is not None) or "unknown"
    words = {
        "family": _comment(about["family"]),
        "inputs": ", ".join(about["inputs"]),
        "version": about["versions"]["feynkac"],
        "error": shown,
        "remarks": "".join(f"\n   {_comment(text)}" for text in _remarks(about)),
        "name": name,
        "NAME": name.upper(),
        "dim": dim,
        "outputs": about["outputs"],
        "widest": out.widest,
        "here": out.here,
        "bounds": "\n".join(_bounds(name, side, about[side]) for side in ("low", "high")),
        "calls": "\n".join(out.calls),
    }
    functions = "\n".join(FUNCTIONS[kind].strip() for kind in FUNCTIONS if kind in out.used)
    middle = "\n".join([*out.arrays, "", functions]).replace("fk_", f"{name}_fk_")
    body = BODY.format(**words | {"calls": words["calls"].replace("fk_", f"{name}_fk_")})
    return HEAD.format(**words) + middle + "\n" + body


def c_name(path: Path) -> str:
    """A C identifier from the name of a file.

    Example:
        >>> c_name(Path("my put-2.h"))
        'my_put_2'
    """
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    return name if re.match(r"[A-Za-z]", name) else f"u_{name}"


def _bounds(name: str, side: str, values: list[float]) -> str:
    return f"static const double {name}_{side}[{len(values)}] = {{{', '.join(map(repr, values))}}};"


def _remarks(about: dict[str, Any]) -> list[str]:
    """Warnings, and what the header does not check."""
    coupled = ["The family allows only a part of the domain; that is not checked here."]
    return [*about["warnings"], *(coupled if about["coupled"] else [])]


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
