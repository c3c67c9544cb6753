"""Every example in a docstring runs and shows what it says; every public thing has a docstring."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

import feynkac
from feynkac.solution_inference import SolutionInference
from feynkac.solution_map import SolutionMap

ROOT = Path(feynkac.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
WITH_EXAMPLES = [path for path in SOURCES if ">>>" in path.read_text()]


def label(path):
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def solution():
    """What examples of its methods ask."""
    return feynkac.solve(feynkac.BlackScholes(), steps=2, batch_size=64)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=label)
def test_the_examples_of_a_module_run(path, solution):
    module = import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    result = doctest.testmod(module, extraglobs={"fk": feynkac, "solution": solution})
    assert result.attempted > 0
    assert result.failed == 0


def test_everything_public_has_a_docstring():
    trees = {label(path): ast.parse(path.read_text()) for path in SOURCES}
    assert not [name for name, tree in trees.items() if not ast.get_docstring(tree)]
    assert not {name: found for name, tree in trees.items() if (found := list(undocumented(tree)))}


def undocumented(node):
    """Public classes and functions without a docstring, at the top and inside classes.

    An overload is only a type: the function that follows it has the docstring.
    """
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
            if is_overload(child):
                continue
            if ast.get_docstring(child) is None:
                yield child.name
            if isinstance(child, ast.ClassDef):
                yield from undocumented(child)


def is_overload(node):
    return "overload" in [ast.unparse(each) for each in node.decorator_list]


def test_only_overloads_need_no_docstring():
    stub = "@overload\ndef f(x: int) -> int: ..."
    assert list(undocumented(ast.parse(stub))) == []
    assert list(undocumented(ast.parse(f"{stub}\ndef f(x): return x"))) == ["f"]


@pytest.mark.parametrize("name", [name for name in feynkac.__all__ if name != "plot"])
def test_every_public_name_has_an_example(name):
    assert ">>>" in getattr(feynkac, name).__doc__


def test_every_method_of_a_solution_has_an_example():
    own = vars(SolutionMap) | vars(SolutionInference) | vars(feynkac.Solution)
    methods = {name: found for name, found in own.items() if not name.startswith("_")}
    documented = {name for name, found in methods.items() if ">>>" in (found.__doc__ or "")}
    fields = feynkac.Solution.__dataclass_fields__.keys()
    assert methods.keys() - documented - fields == set()
