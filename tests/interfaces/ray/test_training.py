"""One run by several processes on a real cluster, against the same run by one."""

import json
import os
import signal

import pytest
import torch
from processes import Program, alive, listening, wait_until
from test_many import LOOPBACK

import feynkac as fk
from feynkac.runs.artifact import read_artifact

pytestmark = pytest.mark.slow

CODE = """
import sys
from pathlib import Path
from feynkac.families.catalogue import find_family
from feynkac.interfaces.jobs import Job
from feynkac.interfaces.ray.training import distribute
from feynkac.preparation import make_run
family = find_family("black-scholes")
settings = {{"steps": {steps}, "workers": 2, "checkpoint_seconds": 0.2}}
run = make_run(family, "fast", settings)
show = lambda progress: print(f"at {{progress.step}}.", file=sys.stderr, flush=True)
distribute(Job("black-scholes", family, run, Path({folder!r})), show)
"""


def curve(folder):
    manifest, _ = read_artifact(folder)
    return [(record["step"], record["loss"], record["l1"]) for record in manifest.history]


def test_one_worker_gives_the_numbers_of_no_ray(tmp_path):
    program = Program(
        tmp_path, "solve", "black-scholes", "--workers", 1, "--steps", 20, "--out", tmp_path / "ray"
    )
    assert program.end() == 0, program.err.read_text()
    fk.solve(fk.BlackScholes(), steps=20, out=tmp_path / "alone")
    (_, weights), (_, others) = read_artifact(tmp_path / "ray"), read_artifact(tmp_path / "alone")
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    assert curve(tmp_path / "ray") == curve(tmp_path / "alone")


def test_a_killed_worker_is_replaced_and_the_run_is_that_of_one_process(tmp_path):
    program = Program(tmp_path, code=CODE.format(steps=400, folder=str(tmp_path / "run")))
    wait_until((tmp_path / "run" / "checkpoint.safetensors").exists, 240.0)
    everyone = program.family()
    workers = [pid for pid, command in everyone.items() if "RayTrainWorker" in command]
    assert len(workers) == 2
    assert listening(everyone) <= LOOPBACK
    os.kill(workers[-1], signal.SIGKILL)
    assert program.end() == 0, program.err.read_text()
    _, after = program.err.read_text().split("a process died; resuming from the latest checkpoint")
    assert "at 1." not in after
    assert program.out.read_text() == ""
    fk.solve(fk.BlackScholes(), steps=400, workers=2, out=tmp_path / "alone")
    for here, there in zip(curve(tmp_path / "run"), curve(tmp_path / "alone"), strict=True):
        assert here == pytest.approx(there, abs=1e-5)
    wait_until(lambda: not alive(everyone), 20.0)


def test_ctrl_c_leaves_a_run_that_can_go_on(tmp_path):
    folder = tmp_path / "run"
    arguments = ("--workers", 2, "--steps", 300, "--out", folder)
    program = Program(tmp_path, "solve", "black-scholes", *arguments)
    program.wait_for("step 30/300")
    everyone = program.family()
    program.interrupt()
    assert program.end() == 130, program.err.read_text()
    assert "interrupted: stopped at step" in program.err.read_text()
    wait_until(lambda: not alive(everyone), 20.0)
    steps = []
    fk.solve(
        fk.BlackScholes(),
        steps=300,
        workers=2,
        out=folder,
        report=lambda progress: steps.append(progress.step),
    )
    assert 30 < steps[0] < 300
    assert steps[-1] == 300


def test_an_error_of_the_run_is_one_sentence_and_not_tried_again(tmp_path):
    fk.solve(fk.BlackScholes(), steps=2, batch_size=16, paths=4, out=tmp_path / "other")
    (tmp_path / "other" / "manifest.json").unlink()
    arguments = ("--workers", 1, "--steps", 3, "--out", tmp_path / "other", "--json")
    program = Program(tmp_path, "solve", "black-scholes", *arguments)
    assert program.end() == 2
    assert "holds a run with other settings" in program.err.read_text()
    assert program.out.read_text() == ""
    assert "a process died" not in program.err.read_text()


def test_two_workers_as_json(tmp_path):
    arguments = ("--workers", 2, "--budget", "20s", "--out", tmp_path / "run", "--json")
    program = Program(tmp_path, "solve", "black-scholes", *arguments)
    assert program.end() == 0, program.err.read_text()
    found = json.loads(program.out.read_text())
    assert found["steps"] >= 1
    assert found["l1"] < 1.0
