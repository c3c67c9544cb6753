"""Has a search found something better than the method's own choice?

The smallest of many noisy errors is too optimistic. So the search trains the best trial and the
default again with new seeds, and measures all on the same fresh inputs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, variance
from typing import Any

from feynkac.analysis.comparison import Comparison, compare_maps
from feynkac.analysis.metrics import make_yardstick
from feynkac.sampling.generators import make_generator
from feynkac.solution import Solution

REFERENCE_PATHS = 2**14  # of a simulated reference


@dataclass(frozen=True)
class Verdict:
    """The best trial compared with the default."""

    trial: int
    trainings: Mapping[int, Comparison | None]
    """Comparisons by seed; None if a training diverged. Empty if the default is best."""

    @property
    def beat(self) -> bool:
        """Whether the trial was better than the default with every seed, beyond chance."""
        return bool(self.trainings) and self.wins == len(self.trainings)

    @property
    def wins(self) -> int:
        """Number of seeds with which it was better."""
        return sum(each is not None and each.better for each in self.trainings.values())

    def sentence(self, budget: float) -> str:
        """The verdict in words."""
        found = [each for each in self.trainings.values() if each]
        if not found:
            return f"no trial beat the default at equal budget ({budget:g} s)."
        best = _mean([(each.l1, each.l1_se) for each in found])
        default = _mean([(each.other_l1, each.other_l1_se) for each in found])
        return (
            f"trial {self.trial} {'beat' if self.beat else 'did not clearly beat'} the default: "
            f"{best} against the default's {default} at equal budget ({budget:g} s), "
            f"better in {self.wins} of {len(self.trainings)} trainings with "
            f"seed {', '.join(map(str, self.trainings))}."
        )

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        trainings = [
            {"seed": seed, **(asdict(each) if each else {"diverged": True})}
            for seed, each in self.trainings.items()
        ]
        return {"trial": self.trial, "beat_default": self.beat, "trainings": trainings}


Pair = tuple[Solution | None, Solution | None]
"""Solutions with the settings of the trial and of the default; None if one diverged."""


def judge(trial: int, trained: Mapping[int, Pair]) -> Verdict:
    """The verdict on solutions by seed, all measured on the same fresh inputs."""
    pairs = {seed: (f, g) if f and g else None for seed, (f, g) in trained.items()}
    known = next((g for _, g in filter(None, pairs.values())), None)
    if known is None:
        return Verdict(trial, dict.fromkeys(pairs))
    run = known.manifest.run
    generator = make_generator(run.training.seed, "tuning")
    yardstick = make_yardstick(known.family, run.method.scheme, generator, paths=REFERENCE_PATHS)
    return Verdict(
        trial,
        {
            seed: compare_maps(pair[0].network, pair[1].network, yardstick) if pair else None
            for seed, pair in pairs.items()
        },
    )


def _mean(errors: Sequence[tuple[float, float]]) -> str:
    """Mean over the seeds ± its standard error over seeds and inputs."""
    values = [value for value, _ in errors]
    between = variance(values) if len(values) > 1 else 0.0
    within = mean(se**2 for _, se in errors)
    return f"l1 {mean(values):.2e} ± {math.sqrt((between + within) / len(values)):.1e}"
