"""A small library of its own: trained, interrupted, resumed, listed, asked."""

import json
from dataclasses import replace

import pytest
import torch
from benchmarks.library_page import PAGE, written

import feynkac as fk
from feynkac.families.reach import Reach
from feynkac.files import seal, unseal
from feynkac.library.entries import ENTRIES, Entry, find_entries
from feynkac.library.listing import list_library, table
from feynkac.library.pretrained import pretrained
from feynkac.library.record import certified_share
from feynkac.library.shelf import MANIFEST, RECORD, Shelf, open_shelf
from feynkac.library.training import train_library

DAX = {"kappa": 15.66, "theta": 0.0746, "nu": 3.36, "rho": -0.51}
SMALL = fk.Fast(batch_size=64, width=16)
ENTRY = Entry("put", "a put", fk.BlackScholes().on(strike=11.0), steps=3, method=SMALL)
AT = {"x": 95.0, "t": 0.5, "sigma": 0.3, "strike": 110.0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("library")
    shelf = Shelf(root / "shelf")
    records = train_library([ENTRY], root / "runs", shelf)
    return root, shelf, records


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_can_be_recorded_and_drawn_from(entry, generator):
    inputs = entry.family.domain.sample(64, generator, torch.float64)
    x, t, p = entry.family.domain.split(inputs)
    for found in (entry.family.drift(x, p), entry.family.initial(x, p)):
        assert found.isfinite().all()
    if isinstance(entry.family, fk.ClosedForm):
        assert entry.family.closed_form(x, t, p).isfinite().all()
    assert entry.steps > 0


def test_names_are_unique_and_the_paper_is_there():
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert set(names) >= {"black-scholes", "basket-put", "heat-paraboloid", "heat-gaussian"}
    paper = {entry.name: entry.family for entry in ENTRIES}
    assert paper["black-scholes"] == fk.BlackScholes()
    assert paper["heat-gaussian"] == fk.HeatGaussian()


def test_the_boxes_are_as_wide_as_markets():
    (heston,) = find_entries(["heston"])
    at = DAX | {"x": [5000.0, 0.196], "t": 0.1, "rate": 0.03, "strike": 6000.0}
    assert Reach(heston.family).join(at).shape == (9,)
    wild = at | {"kappa": 22.0, "nu": 3.5, "theta": 0.01}
    assert Reach(heston.family).join(wild).shape == (9,)
    (asset,) = find_entries(["black-scholes-merton"])
    corners = {"x": [40.0, 250.0], "t": [7 / 365, 5.0], "sigma": [0.03, 1.5], "rate": [-0.01, 0.1]}
    reach = Reach(asset.family)
    assert reach.join(corners | {"dividend": 0.0, "strike": 100.0}).shape == (2, 6)


def test_an_unknown_entry_gets_a_suggestion():
    with pytest.raises(
        fk.InputError, match=r"no 'hestn'; did you mean 'heston'\? There are: black"
    ):
        find_entries(["hestn"])


def test_a_solution_comes_from_its_shelf(trained):
    root, shelf, _ = trained
    solution = pretrained("put", shelf.path)
    assert solution.manifest.steps == 3
    straight = fk.load(root / "runs" / "put")
    assert torch.equal(solution(AT), straight(AT))
    one = solution(AT | {"x": 9.5, "strike": 11.0})
    torch.testing.assert_close(solution(AT), 10.0 * one)


def test_another_library_is_named_by_the_environment(trained, monkeypatch):
    monkeypatch.setenv("FEYNKAC_LIBRARY", str(trained[1].path))
    assert open_shelf().path == trained[1].path
    assert fk.pretrained("put").manifest.steps == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("heston", r"the library's heston is not in .*; install the wheel.*library train heston"),
        ("hestn", r"no 'hestn'; did you mean 'heston'\? There are: black-scholes-merton"),
        ("../shelf/put", r"the library has no '../shelf/put'"),
        ("", "the library has no ''"),
    ],
)
def test_what_is_not_there_is_said(trained, name, message):
    with pytest.raises(fk.ArtifactError, match=message):
        pretrained(name, trained[1].path)


def test_an_installation_without_solutions_says_what_to_do(tmp_path):
    with pytest.raises(fk.ArtifactError, match=r"make library trains all"):
        pretrained("channel", tmp_path / "nowhere")
    assert open_shelf(tmp_path / "nowhere").names == []


def test_a_record_says_what_a_solution_is_worth(trained):
    _, shelf, records = trained
    (record,) = records
    assert shelf.record("put") == json.loads(json.dumps(record))
    assert record["steps"] == 3
    assert record["errors"]["l1"] > 0
    assert {"absolute", "relative", "l1_se"} <= record["errors"].keys()
    assert 0.0 <= record["certified"]["share"] <= 1.0
    assert set(record["map"]["profiles"]) == {"x", "t", "sigma"}
    assert record["errors"]["volatility_median_bp"] > 0
    assert {row["sentence"] for row in record["shape"]["shapes"]} >= {"rises with sigma"}
    assert record["seconds"] > 0


def test_an_altered_record_is_refused(trained, tmp_path):
    shelf = Shelf(tmp_path)
    shelf.put("put", trained[0] / "runs" / "put", {"name": "put"})
    path = tmp_path / "put" / RECORD
    path.write_bytes(path.read_bytes().replace(b"put", b"cut"))
    with pytest.raises(fk.ArtifactError, match=r"missing or damaged.*library train put"):
        shelf.record("put")


def test_a_finished_entry_is_not_trained_or_measured_again(trained, tmp_path):
    root, _, records = trained
    shelf, said = Shelf(tmp_path), []
    again = train_library(
        [ENTRY], root / "runs", shelf, lambda _: pytest.fail("steps"), said.append
    )
    assert again == json.loads(json.dumps(records))
    assert said == ["put (1 of 1): 3 steps"]
    assert "put" in shelf


def test_an_interrupted_training_is_resumed(tmp_path):
    entry, shelf, steps = replace(ENTRY, steps=6), Shelf(tmp_path / "shelf"), []
    with pytest.raises(fk.Interrupted):
        train_library([entry], tmp_path / "runs", shelf, lambda progress: progress.step == 4)
    assert shelf.names == []
    train_library([entry], tmp_path / "runs", shelf, lambda progress: steps.append(progress.step))
    assert steps == [5, 6]
    whole = fk.solve(entry.family, SMALL, steps=6)
    assert torch.equal(pretrained("put", shelf.path)(AT), whole(AT))


def test_a_changed_entry_is_trained_anew(trained, tmp_path):
    runs, shelf = tmp_path / "runs", Shelf(tmp_path / "shelf")
    train_library([replace(ENTRY, steps=2)], runs, shelf)
    (record,) = train_library([replace(ENTRY, steps=1)], runs, shelf)
    assert record["steps"] == pretrained("put", shelf.path).manifest.steps == 1


def test_it_can_be_started_over(trained, tmp_path):
    runs, shelf, steps = tmp_path / "runs", Shelf(tmp_path / "shelf"), []
    train_library([ENTRY], runs, shelf)
    train_library([ENTRY], runs, shelf, lambda p: steps.append(p.step), retrain=True)
    assert steps == [1, 2, 3]


def test_a_half_written_solution_is_not_listed(trained, tmp_path):
    shelf = Shelf(tmp_path)
    shelf.put("put", trained[0] / "runs" / "put", {"name": "put"})
    (tmp_path / "put" / MANIFEST).unlink()
    assert "put" not in shelf
    assert shelf.names == []


def test_the_list_has_what_is_there_and_what_is_not(trained):
    _, shelf, _ = trained
    records = list_library(shelf, (ENTRY, find_entries(["cev"])[0]))
    columns, rows = table(records)
    assert [row[0] for row in rows] == ["put", "cev"]
    assert len(columns) == len(rows[0]) == len(rows[1])
    assert rows[0][-2] == "3"
    assert rows[1][2] == "not trained"
    assert [record["name"] for record in list_library(shelf, ())] == ["put"]


def test_points_are_certified_only_if_the_interval_shows_it():
    numbers = torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64)
    off = torch.tensor([0.0005, 0.0005, 0.01], dtype=torch.float64)
    width = torch.tensor([0.0001, 0.01, 0.0001], dtype=torch.float64)
    zero = torch.zeros(3, dtype=torch.float64)
    found = fk.Certificate(
        numbers + off, numbers, width, zero, numbers, None, 0.95, torch.ones(3), zero
    )
    assert certified_share(found) == pytest.approx(1 / 3)


def test_records_that_came_with_the_package_are_whole():
    shelf = open_shelf()
    for name in shelf.names:
        record = shelf.record(name)
        assert record["name"] == name
        assert unseal(seal(record)) == record
        assert pretrained(name).manifest.steps == record["steps"]
    assert shelf.size <= 8_000_000


def test_the_page_shows_the_records_of_the_package():
    text = PAGE.read_text()
    assert written(text) == text


def test_greeks_of_heston_are_named_by_entries_of_the_state():
    heston = pretrained("heston")
    at = {"x": [1.0, 0.04], "t": 0.5, "rate": 0.02, "strike": 1.0, **DAX}
    found = heston.greeks(**at)
    slopes = heston.grad("x", **at)
    assert found["delta"] == pytest.approx(slopes[0].item(), rel=1e-5)
    assert found["vega"] == pytest.approx(slopes[1].item(), rel=1e-5)
    assert found["decay"] == -heston.grad("t", **at)
    assert set(found) == {"delta", "gamma", "vega", "vanna", "decay"}  # theta, rho: parameters
