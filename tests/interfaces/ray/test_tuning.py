"""A real search on a real Ray cluster, undisturbed, killed and interrupted."""

import json
import os
import signal
from pathlib import Path

import pytest
from processes import Program, alive, wait_until

import feynkac as fk
from feynkac.runs.artifact import MANIFEST
from feynkac.tuning.trials import ENDED, Trials

pytestmark = pytest.mark.slow
PATIENCE = 240.0  # seconds, on a machine that does other things too
SPACE = {"width": [4, 8], "depth": [1], "batch_size": [4, 8], "paths": [2]}


def tune(folder: Path, *options: object, space: dict[str, object] = SPACE) -> Program:
    """Start `feynkac tune`."""
    path = folder.parent / "space.json"
    path.write_text(json.dumps(space))
    given = ("--out", folder, "--space", path, "--json", *options)
    return Program(folder.parent, "tune", "black-scholes", *given)


def result(program: Program) -> dict[str, object]:
    """What it printed when it was done."""
    assert program.end() == 0, program.err.read_text()
    return json.loads(program.out.read_text())


def created(folder: Path, number: int) -> str:
    """When the run of a trial was finished."""
    return json.loads((Trials(folder).path(number) / MANIFEST).read_text())["created"]


def test_a_search_and_more_of_it(tmp_path):
    folder = tmp_path / "search"
    options = ("--budget", "2s", "--confirm", 1, "--seed", 5)
    found = result(tune(folder, "--trials", 2, *options))
    assert [trial["trial"] for trial in found["trials"]] == [0, 1]
    assert found["trials"][0]["width"] > 8, "trial 0 is the default, whatever the ranges"
    assert found["trials"][1]["width"] in SPACE["width"]
    assert found["trials"][0]["status"] == "finished"
    assert json.loads((folder / "results.json").read_text()) == found
    assert (folder / "best-so-far.png").stat().st_size > 1000
    assert not (folder / "ray").exists()
    verdict = found["verdict"]
    assert verdict["beat_default"] == (found["preset"]["batch_size"] in SPACE["batch_size"])
    assert all(each["seed"] == 6 for each in verdict["trainings"])

    before = created(folder, 0)
    more = result(tune(folder, "--trials", 3, *options))
    assert created(folder, 0) == before
    assert more["trials"][:2] == found["trials"]
    assert more["trials"][2]["status"] in ENDED
    assert Trials(folder).trial(2).method.paths == 2


def test_a_killed_trial_goes_on_from_its_checkpoint(tmp_path):
    folder = tmp_path / "search"
    program = tune(folder, "--trials", 1, "--budget", "20s", "--confirm", 0)
    trial = Trials(folder).path(0)
    wait_until((trial / "checkpoint.safetensors").exists, PATIENCE)
    plan, seen = (trial / "run.json").read_bytes(), len(Trials(folder).history(0))
    workers = [pid for pid, line in program.family().items() if "ImplicitFunc" in line]
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    found = result(program)
    assert len(workers) == 1
    assert (trial / "run.json").read_bytes() == plan
    solution = fk.load(trial)
    assert solution.manifest.steps == json.loads(plan)["steps"] == found["trials"][0]["step"]
    assert len(solution.manifest.history) == 10 >= seen
    assert found["trials"][0]["status"] == "finished"


@pytest.mark.parametrize("ctrl_c", [True, False], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_leaves_a_search_that_goes_on_and_no_process(tmp_path, ctrl_c):
    folder = tmp_path / "search"
    options = ("--trials", 2, "--budget", "3s", "--confirm", 0)
    program = tune(folder, *options)
    wait_until((Trials(folder).path(0) / "run.json").exists, PATIENCE)
    family = program.family()
    (program.interrupt if ctrl_c else program.terminate)()
    assert program.end() == 130
    assert "of 2 trials have ended; run the same command again to resume" in program.err.read_text()
    assert program.out.read_text() == ""
    wait_until(lambda: not alive(family), PATIENCE)
    begun = [trial.values for trial in Trials(folder).read()]
    found = result(tune(folder, *options))
    assert len(found["trials"]) == 2
    assert [trial.values for trial in Trials(folder).read()][: len(begun)] == begun
    assert all(trial.status in ENDED for trial in Trials(folder).read())


def test_a_trial_that_diverges_is_no_failure(tmp_path):
    folder = tmp_path / "search"
    options = ("--trials", 2, "--budget", "3s", "--confirm", 0)
    wild = SPACE | {"learning_rate": [1e30]}
    found = result(tune(folder, *options, space=wild))
    assert [trial["status"] for trial in found["trials"]] == ["finished", "diverged"]
    assert found["verdict"]["beat_default"] is False
    assert found["preset"]["optimiser"]["learning_rate"] == 0.3
