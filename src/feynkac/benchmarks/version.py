"""Which code made a number: the package's version and a hash of what determines numbers.

Comments, docstrings and layout do not count: the hash is that of the syntax trees.
"""

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = (
    "families",
    "sampling",
    "networks",
    "grids",
    "training",
    "methods",
    "runs",
    "analysis",
    "checks",
    "evaluation.py",
    "compilation.py",
    "preparation.py",
    "execution.py",
    "solver.py",
    "benchmarks/bench.py",
    "benchmarks/dimensions.py",
)
"""What every training and measurement goes through."""


@functools.cache
def code_version(module: str | None = None) -> str:
    """Of the core, and of the module that computes a number with it.

    Example:
        >>> code_version().split("+")[0] == version("feynkac")
        True
    """
    files = [path for part in CORE for path in _sources(ROOT / part)]
    further = getattr(sys.modules.get(module or ""), "__file__", None)
    if further and Path(further) not in files:
        files.append(Path(further))
    return f"{version('feynkac')}+{hash_sources(path.read_text() for path in files)}"


def _sources(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def hash_sources(sources: Iterable[str]) -> str:
    """Eight digits that only code changes.

    Example:
        >>> hash_sources(["x = 1  # one"]) == hash_sources(["x  =  1"])
        True
    """
    digest = hashlib.sha256()
    for source in sources:
        digest.update(ast.dump(_without_texts(ast.parse(source))).encode())
    return digest.hexdigest()[:8]


def _without_texts(tree: ast.Module) -> ast.Module:
    """The tree without docstrings, those of fields included."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            lines = getattr(node, name, None)
            if isinstance(lines, list):
                setattr(node, name, [line for line in lines if not _is_text(line)])
    return tree


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
