r"""The fast method's objective: fit values and slopes, each on its own scale.

    L = E[(f − Y)²] + (μ/p) Σ_j E[ω_j² (∂_j f − ∂_j Y)²],    T_j/ω_j = max(R_j, δ max_i T_i R_i),

in normalised inputs and outputs, R_j the root mean square of ∂_j Y and T_j its trust, 1 unless it
is mostly noise (`slopes.py`). Labels are means over K paths from the same input, slopes their
pathwise derivatives; single slopes that do not exist or are far out of scale are left out. The
network sees √t in place of t, and its slope in √t is fitted: that label's variance stays bounded as
t → 0, whereas the one in t grows like 1/t. Behind a head, f and Y are prices, in which errors count
as errors of volatility (`head_rows.py`).
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from feynkac.errors import NonFiniteError
from feynkac.families.family import Family, outputs
from feynkac.methods.fast.head_rows import FOUND, HeadRows, head_rows, implied
from feynkac.networks.linearisation import (
    Linearisation,
    gram,
    linearise,
    pull_back,
    push_forward,
    value_and_gradient,
)
from feynkac.networks.network import SHORTEST_TIME, Network
from feynkac.networks.smooth import SmoothNetwork
from feynkac.sampling.labels import differential_labels, draws, mean_labels
from feynkac.sampling.line_labels import line_labels
from feynkac.sampling.noise.lines import Lines
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.sampling.slopes import trust, without_outliers
from feynkac.training.diagnosis import bad_label
from feynkac.training.objective import Batch, Objective
from feynkac.training.optimisers.gauss_newton import GaussNewtonSteps, solve_damped

TRUST_INPUTS, TRUST_LABELS = 64, 4  # on which the noise of slopes is measured
OUTLIER = 30.0  # a slope of so many times its scale is left out
HEAD_OUTLIER = 3.0  # behind a head, its misfit: grids err where volatility means little
TOLD = 0.01  # the least vega, times σ, at which a label tells f
LEAST_HEAD_SCALE, LEAST_VOLATILITY, LEAST_HEAD_SLOPE = 0.05, 0.01, 1.0


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


SMALLEST_SCALE = 1e-30  # of u = 0, with room for its inverse
ROUNDING, LEAST_SCALE = 1e-5, 1e-4  # of a component's size, and of the largest scale: the least


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
        domain = self.family.domain
        inputs = domain.sample(count, generator)
        time = inputs[:, domain.slices()["t"]]
        time.clamp_min_(SHORTEST_TIME * domain.measures["t"].high[0])
        return inputs

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


@dataclass(frozen=True)
class Scales:
    """Mean and standard deviation of u in its unit `(m,)`, and weights ω `(f,)` of slopes.

    Behind a head, they are of f.
    """

    shift: Tensor
    scale: Tensor
    weights: Tensor
    typical: float = 1.0
    """Behind a head, how far volatility is from that of a constant f."""


def measure_scales(
    data: Data, network: Network, generator: torch.Generator, least_slope: float = 1e-3
) -> Scales:
    """From one batch of labels; δ is `least_slope`."""
    batch = data.sample(generator)
    if problem := bad_label(batch._replace(gradients=None), data.family.domain):
        raise NonFiniteError(f"before training: a NaN or infinity arose {problem}.")
    if network.head is not None:
        return _head_scales(data, network, batch, data.trusted(network, generator), least_slope)
    values = batch.values / network.unit(batch.inputs)
    shift, scale = values.mean(0), values.std(0)
    rounding = torch.maximum(ROUNDING * values.abs().amax(0), LEAST_SCALE * scale.max())
    scale = scale.maximum(rounding).clamp_min(SMALLEST_SCALE)
    slopes = data.slopes(network, batch).values / scale.mean()
    rms = torch.where(slopes.isfinite(), slopes, 0.0).square().mean(0).sqrt()
    trusted = data.trusted(network, generator)
    least = least_slope * (trusted * rms).max() + 1e-12
    return Scales(shift, scale, trusted / rms.clamp_min(least))


def _head_scales(
    data: Data, network: Network, batch: Batch, trusted: Tensor, least_slope: float
) -> Scales:
    """Of f, where it can be told from the labels."""
    assert network.head is not None
    f = implied(network.head, batch.inputs, batch.values).to(batch.inputs)
    rows, _ = rows_behind_head(data, network, batch, f)
    f = f.squeeze(-1)
    told = (f.abs() < FOUND) & (rows.first > TOLD)
    if not told.any():
        f, told = torch.zeros_like(f), torch.ones_like(told)
    shift, scale = f[told].mean(), f[told].std(correction=0).clamp_min(LEAST_HEAD_SCALE)
    spread = (rows.first * (f - shift))[told].square().mean().sqrt()
    typical = spread.clamp_min(LEAST_VOLATILITY)
    slopes = (rows.tamed * rows.slopes / typical)[told]
    rms = torch.where(slopes.isfinite(), slopes, 0.0).square().mean(0).sqrt()
    least = (least_slope * (trusted * rms).max()).clamp_min(LEAST_HEAD_SLOPE)
    weights = trusted / rms.maximum(least)
    return Scales(shift.unsqueeze(0), scale.unsqueeze(0), weights, typical.item())


def rows_behind_head(
    data: Data, network: Network, batch: Batch, f: Tensor
) -> tuple[HeadRows, Tensor | None]:
    """Rows of a batch at f `(N, 1)`, and along what their slopes are."""
    assert network.head is not None
    slopes, along = data.slopes(network, batch)

    def slopes_of(values: Tensor, gradients: Tensor) -> Tensor:
        return data.slopes(network, batch._replace(values=values, gradients=gradients)).values

    labels, unit = (batch.values, slopes), network.unit(batch.inputs)
    return head_rows(network.head, batch.inputs, f, labels, slopes_of, unit), along


@dataclass(frozen=True)
class Sobolev(Objective):
    """What both ways to fit share."""

    data: Data
    scales: Scales
    slope_weight: float = 1.0

    def sample(self, generator: torch.Generator) -> Batch:
        """Fresh inputs with labels of u and ∇u."""
        return self.data.sample(generator)

    def with_paths(self, paths: int) -> Self:
        """The same, with `paths` paths an input."""
        return replace(self, data=self.data.with_paths(paths))

    @abstractmethod
    def differentiate(
        self, network: Network, batch: Batch, optimiser: torch.optim.Optimizer
    ) -> Tensor:
        """The loss, and what the optimiser shall follow."""

    def residuals(self, network: Network, batch: Batch) -> Linearisation:
        """Those of all values and fitted slopes, linearised."""
        core = smooth_core(network)
        fitted = (self.slope_weight * self.scales.weights).nonzero().flatten()
        if network.head is not None:
            return self._head_residuals(network, batch, fitted)
        x, mix, values, slopes, weights, along = self.targets(network, batch)
        every = torch.diag_embed(weights) if along is None else weights.unsqueeze(-1) * along
        lin = linearise(core, x, every[:, fitted], mix)
        missing = (weights * slopes)[:, fitted]
        return lin._replace(value=lin.value - values, slope=lin.slope - missing)

    @torch.no_grad()
    def _head_residuals(self, network: Network, batch: Batch, fitted: Tensor) -> Linearisation:
        """In volatility; slopes whose misfit is far out of scale are left out."""
        rows, along = rows_behind_head(self.data, network, batch, network.scaled(batch.inputs))
        missing, typical = rows.tamed * rows.slopes, self.scales.typical
        _, weights = without_outliers(missing / typical, self.scales.weights, HEAD_OUTLIER)
        count = max(1, int(self.scales.weights.count_nonzero()))
        weights = rows.tamed * weights * (self.slope_weight / count) ** 0.5
        turned = rows.directions(weights)
        every = torch.diag_embed(turned) if along is None else turned.unsqueeze(-1) * along
        top = rows.top(network.scale, weights, fitted)
        x = network.normalise(batch.inputs)
        return linearise(smooth_core(network), x, every[:, fitted], top=top)

    def targets(self, network: Network, batch: Batch) -> "Targets":
        """What the core of `network` shall fit."""
        assert batch.mix is not None
        x, typical = network.normalise(batch.inputs), network.scale.mean()
        found, along = self.data.slopes(network, batch)
        slopes, weights = without_outliers(found / typical, self.scales.weights, OUTLIER)
        fitted = max(1, int(self.scales.weights.count_nonzero()))
        values = batch.values / network.unit(batch.inputs)
        return Targets(
            x=x,
            mix=batch.mix * network.scale / typical,
            values=((values - network.shift) * batch.mix / typical).sum(-1),
            slopes=slopes,
            weights=weights * (self.slope_weight / fitted) ** 0.5,
            along=along,
        )


class Targets(NamedTuple):
    """Normalised inputs x `(N, seen)`, the combination of outputs that is fitted there `(N, m)`,
    its values `(N,)` and slopes `(N, f)`, their weights, and along what they are (see `Slopes`)."""

    x: Tensor
    mix: Tensor
    values: Tensor
    slopes: Tensor
    weights: Tensor
    along: Tensor | None


@dataclass(frozen=True)
class SobolevGradient(Sobolev):
    """The gradient of L, for first-order optimisers."""

    def differentiate(
        self, network: Network, batch: Batch, optimiser: torch.optim.Optimizer
    ) -> Tensor:
        """L and ∇L: the gradient of a slope misfit e is the derivative of the slope along e."""
        core = smooth_core(network)
        if network.head is not None:
            lin = self.residuals(network, batch)
            twice = 2.0 / len(lin.value)
            set_gradients(core, pull_back(lin, twice * lin.value, twice * lin.slope))
            return lin.value.square().mean() + lin.slope.square().sum(-1).mean()
        x, mix, values, slopes, weights, along = self.targets(network, batch)
        f, gradient = value_and_gradient(core, x, mix)
        if along is not None:
            gradient = (along @ gradient.unsqueeze(-1)).squeeze(-1)
        misfit, slope_misfit = (f - values) / len(x), weights * (gradient - slopes)
        direction = (2.0 * weights * slope_misfit / len(x)).unsqueeze(1)
        lin = linearise(core, x, direction if along is None else direction @ along, mix)
        set_gradients(core, pull_back(lin, 2.0 * misfit, torch.ones_like(lin.slope)))
        return len(x) * misfit.square().sum() + slope_misfit.square().sum() / len(x)


@dataclass(frozen=True)
class SobolevProjection(Sobolev):
    """The Gauss–Newton direction, for `GaussNewton`: one system for all rows."""

    whole: ClassVar[bool] = True

    def differentiate(
        self, network: Network, batch: Batch, optimiser: torch.optim.Optimizer
    ) -> Tensor:
        """L and  Jᵀ (J Jᵀ + λ I)⁻¹ (r − μ J d_prev)  over all values and slopes of the batch."""
        assert isinstance(optimiser, GaussNewtonSteps)
        core, settings = smooth_core(network), optimiser.settings
        lin = self.residuals(network, batch)
        previous = [
            (optimiser.direction(w), optimiser.direction(b))
            for w, b in zip(core.weights, core.biases, strict=True)
        ]
        j_value, j_slope = push_forward(lin, previous)
        rows = torch.cat(
            [
                lin.value - settings.momentum * j_value,
                (lin.slope - settings.momentum * j_slope).flatten(),
            ]
        )
        c = solve_damped(gram(lin), rows, settings.damping)
        n = len(lin.value)
        set_gradients(core, pull_back(lin, c[:n], c[n:].view_as(lin.slope)))
        return lin.value.square().mean() + lin.slope.square().sum(-1).mean()


def smooth_core(network: Network) -> SmoothNetwork:
    """The network behind the normalisation, which must be a `Smooth` one."""
    assert isinstance(network.core, SmoothNetwork)
    return network.core


def set_gradients(core: SmoothNetwork, step: list[tuple[Tensor, Tensor]]) -> None:
    """Hand `step` to the optimiser."""
    for weight, bias, (d_weight, d_bias) in zip(core.weights, core.biases, step, strict=True):
        weight.grad, bias.grad = d_weight, d_bias
