"""Labels for the fast method from a family's closed form: exact values and slopes."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family, outputs
from feynkac.methods.fast.path_data import Slopes, fresh_inputs, random_mix
from feynkac.networks.network import Network
from feynkac.training.objective import Batch


@dataclass(frozen=True)
class FormulaData:
    """Fresh inputs with u and ∇u of the closed form, computed in float64."""

    family: Family
    batch_size: int
    relative: Tensor | None = None
    """Standard deviations of the components of u, relative to their mean; None: all alike."""

    def trusted(self, network: Network, generator: torch.Generator) -> Tensor:
        """All slopes are exact."""
        return network.varies.to(network.std)

    def slopes(self, network: Network, batch: Batch) -> Slopes:
        """In all that the core sees."""
        assert batch.gradients is not None
        return Slopes(network.slopes(batch.inputs, batch.gradients))

    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh inputs; a slope that is not finite is left out later, as those of paths are."""
        family = self.family
        assert isinstance(family, ClosedForm)
        inputs = fresh_inputs(family.domain, self.batch_size, generator)
        mix = random_mix(outputs(family), self.relative, inputs, generator)
        with torch.enable_grad():
            exact = inputs.double().requires_grad_()
            values = family.closed_form(*family.domain.split(exact))
            (gradients,) = torch.autograd.grad((values * mix).sum(), exact)
        return Batch(inputs, values.detach().to(inputs), gradients.to(inputs), mix)

    def with_paths(self, paths: int) -> Self:
        """The same: there are none."""
        return self
