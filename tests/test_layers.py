"""The import graph: layers in one direction, no cycles, extras at the edge, a lazy facade."""

import ast
import functools
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import feynkac

ROOT = Path(feynkac.__file__).parent
LAYERS = [
    {
        *("errors", "files", "clock", "compilation", "fingerprint", "threads", "user_files"),
        *("suggestions", "phases", "display", "cards", "sketches"),
    },
    {"parts"},
    {"families"},
    {"sampling"},
    {"networks"},
    {"grids"},
    {"training"},
    {"methods"},
    {"runs"},
    {"analysis"},
    {"market"},
    {"checks"},
    {"evaluation", "loading", "solution_map", "solution_inference", "solution_card"},
    {"plotting"},
    {"solution"},
    {"preparation", "execution"},
    {"solver"},
    {"control"},
    {"library"},
    {"exporting"},
    {"tuning"},
    {"benchmarks"},
    {"reproduction"},
    {""},  # the facade, feynkac itself
    {"interfaces"},
]
EXTRAS = {
    "matplotlib",
    "emcee",
    "SALib",
    "ray",
    "optuna",
    "grpc",
    "fastapi",
    "starlette",
    "uvicorn",
    "uvloop",
    "orjson",
    "onnx",
    "onnxscript",
    "onnxruntime",
    "tensorboard",
}
OUTER = {"interfaces", "plotting", "tuning", "benchmarks", "reproduction"}
EDGE = OUTER | {"runs", "analysis", "exporting"}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def imported(path):
    """All modules that a file imports, at any depth and for type checking too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from (below & MODULES.keys()) or {node.module}


@functools.cache
def graph():
    """What every module imports."""
    return {name: set(imported(path)) for name, path in MODULES.items()}


def layer(module):
    """The place of a module in `LAYERS`."""
    top = f"{module}.".split(".")[1]
    return next(i for i, names in enumerate(LAYERS) if top in names)


def own(names):
    return {name for name in names if name.split(".")[0] == "feynkac"}


def test_modules_import_only_from_their_own_and_lower_layers():
    above = {(m, name) for m in MODULES for name in own(graph()[m]) if layer(name) > layer(m)}
    assert not above


def test_imports_name_modules_that_exist():
    assert set().union(*map(own, graph().values())) <= MODULES.keys()


def test_there_are_no_import_cycles():
    TopologicalSorter({name: own(graph()[name]) for name in MODULES}).prepare()


def test_extras_are_imported_at_the_edge_only():
    inside = [module for module in MODULES if f"{module}.".split(".")[1] not in EDGE]
    found = {(m, n) for m in inside for n in graph()[m] if n.split(".")[0] in EXTRAS}
    assert not found


def test_the_graph_sees_imports_of_every_kind():
    """So that the tests above cannot pass on an empty graph."""
    assert "feynkac.families.measures.box" in graph()["feynkac.families.domain"]  # at the top
    assert "feynkac.preparation" in graph()["feynkac.interfaces.solving"]  # inside a function
    assert "feynkac.solution" in graph()["feynkac"]  # for type checking
    assert "matplotlib.figure" in graph()["feynkac.plotting.pictures"]  # an extra


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


@pytest.mark.parametrize("module", ["feynkac", "feynkac.errors", "feynkac.interfaces.cli"])
def test_help_does_not_wait_for_torch(module):
    run(f"import {module}, sys; assert not {{'torch', 'numpy', 'pydantic'}} & sys.modules.keys()")


def test_the_whole_library_works_without_the_extras_and_fcntl():
    """Every module below the edge is imported while importing an extra fails, as on Windows."""
    lower = [name for name in MODULES if f"{name}.".split(".")[1] not in OUTER]
    missing = {*EXTRAS, "fcntl"}
    block = f"import sys, filelock; sys.modules.update(dict.fromkeys({sorted(missing)}, None))"
    run(f"{block}; import {', '.join(lower)}")


def test_the_facade_lists_every_public_name():
    assert sorted(feynkac.__all__) == sorted([*feynkac._HOMES, "load", "plot"])
    assert {*feynkac.__all__, "__version__"} == set(dir(feynkac))


@pytest.mark.parametrize("name", feynkac.__all__)
def test_every_public_name_resolves_to_itself(name):
    found = getattr(feynkac, name)
    assert found.__name__ == ("feynkac.plotting" if name == "plot" else name)
    assert found.__doc__


def test_type_checkers_see_the_same_public_names():
    tree = ast.parse(MODULES["feynkac"].read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    names = {alias.name for n in block.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert names == feynkac._HOMES.keys()


def test_an_unknown_public_name_is_refused():
    with pytest.raises(AttributeError, match=r"has no attribute 'slove'. Did you mean 'solve'\?"):
        _ = feynkac.slove
