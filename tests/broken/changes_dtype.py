"""A constant of float64 that makes float64 of everything."""

from dataclasses import dataclass

import torch

from feynkac.families.models.heat_gaussian import HeatGaussian

WEIGHTS = torch.tensor([0.3, 0.7], dtype=torch.float64)


@dataclass(frozen=True)
class ChangesDtype(HeatGaussian):
    dim: int = 2

    def initial(self, x, p):
        return (WEIGHTS * x).sum(-1, keepdim=True)
