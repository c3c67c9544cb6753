r"""Empirical risk minimisation on a fixed sample, as in Theorem 4 (paper, Sections 2 and A.1).

    R̂(Φ) = (1/s) Σ (Φ(Λ_i) − Y_i)²,    Y = exp(−‖X + √T Γ_σ N‖²),    E[Y | Λ] = ū(Λ)

over ReLU networks with O(d) neurons a layer, whose output is clipped to [0, 1]. No data are used
but the s samples, and no other data decide when a training ends. Networks for several s are trained
side by side, each on the first s of one sample: small matrices cost little more in a stack.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.networks.architecture import Drawn, initialise
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.optimisers.optimiser import AdamW
from feynkac.training.schedules import LinearDecay

FACTOR, HIDDEN = 2, 2  # neurons a layer per input, hidden layers
BATCH = 512
OPTIMISER, SCHEDULE = AdamW(learning_rate=0.01, weight_decay=0.0), LinearDecay(warmup=20)
STREAM = "empirical risk"
TEST_INPUTS = CHUNK = 2**14


@dataclass(frozen=True)
class Fit:
    """One trained network."""

    dim: int
    size: int
    """Number of samples, s."""
    seed: int
    excess: float
    """‖Φ̂ − ū‖² on fresh inputs."""
    constant: float
    """‖E ū(Λ) − ū‖², that of the best constant."""
    risk: float
    """R̂(Φ̂)."""
    truth: float
    """R̂(ū)."""
    largest: float
    """The largest absolute value of a parameter."""


class Clipped(Drawn):
    """A stack of ReLU networks with values in [0, 1]:  clip(y) = ϱ(y) − ϱ(y − 1)  at the end.

    Outputs start around `shift`, of the size of `scale`, which only sets their initial values.

    Shape: shift and scale `(G, 1, 1)`; `(G, N, inputs)` → `(G, N, 1)`.
    """

    def __init__(self, inputs: int, shift: Tensor, scale: Tensor) -> None:
        super().__init__()
        pairs = list(itertools.pairwise([inputs, *[FACTOR * inputs] * HIDDEN, 1]))
        self.weights = nn.ParameterList(torch.empty(len(shift), i, o) for i, o in pairs)
        self.biases = nn.ParameterList(torch.empty(len(shift), 1, o) for _, o in pairs)
        self.shift, self.scale = shift, scale

    def forward(self, h: Tensor) -> Tensor:
        """Layer after layer, then clip."""
        *hidden, (weight, bias) = zip(self.weights, self.biases, strict=True)
        for w, b in hidden:
            h = F.relu(torch.baddbmm(b, h, w))
        y = self.shift + self.scale * torch.baddbmm(bias, h, weight)
        return F.relu(y) - F.relu(y - 1.0)

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """U(−ξ, ξ), ξ = 1/√inputs of the layer (paper, Section A.2)."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            bound = weight.shape[1] ** -0.5
            weight.uniform_(-bound, bound, generator=generator)
            bias.uniform_(-bound, bound, generator=generator)


def fit(dim: int, sizes: Sequence[int], seed: int, steps: int) -> list[Fit]:
    """Draw a sample, minimise the risk on the first s of it for each size, measure.

    Example:
        >>> (found,) = fit(dim=1, sizes=[256], seed=0, steps=50)
        >>> found.excess < 10 * found.constant
        True
    """
    inputs, values = draw_sample(dim, max(sizes), make_generator(seed, STREAM, "data", dim))
    network = minimise(inputs, values, sizes, steps, seed)
    test = HeatGaussian(dim=dim).domain.sample(TEST_INPUTS, make_generator(seed, STREAM, "test"))
    truth, exact = solution(test), solution(inputs)
    found, fitted = evaluate(network, test), evaluate(network, inputs)
    largest = [
        max(p[k].abs().max().item() for p in network.parameters()) for k in range(len(sizes))
    ]
    return [
        Fit(
            dim=dim,
            size=size,
            seed=seed,
            excess=mean_square(found[k], truth),
            constant=mean_square(truth.mean(), truth),
            risk=mean_square(fitted[k, :size], values[:size]),
            truth=mean_square(exact[:size], values[:size]),
            largest=largest[k],
        )
        for k, size in enumerate(sizes)
    ]


def draw_sample(dim: int, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Independent (Λ_i, Y_i).  Shape: `(size, d + 2)`, `(size, 1)`."""
    family = HeatGaussian(dim=dim)
    inputs = family.domain.sample(size, generator)
    return inputs, labels(family, Exact(), inputs, generator)


def minimise(
    inputs: Tensor, values: Tensor, sizes: Sequence[int], steps: int, seed: int
) -> Clipped:
    """Networks of small risk on the first s inputs: `steps` of AdamW, each on random ones."""
    generator = make_generator(seed, STREAM, "training", *inputs.shape)
    moments = [(values[:size].mean(), values[:size].std()) for size in sizes]
    shift, scale = (torch.stack(column).reshape(-1, 1, 1) for column in zip(*moments, strict=True))
    network = Clipped(inputs.shape[1], shift, scale)
    initialise(network, generator)
    optimiser = OPTIMISER.build(network)
    normalised, ends = normalise(inputs), torch.tensor(sizes).unsqueeze(-1)
    for step in range(steps):
        part = (
            torch.rand(len(sizes), BATCH, generator=generator, dtype=torch.double) * ends
        ).long()
        residual = (network(normalised[part]) - values[part]) / scale
        loss = residual.square().mean((1, 2)).sum()
        optimiser.zero_grad()
        loss.backward()
        for group in optimiser.param_groups:
            group["lr"] = SCHEDULE.rate(OPTIMISER.learning_rate, step, step / steps)
        optimiser.step()
    return network


@torch.no_grad()
def evaluate(network: Clipped, inputs: Tensor) -> Tensor:
    """All networks on the same inputs.  Shape: `(N, d + 2)` → `(G, N, 1)`."""
    count = len(network.shift)
    blocks = torch.split(normalise(inputs), CHUNK)
    return torch.cat([network(block.expand(count, -1, -1)) for block in blocks], dim=1)


def normalise(inputs: Tensor) -> Tensor:
    """Mean 0 and variance 1.  Shape: `(N, d + 2)` → `(N, d + 2)`."""
    domain = HeatGaussian(dim=inputs.shape[1] - 2).domain
    return ((inputs - domain.mean) / domain.std).float()


def solution(inputs: Tensor) -> Tensor:
    """ū from the closed form.  Shape: `(N, d + 2)` → `(N, 1)`."""
    family = HeatGaussian(dim=inputs.shape[1] - 2)
    return family.closed_form(*family.domain.split(inputs.double()))


def mean_square(a: Tensor, b: Tensor) -> float:
    """(1/N) Σ (a − b)² in float64."""
    return float((a.double() - b.double()).square().mean())
