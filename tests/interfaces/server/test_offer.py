"""Names of folders, and runs that finish while they are served."""

import shutil

import pytest

import feynkac as fk
from feynkac.interfaces.server.offer import make_offer
from feynkac.interfaces.server.problems import Problem
from feynkac.runs.artifact import MANIFEST


def test_folders_of_one_name_are_numbered(folders, tmp_path):
    copy = shutil.copytree(folders["put"], tmp_path / "put")
    offer = make_offer([folders["put"], copy], fk.load)
    assert list(offer.solutions) == ["put", "put-2"]


def test_names_are_safe_in_an_address(folders, tmp_path):
    copy = shutil.copytree(folders["put"], tmp_path / "my put (ä)")
    assert list(make_offer([copy], fk.load).solutions) == ["my-put"]


def test_a_run_under_way_becomes_a_solution(tmp_path):
    run = tmp_path / "night"
    run.mkdir()
    offer = make_offer([run], fk.load)
    assert offer.progress("night", 0)["state"] == "waiting"
    states = []

    def watch(progress):
        states.append(offer.progress("night", 0)["state"])

    fk.solve(fk.BlackScholes(), steps=4, batch_size=64, evaluations=2, out=run, report=watch)
    assert "running" in states
    offer.refresh()
    found = offer.progress("night", 1)
    assert (found["state"], found["solution"]) == ("finished", "night")
    assert len(found["records"]) == found["total"] - 1
    assert offer.find("night").solution.manifest.steps == 4


def test_an_unknown_name_is_a_problem(folders):
    offer = make_offer([folders["put"]], fk.load)
    with pytest.raises(Problem, match="there is no solution 'heston'"):
        offer.find("heston")


def test_a_run_that_cannot_be_loaded_does_not_hide_the_others(folders, tmp_path):
    night = tmp_path / "night"
    night.mkdir()
    offer = make_offer([folders["put"], night], fk.load)
    shutil.copy(folders["put"] / MANIFEST, night)  # finished, without weights
    for _ in range(2):
        offer.refresh()
    assert list(offer.solutions) == ["put"]
    problems = {run["id"]: run["problem"] for run in offer.listed_runs()}
    assert problems["put"] is None
    assert "weights" in problems["night"]
