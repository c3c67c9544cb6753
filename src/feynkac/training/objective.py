r"""What is minimised. The paper's:  (1/s) Σ (Φ(λᵢ) − yᵢ)²  on fresh samples (paper, Eq. 7)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.families.family import Family
from feynkac.sampling.labels import labels
from feynkac.sampling.scheme import Scheme


class Batch(NamedTuple):
    """Inputs λ `(N, dim)` and labels Y `(N, 1)`."""

    inputs: Tensor
    values: Tensor


class Objective(ABC):
    """Draws data and measures how well a network fits it."""

    @abstractmethod
    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh data."""

    @abstractmethod
    def loss(self, network: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        """The quantity to minimise, a scalar."""


@dataclass(frozen=True)
class MeanSquare(Objective):
    """Least squares against simulated labels."""

    family: Family
    scheme: Scheme
    batch_size: int
    paths: int = 1

    def sample(self, generator: torch.Generator) -> Batch:
        """Uniform inputs and the mean payoff of `paths` paths from each."""
        inputs = self.family.domain.sample(self.batch_size, generator)
        return Batch(inputs, labels(self.family, self.scheme, inputs, generator, self.paths))

    def loss(self, network: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        """Mean squared error."""
        return (network(batch.inputs) - batch.values).square().mean()
