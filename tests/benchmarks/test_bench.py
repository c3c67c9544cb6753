"""The benchmark: rows whose figures follow from what was trained, timed and measured."""

import json
from dataclasses import replace

import pytest
import torch

import feynkac as fk
from feynkac.analysis.metrics import Yardstick
from feynkac.analysis.rounding import figure
from feynkac.benchmarks.bench import (
    ENTRIES,
    Bench,
    Row,
    Thoroughness,
    choose_entries,
    combined_error,
    greek_errors,
    peak_memory,
    reset_peak_memory,
    run_bench,
    time_paper_step,
    yardstick_for,
)
from feynkac.errors import InputError
from feynkac.preparation import make_run
from feynkac.sampling.reference import Estimate

TINY = Thoroughness(
    budget_scale=0.02,
    inputs=64,
    simulated_inputs=8,
    paths=16,
    greek_inputs=32,
    paper_batch_size=64,
)


@pytest.fixture(scope="module")
def put() -> Bench:
    return run_bench(choose_entries(["black-scholes"]), seeds=2, effort=TINY)


@pytest.fixture(scope="module")
def solution() -> fk.Solution:
    return fk.pretrained("black-scholes")


def test_the_constants_are_the_papers():
    published = {entry.name: (entry.published_l1, entry.gpu_seconds) for entry in ENTRIES}
    assert published == {
        "black-scholes": (0.0011, 2827),
        "basket-put": (0.0384, 6024),
        "basket-put (EM-25)": (0.0039, 6024),
        "heat-paraboloid": (0.0056, 13328),
        "heat-gaussian": (0.0019, 14454),
    }
    assert [e.name for e in ENTRIES if e.source != "the paper"] == ["basket-put"]
    assert ENTRIES[0].budget == 28.27


def test_a_row_follows_from_its_seeds(put):
    (row,) = put.rows
    assert row.name == "black-scholes"
    assert row.inputs == 64
    assert len(row.l1_by_seed) == len(row.seconds_by_seed) == put.seeds == 2
    assert row.l1 == pytest.approx(sum(row.l1_by_seed) / 2)
    assert row.seconds == pytest.approx(sum(row.seconds_by_seed) / 2)
    assert row.projected_seconds == pytest.approx(24_000 * row.paper_step_seconds)
    assert row.ratio == pytest.approx(row.projected_seconds / row.seconds)
    assert row.l1 > 0
    assert row.l1_by_seed[0] != row.l1_by_seed[1]
    assert row.l1_se > abs(row.l1_by_seed[0] - row.l1_by_seed[1]) / 2
    assert row.reference_se == row.reference_bias == 0
    assert row.memory_mb > 100
    assert set(row.greeks) == {"delta", "vega", "theta", "gamma", "vanna", "volga"}


def test_the_table_is_json_with_versions(put):
    found = json.loads(json.dumps(put.record(), allow_nan=False))
    assert found["rows"][0]["l1"] == put.rows[0].l1
    assert found["versions"]["torch"] == torch.__version__
    assert found["threads"] == 1


def test_the_printed_table_names_what_is_measured(put):
    columns, (cells,) = put.table()
    assert len(cells) == len(columns)
    shown = dict(zip(columns, cells, strict=True))
    assert shown["L1 ± s.e."] == figure(put.rows[0].l1, put.rows[0].l1_se)
    assert (shown["paper L1"], shown["GPU s"], shown["ref. ±"]) == ("0.0011", "2827", "exact")


def test_an_error_that_is_not_the_papers_is_marked(put):
    other = replace(put.rows[0], source="the authors' weights")
    _, (cells,) = replace(put, rows=(other,)).table()
    assert "0.0011*" in cells


def test_the_greeks_stand_beside_the_authors(put):
    _, rows = put.greeks()
    assert {row[0]: row[2] for row in rows} == {
        "black-scholes: delta": "0.0235",
        "black-scholes: gamma": "none (ReLU)",
        "black-scholes: vega": "0.0766",
        "black-scholes: theta": "0.0562",
        "black-scholes: vanna": "none (ReLU)",
        "black-scholes: volga": "none (ReLU)",
    }
    assert all(float(row[1]) > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "biased"), [(ENTRIES[1], True), (ENTRIES[2], False)])
def test_the_basket_is_measured_against_a_simulation(entry, biased):
    run = make_run(entry.family, "fast", {"scheme": entry.scheme, "steps": 1})
    yardstick = yardstick_for(entry.family, run, TINY, biased)
    assert yardstick.reference.value.shape == (8, 1)
    assert (yardstick.reference.error > 0).any()
    assert (yardstick.bias is not None) == biased
    assert (yardstick.mean_bias()[0] > 0) == biased


def test_a_refined_reference_has_more_steps():
    coarse, fine = (
        make_run(fk.BasketPut(), "paper", {"scheme": fk.EulerMaruyama(steps=n), "steps": 1})
        for n in (2, 8)
    )
    refining, unrefined = (replace(TINY, refinements=n) for n in (2, 0))
    refined = yardstick_for(fk.BasketPut(), coarse, refining).reference
    expected = yardstick_for(fk.BasketPut(), fine, unrefined).reference
    assert torch.equal(refined.value, expected.value)
    kept, plain = (yardstick_for(fk.BasketPut(), coarse, e, biased=False) for e in (refining, TINY))
    assert torch.equal(kept.reference.value, plain.reference.value)


@pytest.mark.slow
def test_the_basket_fills_two_rows():
    true, euler = run_bench(choose_entries(["basket-put"]), effort=TINY).rows
    assert true.inputs == euler.inputs == 8
    assert min(true.reference_se, euler.reference_se, true.reference_bias) > 0
    assert euler.reference_bias == 0
    assert true.paper_step_seconds == euler.paper_step_seconds
    assert true.greeks == {}


def test_all_families_by_default_and_a_choice_on_request():
    assert choose_entries([]) == ENTRIES
    chosen = choose_entries(["heat-gaussian", "basket-put"])
    assert [e.name for e in chosen] == ["basket-put", "basket-put (EM-25)", "heat-gaussian"]


def test_a_family_without_a_benchmark_is_refused():
    message = r"no benchmark for 'heat'; there are: black-scholes, basket-put, heat-paraboloid"
    with pytest.raises(InputError, match=message):
        choose_entries(["heat"])


def test_the_same_yardstick_each_time(solution):
    first, again = (
        yardstick_for(solution.family, solution.manifest.run, TINY).measure(solution.network)
        for _ in range(2)
    )
    assert first == again
    assert first.inputs == 64


def test_the_error_agrees_with_the_solutions_own(solution):
    effort = replace(TINY, inputs=2**14)
    found = yardstick_for(solution.family, solution.manifest.run, effort).measure(solution.network)
    own = solution.error(2**14)
    assert abs(found.l1 - own.l1) < 5 * (found.l1_se + own.l1_se)


def test_the_bias_is_relative_to_one_plus_u():
    points, domain = torch.zeros(2, 4), fk.BlackScholes().domain
    reference = Estimate(torch.tensor([[1.0], [-3.0]]), torch.zeros(2, 1))
    bias = Estimate(torch.tensor([[0.2], [-0.8]]), torch.tensor([[0.02], [0.04]]))
    assert Yardstick(points, reference, domain, bias).mean_bias() == pytest.approx((0.15, 0.01))
    assert Yardstick(points, reference, domain).mean_bias() == (0.0, 0.0)


@pytest.mark.parametrize(
    ("values", "errors", "expected"),
    [([2.0], [0.5], 0.5), ([1.0, 7.0], [4.0, 4.0], 5.0), ([3.0] * 4, [0.1, 0.3, 0.1, 0.3], 0.2)],
)
def test_seeds_and_inputs_both_add_to_the_standard_error(values, errors, expected):
    assert combined_error(values, errors) == pytest.approx(expected)


def test_greek_errors_shrink_with_training(solution):
    untrained = fk.solve(fk.BlackScholes(), steps=1, evaluations=1)
    before, after = (greek_errors(s, 500) for s in (untrained, solution))
    assert all(after[name] < before[name] for name in before)


def test_a_family_without_named_greeks_has_no_greek_errors():
    heat = fk.solve(fk.HeatParaboloid(dim=1), steps=1, evaluations=1)
    assert greek_errors(heat, 10) == {}


def test_a_larger_batch_of_the_paper_takes_longer():
    small, large = (time_paper_step(fk.BlackScholes(), size) for size in (64, 2**15))
    assert 0 < small < large


def test_peak_memory_forgets_what_was_freed():
    reset_peak_memory()
    start = peak_memory()
    block = bytearray(200 * 2**20)
    assert peak_memory() > start + 190
    del block
    reset_peak_memory()
    assert peak_memory() < start + 20


def test_each_training_is_announced():
    said: list[str] = []
    found = run_bench(choose_entries(["black-scholes"]), effort=TINY, announce=said.append)
    (row,) = found.rows
    assert said == [
        "black-scholes: timing the paper's method",
        "black-scholes: training, seed 0",
        "black-scholes: measuring",
        f"black-scholes: L1 {figure(row.l1, row.l1_se)}",
    ]


def test_every_column_of_a_row_is_plain_data():
    assert set(Row.__annotations__.values()) <= {
        str,
        float,
        int,
        list[float],
        dict[str, float],
    }
