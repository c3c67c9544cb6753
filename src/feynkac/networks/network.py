r"""Φ(λ): any architecture behind an exact normalisation  (λ − E Λ) / √(V Λ)  of its inputs.

The distribution of Λ is known, and so are mean and variance (paper, Section 3, footnote). An
architecture may request √t in place of t, and the logarithms of variables that are uniform in them;
their means and variances are known as well. Symmetries leave fewer inputs (`reduction.py`), entries
that exchange are put in order, and of long variables only a few combinations may be seen
(`subspaces.py`). Behind the core, a formula may turn a volatility into a price (`head.py`), or the
exponential a logarithm into u: over decades, errors relative to u are what counts.
"""

import copy

import torch
from torch import Tensor, nn

from feynkac.compilation import compile_module
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.exchange import in_order, order_of
from feynkac.networks.architecture import Architecture, Layer, initialise
from feynkac.networks.columns import SHORTEST_TIME as SHORTEST_TIME
from feynkac.networks.columns import make_columns
from feynkac.networks.head import Priced
from feynkac.networks.reduction import Reduction
from feynkac.networks.subspaces import maps


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
        self.reduction = Reduction(domain, architecture.radial, architecture.units)
        self.columns = columns = make_columns(
            domain, self.reduction, architecture.root_time, architecture.log_ranges
        )
        whole, settings = (
            Reduction(domain, False, ()),
            (architecture.root_time, architecture.log_ranges),
        )
        self.raw = make_columns(domain, whole, *settings)
        """The inputs as they are, for their scales."""
        exchanged = domain.exchanged or architecture.ordered
        exchanged = exchanged if not architecture.radial else ()
        self.places = [columns.places[name] for name in exchanged]
        self.register_buffer("mean", columns.mean.float(), persistent=False)
        self.register_buffer("std", columns.std.float(), persistent=False)
        divisor = columns.std.masked_fill(~columns.varies, torch.inf)
        self.register_buffer("divisor", divisor.float(), persistent=False)
        size = () if outputs == 1 else (outputs,)
        self.register_buffer("shift", torch.zeros(size, dtype=torch.float32))
        self.register_buffer("scale", torch.ones(size, dtype=torch.float32))
        self._see(architecture, exchanged)
        self.head = Priced(architecture.head, domain) if architecture.head else None
        """From inputs and the scaled output of the core to u; None: u is that output."""
        self.positive = architecture.positive
        """Whether the scaled output is ln u, in its unit."""
        if self.head and outputs > 1:
            raise InputError(
                f"a head is for one output, and u has {outputs}; leave it out: head=None."
            )
        if self.positive and outputs > 1:
            raise InputError(f"positive=True is for one output, and u has {outputs}; leave it out.")
        if self.head and self.positive:
            raise InputError("a head makes u of its own; leave out positive=True, or the head.")
        self.core = architecture.build(len(self.varies), outputs)

    def _see(self, architecture: Architecture, exchanged: tuple[str, ...]) -> None:
        """Set the maps from normalised columns to the inputs of the core."""
        varies = self.columns.varies
        found: tuple[Tensor | None, ...] = (None, None, None)
        if architecture.subspaces:
            first = exchanged[0] if exchanged else None
            places = self.columns.places
            center, combine, directions = maps(places, architecture.subspaces, first)
            varies = (combine[:, varies] != 0.0).any(-1)
            found = (center.float(), combine.float(), directions.float())
        self.register_buffer("varies", varies, persistent=False)
        for name, value in zip(("center", "combine", "directions"), found, strict=True):
            self.register_buffer(name, value, persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise, then evaluate, in the network's own precision.

        Leading axes are folded into one batch.
        """
        inputs = inputs.to(self.shift.dtype)
        values = self.scaled(inputs)
        if self.head is not None:
            priced: Tensor = self.head(inputs, values)
            return priced
        return (values.exp() if self.positive else values) * self.unit(inputs)

    def scaled(self, inputs: Tensor) -> Tensor:
        """u in its unit, ln of that, or what the head makes u of.

        Shape: `(…, dim)` → `(…, outputs)`.
        """
        normalised = self.normalise(inputs).reshape(-1, len(self.varies))
        values: Tensor = self.shift + self.scale * self.core(normalised)
        return values.reshape(*inputs.shape[:-1], values.shape[-1])

    def unit(self, inputs: Tensor) -> Tensor | float:
        """In which u is measured, if it scales with its inputs.  Shape: `(…, dim)` → `(…, 1)`."""
        return self.reduction.unit(inputs)

    def normalise(self, inputs: Tensor) -> Tensor:
        """What the core sees: mean 0, variance 1.  Shape: `(…, dim)` → `(…, seen)`."""
        columns = self.reduction(inputs)
        if self.places:
            columns = in_order(columns, self.places)
        normalised = (self.columns.read(columns) - self.mean) / self.divisor
        if self.combine is None or self.center is None:
            return normalised
        return (normalised - self.center) @ self.combine.mT

    def slopes(self, inputs: Tensor, gradients: Tensor) -> Tensor:
        """∇u, in its unit, in what the core sees, from that in the inputs.

        Shape: `(N, dim)` → `(N, seen)`.
        """
        columns, found = self.reduction(inputs), self.reduction.slopes(inputs, gradients)
        if self.places:
            order = order_of(columns, self.places)
            columns, found = columns.gather(-1, order), found.gather(-1, order)
        found = found * self.columns.stretch(columns, self.std)
        return found if self.directions is None else found @ self.directions

    def slopes_along(
        self, inputs: Tensor, values: Tensor, gradients: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Slopes of u, in its unit, along x (or away from 0) and t, and how the core moves then.

        Shape: `(N, dim)`, `(N, 1)`, `(N, dim)` → `(N, f)`, `(N, f, seen)`.
        """
        moves = self.reduction.moves(inputs) * self.raw.stretch(inputs, self.raw.std.to(inputs))
        along = [torch.func.jvp(self.normalise, (inputs,), (move,))[1] for move in moves]
        slopes = (moves * self.reduction.in_units(inputs, values, gradients)).sum(-1)
        return slopes.mT, torch.stack(along, 1)

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
