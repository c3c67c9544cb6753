"""A Ray cluster for the length of a `with`: a private one on this machine, or an existing one.

The private cluster listens on loopback only, requires a token that only its own processes know,
keeps its sockets and logs in a folder of this user, and ends with the `with`. On Linux, Ray would
otherwise listen on all interfaces. One setting keeps every component on 127.0.0.1; Ray reads it on
import, so it must be in the environment before.
"""

import contextlib
import importlib.util
import logging
import os
import secrets
import shutil
import socket
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import debugging
from feynkac.interfaces.jobs import Place

LOOPBACK = "127.0.0.1"
ROOT, PREFIX = Path("/tmp"), "feynkac-"
PATIENCE = 5.0  # seconds for an address to answer
TOKEN = secrets.token_hex(32)  # one per process; Ray reads it only once
PRIVATE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # a single machine: all of Ray binds to loopback
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_worker_niceness": "0",  # by default its processes yield to all others
    "RAY_prestart_worker_first_driver": "0",  # processes that nobody would use
    "RAY_enable_worker_prestart": "0",
    "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
}
BOTH = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Ray's coming default, without its warning
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "2",  # then 4, then 8
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
}


@contextmanager
def cluster(place: Place = Place(), cpus: int | None = None) -> Iterator[int]:  # noqa: B008
    """Ray, connected; yields the number of its CPUs. Standard output is silent meanwhile.

    Args:
        place: where.
        cpus: how many are needed; None: any number.

    Raises:
        InputError: there are fewer CPUs, no cluster there, or no dashboard.
    """
    if place.address is None:  # before Ray starts, which takes seconds
        require_cpus(cpus, os.cpu_count() or 1, "this machine")
    elif place.dashboard:
        raise InputError("a cluster with an address has its own dashboard; omit --dashboard.")
    with _private(place.dashboard) if place.address is None else _existing(place.address):
        import ray

        found = int(ray.cluster_resources().get("CPU", 0))
        require_cpus(cpus, found, place.address or "this machine")
        yield found


def require_cpus(wanted: int | None, found: int, where: str) -> None:
    """Refuse more processes than CPUs, which would wait for each other."""
    if wanted is not None and wanted > found:
        raise InputError(f"{wanted} workers need {wanted} CPUs, but {where} has {found}.")


@contextmanager
def _private(dashboard: bool) -> Iterator[None]:
    if dashboard and importlib.util.find_spec("aiohttp_cors") is None:
        raise InputError('--dashboard needs more of Ray; pip install "ray[default]".')
    with (
        private_folder() as folder,
        _environment(PRIVATE | BOTH | {"RAY_AUTH_TOKEN": TOKEN}),
    ):
        import ray

        if (ip := ray.util.get_node_ip_address()) != LOOPBACK:
            raise InputError(
                f"ray was imported too early and would listen on {ip}; restart Python."
            )
        with _connection(include_dashboard=dashboard, _temp_dir=str(folder)):
            yield


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for Ray that only this user can enter; what killed processes left is removed.

    Ray opens its own folder to all users, so it gets one inside. Its path must be short: it is that
    of sockets.
    """
    _remove_left_over()
    with tempfile.TemporaryDirectory(
        prefix=f"{PREFIX}{os.getpid()}-", dir=ROOT, ignore_cleanup_errors=True
    ) as outer:
        inner = Path(outer) / "ray"
        inner.mkdir()
        if (mode := stat.S_IMODE(Path(outer).stat().st_mode)) != stat.S_IRWXU:
            raise InputError(f"{outer} has the mode {mode:o}, so that others could read it.")
        yield inner


def _remove_left_over() -> None:
    """Remove folders of this user whose process is gone."""
    for folder in ROOT.glob(f"{PREFIX}*-*"):
        process = folder.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if ours and process.isdecimal() and not _alive(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@contextmanager
def _existing(address: str) -> Iterator[None]:
    _knock(address)
    with _environment(BOTH), _connection(address=address):
        yield


def _knock(address: str) -> None:
    """Fail quickly where Ray would retry for minutes."""
    import grpc

    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port or 10001
        if host is None or url.scheme != "ray":
            raise ValueError("expected ray://host:port")
        socket.create_connection((host, port), timeout=PATIENCE).close()
        if "RAY_USE_TLS" not in os.environ:
            options = [("grpc.enable_http_proxy", 0)]
            with grpc.insecure_channel(f"{host}:{port}", options) as channel:
                grpc.channel_ready_future(channel).result(timeout=PATIENCE)
    except grpc.FutureTimeoutError:
        raise InputError(f"the server at {address} is not Ray.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"no Ray cluster at {address}: {error}.") from error


@contextmanager
def _connection(**options: Any) -> Iterator[None]:
    import ray

    from feynkac.training.interrupts import deferred_interrupts

    try:
        with deferred_interrupts() as stop:  # half a cluster could not be shut down
            _connect(options)
        if stop.requested:
            raise KeyboardInterrupt
        with _silence():
            yield
    finally:
        with deferred_interrupts():
            ray.shutdown()


@contextmanager
def _silence() -> Iterator[None]:
    """Keep Ray from printing to standard output, which is for results."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(sys.stderr if debugging() else nowhere),
    ):
        yield


def _connect(options: dict[str, Any]) -> None:
    import ray

    level = logging.INFO if debugging() else logging.ERROR
    try:
        with warnings.catch_warnings(action="ignore"):
            context = ray.init(logging_level=level, log_to_driver=debugging(), **options)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = str(error).strip().partition("\n")[0]
        hint = " (is its token in RAY_AUTH_TOKEN?)" if "address" in options else ""
        raise InputError(f"Ray cannot be used: {reason.rstrip('.')}{hint}.") from error
    if options.get("include_dashboard"):
        typer.echo(f"dashboard at http://{context.dashboard_url}, token {TOKEN}", err=True)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
