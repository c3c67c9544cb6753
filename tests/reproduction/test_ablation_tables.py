"""Tables 7 and 8 on a small problem: equal steps, best errors, the paper's order counted."""

import json
from dataclasses import replace
from statistics import mean, stdev
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import feynkac as fk
from feynkac.benchmarks.store import Store
from feynkac.reproduction import scaling
from feynkac.reproduction.ablation_tables import (
    count_same_order,
    plan,
    present_study,
    run_study,
)
from feynkac.reproduction.ablations import BLACK_SCHOLES, PARABOLOID
from feynkac.reproduction.result import render
from feynkac.reproduction.scaling import paper_run
from feynkac.reproduction.settings import Settings

pytestmark = pytest.mark.slow

SMALL = replace(
    PARABOLOID,
    family=fk.HeatParaboloid(dim=1),
    variants=PARABOLOID.variants[::2],
    batch_divisor=2**12,
    evaluations=2,
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return Settings(Store(tmp_path_factory.mktemp("store")), budget=1e-3)


@pytest.fixture(scope="module")
def result(settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "LEAST_STEPS", 20)
        return run_study(SMALL, settings)


def test_every_variant_takes_the_same_steps(result, settings):
    runs = [run for runs in plan(SMALL, settings).values() for run in runs]
    assert {run.training.steps for run in runs} == {20} == {result.data["steps"]}
    assert [run.training.seed for run in runs] == [0, 1, 0, 1]
    assert len({run.identity for run in runs}) == 4


def test_the_best_error_of_each_run_is_shown(settings, result):
    for variant, runs in plan(SMALL, settings).items():
        histories = [settings.store.solve(run, SMALL.family).manifest.history for run in runs]
        assert all(len(history) == 2 for history in histories)
        best = [min(record["l1"] for record in history) for history in histories]
        assert result.data["variants"][variant.name]["best_l1"] == best
        row = next(row for row in result.rows if row[0] == variant.name)
        assert row[2].startswith(f"{mean(best):.4f} ± ")


def test_the_paper_s_figures_stand_beside(result):
    assert [row[1] for row in result.rows] == ["0.0090 ± 0.0003", "0.0055 ± 0.0001"]
    assert [row[3] for row in result.rows] == ["14764 ± 65", "14049 ± 138"]
    assert all(len(row) == len(result.columns) for row in result.rows)


def test_what_was_scaled_is_told(result):
    assert "batch size 32 in place of 131,072 and 20 steps in place of 30,000" in result.scale
    assert "took 30,000 steps with 15 evaluations, where Table 5 has 28,000" in result.notes[0]
    assert "ε = 1e-8" in result.notes[1]
    assert f"saw {32 * 20 / (2**17 * 30000):.2g} times as many samples" in result.notes[2]
    assert "of 1 pairs of variants are in the paper's order" in result.notes[3]


def test_differences_within_the_deviation_are_counted(result):
    a, b = (variant["best_l1"] for variant in result.data["variants"].values())
    unclear = abs(mean(a) - mean(b)) < max(stdev(a), stdev(b))
    assert f"; {int(unclear)} pairs differ here by less" in result.notes[3]


def test_a_second_call_trains_nothing(settings, result):
    said, steps = [], []
    again = run_study(SMALL, replace(settings, announce=said.append, report=steps.append))
    assert again.data == result.data
    assert not steps
    assert said == ["table-8: timing a few steps"]


def test_the_result_is_a_picture_and_json(result):
    assert json.loads(json.dumps(result.data, allow_nan=False))
    assert render(result.figure, "png").startswith(b"\x89PNG")
    axes = result.figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [row[0] for row in result.rows]
    published, *ours = (line.get_xdata() for line in axes.lines)
    assert list(published) == [0.0090, 0.0055]
    found = [variant["best_l1"] for variant in result.data["variants"].values()]
    assert [list(x) for x in ours] == found


def test_full_runs_are_those_of_the_authors_records(settings):
    full = replace(settings, full=True, seeds=(0, 2))
    runs = plan(BLACK_SCHOLES, full)
    best = runs[BLACK_SCHOLES.variants[-1]]
    table = [paper_run(full, fk.BlackScholes(), seed) for seed in (0, 2)]
    assert [run.training.steps for run in best] == [30_000, 30_000]
    for ours, column in zip(best, table, strict=True):
        assert ours.training == replace(column.training, steps=30_000, evaluations=15)
    assert all(
        run.training == best[i].training for each in runs.values() for i, run in enumerate(each)
    )


def test_a_page_from_recorded_numbers_is_the_same(result):
    again = present_study(SMALL, json.loads(json.dumps(result.data)))
    assert (again.rows, again.notes, again.scale) == (result.rows, result.notes, result.scale)


def test_finished_full_runs_are_shown_whatever_is_asked(settings):
    everything = SimpleNamespace(has=lambda _run: True)
    found = plan(BLACK_SCHOLES, replace(settings, store=everything))
    assert found == plan(BLACK_SCHOLES, replace(settings, full=True))


def test_the_paper_s_scale_is_only_trained_if_its_method_is(settings, result):
    asked = replace(settings, full=True, methods=("fast",))
    assert plan(SMALL, asked) == plan(SMALL, settings)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12))
def test_pairs_in_the_same_order_are_those_of_kendall(values):
    ours = [a for a, _ in values]
    theirs = [b + i / 100 for i, (_, b) in enumerate(values)]  # no ties
    same, pairs = count_same_order(ours, theirs)
    if pairs:
        total = len(values) * (len(values) - 1) / 2
        tau = stats.kendalltau(ours, theirs).statistic  # (same − other) / √(pairs · total)
        assert (2 * same - pairs) / (pairs * total) ** 0.5 == pytest.approx(tau)
    else:
        assert len(set(ours)) == 1
