r"""Φ(λ): any architecture behind an exact normalisation  (λ − E Λ) / √(V Λ)  of its inputs.

The distribution of Λ is known, so mean and variance are too (paper, Section 3, footnote).
"""

import torch
from torch import Tensor, nn

from feynkac.compilation import compile_module
from feynkac.families.domain import Domain
from feynkac.networks.architecture import Architecture, Layer, initialise


class Network(nn.Module):
    """The solution map on flat inputs.  Shape: `(…, dim)` → `(…, 1)`."""

    mean: Tensor
    std: Tensor
    shift: Tensor
    scale: Tensor

    def __init__(self, architecture: Architecture, domain: Domain) -> None:
        super().__init__()
        self.register_buffer("mean", domain.mean.float(), persistent=False)
        self.register_buffer("std", domain.std.float(), persistent=False)
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))
        self.core = architecture.build(domain.dim)

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise, then evaluate.  Leading axes are folded into one batch."""
        normalised = self.normalise(inputs).reshape(-1, inputs.shape[-1])
        values = self.shift + self.scale * self.core(normalised)
        return values.reshape(*inputs.shape[:-1], 1)  # type: ignore[no-any-return]

    def normalise(self, inputs: Tensor) -> Tensor:
        """Mean 0 and variance 1.  Shape: `(…, dim)` → `(…, dim)`."""
        return (inputs - self.mean) / self.std

    @property
    def parameter_count(self) -> int:
        """Number of parameters, frozen ones included (a finished solution's all are)."""
        return sum(p.numel() for p in self.parameters())

    def compile_layers(self, device: str) -> None:
        """Compile layer by layer: equal layers share their code, so this takes seconds once."""
        for module in self.modules():
            if isinstance(module, Layer):
                compile_module(module, device)


def make_network(architecture: Architecture, domain: Domain, generator: torch.Generator) -> Network:
    """A network with freshly drawn parameters.

    Example:
        >>> from feynkac.families.black_scholes import BlackScholes
        >>> from feynkac.networks.multilevel import Multilevel
        >>> make_network(Multilevel(), BlackScholes().domain, torch.Generator()).parameter_count
        5404
    """
    network = Network(architecture, domain)
    initialise(network, generator)
    return network
