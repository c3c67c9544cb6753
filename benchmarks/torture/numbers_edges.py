"""Edges: t = 0, σ = 0, denormals, corners, one and a thousand dimensions; threads; float64."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from benchmarks.torture import children
from benchmarks.torture.promise import Promise, Trial
from torch import Tensor

import feynkac as fk
from feynkac.checks.checkup import require_simulable
from feynkac.errors import FeynkacError
from feynkac.families.capabilities import ClosedForm, ExactSampler
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.corners import corners
from feynkac.families.family import Family
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.threads import using_threads

TINY = (0.0, 5e-324, 1e-310, 1e-45, 1e-38, 1e-16)
LARGEST, LONGEST = 1500.0, 120.0  # MB and seconds of a training in 1,000 dimensions


def _try_edges(trial: Trial) -> None:
    for name, cls in list(BUILT_IN.items())[: trial.count(len(BUILT_IN), 5)]:
        family = cls()
        for time in TINY:
            with trial.case(f"{name} at t = {time}"):
                _at_short_times(family, time)
        with trial.case(f"{name} at corners"):
            _at_corners(family)
        with trial.case(f"{name} in float64"):
            _in_float64(family)
        for variable in family.domain.measures:
            with trial.case(f"{name} with {variable} = 0"):
                _with_zero(family, variable)


def _inputs(family: Family, count: int = 64) -> Tensor:
    return family.domain.sample(count, make_generator(0, "edges"), torch.float64)


def _at_short_times(family: Family, time: float) -> None:
    """φ at t = 0; a closed form continues it."""
    inputs = _inputs(family)
    inputs[:, family.domain.slices()["t"]] = time
    x, t, p = family.domain.split(inputs)
    if not isinstance(family, ClosedForm):
        return
    u, start = family.closed_form(x, t, p), family.initial(x, p)
    assert u.isfinite().all(), "not finite"
    assert u.dtype == torch.float64, u.dtype
    if time < 1e-30:
        close = torch.isclose(u, start.expand_as(u), rtol=1e-6, atol=1e-6)
        assert close.all(), f"off φ by {(u - start).abs().max().item():.3g}"


def _at_corners(family: Family) -> None:
    inputs = corners(family.domain, make_generator(0, "corners"), dtype=torch.float64)
    x, t, p = family.domain.split(inputs)
    formulas = [family.drift(x, p), family.initial(x, p)]
    if isinstance(family, ClosedForm):
        formulas.append(family.closed_form(x, t, p))
    assert all(value.isfinite().all() for value in formulas), "not finite"


def _in_float64(family: Family) -> None:
    x, t, p = family.domain.split(_inputs(family))
    values = [family.drift(x, p), family.initial(x, p)]
    if isinstance(family, ClosedForm):
        values.append(family.closed_form(x, t, p))
    assert all(value.dtype == torch.float64 for value in values), [v.dtype for v in values]


def _with_zero(family: Family, variable: str) -> None:
    """A variable fixed at 0: simulated, or refused in one sentence."""
    try:
        fixed = family.on(**{variable: fk.Fixed(0.0, shape=family.domain.measures[variable].shape)})
        inputs = fixed.domain.sample(64, make_generator(0, "zero"))
        scheme = fk.Exact() if isinstance(fixed, ExactSampler) else fk.EulerMaruyama(steps=4)
        require_simulable(fixed, scheme)
        found = labels(fixed, scheme, inputs, make_generator(0, "paths"), 8)
    except FeynkacError as error:
        if "\n" in str(error):
            raise RuntimeError("more than one line") from error
        return
    assert found.isfinite().all(), "not finite"


EDGES = Promise(
    "numbers: edges",
    "At $t = 0$ closed forms are $φ$; denormal times, corners of the domain and parameters that "
    "are 0 give finite numbers or one sentence; float64 stays float64.",
    "Every closed form at six tiny times; drift, $φ$ and closed form of every built-in family at "
    "the corners of its domain, and the family with each variable fixed at 0.",
    _try_edges,
)


def _try_sizes(trial: Trial) -> None:
    cases: dict[str, Callable[[], Family]] = {
        f"{cls.__name__}({dim})": partial(cls, dim=dim)
        for cls in (fk.HeatGaussian, fk.GeometricBasket, fk.OrnsteinUhlenbeck, fk.DoubleWell)
        for dim in (1, 1000)
    }
    most = longest = 0.0
    for name, make in list(cases.items())[: trial.count(len(cases), 2)]:
        end = children.run(partial(_train_a_little, make), 2 * LONGEST)
        most, longest = max(most, end.megabytes), max(longest, end.seconds)
        trial.check(end.code == 0, f"{name}: exit {end.code}: {end.output[-300:]}")
        trial.check(end.megabytes < LARGEST, f"{name}: {end.megabytes:.0f} MB")
        trial.check(end.seconds < LONGEST, f"{name}: {end.seconds:.0f} s")
    trial.figures |= {"most memory": f"{most:.0f} MB", "longest": f"{longest:.0f} s"}


def _train_a_little(make: Callable[[], Family]) -> None:
    fk.solve(make(), steps=3, batch_size=64, evaluations=1)


SIZES = Promise(
    "numbers: 1 and 1,000 dimensions",
    f"A training of three steps takes less than {LONGEST:g} seconds and {LARGEST:g} MB more than "
    "the program itself.",
    "Four families with 1 and with 1,000 dimensions, each in a process of its own.",
    _try_sizes,
)
THREADS_AGREE = 1e-4


def _try_threads(trial: Trial) -> None:
    worst = 0.0
    for seed in range(trial.count(6, 1)):
        for method in ("paper", "fast"):
            one, two = (_answers(method, seed, threads) for threads in (1, 2))
            gap = ((one - two).abs() / (1.0 + one.abs())).max().item()
            worst = max(worst, gap)
            good = math.isfinite(gap) and gap < THREADS_AGREE
            trial.check(good, f"{method}, seed {seed}: {gap:.2g}")
    trial.figures["largest difference"] = f"{worst:.1e}"


def _answers(method: str, seed: int, threads: int) -> Tensor:
    family = fk.BlackScholes()
    small: dict[str, Any] = {"architecture": fk.Smooth(width=32), "paths": 64}
    if method == "paper":
        small = {"architecture": fk.Multilevel(levels=2, factor=5), "batch_size": 4096}
    with using_threads(threads):
        solution = fk.solve(family, method, steps=30, seed=seed, **small)
    return solution.exactly(_inputs(family, 1000)).detach()


THREADS = Promise(
    "numbers: 1 and 2 threads",
    f"After 30 steps, answers differ by less than {THREADS_AGREE:g} relative to 1 + |u|.",
    "Both methods, several seeds, 1,000 inputs each.",
    _try_threads,
)
