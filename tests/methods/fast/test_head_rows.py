"""Rows behind a head: their Jacobian is autograd's, for slopes of paths and of grids."""

import math

import pytest
import torch
from torch.func import functional_call, jacrev

import feynkac as fk
from feynkac.grids.table import make_table
from feynkac.methods.fast import head_rows
from feynkac.methods.fast.choose_head import choose_head
from feynkac.methods.fast.choose_symmetries import choose_symmetries
from feynkac.methods.fast.head_rows import implied
from feynkac.methods.fast.path_data import PathData
from feynkac.methods.fast.scales import measure_scales, rows_behind_head
from feynkac.methods.fast.sobolev import Sobolev, SobolevGradient, SobolevProjection
from feynkac.methods.fast.table_data import TableData
from feynkac.networks.linearisation import gram, pull_back
from feynkac.networks.network import make_network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.objective import Batch
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon


def doubled(batch):
    return Batch(*(part.double() for part in batch))


def of_paths(generator):
    family = fk.BlackScholesMerton()
    return family, PathData(family, Exact(), Sobol(), 12, 16)


def of_a_grid(generator):
    family = fk.Cev()
    grid = fk.Grid((33,), 8, sets=8, points=8)
    return family, TableData(family, make_table(family, grid, generator), 12)


class Case:
    """A network behind a head, its objective and a batch, all in float64."""

    def __init__(self, made, generator):
        self.family, self.data = made(generator)
        symmetries = choose_symmetries(self.family)
        head = choose_head(self.family, symmetries)
        assert head is not None
        settings = Smooth(width=6, depth=2, products=3, units=symmetries.units, head=head)
        self.network = make_network(settings, self.family.domain, generator).double()
        batch = self.data.sample(generator)
        scales = measure_scales(self.data, self.network.float(), generator, 0.1)
        self.network.double()
        self.network.shift.copy_(scales.shift.squeeze(0))
        self.network.scale.copy_(scales.scale.squeeze(0))
        self.objective = SobolevProjection(self.data, scales)
        self.batch = doubled(batch)

        self.weights = self.fixed_weights()

    @torch.no_grad()
    def fixed_weights(self):
        """Of values and slopes; they do not count as functions of the parameters."""
        network, batch, scales = self.network, self.batch, self.objective.scales
        head, f = network.head, network.scaled(batch.inputs)
        rows, _ = rows_behind_head(self.data, network, batch, f)
        w = head.guess(batch.inputs) * f.exp()
        weight = head.weight(batch.inputs, head.jet(batch.inputs, f).first / w)
        return weight, rows.tamed * scales.weights / int(scales.weights.count_nonzero()) ** 0.5

    def literal(self, parameters):
        """All rows."""
        network, batch = self.network, self.batch
        weight, slope_weights = self.weights
        u, pull = torch.func.vjp(lambda v: functional_call(network, parameters, (v,)), batch.inputs)
        (gradient,) = pull(torch.ones_like(u))
        slopes, labels = (
            self.data.slopes(network, batch._replace(values=v, gradients=g)).values
            for v, g in ((u, gradient), (batch.values, batch.gradients))
        )
        misfit = weight * network.unit(batch.inputs) * (slopes - labels)
        chosen = self.objective.scales.weights.nonzero().flatten()
        values = (weight * (u - batch.values)).squeeze(-1)
        return torch.cat([values, (slope_weights * misfit)[:, chosen].flatten()])


@pytest.fixture(params=[of_paths, of_a_grid], ids=["paths", "a grid"])
def case(request, generator, monkeypatch):
    monkeypatch.setattr(head_rows, "NEAR", 100.0)  # tangents everywhere
    return Case(request.param, generator)


def rows_of(lin):
    return torch.cat([lin.value, lin.slope.flatten()])


def test_residuals_and_their_jacobian_are_autograds(case):
    lin = case.objective.residuals(case.network, case.batch)
    parameters = dict(case.network.named_parameters())
    torch.testing.assert_close(rows_of(lin), case.literal(parameters), rtol=1e-6, atol=1e-8)
    parts = jacrev(case.literal)(parameters)
    jacobian = torch.cat([part.flatten(1) for part in parts.values()], 1)
    expected = jacobian @ jacobian.T
    size = expected.diagonal().mean().item()
    torch.testing.assert_close(gram(lin), expected, rtol=1e-5, atol=1e-7 * size)
    c = torch.linspace(-1.0, 1.0, len(expected), dtype=torch.float64)
    n = len(lin.value)
    step = pull_back(lin, c[:n], c[n:].view_as(lin.slope))
    found = sum(weight.square().sum() + bias.square().sum() for weight, bias in step)
    torch.testing.assert_close(found, (jacobian.T @ c).square().sum(), rtol=1e-5, atol=0)


def test_first_order_methods_see_the_gradient_of_the_same_loss(case):
    network, batch = case.network, case.batch
    gradient = SobolevGradient(case.data, case.objective.scales)
    losses = [
        objective.differentiate(network, batch, optimiser.build(network))
        for objective, optimiser in [(case.objective, GaussNewton()), (gradient, Muon())]
    ]
    torch.testing.assert_close(*losses)
    parameters = dict(network.named_parameters())
    expected = torch.func.grad(lambda p: case.literal(p).square().sum() / len(batch.inputs))
    for name, slope in expected(parameters).items():
        torch.testing.assert_close(parameters[name].grad, slope, rtol=1e-5, atol=1e-9)


def test_far_off_the_row_of_a_value_leads_to_its_volatility(generator):
    """By a secant; the tangent is flat there. Errors are those of volatility all the same."""
    family, data = of_paths(generator)
    network = make_network(Smooth(width=4, head=choose_head(family)), family.domain, generator)
    batch, sigma = data.sample(generator), family.domain.place("sigma").columns
    for off in (-3.0, 4.0):
        f = torch.full_like(batch.values, off)
        rows, _ = rows_behind_head(data, network, batch, f)
        there = implied(network.head, batch.inputs, batch.values).float().squeeze(-1)
        told = rows.secant > 1e-4
        torch.testing.assert_close((rows.value / rows.secant)[told], (off - there)[told])
        volatility = batch.inputs[:, sigma].squeeze(-1) * math.exp(off)
        assert (rows.value.abs() <= 1.01 * volatility.clamp_min(1.0)).all()
        assert rows.tamed.max() < 0.7


def test_f_is_found_from_prices(generator):
    family = fk.BlackScholesMerton()
    head = choose_head(family)
    network = make_network(Smooth(width=4, head=head), family.domain, generator)
    inputs = family.domain.sample(200, generator, torch.float64)
    f = torch.linspace(-1.0, 1.0, 200, dtype=torch.float64).unsqueeze(-1)
    found = implied(network.head, inputs, network.head(inputs, f))
    told = network.head.jet(inputs, f).first > 1e-3
    torch.testing.assert_close(found[told], f[told], rtol=0, atol=1e-6)


def test_of_the_formulas_own_model_f_is_constant(generator):
    family, data = of_paths(generator)
    network = make_network(Smooth(width=4, head=choose_head(family)), family.domain, generator)
    scales = measure_scales(
        PathData(family, Exact(), Sobol(), 500, 512), network, generator, least_slope=0.1
    )
    assert abs(scales.shift.item()) < 0.01
    assert scales.scale.item() == pytest.approx(0.05)
    assert isinstance(SobolevProjection(data, scales), Sobolev)


def test_prices_without_a_volatility_do_not_stop_a_run(generator):
    """All options are far out of the money: no label tells f."""
    family = fk.BlackScholesMerton().on(x=fk.Box(1.0, 2.0), t=fk.Box(0.0, 0.1))
    network = make_network(Smooth(width=4, head=choose_head(family)), family.domain, generator)
    scales = measure_scales(PathData(family, Exact(), Sobol(), 64, 16), network, generator)
    assert all(v.isfinite().all() for v in (scales.shift, scales.scale, scales.weights))
    assert scales.shift.item() == 0.0
