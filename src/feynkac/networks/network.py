r"""Φ(λ): any architecture behind an exact normalisation  (λ − E Λ) / √(V Λ)  of its inputs.

The distribution of Λ is known, and so are mean and variance (paper, Section 3, footnote). An
architecture may request √t in place of t, and the logarithms of variables that are uniform in them;
their means and variances are known as well. Entries that exchange are put in order, and of long
variables only a few combinations may be seen (`subspaces.py`).
"""

import copy

import torch
from torch import Tensor, nn

from feynkac.compilation import compile_module
from feynkac.families.domain import Domain
from feynkac.families.exchange import in_order, order_of
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Measure, vector
from feynkac.networks.architecture import Architecture, Layer, initialise
from feynkac.networks.subspaces import maps

SHORTEST_TIME = 1e-6  # of the longest: √t has no derivative at 0


class Network(nn.Module):
    """The solution map on flat inputs.  Shape: `(…, dim)` → `(…, outputs)`."""

    mean: Tensor
    std: Tensor
    divisor: Tensor
    """The standard deviations, infinite for inputs that are fixed: they contribute 0."""
    shift: Tensor
    scale: Tensor
    varies: Tensor
    """Which of the core's inputs vary over the domain."""
    center: Tensor | None
    combine: Tensor | None
    directions: Tensor | None
    """Of `subspaces.maps`; None: all entries are seen."""

    def __init__(self, architecture: Architecture, domain: Domain, outputs: int = 1) -> None:
        super().__init__()
        self.logged = logarithmic(domain) if architecture.log_ranges else []
        rooted = architecture.root_time and domain.slices()["t"] not in self.logged
        self.time = domain.slices()["t"] if rooted else None
        exchanged = domain.exchanged or architecture.ordered
        self.places = [domain.slices()[name] for name in exchanged]
        self.shortest = SHORTEST_TIME * domain.measures["t"].high[0]
        self.smallest = torch.finfo(torch.float32).tiny
        mean, std = moments(domain, architecture.root_time, architecture.log_ranges)
        self.register_buffer("mean", mean.float(), persistent=False)
        self.register_buffer("std", std.float(), persistent=False)
        divisor = std.masked_fill(~domain.varies, torch.inf)
        self.register_buffer("divisor", divisor.float(), persistent=False)
        size = () if outputs == 1 else (outputs,)
        self.register_buffer("shift", torch.zeros(size, dtype=torch.float32))
        self.register_buffer("scale", torch.ones(size, dtype=torch.float32))
        self._see(domain, architecture, exchanged)
        self.core = architecture.build(len(self.varies), outputs)

    def _see(self, domain: Domain, architecture: Architecture, exchanged: tuple[str, ...]) -> None:
        """Set the maps from normalised inputs to those of the core."""
        varies = domain.varies
        found: tuple[Tensor | None, ...] = (None, None, None)
        if architecture.subspaces:
            first = exchanged[0] if exchanged else None
            center, combine, directions = maps(domain, architecture.subspaces, first)
            varies = (combine[:, varies] != 0.0).any(-1)
            found = (center.float(), combine.float(), directions.float())
        self.register_buffer("varies", varies, persistent=False)
        for name, value in zip(("center", "combine", "directions"), found, strict=True):
            self.register_buffer(name, value, persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise, then evaluate.  Leading axes are folded into one batch."""
        normalised = self.normalise(inputs).reshape(-1, len(self.varies))
        values = self.shift + self.scale * self.core(normalised)
        return values.reshape(*inputs.shape[:-1], values.shape[-1])  # type: ignore[no-any-return]

    def normalise(self, inputs: Tensor) -> Tensor:
        """What the core sees: mean 0, variance 1.  Shape: `(…, dim)` → `(…, seen)`."""
        if self.places:
            inputs = in_order(inputs, self.places)
        if self.time is not None or self.logged:
            seen, inputs = inputs, inputs.clone()
            if self.time is not None:
                inputs[..., self.time] = seen[..., self.time].clamp_min(self.shortest).sqrt()
            for where in self.logged:
                inputs[..., where] = seen[..., where].clamp_min(self.smallest).log()
        normalised = (inputs - self.mean) / self.divisor
        if self.combine is None or self.center is None:
            return normalised
        return (normalised - self.center) @ self.combine.mT

    def slopes(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """∇u in what the core sees, from that in the inputs.  Shape: `(N, dim)` → `(N, seen)`."""
        found = gradients * self.stretch(inputs)
        if self.places:
            found = found.gather(-1, order_of(inputs, self.places))
        return found if self.directions is None else found @ self.directions

    def stretch(self, inputs: Tensor) -> Tensor:
        """Derivatives of the inputs in the normalised ones.  Shape: `(…, dim)` → `(…, dim)`."""
        factors = self.std.expand(inputs.shape).clone()
        if self.time is not None:
            factors[..., self.time] *= 2.0 * inputs[..., self.time].sqrt()
        for where in self.logged:
            factors[..., where] *= inputs[..., where]
        return factors

    @torch.inference_mode(False)  # its weights serve autograd later
    def component(self, index: int) -> "Network":
        """One of several outputs, as a network of its own."""
        one = copy.deepcopy(self)
        one.core = nn.Sequential(one.core, Select(index))
        one.shift, one.scale = one.shift[index], one.scale[index]
        return one

    @property
    def parameter_count(self) -> int:
        """Number of parameters, including frozen ones (those of a finished solution)."""
        return sum(p.numel() for p in self.parameters())

    def compile_layers(self, device: str) -> None:
        """Compile layer by layer; equal layers share their code, so this takes only seconds."""
        for module in self.modules():
            if isinstance(module, Layer):
                compile_module(module, device)


class Select(nn.Module):
    """One column.  Shape: `(N, outputs)` → `(N, 1)`."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def forward(self, values: Tensor) -> Tensor:
        """The chosen one."""
        return values[:, self.index, None]


def logarithmic(domain: Domain) -> list[slice]:
    """Where the variables stand whose law is uniform in the logarithm."""
    where = domain.slices()
    return [where[name] for name, law in domain.measures.items() if isinstance(law, LogUniform)]


def moments(domain: Domain, root_time: bool, log_ranges: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the inputs, √t and logarithms where seen.  Shape: `(dim,)`."""
    mean, std = domain.mean.clone(), domain.std.clone()
    if root_time:
        time = domain.slices()["t"]
        mean[time], std[time] = _root_moments(domain.measures["t"])
    for where in logarithmic(domain) if log_ranges else []:
        low, high = domain.bounds
        low, high = low[where].log(), high[where].log()
        mean[where], std[where] = 0.5 * (low + high), (high - low) / 12**0.5
    return mean, std


def _root_moments(t: Measure) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of √t.  Shape: `(1,)`."""
    if not isinstance(t, Box):
        return t.moments(torch.sqrt)
    low, high = t.low[0], t.high[0]
    root = 2.0 / 3.0 * (high**1.5 - low**1.5) / (high - low)
    return vector([root]), (t.mean - root**2).sqrt()  # E(√t)² = E t


def make_network(
    architecture: Architecture, domain: Domain, generator: torch.Generator, outputs: int = 1
) -> Network:
    """A network with freshly drawn parameters.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.networks.multilevel import Multilevel
        >>> make_network(Multilevel(), BlackScholes().domain, torch.Generator()).parameter_count
        5404
    """
    network = Network(architecture, domain, outputs)
    initialise(network, generator)
    return network
