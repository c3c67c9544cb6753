"""Tests of the tests: small faults put into the code, one at a time; do the tests notice?

`python benchmarks/mutants.py --count 100` draws faults at random (an operator, a comparison, a
number or a condition is exchanged) from sampling, analysis, training, runs and files, and runs the
tests that mirror the file; if these pass, all tests of its folder. A fault that no test notices has
survived. The code itself is not touched: each fault is in a copy that a forked child imports.
`--write` puts the figures into docs/results/mutants.json, from which docs/reliability.md is made.
"""

import argparse
import ast
import concurrent.futures
import copy
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "feynkac"
PLACES = ("sampling", "analysis", "training", "runs", "files.py")
PATIENCE = 240.0  # seconds for the tests of one fault; longer is a hang, which a person notices
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass
class Mutant:
    """A fault, and what became of it."""

    file: str
    line: int
    fault: str
    killed_by: str = ""
    """"its own tests", "the folder's tests", or nothing: it survived."""
    seconds: float = 0.0


def faults(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Places to change, and how; not in texts, annotations or module constants, which are tuned."""
    bodies = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    skipped = {id(n) for f in bodies for part in _unseen(f) for n in ast.walk(part)}
    for function in bodies:
        for node in ast.walk(function):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
                yield node, "operator"
            elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
                yield node, "comparison"
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
                yield node, "sign"
            elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
                yield node, "number"
            elif isinstance(node, ast.If):
                yield node, "condition"


def _unseen(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Parts of a function whose change means nothing, or only another text."""
    yield from (a.annotation for a in function.args.args if a.annotation)
    yield from function.decorator_list
    yield from ([function.returns] if function.returns else [])
    yield from (n for n in ast.walk(function) if isinstance(n, ast.JoinedStr | ast.Raise))
    yield from (n.annotation for n in ast.walk(function) if isinstance(n, ast.AnnAssign))


def mutate(node: ast.AST, kind: str) -> str:
    """Change a node in place; in words."""
    before = ast.unparse(node.test if kind == "condition" else node)  # type: ignore[attr-defined]
    if kind == "operator":
        node.op = OPERATORS[type(node.op)]()  # type: ignore[attr-defined]
    elif kind == "comparison":
        node.ops[0] = OPERATORS[type(node.ops[0])]()  # type: ignore[attr-defined]
    elif kind == "number":
        value = node.value  # type: ignore[attr-defined]
        node.value = not value if isinstance(value, bool) else value + 1  # type: ignore[attr-defined]
    elif kind == "sign":
        inner = node.operand  # type: ignore[attr-defined]
        same = ast.UnaryOp(ast.UAdd(), inner) if isinstance(node.op, ast.USub) else inner  # type: ignore[attr-defined]
        node.__dict__, node.__class__ = same.__dict__, same.__class__  # type: ignore[assignment]
    else:
        node.test = ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]
    after = ast.unparse(node.test if kind == "condition" else node)  # type: ignore[attr-defined]
    return f"{before} → {after}"[:120]


def draw(count: int, seed: int) -> list[tuple[Mutant, str]]:
    """Faults from all files, each with the text of its file."""
    sources = [p for place in PLACES for p in sorted(_files(PACKAGE / place))]
    trees = {path: ast.parse(path.read_text()) for path in sources}
    every = [(p, i) for p in sources for i in range(len(list(faults(trees[p]))))]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    found = []
    for path, number in chosen:
        tree = copy.deepcopy(trees[path])
        node, kind = list(faults(tree))[number]
        line = node.lineno  # type: ignore[attr-defined]
        words = mutate(node, kind)
        text = ast.unparse(ast.fix_missing_locations(tree))
        found.append((Mutant(str(path.relative_to(PACKAGE)), line, words), text))
    return found


def _files(path: Path) -> Iterator[Path]:
    return path.rglob("*.py") if path.is_dir() else iter([path])


def try_mutant(mutant: Mutant, text: str) -> Mutant:
    """Run the tests against a copy of the package with the fault in it."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            PACKAGE, Path(folder) / "feynkac", ignore=shutil.ignore_patterns("__pycache__")
        )
        (Path(folder) / "feynkac" / mutant.file).write_text(text)
        own = ROOT / "tests" / Path(mutant.file).with_name(f"test_{Path(mutant.file).name}")
        whole = own.parent if own.parent != ROOT / "tests" else own
        for name, tests in (("its own tests", own), ("the folder's tests", whole)):
            if tests.exists() and not _pass(folder, tests):
                mutant.killed_by = name
                break
    mutant.seconds = time.perf_counter() - began
    return mutant


def _pass(folder: str, tests: Path) -> bool:
    """Whether all tests pass, in a child that imports from `folder`."""
    child = os.fork()
    if not child:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1), os.dup2(quiet, 2)
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder
        os.chdir(ROOT)
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
        os._exit(int(pytest.main([*options, str(tests)])))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) in (0, 5)  # 5: there is no test
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    """Print each fault and the share that was noticed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    import torch

    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    tried: list[Mutant] = []
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        jobs = [pool.submit(try_mutant, *each) for each in draw(wanted.count, wanted.seed)]
        for job in concurrent.futures.as_completed(jobs):
            tried.append(job.result())
            one = tried[-1]
            what = one.killed_by or "SURVIVED"
            print(f"{one.file}:{one.line}  {one.fault}  {what}  {one.seconds:.0f} s", flush=True)
    noticed = sum(bool(one.killed_by) for one in tried)
    print(f"{noticed} of {len(tried)} faults were noticed ({noticed / len(tried):.0%})")
    if wanted.write:
        rows = [asdict(one) for one in sorted(tried, key=lambda m: (m.file, m.line))]
        path = ROOT / "docs" / "results" / "mutants.json"
        path.write_text(json.dumps({"seed": wanted.seed, "mutants": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
