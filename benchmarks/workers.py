r"""Samples per second of 1 and 2 workers, and the step's share of simulating, in one run.

A sample is a path: a step draws N inputs with K paths each, so that it has N·K of them. Runs of 1
and 2 workers alternate, so that a busy machine slows both; medians are compared. Every worker has
one thread. Time is the run's own, of updates alone: neither Ray's start nor evaluations count.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ["OMP_NUM_THREADS"] = "1"  # before torch starts its threads


from feynkac.families.catalogue import find_family
from feynkac.interfaces.jobs import Job
from feynkac.interfaces.ray.training import distribute
from feynkac.preparation import make_run
from feynkac.runs.run import Run
from feynkac.sampling.generators import make_generator

WORKERS = (1, 2)


def samples(run: Run) -> int:
    """Paths a step."""
    rows = -(-run.method.batch_size // run.training.workers)
    return rows * run.training.workers * run.method.paths


def speed(spec: str, method: str, steps: int, workers: int, folder: Path) -> float:
    """Samples per second of a run on Ray."""
    family = find_family(spec)
    settings = {"steps": steps, "workers": workers, "evaluations": 1, "device": "cpu"}
    run = make_run(family, method, settings)
    job = Job(spec, family, run, folder)
    distribute(job, lambda _progress: None)
    manifest = job.execute().manifest
    return steps * samples(run) / (manifest.training_seconds or manifest.seconds)


def model(spec: str, method: str) -> dict[str, float]:
    """Bytes a step exchanges, and seconds it simulates, on one thread."""
    import torch

    from feynkac.families.family import outputs
    from feynkac.networks.network import make_network

    torch.set_num_threads(1)
    family = find_family(spec)
    run = make_run(family, method, {"device": "cpu"})
    weights = make_generator(0, "weights")
    network = make_network(run.method.architecture, family.domain, weights, outputs(family))
    objective = run.method.objective(family, network, run.training)
    generator = make_generator(0, "workers")
    times = []
    for _ in range(10):
        start = time.perf_counter()
        objective.sample(generator)
        times.append(time.perf_counter() - start)
    columns = 2 * family.domain.dim + 2 * outputs(family)
    return {
        "gradient_bytes": 4 * network.parameter_count,
        "gathered_bytes": 4 * run.method.batch_size * columns if objective.whole else 0,
        "simulating_seconds": median(times),
    }


def measure(spec: str, method: str, steps: int, rounds: int) -> dict[str, object]:
    """Both numbers of workers, in turns."""
    found: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            for workers in WORKERS:
                place = Path(folder) / f"{turn}-{workers}"
                found[workers].append(speed(spec, method, steps, workers, place))
                print(f"{spec}, {workers}: {found[workers][-1]:.3g} samples/s", file=sys.stderr)
    per_second = {str(workers): median(speeds) for workers, speeds in found.items()}
    return {
        "family": spec,
        "method": method,
        "samples_per_second": per_second,
        "ratio": per_second["2"] / per_second["1"],
        **model(spec, method),
    }


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--family", default="black-scholes")
    parser.add_argument("--method", default="fast", choices=("fast", "paper"))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    result = measure(given.family, given.method, given.steps, given.rounds)
    if given.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:20} {value}")


if __name__ == "__main__":
    main()
