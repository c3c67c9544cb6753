r"""Where is the network worst? Certificates at many inputs, averaged along each variable.

The mean of |Φ − estimate| / (1 + |u|) excludes the noise of the estimates, see `debiasing.py`. The
interval allows for the remaining bias and, on both sides, for the discretisation error.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from feynkac.analysis.certificates import Certificate
from feynkac.analysis.debiasing import MeanError, mean_absolute
from feynkac.analysis.rounding import figure, number
from feynkac.analysis.sweep import scalars
from feynkac.analysis.uncertainty import Figure
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.sketches import bars

BINS = 8
MOST_PROFILES = 6
EMPTY = MeanError(math.nan, math.nan, math.nan, math.nan)  # of a bin with fewer than two inputs


@dataclass(frozen=True)
class Profile:
    """Mean error in bins of one variable."""

    edges: list[float]
    mean: list[float]
    se: list[float]


@dataclass(frozen=True, repr=False)
class ErrorMap(Shown):
    """The error over the domain.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> found = solution.error_map(16)
        >>> found.inputs, list(found.profiles)
        (16, ['x', 't', 'sigma', 'strike'])
    """

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

    def card(self) -> Card:
        """The mean error, the worst input and the profile of the first variable."""
        l1, worst = figure(self.mean.value, self.mean.se), number(self.worst["error"])
        name, profile = next(iter(self.profiles.items()), ("", None))
        return Card(
            f"Error map: L1 {l1} at {self.inputs} certified inputs",
            [f"largest {worst}, mean of network − u {figure(self.signed.value, self.signed.se)}"],
            {
                "L1 error": l1,
                "mean of network − u": figure(self.signed.value, self.signed.se),
                "largest error": worst,
                **{f"there, {n}": _short(v) for n, v in self.worst["at"].items()},
            },
            bars(profile.mean, f"mean error over {name}") if profile else "",
        )

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
    noise, count = found.se / scale, len(signed)
    l1 = mean_absolute(signed, noise, found.confidence)
    discretisation = (found.discretisation / scale).mean().item()
    i = int(signed.abs().argmax())
    names, columns = scalars(domain)[:MOST_PROFILES], domain.slices()
    return ErrorMap(
        mean=Figure(l1.value, l1.se),
        interval=(max(0.0, l1.low - discretisation), l1.high + discretisation),
        signed=Figure(signed.mean().item(), signed.std().item() / math.sqrt(count)),
        noise=noise.mean().item(),
        worst={
            "at": domain.named(inputs[i]),
            "error": signed[i].abs().item(),
            "half_width": (found.half_width / scale)[i].item(),
        },
        profiles={
            name: _profile(inputs[:, columns[name].start].double(), signed, noise, domain, name)
            for name in names
        },
        inputs=count,
    )


def _profile(x: Tensor, signed: Tensor, noise: Tensor, domain: Domain, name: str) -> Profile:
    box = domain.measures[name]
    edges = torch.linspace(box.low[0], box.high[0], BINS + 1, dtype=torch.float64)
    which = torch.bucketize(x.contiguous(), edges[1:-1].to(x.device))
    inside = [which == k for k in range(BINS)]
    found = [mean_absolute(signed[k], noise[k]) if k.sum() > 1 else EMPTY for k in inside]
    return Profile(edges.tolist(), [each.value for each in found], [each.se for each in found])


def _short(value: Any) -> str:
    text = number(value) if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
