"""The zoo's benchmark: what is refused or crashes is a row, finished rows are kept and reused."""

import json
from multiprocessing import Pipe

import pytest

from feynkac.benchmarks import zoo
from feynkac.benchmarks.zoo import Zoo, ZooRow, in_process, read_rows, run_zoo, write_rows
from feynkac.benchmarks.zoo_members import Member
from feynkac.benchmarks.zoo_row import stages

FAMILY = """
from dataclasses import dataclass

import feynkac as fk

AREA, METHOD = "tests", "closed form"


@dataclass(frozen=True)
class Small(fk.Family):
    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0), t=fk.Box(0.0, 1.0))

    def drift(self, x, p):
        return {drift}

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x.square()


def reference(x, t, p):
    return x**2 + t
"""


def write_member(folder, drift="0.0 * x", name="small"):
    path = folder / f"{name}.py"
    path.write_text(FAMILY.replace("{drift}", drift))
    return Member(path)


@pytest.fixture
def solved(monkeypatch):
    """The names that were solved; a row's numbers are made up."""
    names = []

    def in_process(path, budget, seed):
        names.append(path.stem)
        return {"steps": 7, "seconds": 1.0, "l1": 0.002, "l1_se": 0.0}

    monkeypatch.setattr(zoo, "in_process", in_process)
    return names


def test_finished_rows_are_reused(tmp_path, solved):
    members = [write_member(tmp_path, name="one"), write_member(tmp_path, name="two")]
    path = tmp_path / "runs" / "zoo.json"
    first = run_zoo(members[:1], path, budget=2.0)
    both = run_zoo(members, path, budget=2.0)
    assert solved == ["one", "two"]
    assert both.rows[0] == first.rows[0] == read_rows(path)[0]
    run_zoo(members[:1], path, budget=2.0, seed=1)
    run_zoo(members[:1], path, budget=3.0)
    assert solved == ["one", "two", "one", "one"]
    assert len(read_rows(path)) == 4


def test_a_row_of_other_code_is_replaced(tmp_path, solved):
    path = tmp_path / "zoo.json"
    run_zoo([write_member(tmp_path)], path)
    run_zoo([write_member(tmp_path, drift="0.1 * x")], path)
    assert solved == ["small", "small"]
    assert len(read_rows(path)) == 1


def test_rows_finished_before_an_interrupt_are_kept(tmp_path, solved, monkeypatch):
    members = [write_member(tmp_path, name="one"), write_member(tmp_path, name="two")]
    path, complete = tmp_path / "zoo.json", zoo.in_process

    def interrupted(where, budget, seed):
        if where.stem == "two":
            raise KeyboardInterrupt
        return complete(where, budget, seed)

    monkeypatch.setattr(zoo, "in_process", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_zoo(members, path)
    assert [row.name for row in read_rows(path)] == ["one"]


def collected(path, budget, seed):
    """As `in_process`, but in this process."""
    found = {}
    for stage in stages(Member(path), budget, seed):
        found |= stage
    return found


def refuse(tmp_path):
    """The row of a family that explodes."""
    said = []
    member = write_member(tmp_path, drift="x**3")
    (row,) = run_zoo([member], tmp_path / "zoo.json", budget=1.0, announce=said.append).rows
    assert said == ["small: solving", f"small: {row.error}"]
    return row


def test_a_family_that_is_refused_is_a_row_with_its_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, "in_process", collected)
    row = refuse(tmp_path)
    assert row.refused
    assert row.error.startswith("Small explodes: superlinear growth of μ")
    assert any(alarm.startswith("growth, fail: ") for alarm in row.alarms)


@pytest.mark.slow
def test_a_process_of_its_own_finds_the_same(tmp_path, monkeypatch):
    found = refuse(tmp_path)
    monkeypatch.setattr(zoo, "in_process", collected)
    (tmp_path / "zoo.json").unlink()
    again = refuse(tmp_path)
    assert (found.error, found.alarms, found.inputs) == (again.error, again.alarms, again.inputs)


def test_what_came_before_a_crash_remains():
    receiving, sending = Pipe(duplex=False)
    sending.send({"inputs": 5})
    sending.close()
    assert zoo._collect(receiving, 1.0) == {"inputs": 5, "error": zoo.CRASHED}


@pytest.mark.slow
def test_a_crash_is_a_row(tmp_path):
    path = tmp_path / "crash.py"
    path.write_text("import os\n\nos._exit(3)\n")
    assert in_process(path, 1.0, 0) == {
        "error": "the process ended without a result, as it does when memory runs out (exit code 3)"
    }


def test_a_family_that_hangs_is_ended(tmp_path, monkeypatch):
    path = tmp_path / "hang.py"
    path.write_text("import time\n\ntime.sleep(600)\n")
    monkeypatch.setattr(zoo, "EXTRA", 0.5)
    found = in_process(path, 0.1, 0)
    assert found == {"error": "no answer within 1 s while solving"}


def test_the_summary_counts_all_rows(tmp_path):
    def row(**found):
        return ZooRow("name", "version", 60.0, 0, **found)

    rows = (
        row(steps=9, seconds=60.0, l1=0.0009),
        row(steps=9, seconds=67.0, l1=0.004),
        row(seconds=1.0, error="refused"),
        row(steps=9, seconds=20.0, l1=float("nan")),
    )
    assert Zoo(rows).summary() == {
        "L1 ≤ 0.001": 0.25,
        "L1 ≤ 0.005": 0.5,
        "refused": 0.25,
        "over budget": 0.25,
    }
    write_rows(tmp_path / "zoo.json", rows[:3])
    assert json.loads((tmp_path / "zoo.json").read_text())["summary"]["refused"] == 1 / 3
    assert read_rows(tmp_path / "zoo.json") == list(rows[:3])
