r"""The ranges that hyperparameters are searched in  (paper, Table 6):

(L, q) ∈ {3, 4} × {4, 5, 6},   AdamW or SGD,   batch size ∈ {2^14, …, 2^17},
log η ~ U(log 1e-5, log 1e-1),   decay ~ U(0.2, 0.6).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from feynkac.networks.multilevel import Multilevel
from feynkac.training.optimisers import SGD, AdamW
from feynkac.training.schedules import StepDecay

T = TypeVar("T")


@dataclass(frozen=True)
class Candidate:
    """One choice of everything that is searched."""

    levels: int
    factor: int
    optimiser: AdamW | SGD
    """With its learning rate."""
    batch_size: int
    decay: float

    @property
    def architecture(self) -> Multilevel:
        """The paper's network of this size."""
        return Multilevel(levels=self.levels, factor=self.factor)

    def training(self, patience: int = 4000) -> dict[str, Any]:
        """Fields of `Training`; the learning rate falls every `patience` steps."""
        return {
            "optimiser": self.optimiser,
            "schedule": StepDecay(decay=self.decay, patience=patience),
            "batch_size": self.batch_size,
        }


@dataclass(frozen=True)
class SearchSpace:
    """Choices and intervals; the defaults are the paper's.

    Example:
        >>> space = SearchSpace(levels=(3,), factors=(6,), learning_rates=(0.01, 0.01))
        >>> found = space.draw(torch.Generator().manual_seed(0))
        >>> found.architecture.factor, round(found.optimiser.learning_rate, 6)
        (6, 0.01)
    """

    levels: tuple[int, ...] = (3, 4)
    """L."""
    factors: tuple[int, ...] = (4, 5, 6)
    """q."""
    optimisers: tuple[AdamW | SGD, ...] = (AdamW(), SGD(weight_decay=0.01))
    """Their learning rates are drawn."""
    batch_sizes: tuple[int, ...] = (2**14, 2**15, 2**16, 2**17)
    learning_rates: tuple[float, float] = (1e-5, 1e-1)
    """Bounds; log-uniform between them."""
    decays: tuple[float, float] = (0.2, 0.6)
    """Bounds; uniform between them."""

    def draw(self, generator: torch.Generator) -> Candidate:
        """A random candidate, each part independent of the others."""
        low, high = map(math.log, self.learning_rates)
        rate = math.exp(_uniform(low, high, generator))
        return Candidate(
            levels=_choose(self.levels, generator),
            factor=_choose(self.factors, generator),
            optimiser=replace(_choose(self.optimisers, generator), learning_rate=rate),
            batch_size=_choose(self.batch_sizes, generator),
            decay=_uniform(*self.decays, generator),
        )


def _choose(choices: Sequence[T], generator: torch.Generator) -> T:
    return choices[int(torch.randint(len(choices), (), generator=generator))]


def _uniform(low: float, high: float, generator: torch.Generator) -> float:
    return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()
