"""Products with the Jacobian of values and slopes equal torch.func's, in float64."""

import pytest
import torch
from torch.func import functional_call, jacrev, jvp

from feynkac.networks.architecture import initialise
from feynkac.networks.linearisation import (
    gram,
    linearise,
    pull_back,
    push_forward,
    value_and_gradient,
)
from feynkac.networks.smooth import Smooth

N, INPUTS = 5, 4
close = {"rtol": 1e-11, "atol": 1e-12}


def randn(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Case:
    """A network at a batch, its rows (values, then slopes) and their dense Jacobian."""

    def __init__(self, k, depth, products, outputs, frequencies=()):
        settings = Smooth(width=7, depth=depth, products=products, frequencies=frequencies)
        self.network = settings.build(INPUTS, outputs).double()
        initialise(self.network, torch.Generator().manual_seed(0))
        self.x, self.v = randn(N, INPUTS), randn(N, k, INPUTS, seed=2)
        self.mix = randn(N, outputs, seed=3) if outputs > 1 else torch.ones(N, 1).double()
        mix = self.mix if outputs > 1 else None
        self.lin = linearise(self.network, self.x, self.v, mix)
        parameters = dict(self.network.named_parameters())
        self.rows = self.evaluate(parameters).detach()
        jacobian = jacrev(self.evaluate)(parameters)
        names = [
            f"{kind}.{i}"
            for i in range(len(self.network.weights))
            for kind in ("weights", "biases")
        ]
        flat = [jacobian[name].reshape(len(self.rows), -1) for name in names]
        self.jacobian = torch.cat(flat, 1).detach()

    def evaluate(self, parameters):
        def f(x):
            return (functional_call(self.network, parameters, (x,)) * self.mix).sum(-1)

        slopes = [jvp(f, (self.x,), (v,))[1] for v in self.v.unbind(1)]
        both = [f(self.x), torch.stack(slopes, 1).flatten()] if slopes else [f(self.x)]
        return torch.cat(both)


@pytest.fixture(scope="module", params=[0, 1, 3], ids=lambda k: f"{k} directions")
def directions(request):
    return request.param


@pytest.fixture(scope="module", params=[0, 6], ids=lambda products: f"{products} products")
def products(request):
    return request.param


@pytest.fixture(scope="module", params=[1, 3], ids=lambda outputs: f"{outputs} outputs")
def outputs(request):
    return request.param


@pytest.fixture(scope="module", params=[1, 2, 3, "waves"], ids=lambda depth: f"depth {depth}")
def case(request, directions, products, outputs):
    if request.param == "waves":
        return Case(directions, 2, products, outputs, (0.5, 1.0, 3.0, 0.0))
    return Case(directions, request.param, products, outputs)


def joined(value, slope):
    return torch.cat([value, slope.flatten()])


def flattened(step):
    return torch.cat([part.flatten() for pair in step for part in pair])


def test_values_and_slopes(case):
    assert case.lin.slope.shape == case.v.shape[:2]
    torch.testing.assert_close(joined(case.lin.value, case.lin.slope), case.rows, **close)


def test_gram_is_the_jacobian_times_its_transpose(case):
    torch.testing.assert_close(gram(case.lin), case.jacobian @ case.jacobian.T, **close)


def test_pull_back_multiplies_by_the_transpose(case):
    c = randn(len(case.rows), seed=3)
    step = pull_back(case.lin, c[:N], c[N:].view_as(case.lin.slope))
    torch.testing.assert_close(flattened(step), case.jacobian.T @ c, **close)


def test_push_forward_multiplies_by_the_jacobian(case):
    pairs = zip(case.network.weights, case.network.biases, strict=True)
    step = [(randn(*w.shape, seed=4), randn(*b.shape, seed=5)) for w, b in pairs]
    change = joined(*push_forward(case.lin, step))
    torch.testing.assert_close(change, case.jacobian @ flattened(step), **close)


@pytest.mark.parametrize(
    ("depth", "frequencies"), [(1, ()), (2, ()), (3, ()), (1, (0.5, 1.0, 3.0, 0.0))]
)
def test_value_and_gradient_equal_autograd(depth, frequencies, products, outputs):
    case = Case(0, depth, products, outputs, frequencies)
    x = randn(N, INPUTS).requires_grad_()
    value, gradient = value_and_gradient(case.network, x, case.mix)
    expected = (case.network(x) * case.mix).sum(-1)
    (slopes,) = torch.autograd.grad(expected.sum(), x)
    torch.testing.assert_close(value, expected.detach(), **close)
    torch.testing.assert_close(gradient, slopes, **close)


def test_nothing_is_recorded_for_autograd(case):
    assert not case.lin.value.requires_grad
    assert not gram(case.lin).requires_grad
