r"""Ways to estimate u(λ) without the network: independent replicates of a randomised rule.

    Y = Σ_k w_k y_k,    y_k what a path earns, or its mean over a part of the noise,

with Sobol' points, stretched or not, or spherical-radial cubature (`Simulated`); in a plane where
all directions are alike (`planar.py`); or minus the martingale of a control (`controlled.py`). If
the scheme has a discretisation error of weak order q, each replicate is computed twice on the same
paths, with n and 2n steps: the gap Y_2n − Y_n  shows the size of the error, and
Y_2n + gap / (2^q − 1)  removes most of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from feynkac.families.family import Family, noise_dim, timed
from feynkac.sampling.discretisation import coarsened, refined
from feynkac.sampling.labels import payoffs
from feynkac.sampling.noise.alignment import align
from feynkac.sampling.noise.noise import Draw, Noise, Shape
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.path import (
    label_normals,
    quieted,
    weak_order,
)
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.sampling.schemes.scheme import Scheme

NORMALS_AT_ONCE, PATHS_AT_ONCE = 2**19, 2**14  # normals and paths alive at a time: 4 and ⅛ MB
FEWEST = 8  # replicates
FIRST_STEPS = {None: 1, 1: 2, 2: 4}  # by weak order; on fewer the gap does not tell the error yet
MOST_CUBATURE = 512  # normals of a path for which a random basis is affordable
REGRESSED = 2**9  # paths from which the share of a control is found
TINY = 1e-300  # a variance
ROUNDING = 1e-12  # relative to 1 + |u|


class Sample(NamedTuple):
    """The result of one replicate at each input; every tensor `(N,)`, float64."""

    value: Tensor
    gap: Tensor
    """Y_2n − Y_n; 0 without discretisation error."""
    first: Tensor
    """Mean of what a path earns above φ(x)."""
    second: Tensor
    """Mean square of that."""
    effective: Tensor
    """Number of pairs that make up the variation of payoffs, (Σ|d|)² / Σd²; ∞ without noise."""
    largest: Tensor
    """The largest such deviation d, times its weight."""


@dataclass(frozen=True)
class Estimator(ABC):
    """An unbiased rule for Y_2n (or Y, without discretisation error)."""

    family: Family
    scheme: Scheme
    """With n steps."""
    noise: Noise
    output: int = 0
    """Which component of u."""

    @property
    def order(self) -> int | None:
        """Weak order q; None: there is no discretisation error."""
        return weak_order(self.family, self.scheme)

    @property
    def finest(self) -> Scheme:
        """With 2n steps where there is a discretisation error."""
        return self.scheme if self.order is None else refined(self.scheme)

    @property
    def _side_by_side(self) -> bool:
        """Whether replicates may be rows of one draw: they share no rule, and no coins."""
        fine = self.finest
        coins = isinstance(fine, NinomiyaVictoir) and fine.noise == "general"
        return isinstance(self.noise, Stretched) and not coins

    @property
    @abstractmethod
    def normals(self) -> int:
        """Of one path."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For the reader of a certificate."""

    def with_steps(self, steps: int) -> Self:
        """The same with another n."""
        return replace(self, scheme=self.scheme.with_steps(steps))

    def prepared(self, _inputs: Tensor, _generator: torch.Generator) -> "Estimator":
        """The estimator for all replicates at `inputs`."""
        return self

    @abstractmethod
    def sample(self, inputs: Tensor, paths: int, generator: torch.Generator) -> Sample:
        """One replicate of about `paths` paths.  Shape: `(N, dim)`, float64 → `(N,)`."""

    def replicates(
        self,
        inputs: Tensor,
        paths: int,
        count: int,
        generator: torch.Generator,
        late: Callable[[], bool] = lambda: False,
    ) -> Sample:
        """Independent replicates, at least 8 even if `late`.  Shape: `(N, dim)` → `(R, N)`."""
        size = max(
            1, min(PATHS_AT_ONCE // paths, NORMALS_AT_ONCE // (paths * self.normals))
        )  # rows at a time
        together = max(1, size // len(inputs)) if self._side_by_side else 1
        blocks = torch.split(inputs, max(1, size // together))
        ready = [(self.prepared(block, generator), block) for block in blocks]
        found: list[Sample] = []
        done = 0
        while done < count and not (done >= FEWEST and late()):
            now = min(together, count - done)
            parts = [one.several(block, now, paths, generator) for one, block in ready]
            found.append(Sample(*(torch.cat(part, dim=-1) for part in zip(*parts, strict=True))))
            done += now
        return Sample(*(torch.cat(part) for part in zip(*found, strict=True)))

    def several(self, inputs: Tensor, count: int, paths: int, generator: torch.Generator) -> Sample:
        """Replicates side by side, as more inputs.  Shape: `(N, dim)` → `(count, N)`."""
        found = self.repeated(count).sample(inputs.repeat(count, 1), paths, generator)
        return Sample(*(part.reshape(count, len(inputs)) for part in found))

    def repeated(self, _count: int) -> "Estimator":
        """The estimator for repeated inputs."""
        return self


@dataclass(frozen=True)
class Simulated(Estimator):
    """The labels of the family, with any noise."""

    @property
    def normals(self) -> int:
        """As many as a label depends on."""
        return self.finest.draws * label_normals(self.family, self.finest)

    @property
    def name(self) -> str:
        """Scheme and noise."""
        return spelled(self)

    def sample(self, inputs: Tensor, paths: int, generator: torch.Generator) -> Sample:
        """One replicate; cubature fixes its number of paths, so it needs several rules."""
        rules = _rules(self.noise, paths, self.normals)
        rows = inputs.repeat_interleave(rules, 0)
        sums = Sums(self, rows)
        for draw in self._draws(rows, paths, generator):
            earned = payoffs(self.family, self.finest, rows, draw.z)[..., self.output]
            sums.add(draw, earned, earned, path_gap(self, rows, draw, earned))
        return _together(sums.sample(), rules)

    def _draws(self, inputs: Tensor, paths: int, generator: torch.Generator) -> Iterator[Draw]:
        """All paths of a replicate, in blocks where the noise has them."""
        fine, noise = self.finest, self.noise
        dim = label_normals(self.family, fine)
        shape = Shape(len(inputs), paths, fine.draws, dim, fine.increments)
        most = max(64, min(PATHS_AT_ONCE, NORMALS_AT_ONCE // self.normals) // len(inputs))
        turned = noise.aligned and not quieted(self.family, fine)
        draws: Iterable[Draw] = (
            noise.blocks(shape, most, generator, inputs.dtype)
            if isinstance(noise, Stretched)
            else [noise.draw(shape, generator, inputs.dtype)]
        )
        for draw in draws:
            yield align(self.family, inputs, draw) if turned else draw


def spelled(estimator: Estimator) -> str:
    """Scheme and noise in words; Sobol' points that are not stretched are called sobol."""
    scheme: Any = estimator.finest
    noise: Any = estimator.noise
    plain = isinstance(noise, Stretched) and not noise.far
    return f"{scheme.kind}:{scheme.steps}, {'sobol' if plain else noise.kind}"


def _rules(noise: Noise, paths: int, normals: int) -> int:
    """How many rules of a cubature make up about as many paths."""
    return max(1, paths // (2 * normals + 1)) if isinstance(noise, SphericalRadial) else 1


def path_gap(estimator: Estimator, inputs: Tensor, draw: Draw, fine: Tensor) -> Tensor:
    """y with 2n steps minus y with n, path by path.  Shape: `(N, K)`."""
    if estimator.order is None:
        return torch.zeros_like(fine)
    z = coarsened(draw.z, estimator.finest.increments)
    coarse = payoffs(estimator.family, estimator.scheme, inputs, z)
    return fine - coarse[..., estimator.output]


class Sums:
    """Sums over the paths of each input, block by block; every tensor `(N,)`."""

    def __init__(self, estimator: Estimator, inputs: Tensor) -> None:
        self.pairs = isinstance(estimator.noise, Stretched)
        self.start = _now(estimator, inputs)
        self.still = still(estimator.family, inputs)
        self.sums: list[Tensor] = []
        self.largest = torch.zeros_like(self.start.squeeze(-1))
        self.middle: Tensor | None = None
        self.paths = 0

    def add(self, draw: Draw, value: Tensor, earned: Tensor, gap: Tensor) -> None:
        """Add one block, `(N, K)` each; entries of weight 0 may be infinite or NaN."""
        w = draw.weights.squeeze(-1)
        gain, rest, gap = (
            torch.where(w == 0.0, 0.0, part.double())
            for part in (earned - self.start, value - self.start, gap)  # 0 at t = 0
        )
        deviation = self._deviation(w, gain)
        parts = (w * rest, w * gap, w * gain, w * gain.square(), deviation, deviation.square())
        sums = [part.sum(-1) for part in parts]
        self.sums = [a + b for a, b in zip(self.sums, sums, strict=True)] if self.sums else sums
        self.largest = torch.maximum(self.largest, deviation.amax(-1))
        self.paths += w.shape[-1]

    def _deviation(self, w: Tensor, gain: Tensor) -> Tensor:
        """Deviation from the median gain, of antithetic pairs if there are any.

        Pairs have no error in odd functions. A single path beyond a kink must stay visible.
        """
        if self.pairs:
            one, other = gain.chunk(2, dim=-1)
            w, gain = 2.0 * w[..., : one.shape[-1]], 0.5 * (one + other)
        if self.middle is None:
            self.middle = gain.median(-1, keepdim=True).values
        scale = 1.0 + self.start.abs() + self.middle.abs()
        far = (gain - self.middle).abs()
        return (w * torch.where(far > ROUNDING * scale, far, 0.0)).abs()

    def sample(self) -> Sample:
        """The sample of all blocks together."""
        rest, gap, first, second, deviations, squares = self.sums
        effective = deviations.square() / squares.clamp_min(TINY)
        return Sample(
            value=self.start.squeeze(-1) + rest,
            gap=gap,
            first=first,
            second=second,
            effective=torch.where(self.still, torch.inf, effective),
            largest=self.paths * self.largest,
        )


def still(family: Family, inputs: Tensor) -> Tensor:
    """Where nothing is random: t = 0, or σ = 0 also where the drift leads.

    Shape: `(N, dim)` → `(N,)`.
    """
    x, t, p = family.domain.split(inputs)
    dim, now = noise_dim(family), timed(family, p, t)
    later, then = x + 0.5 * t * family.drift(x, now), timed(family, p, 0.5 * t)
    moved = sum(
        family.diffusion(place, unit.expand(len(x), dim), params).abs().sum(-1)
        for unit in torch.eye(dim, dtype=x.dtype, device=x.device)
        for place, params in ((x, now), (later, then))
    )
    return (t.squeeze(-1) == 0.0) | (torch.as_tensor(moved) == 0.0)


def _now(estimator: Estimator, inputs: Tensor) -> Tensor:
    """φ(x).  Shape: `(N, dim)` → `(N, 1)`."""
    family = estimator.family
    x, t, p = family.domain.split(inputs)
    value = family.initial(x, timed(family, p, torch.zeros_like(t)))
    return value[..., estimator.output, None].double()


def _together(found: Sample, rules: int) -> Sample:
    """One sample from those of the rules of each input."""
    if rules == 1:
        return found
    parts = [part.unflatten(0, (-1, rules)) for part in found]  # type: ignore[no-untyped-call]
    means = Sample(*(part.mean(-1) for part in parts))
    effective, largest = parts[-2].sum(-1), parts[-1].amax(-1) * rules
    return means._replace(effective=effective, largest=largest)
