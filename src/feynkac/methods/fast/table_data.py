"""Labels for the fast method from a table that finite differences have filled."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from feynkac.families.family import Family
from feynkac.grids.table import Table
from feynkac.methods.fast.path_data import Slopes, random_mix
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
        found = domain.varies[: domain.state_dim + 1].to(network.std)
        return found[-2:] if network.reduction.radial else found

    def slopes(self, network: Network, batch: Batch) -> Slopes:
        """Along x (or |x|) and t, whatever the core sees of them."""
        assert batch.gradients is not None
        assert batch.mix is not None
        values = (batch.values * batch.mix).sum(-1, keepdim=True)
        return Slopes(*network.slopes_along(batch.inputs, values, batch.gradients))

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
