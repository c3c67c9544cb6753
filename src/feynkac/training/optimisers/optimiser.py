"""Optimisers as settings: each builds the torch optimiser of the same name (paper, Tables 5, 6)."""

from abc import abstractmethod
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import nn

from feynkac.parts import Part

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Optimiser(Part):
    """Settings of an optimiser. Subclass it for one of your own.

    Example:
        >>> AdamW().fits_slopes
        False
    """

    fits_slopes: ClassVar[bool] = False
    """Whether the fast method gives it gradients of values and slopes, or of values only."""
    learning_rate: float

    @abstractmethod
    def build(self, network: nn.Module) -> torch.optim.Optimizer:
        """The torch optimiser for all parameters of `network`."""


@dataclass(frozen=True, config={"extra": "forbid"})
class AdamW(Optimiser):
    """Adam with decoupled weight decay, the paper's choice.

    Example:
        >>> (group,) = AdamW(learning_rate=0.01).build(nn.BatchNorm1d(2)).param_groups
        >>> group["lr"]
        0.01
    """

    learning_rate: Positive = 1e-3
    """Initial learning rate."""
    weight_decay: NonNegative = 0.01
    """Decoupled weight decay."""
    kind: ClassVar[str] = "adamw"

    def build(self, network: nn.Module) -> torch.optim.Optimizer:
        """`torch.optim.AdamW`, all parameters updated in one kernel."""
        return torch.optim.AdamW(
            network.parameters(),
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            fused=True,
        )


@dataclass(frozen=True, config={"extra": "forbid"})
class SGD(Optimiser):
    """Stochastic gradient descent with momentum, the paper's alternative.

    Example:
        >>> (group,) = SGD(momentum=0.5).build(nn.BatchNorm1d(2)).param_groups
        >>> group["momentum"]
        0.5
    """

    learning_rate: Positive = 1e-2
    """Initial learning rate."""
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    """Momentum."""
    weight_decay: NonNegative = 0.0
    """L2 weight decay."""

    def build(self, network: nn.Module) -> torch.optim.Optimizer:
        """`torch.optim.SGD`."""
        return torch.optim.SGD(
            network.parameters(),
            lr=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )
