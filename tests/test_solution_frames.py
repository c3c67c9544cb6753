"""A data frame in, a series or a data frame of the same library out, each row its own answer."""

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError

DATA = {
    "x": [9.1, 9.5, 9.9, 9.2],
    "t": [0.5, 0.4, 0.3, 0.2],
    "sigma": [0.2, 0.3, 0.4, 0.5],
    "strike": [11.0, 11.5, 10.5, 10.0],
}
INDICES = {
    "plain": range(4),
    "doubled": [7, 7, 1, 1],
    "reversed": [3, 2, 1, 0],
    "texts": ["a", "b", "b", "c"],
    "dates": pd.date_range("2024-01-01", periods=4),
    "pairs": pd.MultiIndex.from_product([["a", "b"], [0, 1]]),
}
SMALL = {"steps": 2, "batch_size": 64, "evaluations": 1}


@pytest.fixture(scope="module")
def put():
    return fk.solve(fk.BlackScholes(), **SMALL)


@pytest.fixture(scope="module")
def heat():
    return fk.solve(fk.HeatParaboloid(dim=2), **SMALL)


@pytest.mark.parametrize("kind", INDICES)
def test_rows_of_pandas_keep_their_index(put, kind):
    frame = pd.DataFrame(DATA | {"note": list("abcd")}, index=INDICES[kind])
    found = put(frame)
    assert isinstance(found, pd.Series)
    assert found.index.equals(frame.index)
    assert (found.name, found.dtype) == ("value", np.float64)
    assert found.tolist() == put(DATA).tolist()


def test_a_row_outside_is_named_and_one_at_another_level_answered(put):
    frame = pd.DataFrame(DATA, index=["a", "b", "c", "d"])
    doubled = frame.assign(x=2 * frame.x, strike=2 * frame.strike)
    assert put(doubled).tolist() == pytest.approx((2 * put(frame)).tolist(), rel=1e-5)
    message = r"row 1 \(index 'b'\): sigma = 90 lies outside \[0.1, 0.6\]"
    with pytest.raises(InputError, match=message):
        put(frame.assign(sigma=[0.2, 90.0, 0.3, 0.3]))
    assert len(put(frame.assign(sigma=9.0), extrapolate=True)) == 4


def test_a_filtered_frame_answers_for_its_rows(put):
    frame = pd.DataFrame(DATA)
    found = put(frame[frame.x > 9.15].sort_values("t"))
    assert found.index.tolist() == [3, 2, 1]
    assert found.tolist() == pytest.approx(put(DATA).flip(0)[:3].tolist())  # to rounding


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_library_gets_its_own_back(put, make):
    values = make({"value": put(DATA).double().numpy()})["value"]
    found = put(make(DATA))
    assert type(found) is type(values)
    assert found.to_numpy().tolist() == values.to_numpy().tolist()
    table = put.table(make(DATA), greeks=True)
    assert type(table) is type(make(DATA))
    slopes = put.greeks(DATA)
    for name in slopes:
        assert table[name].to_numpy().tolist() == slopes[name].tolist()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_an_empty_frame_gets_an_empty_answer(put, make):
    empty = make(DATA)[:0]
    assert len(put(empty)) == 0
    assert len(put.table(empty, greeks=True)["delta"]) == 0


def test_an_empty_frame_without_types_too(put):
    assert len(put(pd.DataFrame(columns=list(DATA)))) == 0


def test_the_table_is_the_frame_with_more_columns(put):
    frame = pd.DataFrame(DATA, index=[7, 7, 1, 1])
    before = frame.copy()
    found = put.table(frame, greeks=True)
    names = ["value", "delta", "gamma", "vega", "theta", "vanna", "volga"]
    assert list(found.columns) == [*DATA, *names]
    pd.testing.assert_frame_equal(found[list(DATA)], before)
    pd.testing.assert_frame_equal(frame, before)


def test_entries_of_vectors_have_columns(heat):
    frame = pd.DataFrame({"x[0]": [1.0, 1.2, 1.4], "x[1]": 1.1, "t": [0.1, 0.2, 0.3]})
    x = torch.tensor([[1.0, 1.1], [1.2, 1.1], [1.4, 1.1]], dtype=torch.float64)
    at = {"x": x, "t": frame.t, "sigma": 0.5}
    assert heat(frame, sigma=0.5).tolist() == heat(at).tolist()
    table = heat.table(frame, greeks=True, sigma=0.5)
    assert table["∂u/∂x[1]"].tolist() == heat.grad("x", at)[:, 1].tolist()
    assert table["∂u/∂sigma[0, 1]"].tolist() == heat.grad("sigma", at)[:, 0, 1].tolist()


def test_keywords_are_for_all_rows_or_one_for_each(put):
    frame = pd.DataFrame(DATA).drop(columns="t")
    assert put(frame, t=DATA["t"]).tolist() == put(DATA).tolist()
    assert put(frame, t=0.5).tolist() == put(DATA | {"t": 0.5}).tolist()
    with pytest.raises(InputError, match="do not broadcast"):
        put(frame, t=[0.1, 0.2])
    with pytest.raises(InputError, match="one value or one per row; they make 3 rows"):
        put(frame[:1], t=[0.1, 0.2, 0.3])


def test_columns_can_be_keywords(put):
    frame = pd.DataFrame(DATA)[::-1]
    assert put(**frame).tolist() == pytest.approx(put(DATA).flip(0).tolist())
    with pytest.raises(InputError, match=r"column 't', row 1 \(index 2\): the value is nan"):
        put(x=9.5, t=frame.t.where(frame.t != 0.3), sigma=0.3, strike=11.0)


def test_derivatives_and_certificates_take_frames(put):
    frame = pd.DataFrame(DATA, index=list("abcd"))
    assert put.grad("x", frame).tolist() == put.grad("x", DATA).tolist()
    assert put.greeks(frame)["vega"].tolist() == put.greeks(DATA)["vega"].tolist()
    network = put.certify(frame[:2], effort=fk.Effort(seconds=0.01)).network
    assert network.tolist() == pytest.approx(put(DATA)[:2].tolist())


def test_a_table_needs_a_frame(put):
    with pytest.raises(InputError, match="table expects a data frame"):
        put.table(DATA)


@dataclass(frozen=True)
class TwoPuts(fk.Family, fk.ExactSampler, fk.VectorValued):
    outputs: int = 2

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(9, 10), t=fk.Box(0, 1), sigma=fk.Box(0.1, 0.6))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return torch.cat([10.0 - x, 11.0 - x], -1).clamp_min(0.0)

    def exact(self, x, t, p, z):
        return fk.BlackScholes().exact(x, t, p, z)


@pytest.mark.parametrize("ask", ["uncertainty", "sobol_indices", "observe"])
def test_questions_for_one_output_ask_to_choose_one(two_puts, ask):
    given = (["sigma"], [1.0]) if ask == "observe" else ()
    with pytest.raises(InputError, match=r"u has 2 components; choose one: solution\.output\(0\)"):
        getattr(two_puts, ask)(*given)


def test_one_output_is_not_saved_alone(two_puts, tmp_path):
    with pytest.raises(InputError, match="save the whole solution"):
        two_puts.output(0).save(tmp_path / "one")
    assert "errors: all outputs together" in repr(two_puts.output(1))
    assert two_puts.output(1).relative_error > two_puts.relative_error


@pytest.fixture(scope="module")
def two_puts():
    return fk.solve(TwoPuts(), **SMALL)


def test_several_outputs_are_several_columns(two_puts):
    solution = two_puts
    frame = pd.DataFrame(DATA, index=[7, 7, 1, 1])
    found = solution(frame)
    at = {name: DATA[name] for name in ("x", "t", "sigma")}
    assert list(found.columns) == ["value[0]", "value[1]"]
    assert found.index.tolist() == [7, 7, 1, 1]
    assert found.to_numpy().tolist() == solution(at).tolist()


MEMORY = """
import resource, sys, pandas as pd, numpy as np
import feynkac as fk

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

u = fk.solve(fk.BlackScholes(), steps=1, batch_size=64, evaluations=1)
rows = int(sys.argv[1])
frame = pd.DataFrame({"x": np.linspace(9.0, 10.0, rows), "t": 0.5, "sigma": 0.3, "strike": 11.0})
u(frame[:64])
before = peak()
found = u(frame)
assert len(found) == rows
print(peak() - before)
"""


@pytest.mark.slow
def test_memory_beyond_the_frame_and_its_answer_is_bounded():
    rows = 10**6
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(rows)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    answer = 4 + 8 + 8  # float32, float64 and what the index may take
    assert int(done.stdout) < answer * rows + 100 * 2**20
