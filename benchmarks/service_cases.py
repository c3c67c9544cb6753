"""Generated requests to the service: whatever comes, no answer may be a 5xx.

python benchmarks/service_cases.py [--examples 120] [--run FOLDER …]  (about ten minutes)

Trains a small put (or takes the runs that you name), serves it on this machine's loopback address
and asks it with requests that Schemathesis makes from the server's own OpenAPI document, for every
operation in three ways: what the document allows, what it forbids, and what it allows about inputs
that exist. The third way matters: random names are refused early, and only real ones reach the
computation. Answers must have a documented status, content type and shape, and what is forbidden
must be refused.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import schemathesis
import schemathesis.specs.openapi.checks as openapi_checks
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

PROGRAM = "from feynkac.interfaces.cli import main; main()"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]
WAYS = ("allowed", "forbidden", "of real inputs")
MOST_SECONDS, MOST_SAMPLES, MOST_STEPS = 0.05, 5000, 100
"""Of simulations and fits in the third way, so that thousands of cases take minutes."""


@dataclass
class Outcome:
    """What was answered."""

    statuses: Counter = field(default_factory=Counter)
    ways: Counter = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    slowest: float = 0.0

    @property
    def cases(self) -> int:
        """All of them."""
        return sum(self.statuses.values())

    @property
    def server_errors(self) -> int:
        """Answers from 500 on."""
        return sum(count for status, count in self.statuses.items() if status >= 500)


@dataclass(frozen=True)
class Inputs:
    """Bodies about the inputs of one solution."""

    variables: list[dict[str, Any]]
    quantities: list[str]

    def numbers(self, variable: dict[str, Any], inside: bool) -> st.SearchStrategy:
        """One value of the variable, of its shape; unless `inside`, perhaps outside its range."""
        kinds = []
        for low, high in zip(variable["low"], variable["high"], strict=True):
            odd = [low, high] if inside else [high + 1e-9, 2 * high - low, 0.0, -low, 1e300, 5e-324]
            kinds.append(st.one_of(st.floats(low, high), st.sampled_from(odd)))
        return st.tuples(*kinds).map(lambda values: nested(list(values), variable["shape"]))

    def columns(self, inside: bool, several: bool) -> dict[str, st.SearchStrategy]:
        """By variable, one value or a few."""
        ones = {each["name"]: self.numbers(each, inside) for each in self.variables}
        if not several:
            return ones
        lists = {name: st.lists(one, min_size=1, max_size=3) for name, one in ones.items()}
        return {name: st.one_of(one, lists[name]) for name, one in ones.items()}

    def at(self) -> st.SearchStrategy:
        """All inputs, mostly inside the domain; sometimes outside, or some are missing."""
        kinds = [self.columns(*flags) for flags in ((True, False), (True, True), (False, True))]
        odd = st.fixed_dictionaries({}, optional=kinds[2])
        return st.one_of(*map(st.fixed_dictionaries, kinds), odd)

    def name(self) -> st.SearchStrategy:
        """One entry of a variable; sometimes a variable, which may have several."""
        names = st.sampled_from([each["name"] for each in self.variables])
        entries = st.sampled_from([e for each in self.variables for e in each["entries"]])
        return st.one_of(entries, entries, entries, names)

    def law(self) -> st.SearchStrategy:
        """A law around each variable's range, not always a sensible one."""
        kinds = st.sampled_from(["normal", "uniform", "lognormal", "beta"])
        pairs = st.lists(st.floats(-1.0, 12.0), min_size=2, max_size=2)
        return st.fixed_dictionaries({"law": kinds, "parameters": pairs})

    def fill(self, body: dict[str, Any], draw: st.DrawFn) -> dict[str, Any]:
        """The same body about inputs that exist."""
        body = dict(body)
        if "at" in body:
            body["at"] = draw(self.at())
        if "known" in body:
            body["free"] = draw(st.lists(self.name(), min_size=1, max_size=3))
            body["known"] = draw(self.at())
            if draw(st.integers(0, 3)):  # most of the time a variable and what is known of others
                names = st.sampled_from([each["name"] for each in self.variables])
                body["free"] = draw(st.lists(names, min_size=1, max_size=2, unique=True))
                whole = draw(st.fixed_dictionaries(self.columns(inside=True, several=False)))
                body["known"] = {n: v for n, v in whole.items() if n not in body["free"]}
                body["values"] = draw(st.lists(st.floats(-1.0, 5.0), min_size=1, max_size=9))
                if isinstance(body.get("noise"), list):
                    body["noise"] = body["noise"][:1] * len(body["values"]) or None
        if body.get("quantities"):
            body["quantities"] = draw(st.lists(st.sampled_from(self.quantities), max_size=4))
        if "over" in body:
            if draw(st.integers(0, 3)):  # most of the time one input and whole axes
                body["at"] = draw(st.fixed_dictionaries(self.columns(inside=True, several=False)))
                few = st.one_of(st.none(), st.integers(2, 20))
                body["over"] = [{"points": draw(few)} for _ in body["over"]]
            body["over"] = [axis | {"name": draw(self.name())} for axis in body["over"]]
        if "given" in body:
            values = {e["name"]: self.numbers(e, inside=True) for e in self.variables}
            laws = {name: st.one_of(value, self.law()) for name, value in values.items()}
            body["given"] = draw(st.fixed_dictionaries({}, optional=laws))
        if "correlation" in body:
            two = st.lists(self.name(), min_size=2, max_size=2)
            body["correlation"] = [pair | {"names": draw(two)} for pair in body["correlation"]]
        return body


def nested(flat: list[float], shape: list[int]) -> Any:
    """A flat list in a shape."""
    if not shape:
        return flat[0]
    size = len(flat) // shape[0]
    return [nested(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def short(body: Any, brief: bool) -> Any:
    """A body whose simulation is short; `brief` also for those that say nothing about it."""
    if not isinstance(body, dict):
        return body
    limits = {"seconds": MOST_SECONDS, "samples": MOST_SAMPLES, "posterior": MOST_STEPS}
    found = dict(body)
    for name, most in limits.items():
        value = found.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > most:
            found[name] = most
    if brief and "at" in found and "tolerance" in found:
        found.setdefault("seconds", MOST_SECONDS)
    return found


def ask_all(url: str, examples: int, seed: int) -> dict[str, Outcome]:
    """All operations, by name."""
    known = requests.get(url + "v1/solutions", timeout=60).json()["solutions"]
    inputs = {each["id"]: Inputs(each["variables"], each["quantities"]) for each in known}
    schema = schemathesis.openapi.from_url(url + "openapi.json")
    found = {}
    for operation in (each.ok() for each in schema.get_all_operations()):
        outcome = Outcome()
        for way in WAYS:
            ask(operation, way, examples, seed, inputs, outcome)
        found[operation.label] = outcome
        print(f"{operation.label}: {dict(outcome.statuses)}", file=sys.stderr, flush=True)
    return found


def ask(
    operation: Any, way: str, examples: int, seed: int, inputs: dict[str, Inputs], outcome: Outcome
) -> None:
    """One operation in one way; what fails is kept, and the others go on."""
    if way == WAYS[2] and not operation.body:
        return
    mode = GenerationMode.NEGATIVE if way == WAYS[1] else GenerationMode.POSITIVE

    @st.composite
    def cases(draw: st.DrawFn) -> Any:
        case = draw(operation.as_strategy(generation_mode=mode))
        if way == WAYS[2] and isinstance(case.body, dict):
            case.path_parameters["id"] = draw(st.sampled_from(sorted(inputs)))
            case.body = inputs[case.path_parameters["id"]].fill(case.body, draw)
        if way != WAYS[1]:
            case.body = short(case.body, brief=way == WAYS[2])
        return case

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=seed == 0,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases())
    def each(case: Any) -> None:
        began = time.perf_counter()
        answer = case.call(timeout=60)
        outcome.slowest = max(outcome.slowest, time.perf_counter() - began)
        outcome.statuses[answer.status_code] += 1
        outcome.ways[way] += 1
        if answer.status_code == 413 and way == WAYS[1]:
            return  # a body of 4 MB is refused before it is read; the check does not know that
        try:
            case.validate_response(answer, checks=CHECKS)
        except BaseExceptionGroup as failed:
            for one in failed.exceptions:
                kind = f"{type(one).__name__} ({way}, {answer.status_code})"
                outcome.failures.setdefault(kind, f"{one}\n{answer.text[:500]}")

    try:
        each()
    except Unsatisfiable:  # an operation without inputs has no bad ones
        assert way == WAYS[1]


def serve(runs: list[Path], log: Path) -> tuple[subprocess.Popen, str]:
    """A server of these runs, and its address; a file takes all that it says."""
    command = [sys.executable, "-c", PROGRAM, "serve", *map(str, runs), "--port", "0"]
    with log.open("w") as file:
        process = subprocess.Popen(command, stderr=file)
    while process.poll() is None:
        if found := re.search(r"http://\S+", log.read_text()):
            return process, found[0]
        time.sleep(0.1)
    sys.exit(f"the server did not start: {log.read_text()}")


def train(folder: Path, steps: int) -> list[Path]:
    """A put with a closed form, and heat with a vector and a matrix among its inputs."""
    import feynkac as fk

    fk.solve(fk.BlackScholes(), steps=steps, evaluations=1, seed=0, out=folder / "put")
    fk.solve(fk.HeatParaboloid(dim=2), steps=steps, evaluations=1, seed=0, out=folder / "heat")
    return [folder / "put", folder / "heat"]


def lines(found: dict[str, Outcome]) -> list[str]:
    """For people."""
    shown = []
    for name, outcome in found.items():
        counts = ", ".join(f"{count} × {s}" for s, count in sorted(outcome.statuses.items()))
        shown.append(f"{name}: {counts}; slowest {outcome.slowest:.2f} s")
        shown += [f"  {kind}: {text}" for kind, text in outcome.failures.items()]
    cases = sum(each.cases for each in found.values())
    errors = sum(each.server_errors for each in found.values())
    failures = sum(len(each.failures) for each in found.values())
    good = sum(each.statuses[200] for each in found.values())
    shown.append(
        f"{cases} cases for {len(found)} operations, {good} answered with 200, {errors} with 5xx; "
        f"{failures} kinds of failed checks"
    )
    return shown


def main() -> None:
    """Parse options, train, serve, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, action="append", help="default: train two small ones")
    parser.add_argument("--steps", type=int, default=100, help="of each training")
    parser.add_argument("--examples", type=int, default=120, help="per operation and way")
    parser.add_argument("--seed", type=int, default=0, help="0: always the same requests")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        process, url = serve(options.run or train(Path(folder), options.steps), log)
        try:
            found = ask_all(url, options.examples, options.seed)
            healthy = requests.get(url + "healthz", timeout=60).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
        said = log.read_text().partition("\n")[2]  # after the line with the address
    if options.json:
        plain = {n: {"statuses": o.statuses, "failures": o.failures} for n, o in found.items()}
        print(json.dumps(plain))
    else:
        print("\n".join([*lines(found), f"healthy afterwards: {'yes' if healthy else 'no'}"]))
    if said:
        print(f"the server said:\n{said[-4000:]}", file=sys.stderr)
    failed = any(each.failures or each.server_errors for each in found.values())
    sys.exit(bool(failed or said or not healthy))


if __name__ == "__main__":
    main()
