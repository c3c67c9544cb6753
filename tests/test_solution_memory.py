"""Memory of large questions beyond their inputs and answers, as the kernel counts it."""

import os
import subprocess
import sys

import pytest

MEGABYTE = 2**20

SCRIPT = """
import resource, sys, numpy as np, torch
import feynkac as fk

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

u = fk.solve(fk.BlackScholes(), steps=1, batch_size=64, evaluations=1)
asked = {
    "value": lambda x: u(x=x, t=0.5, sigma=0.3, strike=11.0),
    "quickly": lambda x: u.quickly(x.expand(4, -1).T),
    "greeks": lambda x: u.greeks(x=x, t=0.5, sigma=0.3, strike=11.0),
    "calibrate": lambda x: u.calibrate(
        u.observe(["sigma"], 1.5 + 0.0 * x.numpy(), noise=0.1, x=x, t=0.5, strike=11.0)
    ),
}
ask, rows = asked[sys.argv[1]], int(sys.argv[2])
ask(torch.linspace(9.0, 10.0, 64))
x = torch.linspace(9.0, 10.0, rows)
before = peak()
ask(x)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("value", 5 * 10**6, 4),
        ("calibrate", 4000, 0),
        pytest.param("quickly", 10**6, 4, marks=pytest.mark.slow),
        pytest.param("greeks", 10**5, 24, marks=pytest.mark.slow),
    ],
)
def test_memory_beyond_inputs_and_answers_is_bounded(question, rows, answer):
    """A block takes some ten megabytes; all rows at once would take a gigabyte."""
    command = [sys.executable, "-c", SCRIPT, question, str(rows)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert int(done.stdout) < answer * rows + 100 * MEGABYTE
