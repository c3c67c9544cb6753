"""Every example in a docstring runs and shows what it says; every public thing has a docstring."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

import feynkac

ROOT = Path(feynkac.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
WITH_EXAMPLES = [path for path in SOURCES if ">>>" in path.read_text()]


def label(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=label)
def test_the_examples_of_a_module_run(path):
    module = import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_everything_public_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    assert not list(undocumented(tree))


def undocumented(node):
    """Public classes and functions without a docstring, at the top and inside classes."""
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
            if ast.get_docstring(child) is None:
                yield child.name
            if isinstance(child, ast.ClassDef):
                yield from undocumented(child)
