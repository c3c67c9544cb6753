"""Jobs: found again from another folder, finished or not."""

import time

import pytest

import feynkac as fk
from feynkac.clock import Clock
from feynkac.errors import Interrupted
from feynkac.interfaces.jobs import Job, absolute_spec
from feynkac.preparation import make_run


@pytest.fixture
def job(tmp_path):
    settings = {"steps": 3, "batch_size": 16, "paths": 4, "seed": 5}
    run = make_run(fk.BlackScholes(), "fast", settings)
    return Job("black-scholes", fk.BlackScholes(), run, tmp_path / "run")


def test_a_file_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute_spec("mine.py:Mine") == f"{tmp_path}/mine.py:Mine"
    assert absolute_spec("heston") == "heston"


def test_a_job_is_finished_once_it_was_executed(job):
    assert not job.finished()
    steps = []
    job.execute(lambda progress: steps.append(progress.step))
    assert job.finished()
    assert steps == [1, 2, 3]
    assert job.execute().manifest.steps == 3
    assert job.name == "black-scholes, seed 5"


def test_a_job_that_was_stopped_is_not_finished(job):
    with pytest.raises(Interrupted, match="stopped at step 1 of 3"):
        job.execute(lambda progress: True)
    assert not job.finished()


def test_a_budget_counts_from_the_given_time(tmp_path):
    run = make_run(fk.BlackScholes(), "fast", {"budget": 60.0, "batch_size": 16})
    late = Job("black-scholes", fk.BlackScholes(), run, tmp_path / "late")
    start = time.perf_counter()
    late.execute(clock=Clock(start - 59.5))
    assert time.perf_counter() - start < 20.0  # not a minute
