"""Clusters: who may connect, and what is said where there is none."""

import importlib.util
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jsonschema
import pytest
import yaml
from processes import Program, wait_until

from feynkac.errors import InputError
from feynkac.interfaces.jobs import Place
from feynkac.interfaces.ray.cluster import PRIVATE, cluster, private_folder, require_cpus


def test_too_few_cpus_are_refused_before_anything_starts():
    many = (os.cpu_count() or 1) + 1
    with pytest.raises(InputError, match=f"{many} workers need {many} CPUs, but this machine has"):
        cluster(cpus=many).__enter__()
    assert not os.environ.get("RAY_AUTH_TOKEN")


def test_enough_cpus_are_fine():
    require_cpus(2, 2, "this machine")
    require_cpus(None, 1, "this machine")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ray://127.0.0.1:1", "Connection refused"),
        ("127.0.0.1:1", "expected ray://host:port"),
        ("ray://no-such-host.invalid:10001", "no Ray cluster at"),
        ("http://127.0.0.1:1", "expected ray://host:port"),
        ("ray://127.0.0.1:port", "no Ray cluster at"),
        ("", "expected ray://host:port"),
        ("ray://[::", "no Ray cluster at"),
        ("ray://[", "no Ray cluster at"),
        ("ray://127.0.0.1:99999999", "no Ray cluster at"),
        ("ray://a\0b:1", "no Ray cluster at"),
        (f"ray://{'a' * 300}:1", "no Ray cluster at"),
    ],
)
def test_an_address_without_a_cluster(address, reason):
    with pytest.raises(InputError, match=reason):
        cluster(Place(address)).__enter__()


def test_rays_folder_is_for_this_user_alone():
    with private_folder() as folder:
        folder.chmod(0o777)  # as Ray does
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        assert folder.parent.stat().st_uid == os.getuid()
        longest = folder / "session_2026-11-17_12-00-00_000000_4194304/sockets/plasma_store"
        assert len(str(longest)) < 104  # what a socket may have
    assert not folder.parent.exists()


def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_kept():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = Path(tempfile.mkdtemp(prefix=f"feynkac-{gone.pid}-", dir="/tmp"))
    (left / "ray").mkdir()
    with private_folder() as first, private_folder():
        assert first.exists()
        assert not left.exists()


@pytest.mark.slow
def test_something_else_that_listens_is_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        start = time.monotonic()
        with pytest.raises(InputError, match="is not Ray"):
            cluster(Place(f"ray://127.0.0.1:{mute.getsockname()[1]}")).__enter__()
        assert time.monotonic() - start < 30.0


@pytest.mark.slow
def test_without_ray_the_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['ray'] = None\n"  # as if it were not installed
        "from feynkac.interfaces.cli import main; main()"
    )
    arguments = [
        "solve",
        "black-scholes",
        "--steps",
        "1",
        "--workers",
        "1",
        "--out",
        tmp_path / "r",
    ]
    found = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == "error: this needs ray; install feynkac[ray].\n"


def test_a_process_that_has_ray_on_all_interfaces_is_refused():
    code = (
        "import ray\n"  # on Linux this settles where it listens
        "from feynkac.interfaces.ray.cluster import cluster\n"
        "cluster().__enter__()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if "would listen on" not in found.stderr:
        pytest.skip("this machine has no other interface than loopback")
    assert "ray was imported too early" in found.stderr


def test_ray_accepts_the_example_of_a_cluster():
    schema = Path(importlib.util.find_spec("ray").origin).parent / "autoscaler" / "ray-schema.json"
    example = Path(__file__).parents[3] / "examples" / "cluster.yaml"
    settings = yaml.safe_load(example.read_text())
    jsonschema.validate(settings, json.loads(schema.read_text()))
    starts = settings["head_start_ray_commands"][1:] + settings["worker_start_ray_commands"][1:]
    assert all(start.startswith("RAY_AUTH_MODE=token ray start") for start in starts)


@pytest.mark.slow
def test_an_existing_cluster_needs_its_token_and_is_left_running(tmp_path):
    port, client = free_port(), free_port()
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
    head = Program(
        tmp_path / "head",
        *("start", "--head", "--block", "--include-dashboard=false", "--num-cpus=2"),
        *("--node-ip-address=127.0.0.1", f"--port={port}", f"--ray-client-server-port={client}"),
        code="from ray.scripts.scripts import main; main()",
        **PRIVATE | token,
    )
    try:
        wait_until(
            lambda: "Ray runtime started" in head.out.read_text() + head.err.read_text(), 120.0
        )
        few = (
            "--steps",
            3,
            "--batch-size",
            16,
            "--paths",
            4,
            "--address",
            f"ray://127.0.0.1:{client}",
        )
        stranger = Program(
            tmp_path / "stranger",
            *("solve", "black-scholes", "--workers", 1, *few),
            **token | {"RAY_AUTH_TOKEN": "fedcba9876543210" * 4},
        )
        assert stranger.end(120.0) == 2
        assert "is its token in RAY_AUTH_TOKEN?" in stranger.err.read_text()
        many = (*few, "--workers", 3)
        crowd = Program(tmp_path / "crowd", "solve", "black-scholes", *many, **token)
        assert crowd.end() == 2
        assert "3 workers need 3 CPUs, but ray://127.0.0.1:" in crowd.err.read_text()
        pair = (*few, "--workers", 2, "--out", tmp_path / "pair", "--json")
        program = Program(tmp_path / "owner", "solve", "black-scholes", *pair, **token)
        assert program.end() == 0, program.err.read_text()
        assert json.loads(program.out.read_text())["steps"] == 3
        assert any("raylet" in command for command in head.family().values())
    finally:
        head.terminate()
        head.end()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.skipif(importlib.util.find_spec("aiohttp_cors") is not None, reason="it has one")
def test_a_dashboard_that_is_not_installed():
    with pytest.raises(InputError, match=r'pip install "ray\[default\]"'):
        cluster(Place(dashboard=True)).__enter__()
