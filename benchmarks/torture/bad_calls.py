"""Bad calls of the command line: one sentence and an exit code, never a traceback or a hang."""

import itertools
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.torture import children
from benchmarks.torture.promise import Promise, Trial

import feynkac as fk

PATIENCE = 60.0
"""Seconds after which a refusal is a hang; the machine may be busy."""
RAW = re.compile(r"^error: \w*(?:Error|Exception|Exit|Interrupt|Iteration): ", re.M)
"""A sentence that begins like this is an exception that nobody foresaw."""
NUMBERS = ("", "nan", "inf", "-1", "0", "1e400", "9" * 40, "x", "1_0", "0x10", "½", "\ud800")
TEXTS = ("", " ", "=", ",", "x", "x=", "=1", "x=1,x=2", "[", "x[", "x[0]=1", "\0", "ø=1")
FILES = {
    "exits.py": "import sys; sys.exit(3)",
    "exits_well.py": "raise SystemExit",
    "quits.py": "quit()",
    "interrupts.py": "raise KeyboardInterrupt",
    "generator.py": "raise GeneratorExit",
    "recurses.py": "def f(): f()\nf()",
    "syntax.py": "def",
    "null.py": "x = '\0'",
    "latin.py": "x = '\xe9'",
    "asserts.py": "assert False",
    "empty.py": "",
    "memory.py": "raise MemoryError",
    "warns.py": "raise Warning('no')",
}
FAMILY = """
from dataclasses import dataclass
import sys
import torch
import feynkac as fk

@dataclass(frozen=True)
class {name}(fk.Family):
    field: float = 1.0

    @property
    def domain(self):
        {domain}

    def drift(self, x, p):
        {drift}

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        {initial}
"""
GOOD = {
    "domain": "return fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0))",
    "drift": "return torch.zeros_like(x)",
    "initial": "return x",
}
FAMILIES = {
    "DomainExits": {"domain": "sys.exit(1)"},
    "DomainNone": {"domain": "return None"},
    "DomainText": {"domain": "return 'x'"},
    "DomainRaises": {"domain": "raise KeyError('x')"},
    "DriftExits": {"drift": "sys.exit(1)"},
    "DriftNone": {"drift": "return None"},
    "DriftText": {"drift": "return 'x'"},
    "DriftRaises": {"drift": "raise ZeroDivisionError('no')"},
    "DriftRecurses": {"drift": "return self.drift(x, p)"},
    "DriftUnknown": {"drift": "return p.nothing"},
    "InitialNone": {"initial": "return None"},
    "InitialExits": {"initial": "raise SystemExit"},
    "InitialInfinite": {"initial": "return x / 0.0"},
    "InitialNan": {"initial": "return x * float('nan')"},
    "InitialOverflows": {"initial": "return (1e30 * x).exp()"},
    "InitialWide": {"initial": "return x.expand(*x.shape[:-1], 7).mean(0)"},
    "InitialInteger": {"initial": "return x.long()"},
    "InitialComplex": {"initial": "return x.to(torch.complex64)"},
    "InitialStop": {"initial": "raise StopIteration"},
}


def _try(trial: Trial) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _prepare(folder)
        calls = list(_calls())
        for call in calls[:: 8 if trial.quick else 1]:
            _call(trial, folder, call)


def _prepare(folder: Path) -> None:
    fk.solve(fk.BlackScholes(), steps=2, batch_size=16, evaluations=1, out=folder / "run")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="latin-1" if name == "latin.py" else "utf-8")
    for name, changed in FAMILIES.items():
        (folder / f"{name}.py").write_text(FAMILY.format(name=name, **GOOD | changed))
    (folder / "bad.csv").write_text("x,value\n1\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    (folder / "deep.json").write_text("[" * 10**5)
    (folder / "nan.json").write_text('{"width": [NaN, 3]}')
    (folder / "text.json").write_text('{"width": "x"}')
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")


def _call(trial: Trial, folder: Path, arguments: tuple[str, ...]) -> None:
    """A call may succeed (some values are fine); what it must not do is crash, hang or mumble."""

    def body() -> None:
        from feynkac.interfaces.cli import main

        os.chdir(folder)
        sys.argv = ["feynkac", *arguments]
        os.environ["NO_COLOR"] = "1"
        main()

    end = children.run(body, PATIENCE)
    shown = " ".join(map(repr, arguments))[:160]
    if end.code is None:
        trial.check(False, f"hung: {shown}")
    elif end.code not in (0, 1, 2, 130) or "Traceback" in end.output:
        trial.check(False, f"exit {end.code}: {shown}: {end.output[-200:]!r}")
    else:
        raw = RAW.search(end.output)
        trial.check(raw is None, f"{shown}: {end.output[:200]!r}")


def _calls() -> Iterator[tuple[str, ...]]:
    yield from _odd_options()
    yield from _odd_inputs()
    yield from _odd_families()
    yield from _odd_files()
    yield from _contradictions()


def _odd_options() -> Iterator[tuple[str, ...]]:
    solve = ("solve", "black-scholes")
    for option, value in itertools.product(
        ("--steps", "--batch-size", "--paths", "--seed", "--dim", "--workers"), NUMBERS
    ):
        if (option, value) not in {("--steps", "9" * 40), ("--paths", "9" * 40)}:
            yield (*solve, "--out", "o", option, value, *_short(option))
    for value in ("", "0s", "-1s", "nan", "inf", "1x", "s", "1e-9s", "9" * 400, "1 s s", "\0"):
        yield (*solve, "--budget", value, "--out", "o")
    for value in ("", "x", "euler:0", "euler:-1", "euler:1e9", "e", ":", "log-ode:x", "exact:3"):
        yield (*solve, "--scheme", value, "--steps", "1", "--batch-size", "4", "--out", "o")
        yield ("error", "run", "--scheme", value, "--inputs", "2")
    for value in ("", "x", "1-", "3-1", "0-999999999999", "-1", "1,,2", "9" * 30):
        yield (*solve, "--seeds", value, "--steps", "1", "--batch-size", "4", "--out", "o")
        yield ("reproduce", "table-5", "--seeds", value, "--out", "o", "--runs", "r")
    for value in ("", "x", "cuda:99", "cpu:7:7", "mps", "meta", "\0", "ø"):
        yield (*solve, "--device", value, "--steps", "1", "--batch-size", "4", "--out", "o")
    for value in NUMBERS:
        yield ("error", "run", "--inputs", value)
        yield ("error", "run", "--paths", value, "--inputs", "2")
        yield (
            "greeks",
            "run",
            "--at",
            "sigma=0.3,strike=11,t=0.5",
            "--over",
            "x",
            "--points",
            value,
        )
        yield ("uncertainty", "run", "--samples", value, "--json")
        yield ("query", "run", "--at", POINT, "--certify", "--tolerance", value)
    for value in ("", "0", "-1", "1,2,x", "9" * 9, "1,,2", "½"):
        yield ("dimensions", "--dims", value, "--steps", "1")
    for value in (
        "ray://[::",
        "ray://",
        "ray://x:y",
        "\0",
        "http://127.0.0.1:1",
        "ray://127.0.0.1:1",
    ):
        yield (*solve, "--steps", "1", "--address", value, "--out", "o")


POINT = "x=9.5,t=0.5,sigma=0.3,strike=11"


def _short(option: str) -> tuple[str, ...]:
    """So that what is fine after all ends soon."""
    small = {"--steps": "1", "--batch-size": "4"}
    return tuple(w for name, value in small.items() if name != option for w in (name, value))


def _odd_inputs() -> Iterator[tuple[str, ...]]:
    deep = "[" * 2000 + "1" + "]" * 2000
    odd = (
        "[1,[2]]",
        "[[1],[2,3]]",
        "[]",
        "[[]]",
        "null",
        "[null]",
        "true",
        '"1"',
        "{}",
        deep,
        "[1,2]",
    )
    for value in (*odd, *NUMBERS, "1e309", "[NaN]", "-0", "[" * 10**5):
        yield ("query", "run", "--at", f"x={value},t=0.5,sigma=0.3,strike=11")
        yield (
            "query",
            "run",
            "--at",
            f"x={value},t=0.5,sigma=0.3,strike=11",
            "--json",
            "--extrapolate",
        )
        yield ("uncertainty", "run", "--samples", "64", "--given", f"x={value}")
        yield ("check", "black-scholes", "--domain", f"t={value}")
        yield ("check", "geometric-basket", "--field", f"dim={value}")
    for text in TEXTS:
        yield ("query", "run", "--at", text)
        yield ("greeks", "run", "--at", text)
        yield ("uncertainty", "run", "--samples", "64", "--given", text)
        yield ("uncertainty", "run", "--samples", "64", "--correlation", text)
        yield ("check", "black-scholes", "--domain", text)
        yield ("check", "black-scholes", "--field", text)
        yield ("calibrate", "run", "bad.csv", "--free", text)
    for law in (
        "normal(0,0)",
        "normal(1)",
        "beta(0,0)",
        "uniform(2,1)",
        "lognormal(-1,1)",
        "f(1,2)",
    ):
        yield ("uncertainty", "run", "--samples", "64", "--given", f"sigma={law}")
        yield ("check", "black-scholes", "--domain", f"sigma={law}")


def _odd_families() -> Iterator[tuple[str, ...]]:
    names = (
        "",
        ":",
        "::",
        "a:b:c",
        "none",
        "None",
        "BlackScholes",
        "..",
        "/",
        "\0",
        "folder:X",
        "pipe:X",
    )
    for name in (*names, *(f"{file}:X" for file in FILES), *(f"{n}.py:{n}" for n in FAMILIES)):
        yield ("check", name)
        yield ("solve", name, "--steps", "1", "--batch-size", "4", "--out", "o")
        yield ("query", "run", "--at", POINT, "--family", name)
    for file in (*FILES, "nowhere.py", "folder", "pipe", "", "\0"):
        yield ("--use", file, "families")
    for name in (
        "none",
        "true",
        "class",
        "None",
        "_",
        "1a",
        "torch",
        "sys",
        "__main__",
        "a" * 300,
        "ø",
        "",
    ):
        yield ("new", name)


def _odd_files() -> Iterator[tuple[str, ...]]:
    files = ("nowhere", "folder", "pipe", "bad.csv", "binary.csv", "/dev/zero", "/dev/null", "")
    jsons = (
        "deep.json",
        "nan.json",
        "text.json",
        "bad.csv",
        "folder",
        "pipe",
        "/dev/null",
        "nowhere",
    )
    for file in files:
        yield ("query", file, "--at", POINT)
        yield ("error", file)
        yield ("calibrate", "run", file, "--free", "sigma")
        yield (
            "solve",
            "black-scholes",
            "--steps",
            "1",
            "--batch-size",
            "4",
            "--out",
            f"{file}/x/y",
        )
        yield (
            "greeks",
            "run",
            "--at",
            "sigma=0.3,strike=11,t=0.5",
            "--over",
            "x",
            "--out",
            f"{file}/x.png",
        )
    for file in jsons:
        yield ("solve", "black-scholes", "--preset", file, "--steps", "1", "--out", "o")
        yield (
            "tune",
            "black-scholes",
            "--space",
            file,
            "--trials",
            "1",
            "--budget",
            "1s",
            "--out",
            "o",
        )


def _contradictions() -> Iterator[tuple[str, ...]]:
    solve = ("solve", "black-scholes", "--out", "o")
    yield (*solve, "--steps", "1", "--budget", "1s")
    yield (*solve, "--parallel", "--workers", "1")
    yield (*solve, "--retrain", "--workers", "1")
    yield (*solve, "--dim", "2", "--field", "dim=3")
    yield ("query", "run", "--at", POINT, "--tolerance", "0.1")
    yield ("query", "run", "--at", POINT, "--certify", "--extrapolate")
    yield ("greeks", "run", "--at", POINT, "--over", "x")
    yield ("error", "run", "--out", "x.png")
    yield ("error", "run", "--map", "--scheme", "euler:5", "--inputs", "2")
    yield ("error", "run", "--map", "--paths", "100", "--inputs", "2")
    yield ("bench", "--suite", "zoo", "--seeds", "3")
    yield ("bench", "--family", "nothing")
    yield ("bench", "--suite", "catalogue", "--family", "nothing")
    yield ("reproduce", "table-99")
    yield ("reproduce", "table-5", "--full", "--budget", "1s")
    yield ("nonsense",)
    yield ("--nonsense",)
    yield ()


BAD_CALLS = Promise(
    "bad calls",
    "Bad input gets an answer, never a traceback, and nothing hangs.",
    "Options, inputs, families, modules and files that are wrong, each in a process of its own; "
    f"a traceback, an exception's raw name, or no answer in {PATIENCE:g} seconds is a failure.",
    _try,
)
