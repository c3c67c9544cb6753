"""`solve --watch`: the run's folder is served while it is trained."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from typer.testing import CliRunner

from feynkac.interfaces.cli import app

FEYNKAC = [sys.executable, "-c", "from feynkac.interfaces.cli import main; main()"]


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_training_is_served_until_its_command_is_ended(tmp_path, end):
    command = [*FEYNKAC, "solve", "black-scholes", "--steps=2", "--batch-size=32", "--watch"]
    process = subprocess.Popen(
        [*command, f"--out={tmp_path / 'run'}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        lines = iter(process.stderr.readline, "")
        address = next(
            m[1] for m in (re.search(r"at (http\S+/)#v=training", x) for x in lines) if m
        )
        result = iter(process.stdout.readline, "")
        assert any("saved in" in line for line in result)
        with urllib.request.urlopen(address + "v1/runs/run/progress") as reply:
            assert json.load(reply)["state"] == "finished"
        process.send_signal(end)
        assert process.wait(timeout=30) == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address)


def test_several_runs_cannot_be_watched(tmp_path):
    command = ["solve", "black-scholes", "--seeds=0,1", "--steps=2", "--watch", f"--out={tmp_path}"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 2
    assert "--watch follows one run; omit it, or give one family and one seed." in found.output
