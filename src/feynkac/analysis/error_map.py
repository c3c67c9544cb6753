r"""Where is the network worst? Certificates at many inputs, averaged along each variable.

The mean of |Φ − estimate| / (1 + |u|) is too large by the estimate's own noise; `noise` says by how
much at most. The interval reaches down by as much, and both ways by the discretisation error.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from scipy import stats
from torch import Tensor

from feynkac.analysis.certificates import Certificate
from feynkac.analysis.uncertainty import Figure
from feynkac.errors import InputError
from feynkac.families.domain import Domain

BINS = 8
MOST_PROFILES = 6


@dataclass(frozen=True)
class Profile:
    """Mean error in bins of one variable."""

    edges: list[float]
    mean: list[float]
    se: list[float]


@dataclass(frozen=True)
class ErrorMap:
    """The error over the domain."""

    mean: Figure
    """L1 over random inputs."""
    interval: tuple[float, float]
    """Of the mean, at the certificates' confidence."""
    signed: Figure
    """Mean of Φ − u, relative."""
    noise: float
    """Mean standard error of the estimates, relative."""
    worst: dict[str, Any]
    """The input with the largest error."""
    profiles: dict[str, Profile]
    inputs: int

    def record(self) -> dict[str, Any]:
        """As plain data; None where a bin holds too few inputs."""
        plain = asdict(self)
        for profile in plain["profiles"].values():
            for key in ("mean", "se"):
                profile[key] = [None if math.isnan(v) else v for v in profile[key]]
        return plain


def error_map(domain: Domain, inputs: Tensor, found: Certificate) -> ErrorMap:
    """From certificates at random inputs `(N, dim)`."""
    if len(inputs) < 2:
        raise InputError(f"a standard error needs at least 2 inputs, got {len(inputs)}.")
    scale = 1.0 + found.value.abs()
    signed = found.error / scale
    error, count = signed.abs(), len(signed)
    mean = Figure(error.mean().item(), error.std().item() / math.sqrt(count))
    factor = float(stats.norm.ppf(0.5 + 0.5 * found.confidence))
    noise = (found.statistical / factor / scale).mean().item()
    half = factor * mean.se + (found.discretisation / scale).mean().item()
    i = int(error.argmax())
    where = {
        name: inputs[i, columns].reshape(domain.boxes[name].shape).tolist()
        for name, columns in domain.slices().items()
    }
    scalars = [name for name, box in domain.boxes.items() if box.size == 1][:MOST_PROFILES]
    columns = domain.slices()
    return ErrorMap(
        mean=mean,
        interval=(max(0.0, mean.value - half - noise), mean.value + half),
        signed=Figure(signed.mean().item(), signed.std().item() / math.sqrt(count)),
        noise=noise,
        worst={"at": where, "error": error[i].item(), "half_width": found.half_width[i].item()},
        profiles={
            name: _profile(inputs[:, columns[name].start].double(), error, domain, name)
            for name in scalars
        },
        inputs=count,
    )


def _profile(x: Tensor, error: Tensor, domain: Domain, name: str) -> Profile:
    box = domain.boxes[name]
    edges = torch.linspace(box.low[0], box.high[0], BINS + 1, dtype=torch.float64)
    which = torch.bucketize(x.contiguous(), edges[1:-1])
    groups = [error[which == k] for k in range(BINS)]
    return Profile(
        edges=edges.tolist(),
        mean=[g.mean().item() if len(g) else math.nan for g in groups],
        se=[g.std().item() / math.sqrt(len(g)) if len(g) > 1 else math.nan for g in groups],
    )
