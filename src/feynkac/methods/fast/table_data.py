"""Labels for the fast method from a table that finite differences have filled."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from feynkac.families.family import Family
from feynkac.grids.table import Table
from feynkac.methods.fast.sobolev import random_mix
from feynkac.networks.network import Network
from feynkac.training.objective import Batch


@dataclass(frozen=True)
class TableData:
    """Draws rows of the table; parameters have no slopes."""

    family: Family
    table: Table
    batch_size: int
    relative: Tensor | None = None
    """Standard deviations of the components of u, relative to their mean; None: all alike."""

    def trusted(self, network: Network, generator: torch.Generator) -> Tensor:
        """Slopes in x and t have no noise; the parameters have none."""
        domain = self.family.domain
        found = domain.varies.to(network.std)
        found[domain.state_dim + 1 :] = 0.0
        return found

    def sample(self, generator: torch.Generator) -> Batch:
        """Random rows."""
        inputs, values, slopes, _ = self.table
        size, device = (self.batch_size,), generator.device
        rows = torch.randint(len(inputs), size, generator=generator, device=device)
        chosen = inputs[rows]
        mix = random_mix(values.shape[-1], self.relative, chosen, generator)
        gradients = torch.zeros_like(chosen)
        gradients[:, : slopes.shape[1]] = (slopes[rows] * mix.unsqueeze(1)).sum(-1)
        return Batch(chosen, values[rows], gradients, mix)

    def with_paths(self, paths: int) -> Self:
        """The same: there are none."""
        return self
