"""The law of u(Ξ) where it is known: every figure within its error, and every error right."""

import json
import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy import stats

from feynkac.analysis.distributions import Inputs
from feynkac.analysis.uncertainty import BINS, ROWS_AT_ONCE, Statistic, propagate, sobol_indices
from feynkac.errors import InputError
from feynkac.families import Box, Domain

DOMAIN = Domain(x=Box(-10.0, 10.0), t=Box(0.0, 1.0), y=Box(-10.0, 10.0))
NORMAL = {"x": stats.norm(), "y": stats.norm(1.0, 1.0), "t": 0.5}


class Known(NamedTuple):
    """A map of random inputs whose law is known."""

    u: object
    given: dict
    law: object
    correlation: dict[str, float]


KNOWN = {
    "normal": Known(
        lambda v: 3.0 + 2.0 * v[:, :1] - v[:, 2:],
        NORMAL,
        stats.norm(2.0, math.sqrt(5.0)),
        {"x": 2.0 / math.sqrt(5.0), "y": -1.0 / math.sqrt(5.0)},
    ),
    "uniform": Known(
        lambda v: 5.0 - v[:, :1], {"t": 0.5}, stats.uniform(-5.0, 20.0), {"x": -1.0, "y": 0.0}
    ),
    "chi-square": Known(lambda v: v[:, :1] ** 2, NORMAL, stats.chi2(1), {"x": 0.0, "y": 0.0}),
}


@pytest.fixture(params=KNOWN)
def known(request) -> Known:
    return KNOWN[request.param]


def push(known: Known, samples: int, seed: int = 0):
    return propagate(known.u, Inputs(DOMAIN, known.given), samples, seed)


def figures(found) -> dict[str, Statistic]:
    """Every number that has an error."""
    quantiles = {f"quantile {q}": figure for q, figure in found.quantiles.items()}
    correlation = {f"correlation {name}": figure for name, figure in found.correlation.items()}
    return {"mean": found.mean, "variance": found.variance, **quantiles, **correlation}


def truths(known: Known) -> dict[str, float]:
    found = {"mean": known.law.mean(), "variance": known.law.var()}
    found |= {f"quantile {q}": known.law.ppf(q) for q in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)}
    return found | {f"correlation {name}": r for name, r in known.correlation.items()}


def test_every_figure_is_within_its_error(known):
    found, truth = figures(push(known, 20_000)), truths(known)
    assert found.keys() == truth.keys()
    for name, figure in found.items():
        assert abs(figure.value - truth[name]) <= 4.5 * figure.se + 1e-12, name


BEND = {
    "up": lambda v: 0.02 * v[:, 1:2] ** 0,
    "with the value": lambda v: 0.02 * v[:, :1].sign(),
    "against it": lambda v: -0.02 * v[:, 2:].sign(),
    "to and fro": lambda v: 0.02 * (40.0 * v[:, :1]).sin().sign(),
}


@pytest.mark.parametrize("bend", BEND)
@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_every_error_covers_that_of_the_map(bend, name):
    """A map wrong by 0.02 (1 + |u|) everywhere, in several ways; samples enough to see it."""
    known, seed = KNOWN[name], 0

    def wrong(v):
        u = known.u(v)
        return u + BEND[bend](v) * (1.0 + u.abs())

    found = figures(propagate(wrong, Inputs(DOMAIN, known.given), 200_000, seed, error=0.02))
    truth, seen = truths(known), 0
    for name, figure in found.items():
        off = abs(figure.value - truth[name])
        assert off <= 4.5 * figure.se + 1.05 * figure.network + 1e-12, name
        seen += off > 4.5 * figure.se
    assert seen or bend == "to and fro"  # sampling alone does not explain it
    assert found["mean"].error == found["mean"].se + found["mean"].network


def test_the_network_s_share_is_a_formula_and_none_without_an_error():
    found = propagate(KNOWN["normal"].u, Inputs(DOMAIN, NORMAL), 1000, error=0.01)
    q = found.quantiles[0.95]
    assert q.network == pytest.approx(0.01 * (1.0 + abs(q.value)), rel=1e-12)
    exact = propagate(KNOWN["normal"].u, Inputs(DOMAIN, NORMAL), 1000)
    assert all(figure.network == 0.0 for figure in figures(exact).values())


@pytest.mark.parametrize(
    "known",
    [name if name == "normal" else pytest.param(name, marks=pytest.mark.slow) for name in KNOWN],
    indirect=True,
)
def test_every_error_is_the_spread_of_its_figure(known):
    runs = [figures(push(known, 2000, seed)) for seed in range(100)]
    for name in runs[0]:
        spread = np.std([run[name].value for run in runs], ddof=1)
        stated = np.mean([run[name].se for run in runs])
        assert stated == pytest.approx(spread, rel=0.25, abs=1e-9), name


def test_figures_are_those_of_the_draws(known):
    inputs, samples = Inputs(DOMAIN, known.given), 3 * ROWS_AT_ONCE + 17
    blocks = []

    def u(block):
        blocks.append(block)
        return known.u(block)

    found = propagate(u, inputs, samples, quantiles=[0.5])
    x = torch.cat(blocks)
    y = known.u(x).squeeze(-1).numpy()
    assert len(y) == samples
    assert found.mean.value == pytest.approx(y.mean(), rel=1e-12)
    assert found.variance.value == pytest.approx(((y - y.mean()) ** 2).sum() / (samples - 1))
    assert found.quantiles[0.5].value == np.median(y)
    for name, figure in found.correlation.items():
        column = x[:, DOMAIN.slices()[name].start].numpy()
        assert figure.value == pytest.approx(np.corrcoef(column, y)[0, 1], abs=1e-12)


def test_the_density_integrates_to_one_and_is_that_of_the_law(known):
    samples = 20_000
    edges, heights = push(known, samples).density
    assert len(heights) == BINS
    mass = np.array(heights) * np.diff(edges)
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)
    chance = np.diff(known.law.cdf(edges))
    assert (abs(mass - chance) < 4.5 * np.sqrt(chance / samples) + 4.5 / samples).all()


def test_a_million_samples_stream_in_chunks():
    sizes, fractions = [], []

    def u(block):
        sizes.append(len(block))
        return block[:, :1]

    found = propagate(u, Inputs(DOMAIN), report=fractions.append)
    assert found.samples == sum(sizes) == 10**6
    assert max(sizes) == ROWS_AT_ONCE
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(fractions) == len(sizes)
    assert found.mean.se == pytest.approx(20.0 / math.sqrt(12.0 * 10**6), rel=0.01)


def test_the_seed_alone_determines_the_result(known):
    first, again, other = (push(known, 100, seed) for seed in (0, 0, 1))
    assert first == again
    assert first.mean != other.mean


def test_correlated_inputs_change_the_variance():
    pairs = {("x", "y"): 0.6}  # of normals, so this is Pearson's too
    found = propagate(KNOWN["normal"].u, Inputs(DOMAIN, NORMAL, pairs), 20_000)
    expected = 4.0 + 1.0 - 2.0 * 2.0 * 0.6
    assert abs(found.variance.value - expected) < 4.5 * found.variance.se
    r = (2.0 - 0.6) / math.sqrt(expected)
    assert abs(found.correlation["x"].value - r) < 4.5 * found.correlation["x"].se


def test_entries_of_vectors_have_names_of_their_own():
    domain = Domain(x=Box(0.0, 1.0, shape=(2,)), t=Box(0.0, 1.0), m=Box(0.0, 1.0, shape=(1, 2)))
    inputs = Inputs(domain, {"t": 0.5})
    found = propagate(lambda v: v[:, 1:2], inputs, 100)
    assert list(found.correlation) == ["x[0]", "x[1]", "m[0, 0]", "m[0, 1]"]
    assert found.correlation["x[1]"].value == pytest.approx(1.0)
    shares = sobol_indices(lambda v: v[:, 1:2], inputs, 64)
    assert shares.total["x[1]"].value == pytest.approx(1.0, abs=0.1)
    assert shares.total["x[0]"] == shares.total["m[0, 1]"] == Statistic(0.0, 0.0)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3.0])
def test_a_constant_is_certain(value):
    found = propagate(lambda v: torch.full_like(v[:, :1], value), Inputs(DOMAIN), 1000)
    assert found.mean.value == pytest.approx(value)
    assert found.variance.value == pytest.approx(0.0, abs=1e-12)
    assert {q.value for q in found.quantiles.values()} == {value}
    assert all(figure == Statistic(0.0, 0.0) for figure in found.correlation.values())


def test_nothing_random_correlates_with_nothing():
    found = propagate(KNOWN["normal"].u, Inputs(DOMAIN, {"x": 1.0, "y": 2.0, "t": 0.5}), 64)
    assert (found.mean.value, found.correlation) == (3.0, {})


def test_results_are_strict_json_with_their_warnings():
    inputs = Inputs(DOMAIN, {"x": stats.norm(9.0, 1.0)})
    for result in (
        propagate(KNOWN["normal"].u, inputs, 64),
        sobol_indices(lambda v: v[:, :1], inputs, 8),
    ):
        record = result.record()
        assert json.loads(json.dumps(record, allow_nan=False)) == record
        assert record["warnings"] == inputs.warnings
        assert "15.87% of x would lie outside" in record["warnings"][0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 63}, "error bars need at least 64 samples, got 63"),
        ({"quantiles": [0.5, 1.0]}, r"a quantile lies between 0 and 1, got 1\.0"),
        ({"quantiles": [0.0]}, r"a quantile lies between 0 and 1, got 0\.0"),
    ],
)
def test_figures_that_cannot_be_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        propagate(KNOWN["normal"].u, Inputs(DOMAIN), **settings)


# Sobol' indices

CUBE = Domain(x=Box(-math.pi, math.pi, shape=(3,)), t=Box(0.0, 1.0))
A, B = 7.0, 0.1


def ishigami(v):
    """sin x₁ + a sin² x₂ + b x₃⁴ sin x₁."""
    first, second, third = v[:, :3].unbind(-1)
    return (first.sin() * (1.0 + B * third**4) + A * second.sin() ** 2).unsqueeze(-1)


def ishigami_indices() -> tuple[list[float], list[float]]:
    """First-order and total, from the variances of its parts."""
    alone = [0.5 * (1.0 + B * math.pi**4 / 5.0) ** 2, A**2 / 8.0, 0.0]
    both = B**2 * math.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)  # of x₁ and x₃ together
    total = sum(alone) + both
    first = [v / total for v in alone]
    return first, [first[0] + both / total, first[1], both / total]


def test_the_analytic_indices_are_those_of_the_literature():
    first, total = ishigami_indices()
    assert first == pytest.approx([0.3139, 0.4424, 0.0], abs=5e-5)
    assert total == pytest.approx([0.5576, 0.4424, 0.2437], abs=5e-5)


@pytest.mark.parametrize("given", [{"t": 0.5}, {}], ids=["t fixed", "t irrelevant"])
def test_the_indices_of_the_ishigami_function(given):
    found = sobol_indices(ishigami, Inputs(CUBE, given), 2**12)
    entries = ["x[0]", "x[1]", "x[2]", *(["t"] if not given else [])]
    for indices, truth in zip((found.first, found.total), ishigami_indices(), strict=True):
        assert list(indices) == entries
        for figure, expected in zip(indices.values(), [*truth, 0.0], strict=False):
            assert abs(figure.value - expected) <= 4.5 * figure.se
            assert figure.se < 0.05
    assert found.evaluations == 2**12 * (len(entries) + 2)


def test_errors_of_indices_are_not_too_small():
    runs = [sobol_indices(ishigami, Inputs(CUBE, {"t": 0.5}), 2**8, seed) for seed in range(40)]
    for kind in ("first", "total"):
        for name in ("x[0]", "x[1]", "x[2]"):
            entries = [getattr(run, kind)[name] for run in runs]
            spread = np.std([entry.value for entry in entries], ddof=1)
            assert spread < 1.25 * np.mean([entry.se for entry in entries]), (kind, name)


def test_the_indices_of_a_sum_are_shares_of_its_variance():
    found = sobol_indices(KNOWN["normal"].u, Inputs(DOMAIN, NORMAL), 2**10)
    for indices in (found.first, found.total):
        assert abs(indices["x"].value - 0.8) < 4.5 * indices["x"].se
        assert abs(indices["y"].value - 0.2) < 4.5 * indices["y"].se


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_alone_determines_the_indices_and_their_errors(seed):
    first, again = (sobol_indices(ishigami, Inputs(CUBE), 64, seed) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("u", "inputs", "base", "message"),
    [
        (
            KNOWN["normal"].u,
            Inputs(DOMAIN, {}, {("x", "y"): 0.5}),
            64,
            "Sobol' indices need independent inputs; omit the correlation",
        ),
        (
            KNOWN["normal"].u,
            Inputs(DOMAIN, {"x": 1.0, "y": 1.0, "t": 0.5}),
            64,
            "no input is random, so there is no variance to explain",
        ),
        (
            lambda v: torch.full_like(v[:, :1], 0.1),
            Inputs(DOMAIN),
            64,
            "u does not vary with these inputs, so there is no variance to explain",
        ),
        (
            KNOWN["normal"].u,
            Inputs(DOMAIN, {"x": [1.0, 2.0]}),
            64,
            "x is given by samples; indices need a distribution",
        ),
        (KNOWN["normal"].u, Inputs(DOMAIN), 100, "must be a power of two, got 100"),
    ],
    ids=["correlated", "fixed", "constant", "samples", "base"],
)
def test_indices_that_make_no_sense_are_refused(u, inputs, base, message):
    with pytest.raises(InputError, match=message):
        sobol_indices(u, inputs, base)


@pytest.mark.parametrize("slope", [0.05, -0.05])
def test_errors_of_indices_cover_that_of_the_map(slope):
    """u = x + y has equal shares; the map tips it a little towards one of them."""
    law = {"x": stats.uniform(-1, 2), "y": stats.uniform(-1, 2), "t": 0.5}
    inputs = Inputs(DOMAIN, law)

    def tipped(v):
        return (1.0 + slope) * v[:, :1] + v[:, 2:]

    error = abs(slope) * math.sqrt(1 / 3)  # at least that of |e|/(1 + |u|)
    found = sobol_indices(tipped, inputs, base=2**12, error=error)
    for shares in (found.first, found.total):
        for figure in shares.values():
            assert figure.network / 3.0 < abs(figure.value - 0.5) < figure.network
