r"""What training minimises. The paper:  (1/s) Σ (Φ(λᵢ) − yᵢ)²  on fresh samples (paper, Eq. 7)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from feynkac.families.family import Family
from feynkac.networks.network import Network
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.scheme import Scheme


class Batch(NamedTuple):
    """Inputs λ `(N, dim)`, labels Y `(N, m)` of u; slopes `(N, dim)` of Σ_j mix_j Y_j, if any."""

    inputs: Tensor
    values: Tensor
    gradients: Tensor | None = None
    mix: Tensor | None = None


def stack(batches: Sequence[Batch]) -> Batch:
    """The rows of all batches, one below the other."""
    if len(batches) == 1:
        return batches[0]
    columns = zip(*batches, strict=True)
    return Batch._make(None if c[0] is None else torch.cat(c) for c in columns)


class Objective(ABC):
    """Draws data and measures how well a network fits it.

    Example:
        >>> issubclass(MeanSquare, Objective)
        True
    """

    whole: ClassVar[bool] = False
    """Whether a step needs all rows of the batch in one place; otherwise gradients are averaged."""

    @abstractmethod
    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh data."""

    @abstractmethod
    def with_paths(self, paths: int) -> Self:
        """The same, with `paths` paths per input."""

    @abstractmethod
    def differentiate(
        self, network: Network, batch: Batch, optimiser: torch.optim.Optimizer
    ) -> Tensor:
        """The loss, a scalar; sets the `grad` of every parameter for `optimiser`."""


@dataclass(frozen=True)
class MeanSquare(Objective):
    """Least squares against simulated labels.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> objective = MeanSquare(BlackScholes(), Exact(), batch_size=8, paths=2)
        >>> objective.sample(torch.Generator().manual_seed(0)).values.shape
        torch.Size([8, 1])
    """

    family: Family
    scheme: Scheme
    batch_size: int
    paths: int = 1

    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh inputs and the mean payoff of `paths` paths from each."""
        inputs = self.family.domain.sample(self.batch_size, generator)
        return Batch(inputs, labels(self.family, self.scheme, inputs, generator, self.paths))

    def with_paths(self, paths: int) -> Self:
        """The same, with `paths` paths per input."""
        return replace(self, paths=paths)

    def differentiate(
        self, network: Network, batch: Batch, optimiser: torch.optim.Optimizer
    ) -> Tensor:
        """Mean squared error and its gradient."""
        optimiser.zero_grad(set_to_none=True)
        loss = self.loss(network, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def loss(self, network: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        """Mean squared error."""
        return (network(batch.inputs) - batch.values).square().mean()
