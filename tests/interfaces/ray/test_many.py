"""Several runs at once on a real cluster."""

import json
import os
import signal
from pathlib import Path
from statistics import mean

import pytest
from processes import Program, alive, listening, wait_until

import feynkac as fk
from feynkac.interfaces.jobs import Job
from feynkac.interfaces.ray.many import solve_parallel
from feynkac.preparation import make_run
from feynkac.runs.artifact import MANIFEST

LOOPBACK = {"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"}


@pytest.mark.slow
def test_two_seeds_at_once(tmp_path):
    """The short smoke: a cluster starts, listens on loopback alone, trains, and is gone."""
    few = ("--steps", 100, "--batch-size", 32, "--paths", 8, "--out", tmp_path / "runs", "--json")
    program = Program(tmp_path, "solve", "black-scholes", "--seeds", "0,1", "--parallel", *few)
    program.wait_for("step 10/100")
    everyone = program.family()
    assert any("raylet" in command for command in everyone.values())
    assert listening(everyone) <= LOOPBACK
    assert program.end() == 0, program.err.read_text()
    found = json.loads(program.out.read_text())
    assert [run["seed"] for run in found["runs"]] == [0, 1]
    assert [run["steps"] for run in found["runs"]] == [100, 100]
    assert found["l1"]["black-scholes"]["mean"] == mean(run["l1"] for run in found["runs"])
    lines = program.err.read_text().splitlines()
    assert all(line.startswith("black-scholes, seed") for line in lines), lines
    wait_until(lambda: not alive(everyone), 20.0)


def test_finished_runs_need_no_cluster(tmp_path):
    settings = {"steps": 2, "batch_size": 16, "paths": 4}
    run = make_run(fk.BlackScholes(), "fast", settings)
    job = Job("black-scholes", fk.BlackScholes(), run, tmp_path / "run")
    job.execute()
    nowhere = "ray://127.0.0.1:1"
    assert solve_parallel([job], lambda *_: None, nowhere) == {}


@pytest.mark.slow
def test_a_killed_task_goes_on_from_its_checkpoint(tmp_path):
    code = f"""
from pathlib import Path
from feynkac.families.catalogue import find_family
from feynkac.interfaces.jobs import Job
from feynkac.interfaces.ray.many import solve_parallel
from feynkac.preparation import make_run
import sys
family = find_family("black-scholes")
settings = {{"steps": 600, "batch_size": 32, "paths": 8, "checkpoint_seconds": 0.2}}
run = make_run(family, "fast", settings)
job = Job("black-scholes", family, run, Path({str(tmp_path / "run")!r}))
show = lambda _, progress: print(f"at {{progress.step}}.", file=sys.stderr, flush=True)
assert solve_parallel([job], show) == {{}}
print(job.execute().manifest.steps)
"""
    program = Program(tmp_path, code=code)
    wait_until((tmp_path / "run" / "checkpoint.safetensors").exists, 240.0)
    (task,) = [pid for pid, command in program.family().items() if command == "ray::_solve"]
    os.kill(task, signal.SIGKILL)
    assert program.end() == 0, program.err.read_text()
    assert program.out.read_text() == "600\n"
    before, after = program.err.read_text().split("a process died; resuming from the latest")
    assert "at 1." in before
    assert "at 1." not in after


@pytest.mark.slow
def test_ctrl_c_leaves_runs_that_can_go_on(tmp_path):
    arguments = ("--steps", 10**6, "--out", tmp_path / "runs")
    program = Program(
        tmp_path, "solve", "black-scholes", "--seeds", "0-3", "--parallel", *arguments
    )
    wait_until(lambda: len(list((tmp_path / "runs").glob("*/run.json"))) >= 2, 240.0)
    everyone = program.family()
    program.interrupt()
    assert program.end() == 130
    assert (
        "4 of 4 runs are unfinished; run the same command again to resume"
        in program.err.read_text()
    )
    assert len(list((tmp_path / "runs").glob("*/checkpoint.safetensors"))) >= 2
    wait_until(lambda: not alive(everyone), 20.0)


@pytest.mark.slow
def test_one_that_fails_does_not_stop_the_others(tmp_path):
    arguments = ("--method", "paper", "--steps", 5, "--batch-size", 2**14, "--scheme", "euler:1")
    names = (f"{Path(__file__).parents[2] / 'still.py'}:Holey", "black-scholes")
    places = ("--parallel", "--out", tmp_path / "runs", "--json")
    program = Program(tmp_path, "solve", *names, *arguments, *places)
    assert program.end() == 1, program.err.read_text()
    found = json.loads(program.out.read_text())
    assert [run["family"] for run in found["runs"]] == ["black-scholes"]
    assert [run["family"] for run in found["failed"]] == ["holey"]
    assert "error: holey, seed 0: step 1: a NaN or infinity arose in" in program.err.read_text()
    assert len(list((tmp_path / "runs").glob(f"*/{MANIFEST}"))) == 1
