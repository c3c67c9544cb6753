"""One run in several processes: Ray Train starts, watches and restarts them.

Each worker draws the inputs of its own stream and simulates their paths; the workers average their
gradients or share their rows (`feynkac.training.team`). If a worker dies, Ray ends the group and
starts a new one, which resumes from the checkpoint in the run's folder. All workers must be able to
read this folder.
"""

import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feynkac.errors import FeynkacError, InputError
from feynkac.files import make_folder
from feynkac.interfaces.application import import_used
from feynkac.interfaces.jobs import Job, Place
from feynkac.interfaces.ray.cluster import cluster
from feynkac.interfaces.ray.news import ask, open_channel, teller, watch

if TYPE_CHECKING:
    from feynkac.training.loop import Progress

RESTARTS = 3
PATIENCE = 10.0  # seconds that the others get after one has failed


def distribute(
    job: Job,
    report: "Callable[[Progress], Any]",
    place: Place = Place(),  # noqa: B008  (frozen)
) -> None:
    """Execute `job` with the number of workers in its settings; the result is in its folder.

    A budget counts from the moment when the workers are ready.

    Args:
        job: on several machines, with a folder on storage that they share.
        report: sees the progress, twice a second.
        place: which cluster.

    Raises:
        InputError: the cluster is too small or does not exist.
        Interrupted: the user asked to stop; the folder can be resumed.
    """
    with cluster(place, job.run.training.workers), _scratch(job.folder) as scratch:
        channel = open_channel()
        trainer = _trainer(job, scratch, channel, place.address is None)
        ending = _in_background(trainer.fit)
        errors = watch(
            lambda: bool(wait([ending], timeout=0.2).done),
            channel,
            lambda _, progress: report(progress),
            until_error=True,
        )
        wait([ending], timeout=PATIENCE)  # one has failed, another may be saving
        for error in errors.values():
            raise error
        _end(ending)


@contextmanager
def _scratch(folder: Path) -> Iterator[str]:
    """A folder for the files that Ray Train always writes, where all machines can reach it."""
    make_folder(folder)
    with tempfile.TemporaryDirectory(
        prefix=".ray-", dir=folder.resolve(), ignore_cleanup_errors=True
    ) as scratch:
        yield scratch


def _trainer(job: Job, scratch: str, channel: Any, local: bool) -> Any:
    import ray
    import torch
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    from feynkac.runs.run import run_to_dict

    workers = job.run.training.workers
    gpus = _use_gpus(job.run.training.device, workers, ray.cluster_resources().get("GPU", 0))
    return TorchTrainer(
        _work,
        train_loop_config={
            "run": run_to_dict(job.run),
            "family": job.spec,
            "folder": str(job.folder.resolve()),
            "channel": channel,
            "threads": max(1, torch.get_num_threads() // workers) if local else 1,
            "gpus": gpus,
        },
        torch_config=_group_by_workers(),
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpus),
        run_config=RunConfig(
            name="workers",
            storage_path=scratch,
            failure_config=FailureConfig(max_failures=RESTARTS),
        ),
    )


def _use_gpus(device: str, workers: int, found: float) -> bool:
    if device.startswith("cuda") and found < workers:
        raise InputError(f"{workers} workers need {workers} GPUs, but the cluster has {found:g}.")
    return device != "cpu" and found >= workers


def _group_by_workers() -> Any:
    """Leave the process group to `_join`, because Ray's own store listens on all interfaces."""
    from ray.train.backend import Backend
    from ray.train.torch import TorchConfig

    class Unconnected(TorchConfig):
        """Ray's settings for torch without the group."""

        @property
        def backend_cls(self) -> type[Backend]:
            return Backend

    return Unconnected()


def _work(config: dict[str, Any]) -> None:
    """What every worker does."""
    if not config["gpus"]:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch
    import torch._dynamo  # seconds that evaluations would take otherwise
    from ray.train import get_context
    from torch import distributed

    from feynkac.execution import execute
    from feynkac.families.catalogue import find_family
    from feynkac.runs.artifact import as_trained
    from feynkac.runs.run import run_from_dict
    from feynkac.training.team import Distributed

    import_used()
    torch.set_num_threads(config["threads"])
    _join("nccl" if config["gpus"] else "gloo")
    channel, run = config["channel"], config["run"]
    try:
        if get_context().get_world_rank() == 0:
            ask(channel.begin.remote(0))
        family = find_family(config["family"], dict(run["family"]["fields"]))
        settings = run_from_dict(run)
        family = as_trained(family, settings.family.domain)
        execute(settings, family, Path(config["folder"]), teller(channel), team=Distributed())
    except FeynkacError as error:  # a retry would not help
        ask(channel.fail.remote(0, error))
    else:
        distributed.destroy_process_group()


def _join(backend: str) -> None:
    """Join the group of all workers; its store listens only on this node's own address."""
    import ray
    from ray.train import get_context
    from ray.train.collective import broadcast_from_rank_zero
    from torch import distributed
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    rank, size = get_context().get_world_rank(), get_context().get_world_size()
    listener = socket.create_server((ray.util.get_node_ip_address(), 0)) if rank == 0 else None
    host, port = broadcast_from_rank_zero(listener.getsockname()[:2] if listener else None)
    store = TCPStore(
        host,
        port,
        size,
        rank == 0,
        timedelta(minutes=5),
        wait_for_workers=False,
        master_listen_fd=listener.detach() if listener else None,
    )
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size)


def _end(ending: "Future[Any]") -> None:
    from ray.train.v2.api.exceptions import TrainingFailedError

    try:
        ending.result()
    except TrainingFailedError as error:
        last = str(error).strip().splitlines()[-1]
        raise RuntimeError(
            f"the workers failed {1 + RESTARTS} times; the last error was {last}"
        ) from error


def _in_background(action: Callable[[], Any]) -> "Future[Any]":
    """Run `action` in a thread that does not keep the program alive."""
    future: Future[Any] = Future()

    def go() -> None:
        try:
            future.set_result(action())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=go, daemon=True).start()
    return future
