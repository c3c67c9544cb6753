r"""One family of the zoo: solved with the defaults, measured against its reference, checked.

    L1 = mean |Φ − u| / (1 + |u|)  (paper, Eq. 9),     relative = mean |Φ − u| / std(u).

The stages are sent as they are finished, from a process of their own: its memory is the family's,
and if it is killed or hangs, what it had found remains.
"""

import resource
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.debiasing import mean_absolute
from feynkac.benchmarks.zoo_members import Member
from feynkac.checks.checkup import check
from feynkac.errors import FeynkacError, FeynkacWarning
from feynkac.families.family import Family
from feynkac.sampling.reference import Estimate
from feynkac.solution import Solution
from feynkac.solver import solve

MEGABYTE = 2**20


def send_stages(path: Path, budget: float, seed: int, into: Connection) -> None:
    """Solve, measure and check; the body of a process. None is the end."""
    try:
        for stage in stages(Member(path), budget, seed):
            into.send(stage)
    except Exception as error:
        into.send({"error": sentence(error)})
    into.send(None)


def sentence(error: Exception) -> str:
    """An error in words; where we did not raise it ourselves, with its kind."""
    return str(error) if isinstance(error, FeynkacError) else f"{type(error).__name__}: {error}"


def stages(member: Member, budget: float, seed: int) -> Iterator[dict[str, Any]]:
    """What is found, piece by piece; together the fields of a row."""
    family = member.family
    described = {"area": member.area, "method": member.method, "inputs": family.domain.dim}
    yield described | {"threads": torch.get_num_threads()}
    solution, cost = _solved(family, budget, seed)
    yield cost
    if isinstance(solution, Exception):
        yield {"error": sentence(solution)}
    else:
        yield said(solution)
        yield errors(solution, member.inputs, member.known())
    yield {"alarms": alarms(member)}


def _solved(
    family: Family, budget: float, seed: int
) -> tuple[Solution | Exception, dict[str, float]]:
    """The solution, or why there is none; the time and memory that it took."""
    before, start = peak_memory(), time.perf_counter()
    found: Solution | Exception
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FeynkacWarning)  # they stand in the manifest
            found = solve(family, budget=budget, seed=seed)
    except Exception as error:
        found = error
    seconds = time.perf_counter() - start
    return found, {"seconds": seconds, "megabytes": peak_memory() - before}


def said(solution: Solution) -> dict[str, Any]:
    """What the solution says about itself."""
    manifest = solution.manifest
    last = manifest.history[-1] if manifest.history else {}
    scheme = manifest.run.method.scheme
    return {
        "steps": manifest.steps,
        "scheme": f"{scheme.kind}:{scheme.steps}",
        "own_l1": last.get("l1"),
        "warnings": list(manifest.warnings),
    }


@torch.no_grad()
def errors(solution: Solution, inputs: Tensor, known: Estimate) -> dict[str, Any]:
    """Errors of the network against values that are known up to a standard error."""
    values = solution.network(inputs.float()).double()
    truth, scale = known.value, 1.0 + known.value.abs()
    difference = values - truth
    spread = truth.std(0).mean().item()
    found = mean_absolute(difference / scale, known.error / scale)
    return {
        "l1": found.value,
        "l1_se": found.se,
        "relative": mean_absolute(difference, known.error).value / max(spread, 1e-300),
        "largest": (difference / scale).abs().max().item(),
        "mean_baseline": ((truth.mean(0) - truth).abs() / scale).mean().item(),
        "reference_se": (known.error / scale).mean().item(),
        "measured_on": len(truth),
    }


def alarms(member: Member) -> list[str]:
    """What `feynkac check` has to say other than ok."""
    found = check(member.family).findings.items()
    return [f"{name}, {f.verdict}: {f.sentence}" for name, f in found if f.verdict != "ok"]


def peak_memory() -> float:
    """The most that this process has had so far, in MB of 2²⁰ bytes."""
    status = Path("/proc/self/status")  # ru_maxrss would count what the parent process had
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / MEGABYTE
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE  # bytes on a Mac
