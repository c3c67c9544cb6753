"""Compiling is an option: without a compiler the same numbers come out."""

import json
import os
import shutil
import subprocess
import sys

import pytest

SOLVE_TWICE = """
import json, sys
import torch
import feynkac as fk
from feynkac.compilation import can_compile

torch.set_num_threads(1)

def numbers(compile):
    settings = {"steps": 4, "batch_size": 64, "evaluations": 1, "seed": 3, "compile": compile}
    solution = fk.solve(fk.HeatGaussian(dim=2), method="paper", **settings)
    weights = [w.double().sum().item() for w in solution.network.state_dict().values()]
    return [*weights, solution.manifest.history[-1]["l1"]]

result = {
    "compiles": can_compile(),
    "eager": numbers(False),
    "compiled": numbers(True),
}
json.dump(result, sys.stdout)
"""


def solve_twice(cache, **environment):
    """Eager and compiled numbers of one small run, from a fresh process and an empty cache."""
    done = subprocess.run(
        [sys.executable, "-c", SOLVE_TWICE],
        env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache)} | environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_without_a_compiler_the_same_numbers_come_out(tmp_path):
    found = solve_twice(tmp_path, CXX="/nonexistent")
    assert found["compiles"] is False
    assert found["compiled"] == found["eager"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
def test_with_a_compiler_the_numbers_agree_to_rounding(tmp_path):
    found = solve_twice(tmp_path)
    assert found["compiles"] is True
    assert found["compiled"] == pytest.approx(found["eager"], rel=1e-4, abs=1e-5)
    assert found["compiled"] != found["eager"]
