"""Every package that is installed for feynkac is pinned, in the version that is tested."""

import runpy
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "lock.py"
LOCK = runpy.run_path(str(SCRIPT))


def test_all_packages_are_pinned_in_the_installed_version():
    found = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, f"run `make lock`: {found.stdout}{found.stderr}"


def test_what_others_need_is_followed_to_the_end():
    packages = LOCK["installed"]()
    assert {"torch", "sympy", "mpmath", "pydantic-core", "hatchling"} <= packages.keys()
    assert "feynkac" not in packages


def test_a_file_is_read_back_and_keeps_packages_of_other_machines():
    packages = LOCK["installed"]()
    text = LOCK["lock"](packages, {"nvidia-cublas": "1.2", "torch": "0.1"})
    versions = LOCK["read"](text)
    assert versions["nvidia-cublas"] == "1.2"
    assert versions["torch"] == packages["torch"].version.partition("+")[0]
    assert versions.keys() == packages.keys() | {"nvidia-cublas"}


def test_every_package_states_its_licence():
    unknown = [n for n, p in LOCK["installed"]().items() if LOCK["licence"](p) == "not stated"]
    assert unknown == []
