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
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from feynkac.methods.fast.path_data import Data
from feynkac.methods.fast.scales import Scales, as_fitted, rows_behind_head
from feynkac.networks.linearisation import (
    Linearisation,
    gram,
    linearise,
    pull_back,
    push_forward,
    value_and_gradient,
)
from feynkac.networks.network import Network
from feynkac.networks.smooth import SmoothNetwork
from feynkac.sampling.slopes import without_outliers
from feynkac.training.objective import Batch, Objective
from feynkac.training.optimisers.gauss_newton import GaussNewtonSteps, solve_damped

OUTLIER = 30.0  # a slope of so many times its scale is left out
HEAD_OUTLIER = 3.0  # behind a head, its misfit: grids err where volatility means little


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
        f = network.scaled(batch.inputs).detach() if network.positive else None
        values, found, along = as_fitted(self.data, network, batch, f)
        slopes, weights = without_outliers(found / typical, self.scales.weights, OUTLIER)
        fitted = max(1, int(self.scales.weights.count_nonzero()))
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
