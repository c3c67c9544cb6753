"""What the fast method fits: labelled inputs, and those of them that come from paths."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.family import Family, outputs
from feynkac.networks.network import SHORTEST_TIME, Network
from feynkac.sampling.labels import differential_labels, draws, mean_labels
from feynkac.sampling.line_labels import line_labels
from feynkac.sampling.noise.lines import Lines
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.sampling.slopes import trust
from feynkac.training.objective import Batch

TRUST_INPUTS, TRUST_LABELS = 64, 4  # on which the noise of slopes is measured


class Slopes(NamedTuple):
    """Slopes of labels `(N, f)`, and along which directions of the core's inputs they are taken
    `(N, f, seen)`; None: along each of them."""

    values: Tensor
    along: Tensor | None = None


class Data(Protocol):
    """Draws labelled inputs."""

    @property
    def family(self) -> Family:
        """Whose labels they are."""

    def trusted(self, network: Network, generator: torch.Generator) -> Tensor:
        """How far each of the f slopes can be fitted; 0: not at all.  Shape: `(f,)`."""

    def slopes(self, network: Network, batch: Batch) -> Slopes:
        """Those of the batch, of u in its unit."""

    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh inputs with labels of u and ∇u."""

    def with_paths(self, paths: int) -> Self:
        """The same with so many paths per input, if labels come from paths."""


def random_mix(
    count: int, relative: Tensor | None, like: Tensor, generator: torch.Generator
) -> Tensor:
    """Random signs / √m on the scale of each of m components; 1 if there is but one: `(N, m)`."""
    if count == 1:
        return torch.ones_like(like[:, :1])
    size, device = (len(like), count), like.device
    coins = torch.rand(size, generator=generator, dtype=torch.float32, device=device) - 0.5
    signs: Tensor = coins.sign().to(like) * count**-0.5
    return signs if relative is None else signs / relative


def fresh_inputs(domain: Domain, count: int, generator: torch.Generator) -> Tensor:
    """By the law of the domain, none of them at t = 0.  Shape: `(N, dim)`."""
    inputs = domain.sample(count, generator)
    time = inputs[:, domain.slices()["t"]]
    time.clamp_min_(SHORTEST_TIME * domain.measures["t"].high[0])
    return inputs


@dataclass(frozen=True)
class PathData:
    """Labels from paths."""

    family: Family
    scheme: Scheme
    noise: Noise
    batch_size: int
    paths: int
    with_slopes: bool = True
    """Whether they are wanted; across a jump a pathwise slope would be wrong."""
    relative: Tensor | None = None
    """Standard deviations of the components of u, relative to their mean; None: all alike."""

    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh inputs with labels of u and ∇u."""
        inputs = self.inputs(self.batch_size, generator)
        return self.labelled(inputs, self._mix(inputs, generator), generator)

    def repeated(self, count: int, times: int, generator: torch.Generator) -> Batch:
        """`count` fresh inputs, each with as many independent labels, one after the other."""
        inputs = self.inputs(count, generator)
        mix = self._mix(inputs, generator)
        if not self.noise.common:
            rows, mixes = (part.repeat_interleave(times, 0) for part in (inputs, mix))
            return self.labelled(rows, mixes, generator)
        batches = [self.labelled(inputs, mix, generator) for _ in range(times)]
        return Batch(*(torch.stack(part, 1).flatten(0, 1) for part in zip(*batches, strict=True)))

    def inputs(self, count: int, generator: torch.Generator) -> Tensor:
        """Fresh inputs, none of them at t = 0."""
        return fresh_inputs(self.family.domain, count, generator)

    def _mix(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        return random_mix(outputs(self.family), self.relative, inputs, generator)

    def labelled(self, inputs: Tensor, mix: Tensor, generator: torch.Generator) -> Batch:
        """With labels of u and of the slopes of Σ_j mix_j u_j."""
        if isinstance(self.noise, Lines):
            setting = (self.family, self.scheme, self.noise, inputs, self.paths, generator)
            return Batch(inputs, *line_labels(*setting, mix), mix)
        labels = []
        for rows, draw in draws(
            self.family, self.scheme, self.noise, inputs, self.paths, generator
        ):
            some = (self.family, self.scheme, inputs[rows], draw)
            if self.with_slopes:
                labels.append(differential_labels(*some, mix[rows]))
            else:
                labels.append((mean_labels(*some), torch.zeros_like(inputs[rows])))
        values, gradients = (torch.cat(parts) for parts in zip(*labels, strict=True))
        return Batch(inputs, values, gradients, mix)

    def trusted(self, network: Network, generator: torch.Generator) -> Tensor:
        """By the noise of slopes on a few inputs."""
        varies = network.varies.to(network.std)
        if not self.with_slopes:
            return torch.zeros_like(varies)
        batch = self.repeated(TRUST_INPUTS, TRUST_LABELS, generator)
        slopes = self.slopes(network, batch).values
        found = trust(slopes.unflatten(0, (TRUST_INPUTS, TRUST_LABELS)))  # type: ignore[no-untyped-call]
        return varies * found

    def slopes(self, network: Network, batch: Batch) -> Slopes:
        """In all that the core sees."""
        assert batch.gradients is not None
        return Slopes(network.slopes(batch.inputs, batch.gradients))

    def with_paths(self, paths: int) -> Self:
        """The same with so many paths per input."""
        return replace(self, paths=paths)
