"""A fingerprint changes with the formulas, and with nothing else."""

import importlib
from dataclasses import dataclass

import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.families.catalogue import find_family
from feynkac.fingerprint import fingerprint

BUILT_IN_MODULES = """
import itertools
import sys
import time
from dataclasses import dataclass

import feynkac as fk


@dataclass(frozen=True)
class Mine(fk.Family):
    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.0, sys.float_info.max ** 0.1), t=fk.Box(0.0, 1.0))

    def drift(self, x, p):
        return x * next(itertools.count()) * time.time_ns()

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x
"""


def test_modules_that_are_part_of_python_itself_are_nobodys_formulas(tmp_path):
    path = tmp_path / "built_in.py"
    path.write_text(BUILT_IN_MODULES)
    assert len(fingerprint(type(find_family(f"{path}:Mine")))) == 64


HELPER = """
RATE = 2.0

def pulled(x):
    return -RATE * x
"""
FAMILY = '''
"""A family."""
from dataclasses import dataclass

import feynkac as fk
from {helper} import pulled

SIGMA = 0.5


def unused(x):
    return x


class Base(fk.Family):
    def initial(self, x, p):
        return x.square()


@dataclass(frozen=True)
class Mine(Base):
    """Mine."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0, 1), t=fk.Box(0, 1))

    def drift(self, x, p):
        return pulled(x)  # home

    def diffusion(self, x, dw, p):
        return SIGMA * dw
'''


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes both files, changed, and gives the fingerprint of what they say."""
    monkeypatch.syspath_prepend(tmp_path)
    count = 0

    def write(old="", new="", *, helper=HELPER):
        nonlocal count
        count += 1
        name = f"helper_{tmp_path.name}_{count}".replace("-", "_")
        source = FAMILY.replace("{helper}", name)
        assert old in source + helper
        (tmp_path / f"{name}.py").write_text(helper.replace(old, new) if old else helper)
        path = tmp_path / f"family_{count}.py"
        path.write_text(source.replace(old, new) if old else source)
        importlib.invalidate_caches()
        return fingerprint(type(find_family(f"{path}:Mine")))

    return write


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# home", "# sweet home"),
        ('"""Mine."""', '"""Mine, all mine."""'),
        ('"""A family."""', '"""Another text."""'),
        ("SIGMA * dw", "(SIGMA   *   dw)"),
        ("\n\n\ndef unused", "\ndef unused"),
        ("def unused(x):\n    return x", "def unused(x):\n    return 2 * x"),
    ],
    ids=["comment", "docstring", "module docstring", "layout", "blank lines", "unused function"],
)
def test_what_does_not_matter_changes_nothing(written, old, new):
    """The helper's name differs from call to call, so that it cannot count either."""
    assert written(old, new) == written()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIGMA * dw", "SIGMA * dw * 1.1"),
        ("SIGMA = 0.5", "SIGMA = 0.6"),
        ("x.square()", "x.abs()"),
        ("fk.Box(0, 1), t", "fk.Box(0, 2), t"),
        ("-RATE * x", "RATE * x"),
        ("RATE = 2.0", "RATE = 3.0"),
        ("return pulled(x)", "return pulled(pulled(x))"),
    ],
    ids=["formula", "constant", "base class", "domain", "helper", "its constant", "use"],
)
def test_every_change_of_a_formula_is_seen(written, old, new):
    assert written(old, new) != written()


def test_a_module_that_is_used_by_name_counts_whole(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for k, text in enumerate(("A = 1\nB = 2\n", "A = 1\nB = 3\n")):
        (tmp_path / f"numbers_of_mine_{k}.py").write_text(text)
        source = FAMILY.replace("from {helper} import pulled", f"import numbers_of_mine_{k} as own")
        source = source.replace("pulled(x)", "own.A * x")
        (tmp_path / f"by_name_{k}.py").write_text(source)
        found.append(fingerprint(type(find_family(f"{tmp_path}/by_name_{k}.py:Mine"))))
    assert found[0] != found[1]


DEEP = {
    "constants that are one object": ("A, B, C = True, False, True", "C = True", "C = False"),
    "a table of functions": ("def f(x):\n    return x\n\nA = {'f': f}", "return x", "return -x"),
    "an object": (
        "class Curve:\n    def __init__(self, a):\n        self.a = a\n\nA = Curve(1.0)",
        "Curve(1.0)",
        "Curve(2.0)",
    ),
    "a partial function": (
        "import functools\n\ndef f(a, x):\n    return a * x\n\nA = functools.partial(f, 1.0)",
        "(f, 1.0)",
        "(f, 2.0)",
    ),
    "a default argument": ("s = 1.0\n\ndef A(x, s=s):\n    return s * x", "s = 1.0", "s = 2.0"),
    "a cached function": (
        "import functools\n\n@functools.cache\ndef A(x):\n    return x",
        "return x",
        "return -x",
    ),
}


@pytest.mark.parametrize("case", DEEP)
def test_what_constants_hold_counts(tmp_path, case):
    top, old, new = DEEP[case]
    found = []
    for k, text in enumerate((top, top.replace(old, new), top)):
        source = FAMILY.replace("from {helper} import pulled", text)
        uses = "(A, B, C)" if "B" in top else "(A,)"
        folder = tmp_path / str(k)
        folder.mkdir()
        (folder / "deep.py").write_text(source.replace("return pulled(x)", f"return 0 * x, {uses}"))
        found.append(fingerprint(type(find_family(f"{folder}/deep.py:Mine"))))
    assert found[0] == found[2] != found[1]


def test_two_lambdas_of_one_file_are_two(tmp_path):
    top = "f = lambda x: 2 * x\ng = lambda x: 3 * x"
    source = FAMILY.replace("from {helper} import pulled", top).replace("pulled(x)", "f(x)")
    (tmp_path / "lambdas.py").write_text(source)
    fingerprint(type(find_family(f"{tmp_path}/lambdas.py:Mine")))


def test_a_class_from_inside_a_function_is_known_by_what_surrounds_it():
    def make(factor):
        @dataclass(frozen=True)
        class Local(fk.BlackScholes):
            def drift(self, x, p):
                return factor * x

        return Local

    assert fingerprint(make(1.0)) == fingerprint(make(1.0))
    assert fingerprint(make(1.0)) != fingerprint(make(2.0))


PROMPT = """
@dataclass(frozen=True)
class Typed(fk.BlackScholes):
    def drift(self, x, p):
        return FACTOR * x
"""


def test_without_source_the_byte_code_is_taken():
    """As at the prompt of Python: there is no file to read it from."""

    def typed(factor):
        names = {"dataclass": dataclass, "fk": fk, "__name__": "prompt"}
        exec(PROMPT.replace("FACTOR", factor), names)
        return fingerprint(names["Typed"])

    assert typed("2.0") == typed("2.0") != typed("3.0")


def test_without_source_constants_and_helpers_count_too():
    def typed(factor, helper):
        names = {"dataclass": dataclass, "fk": fk, "__name__": "prompt", "FACTOR": factor}
        exec(f"def pulled(x):\n    return {helper}", names)
        exec(PROMPT.replace("FACTOR * x", "FACTOR * pulled(x)"), names)
        return fingerprint(names["Typed"])

    assert typed(2.0, "x") == typed(2.0, "x")
    assert typed(2.0, "x") != typed(3.0, "x")
    assert typed(2.0, "x") != typed(2.0, "-x")


def test_a_file_that_was_edited_after_its_import_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "edited_later.py"
    source = FAMILY.replace("from {helper} import pulled", "from torch import abs as pulled")
    path.write_text(source)
    mine = importlib.import_module("edited_later").Mine
    fingerprint(mine)
    path.write_text(source.replace("pulled(x)", "2.0 * pulled(x)"))
    with pytest.raises(InputError, match=r"edited_later\.py was edited after Mine was imported"):
        fingerprint(mine)
    path.write_text("import feynkac\n\n\n" + source)  # other lines, the same program
    fingerprint(mine)
