r"""What paths earn, minus the martingales of a control (`martingale.py`):

Y = Σ_k w_k (y_k − c·M_k).
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from feynkac.analysis.estimators import TINY, Estimator, Sample, Sums, path_gap, spelled
from feynkac.analysis.martingale import Control, controlled
from feynkac.families.family import noise_dim
from feynkac.families.point import Point
from feynkac.sampling.discretisation import coarsened
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.alignment import align
from feynkac.sampling.noise.noise import Draw, Independent, Noise, Shape
from feynkac.sampling.path import integrates_noise, path_states

REGRESSED = 2**9  # paths from which the share of a control is found


@dataclass(frozen=True)
class Controlled(Estimator):
    """The payoff of a path minus the martingales of a control; draws all of the noise."""

    control: Control | None = None
    shares: Tensor | None = None
    """How much of M₁ and M₂ to subtract, `(N, 1, 2)`."""

    @property
    def normals(self) -> int:
        """All."""
        return self.finest.draws * noise_dim(self.family)

    @property
    def name(self) -> str:
        """Scheme, noise, and that there is a control."""
        return f"{spelled(self)}, control"

    def prepared(self, inputs: Tensor, generator: torch.Generator) -> "Controlled":
        """With the shares that regression on independent paths finds.

        All of both if the control is good, and little if it is bad, so a bad one does no harm.
        """
        draw = self._draw(Independent(), inputs, REGRESSED, generator)
        payoff, m = self._simulate(inputs, draw)
        y = (payoff - payoff.mean(-1, keepdim=True)).unsqueeze(-1)
        gram = m.mT @ m
        ridge = 1e-9 * gram.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None] + TINY
        eye = torch.eye(2, dtype=gram.dtype, device=gram.device)
        return replace(self, shares=torch.linalg.solve(gram + ridge * eye, m.mT @ y).mT)

    def repeated(self, count: int) -> "Controlled":
        """With the shares repeated as well."""
        assert self.shares is not None
        return replace(self, shares=self.shares.repeat(count, 1, 1))

    def sample(self, inputs: Tensor, paths: int, generator: torch.Generator) -> Sample:
        """The gap is that of the labels: they have the same mean.

        Unless they integrate noise and may come nearer to it, as those of `Heston` do.
        """
        draw = self._draw(self.noise, inputs, paths, generator)
        payoff, martingale = self._simulate(inputs, draw)
        assert self.shares is not None
        rest = payoff - (self.shares * martingale).sum(-1)
        sums = Sums(self, inputs)
        sums.add(draw, rest, payoff, self._gap_of(inputs, draw, payoff))
        return sums.sample()

    def _starts(self, inputs: Tensor) -> Point:
        return self.family.domain.split(inputs.unsqueeze(-2))

    def _gap_of(self, inputs: Tensor, draw: Draw, payoff: Tensor) -> Tensor:
        family = self.family
        if self.order is None or not integrates_noise(family, self.finest):
            earned = payoffs(self.family, self.finest, inputs, draw.z)[..., self.output]
            return path_gap(self, inputs, draw, earned)
        z = coarsened(draw.z, self.finest.increments)
        *_, end = path_states(self.family, self.scheme, *self._starts(inputs), z)
        coarse = end.weight * self.family.initial(end.state, end.p) + end.gained
        return payoff - coarse[..., self.output]

    def _draw(self, noise: Noise, inputs: Tensor, paths: int, generator: torch.Generator) -> Draw:
        fine, dim = self.finest, noise_dim(self.family)
        shape = Shape(len(inputs), paths, fine.draws, dim, fine.increments)
        draw = noise.draw(shape, generator, inputs.dtype)
        return align(self.family, inputs, draw) if noise.aligned else draw

    def _simulate(self, inputs: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        """Payoffs `(N, K)` and martingales `(N, K, 2)`."""
        assert self.control is not None
        found = controlled(self.family, self.finest, self.control, inputs, draw.z)
        return found[0][..., self.output], found[1]
