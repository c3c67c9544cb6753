"""Several runs at once: each is a Ray task on one CPU, or on one GPU if there are any.

If the process of a task dies, Ray restarts it, and it resumes from the checkpoint in its folder.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feynkac.errors import FeynkacError, Interrupted
from feynkac.interfaces.application import import_used
from feynkac.interfaces.jobs import Job, Place
from feynkac.interfaces.ray.cluster import cluster
from feynkac.interfaces.ray.news import ask, open_channel, teller, watch

if TYPE_CHECKING:
    from feynkac.training.loop import Progress

RETRIES = 3


def solve_parallel(
    jobs: Sequence[Job],
    show: "Callable[[int, Progress], Any]",
    place: Place = Place(),  # noqa: B008  (frozen)
) -> dict[int, FeynkacError]:
    """Execute all `jobs`; their results are in their folders.

    Args:
        jobs: on several machines, with folders on storage that they share.
        show: sees the progress of each job by its index.
        place: which cluster.

    Returns:
        What went wrong, by the index of the job.

    Raises:
        Interrupted: the user asked to stop; every folder can be resumed.
    """
    left = {i: job for i, job in enumerate(jobs) if not job.finished()}
    if not left:
        return {}
    with cluster(place):
        import ray

        channel = open_channel()
        tasks = [_start(i, job, channel) for i, job in left.items()]
        errors = watch(lambda: _over(tasks), channel, show)
        try:
            ray.get(tasks)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
    if stopped := sum(isinstance(error, Interrupted) for error in errors.values()):
        raise Interrupted(f"{stopped} of {len(jobs)} runs are unfinished")
    return errors


def _start(index: int, job: Job, channel: Any) -> Any:
    import ray

    from feynkac.runs.run import run_to_dict

    gpus = ray.cluster_resources().get("GPU", 0) >= 1 and job.run.training.device != "cpu"
    task = ray.remote(num_cpus=1, num_gpus=int(gpus), max_retries=RETRIES)(_solve)
    return task.remote(index, job.spec, run_to_dict(job.run), str(job.folder.resolve()), channel)


def _over(tasks: list[Any]) -> bool:
    import ray

    return not ray.wait(tasks, num_returns=len(tasks), timeout=0.2)[1]


def _solve(index: int, spec: str, run: dict[str, Any], folder: str, channel: Any) -> None:
    """The task."""
    import torch

    from feynkac.families.catalogue import find_family
    from feynkac.runs.artifact import as_trained
    from feynkac.runs.run import run_from_dict

    import_used()
    torch.set_num_threads(1)
    try:
        if ask(channel.begin.remote(index)):
            raise Interrupted("stopped before it started")
        family = find_family(spec, dict(run["family"]["fields"]))
        settings = run_from_dict(run)
        family = as_trained(family, settings.family.domain)
        Job(spec, family, settings, Path(folder)).execute(teller(channel, index))
    except FeynkacError as error:  # a retry would not help
        ask(channel.fail.remote(index, error))
