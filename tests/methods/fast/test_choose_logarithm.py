"""Whether networks give ln u: where u is positive over decades, and not elsewhere."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.methods.fast.choose_logarithm import spans_decades
from feynkac.methods.fast.path_data import PathData
from feynkac.methods.fast.scales import as_fitted
from feynkac.networks.network import make_network
from feynkac.networks.reduction import Reduction
from feynkac.sampling.generators import make_generator
from feynkac.training.objective import Batch


@dataclass(frozen=True)
class Moment(fk.Family):
    """E ∏ S_i of prices that revert to a level each, in any unit."""

    unit: float = 1.0
    least: float = 1.0
    payoff: str = "product"

    @property
    def domain(self):
        return fk.Domain(
            x=fk.LogUniform(self.least, 1e3, shape=(2,)),
            t=fk.Box(0.1, 3.0),
            r=fk.Box(0.2, 1.0),
            sigma=fk.Box(0.1, 0.5),
        )

    def drift(self, x, p):
        return p.r * x * (100.0 / x).log()

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        product = x.prod(-1, keepdim=True)
        return self.unit * (product if self.payoff == "product" else (product - 1e4).clamp_min(0))

    def truth(self, x, t, p):
        level, left = 4.605170185988092 - 0.5 * p.sigma.square() / p.r, (-p.r * t).exp()
        mean = level + left * (x.log() - level)
        half = 0.25 * p.sigma.square() * (1.0 - left.square()) / p.r
        return self.unit * (mean + half).exp().prod(-1, keepdim=True)


def spans(family):
    data = PathData(family, fk.LogGaussian(), fk.Sobol(), 1, 512, with_slopes=False)
    return spans_decades(family, Reduction(family.domain, False, ()), data)


def test_only_what_is_positive_over_decades_and_no_less_than_one():
    assert spans(Moment())
    assert not spans(Moment(unit=1e-6))  # Eq. (9) is an absolute error there
    assert not spans(Moment(least=500.0))
    assert not spans(Moment(payoff="call"))


def test_a_network_of_logarithms_is_right_where_u_is_small_and_large():
    family = Moment()
    solution = fk.solve(family, steps=80, batch_size=48, seed=0, evaluations=1)
    assert solution.manifest.run.method.architecture.positive
    inputs = family.domain.sample(512, torch.Generator().manual_seed(5), torch.float64)
    truth = family.truth(*family.domain.split(inputs))
    relative = (solution.network(inputs.float()).double() / truth - 1.0).abs()
    assert relative.mean() < 2e-3
    assert fk.Fast(architecture=fk.Smooth()).resolve(family).architecture == fk.Smooth()


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_labels_beside_the_network_have_no_bias_by_their_noise(noise, generator):
    family = Moment()
    network = make_network(fk.Smooth(positive=True), family.domain, generator)
    inputs = family.domain.sample(1, generator).expand(2**14, -1)
    now = network.scaled(inputs[:1]).detach()
    factor = 1.0 + noise * torch.randn(len(inputs), 1, generator=generator)
    labels = (now + 0.01).exp() * factor
    data = PathData(family, fk.LogGaussian(), fk.Sobol(), 1, 16)
    batch = Batch(inputs, labels, labels * torch.ones_like(inputs), torch.ones_like(labels))
    values, _, _ = as_fitted(data, network, batch, now.expand_as(labels))
    assert abs((values - now).mean().item() - 0.01005) < 5e-5 + 5.0 * noise / 2**7
    if noise:
        plain = as_fitted(data, network, batch)[0]
        assert (plain - now).mean() < 0.008  # ln is too small by ε²/2


def test_labels_that_are_not_positive_are_borne(generator):
    family = Moment()
    network = make_network(fk.Smooth(positive=True), family.domain, generator)
    inputs = family.domain.sample(3, generator)
    labels = torch.tensor([[2.0], [-1.0], [0.5]])
    batch = Batch(inputs, labels, torch.ones_like(inputs), torch.ones_like(labels))
    data = PathData(family, fk.LogGaussian(), fk.Sobol(), 1, 16)
    values, slopes, _ = as_fitted(data, network, batch)
    assert values.squeeze(-1).tolist() == torch.tensor([2.0, 0.5, 0.5]).log().tolist()
    assert bool(slopes[1].isnan().all())
    assert bool(slopes[[0, 2]].isfinite().all())


def test_a_head_and_logarithms_exclude_each_other(generator):
    from feynkac.methods.fast.choose_head import choose_head

    family = fk.BlackScholesMerton()
    both = fk.Smooth(head=choose_head(family), positive=True)
    with pytest.raises(fk.InputError, match="leave out positive=True, or the head"):
        make_network(both, family.domain, make_generator(0, "test"))


def test_several_outputs_have_no_common_logarithm(generator):
    domain = Moment().domain
    with pytest.raises(fk.InputError, match="positive=True is for one output, and u has 2"):
        make_network(fk.Smooth(positive=True), domain, generator, outputs=2)


GRID = fk.Grid((33,), 16, sets=32, points=32)


@pytest.mark.parametrize("grid", [GRID, pytest.param(None, marks=pytest.mark.slow)])
def test_labels_of_a_grid_tell_as_well(grid):
    """A population whose unit is its own: u scales with x and the capacity."""

    @dataclass(frozen=True)
    class Logistic(fk.Family):
        @property
        def domain(self):
            x, cap = fk.LogUniform(1e3, 1e6), fk.LogUniform(1e5, 1e6)
            return fk.Domain(x=x, t=fk.Box(0.1, 2.0), cap=cap, sigma=fk.Box(0.1, 0.4))

        def drift(self, x, p):
            return x * (1.0 - x / p.cap)

        def diffusion(self, x, dw, p):
            return p.sigma * x * dw

        def initial(self, x, p):
            return x

    solution = fk.solve(Logistic(), fk.Fast(grid=grid), steps=3, evaluations=1)
    assert solution.manifest.run.method.grid
    assert bool(torch.isfinite(torch.as_tensor(solution.manifest.history[-1]["l1"])))
