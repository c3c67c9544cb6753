"""Laws that hold for all inputs, each tried with inputs that hypothesis draws."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from benchmarks.torture.promise import Promise, Trial
from benchmarks.torture.small_runs import train
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import feynkac as fk
from feynkac.families.capabilities import ClosedForm
from feynkac.families.catalogue import BUILT_IN
from feynkac.files import seal, unseal
from feynkac.interfaces.cli import app
from feynkac.runs.artifact import read_domain, record_domain
from feynkac.sampling.generators import make_generator

FAMILY = fk.BlackScholes()
LOW, HIGH = (side.tolist() for side in FAMILY.domain.bounds)
NAMES = ("x", "t", "sigma", "strike")
POINTS = st.tuples(*(st.floats(low, high) for low, high in zip(LOW, HIGH, strict=True)))
BATCHES = st.lists(POINTS, min_size=1, max_size=20)
ROUNDING = 2e-6
"""Of float32 sums in another order, relative to 1 + |u|."""


def _try(trial: Trial) -> None:
    with tempfile.TemporaryDirectory() as name:
        solution = train(Path(name) / "run", 20)
        laws = _laws(solution, Path(name))
        for law, (strategy, holds) in laws.items():
            _for_all(trial, law, strategy, holds)
    trial.figures["laws"] = str(len(laws))


def _for_all(trial: Trial, name: str, strategy: Any, holds: Callable[..., None]) -> None:
    count, before = trial.count(500, 25), trial.cases

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(strategy)
    def law(drawn: Any) -> None:
        trial.cases += 1
        holds(drawn)

    try:
        law()
    except Exception as error:
        trial.fail(f"{name}: {type(error).__name__}: {error}"[:500])
    trial.cases = min(trial.cases, before + count)  # shrinking is no case


def _laws(solution: fk.Solution, folder: Path) -> dict[str, tuple[Any, Callable[..., None]]]:
    run = folder / "run"
    return {
        "batch equals single": (BATCHES, lambda b: _batch_equals_single(solution, b)),
        "order": (BATCHES, lambda b: _order(solution, b)),
        "broadcasting": (st.tuples(BATCHES, POINTS), lambda d: _broadcasting(solution, *d)),
        "t = 0 gives φ": (st.tuples(st.sampled_from(CLOSED), SEEDS), lambda d: _start(*d)),
        "bounds": (POINTS, _bounds),
        "monotonicity": (st.tuples(POINTS, st.integers(0, 3), FRACTIONS), lambda d: _monotone(*d)),
        "save, load": (SEEDS, lambda seed: _saved(solution, folder / "again", seed)),
        "command line = library": (POINTS, lambda p: _command(solution, run, p)),
        "JSON": (JSONS, _json),
        "domains": (st.lists(MEASURES, min_size=2, max_size=5), _domains),
    }


def _named(rows: Any) -> dict[str, torch.Tensor]:
    table = torch.tensor(rows, dtype=torch.float64)
    return {name: table[..., i] for i, name in enumerate(NAMES)}


def _close(a: torch.Tensor, b: torch.Tensor) -> None:
    gap = ((a - b).abs() / (1.0 + b.abs())).max().item()
    assert gap < ROUNDING, f"differs by {gap:.2g}"


def _batch_equals_single(solution: fk.Solution, rows: Any) -> None:
    together = solution(_named(rows))
    alone = torch.stack([solution(_named(row)) for row in rows])
    assert together.shape == (len(rows),), together.shape
    _close(together, alone)


def _order(solution: fk.Solution, rows: Any) -> None:
    _close(solution(_named(rows[::-1])), solution(_named(rows)).flip(0))


def _broadcasting(solution: fk.Solution, rows: Any, one: Any) -> None:
    """x runs down, the rest across: as if every pair were written out."""
    x, rest = _named(rows)["x"], _named([one, one])
    table = solution(rest | {"x": x.unsqueeze(-1)})
    pairs = [[row[0], *one[1:]] for row in rows for _ in range(2)]
    assert table.shape == (len(rows), 2), table.shape
    _close(table.reshape(-1), solution(_named(pairs)))


CLOSED = [cls() for cls in BUILT_IN.values() if issubclass(cls, ClosedForm)]
SEEDS = st.integers(0, 2**31)
FRACTIONS = st.floats(0.0, 1.0)


def _start(family: Any, seed: int) -> None:
    inputs = family.domain.sample(4, make_generator(seed, "start"), torch.float64)
    inputs[:, family.domain.slices()["t"]] = 0.0
    x, t, p = family.domain.split(inputs)
    u, start = family.closed_form(x, t, p), family.initial(x, p)
    assert torch.allclose(u, start.expand_as(u), rtol=1e-6, atol=1e-6), (u - start).abs().max()


def _price(point: Any) -> float:
    inputs = torch.tensor([point], dtype=torch.float64)
    return FAMILY.closed_form(*FAMILY.domain.split(inputs)).item()


def _bounds(point: Any) -> None:
    """A put without interest is worth at least what it pays now, at most its strike."""
    x, _, _, strike = point
    assert max(strike - x, 0.0) - 1e-9 <= _price(point) <= strike + 1e-9


def _monotone(point: Any, which: int, fraction: float) -> None:
    """Falls in x; rises in t, σ and the strike."""
    further = list(point)
    further[which] += fraction * (HIGH[which] - point[which])
    sign = -1.0 if which == 0 else 1.0
    assert sign * (_price(further) - _price(point)) >= -1e-9


def _saved(solution: fk.Solution, folder: Path, seed: int) -> None:
    generator = make_generator(seed, "weights")
    for parameter in solution.network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    for file in folder.glob("*"):
        file.unlink()
    solution.save(folder)
    loaded = fk.load(folder)
    one, other = (s.network.state_dict() for s in (solution, loaded))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert loaded.manifest.run == solution.manifest.run


def _command(_solution: fk.Solution, run: Path, point: Any) -> None:
    at = ",".join(f"{name}={value!r}" for name, value in zip(NAMES, point, strict=True))
    result = CliRunner().invoke(app, ["query", str(run), "--at", at, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["value"] == fk.load(run)(_named(point)).item()


JSONS = st.dictionaries(
    st.text(),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    ),
).filter(lambda data: "sha256" not in data)


def _json(data: Any) -> None:
    assert unseal(seal(data)) == data


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def _measures(draw: Any) -> fk.Box | fk.LogUniform | fk.Fixed:
    low, size = draw(NUMBERS), draw(st.floats(1e-3, 1e3))
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return fk.Box(low, low + size)
    return fk.LogUniform(1e-3 + abs(low), 2e-3 + abs(low) + size) if kind == 1 else fk.Fixed(low)


MEASURES = _measures()


def _domains(measures: Any) -> None:
    names = ["x", *(f"p{i}" for i in range(len(measures) - 1))]
    domain = fk.Domain(t=fk.Box(0.0, 1.0), **dict(zip(names, measures, strict=True)))
    record = json.loads(json.dumps({n: r.model_dump() for n, r in record_domain(domain).items()}))
    found = read_domain({n: type(record_domain(domain)[n])(**r) for n, r in record.items()})
    assert found == domain


PROPERTIES = Promise(
    "properties",
    "Laws that hold for all inputs.",
    "hypothesis draws 500 cases for each: a batch equals its single rows; order; broadcasting; "
    "$t = 0$ gives $φ$ for every closed form; bounds and monotonicity of the Black–Scholes "
    "reference; save and load is the identity; the command line says what the library says; "
    "JSON and domains are read back as they were written.",
    _try,
)
