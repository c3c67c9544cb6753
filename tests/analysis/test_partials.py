"""Automatic derivatives against those of polynomials and of the closed forms."""

import itertools

import pytest
import QuantLib as ql  # noqa: N813
import torch
from scipy.stats import norm

from feynkac.analysis.partials import along, greek_value, hessian, partial
from feynkac.errors import InputError
from feynkac.families import BlackScholes, Box, Domain, Greek, HeatGaussian, HeatParaboloid
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network

DOMAIN = Domain(
    x=Box(0.0, 1.0, shape=(2,)), t=Box(0.0, 1.0), a=Box(0.0, 1.0, shape=(2, 3)), k=Box(0.0, 1.0)
)


def polynomial(inputs):
    """u = x₁² x₂ k³ + t² Σ aᵢⱼ²."""
    x, t, p = DOMAIN.split(inputs)
    cubic = x[..., :1].square() * x[..., 1:] * p.k**3
    return cubic + t.square() * p.a.square().sum((-2, -1))[..., None]


def wavy(inputs):
    """A u of which no second derivative vanishes."""
    return inputs.square().cumsum(-1).sin().sum(-1, keepdim=True)


def closed(family):
    return lambda inputs: family.closed_form(*family.domain.split(inputs))


@pytest.fixture(params=[(), (7,), (7, 2)], ids=str)
def point(request, generator):
    rows = torch.rand(*request.param, DOMAIN.dim, generator=generator, dtype=torch.float64)
    return rows, *DOMAIN.split(rows)


def test_first_derivatives_of_a_polynomial(point):
    inputs, x, t, p = point
    x1, x2, k = x[..., 0], x[..., 1], p.k[..., 0]
    expected = {
        "x": torch.stack([2 * x1 * x2 * k**3, x1**2 * k**3], -1),
        "t": 2 * t[..., 0] * p.a.square().sum((-2, -1)),
        "a": 2 * t[..., None].square() * p.a,
        "k": 3 * x1**2 * x2 * k**2,
    }
    for name, value in expected.items():
        torch.testing.assert_close(partial(polynomial, DOMAIN, name, inputs), value)
        minus = greek_value(polynomial, DOMAIN, Greek((name,), sign=-1.0), inputs)
        torch.testing.assert_close(minus, -value)


def test_second_derivatives_of_a_polynomial(point):
    inputs, x, t, p = point
    x1, x2, k = x[..., 0], x[..., 1], p.k[..., 0]
    expected = {
        ("x", "x"): torch.stack([2 * x2 * k**3, torch.zeros_like(k)], -1),
        ("t", "t"): 2 * p.a.square().sum((-2, -1)),
        ("a", "a"): (2 * t[..., None].square()).expand(p.a.shape),
        ("k", "k"): 6 * x1**2 * x2 * k,
        ("x", "k"): torch.stack([6 * x1 * x2 * k**2, 3 * x1**2 * k**2], -1),
        ("a", "t"): 4 * t[..., None] * p.a,
        ("k", "t"): torch.zeros_like(k),
    }
    for names, value in expected.items():
        torch.testing.assert_close(greek_value(polynomial, DOMAIN, Greek(names), inputs), value)


@pytest.mark.parametrize(("first", "second"), [*itertools.product(DOMAIN.measures, repeat=2)])
def test_every_block_of_the_hessian_agrees_with_torchs_and_keeps_the_shapes(point, first, second):
    inputs, *_ = point
    rows, columns = DOMAIN.slices()[first], DOMAIN.slices()[second]
    shape = (*inputs.shape[:-1], *DOMAIN.measures[first].shape, *DOMAIN.measures[second].shape)
    whole = [torch.func.hessian(wavy)(row)[0] for row in inputs.reshape(-1, DOMAIN.dim)]
    expected = torch.stack(whole)[:, rows, columns].reshape(shape)
    found = hessian(wavy, DOMAIN, first, second, inputs)
    assert expected.all()
    torch.testing.assert_close(found, expected)
    mirrored = hessian(wavy, DOMAIN, second, first, inputs)
    matrix = found.reshape(*inputs.shape[:-1], DOMAIN.measures[first].size, -1)
    torch.testing.assert_close(mirrored.reshape(matrix.mT.shape), matrix.mT)


def test_the_hessian_of_a_closed_form_is_that_of_its_formula(generator):
    """u = ‖x‖² + t Tr σσ*, so that ∂²u/∂σ∂t = 2σ, ∂²u/∂σ² = 2t and ∂²u/∂x∂σ = 0."""
    family = HeatParaboloid(3)
    domain = family.domain
    inputs = domain.sample(5, generator, torch.float64)
    _, t, p = domain.split(inputs)

    def block(first, second):
        return hessian(closed(family), domain, first, second, inputs)

    torch.testing.assert_close(block("sigma", "t"), 2 * p.sigma)
    identity = torch.eye(9, dtype=t.dtype).reshape(3, 3, 3, 3)
    torch.testing.assert_close(block("sigma", "sigma"), 2 * t[..., None, None, None] * identity)
    assert block("x", "sigma").shape == (5, 3, 3, 3)
    assert not block("x", "sigma").any()


@pytest.mark.parametrize("lead", [(), (7, 2)], ids=["one direction", "a direction a point"])
def test_the_derivative_along_a_direction_is_the_gradient_times_it(point, generator, lead):
    inputs, *_ = point
    direction = torch.randn(*lead, DOMAIN.dim, generator=generator, dtype=inputs.dtype)
    inputs = inputs if inputs.ndim != 2 else inputs[:, None]
    gradient = [partial(wavy, DOMAIN, n, inputs).flatten(inputs.ndim - 1) for n in ("x", "a")]
    scalars = [partial(wavy, DOMAIN, n, inputs)[..., None] for n in ("t", "k")]
    whole = torch.cat([gradient[0], scalars[0], gradient[1], scalars[1]], dim=-1)
    torch.testing.assert_close(along(wavy, inputs, direction), (whole * direction).sum(-1))


@pytest.mark.parametrize(
    "family", [BlackScholes(), BlackScholes(3), HeatParaboloid(3), HeatGaussian(4)]
)
def test_first_derivatives_of_closed_forms(family, generator):
    inputs = family.domain.sample(100, generator, torch.float64)
    analytic = family.closed_partials(*family.domain.split(inputs))
    for name, box in family.domain.measures.items():
        value = partial(
            lambda v: family.closed_form(*family.domain.split(v)), family.domain, name, inputs
        )
        assert value.shape == (100, *box.shape)
        expected = analytic[name].reshape(value.shape)
        torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 3])
def test_the_greeks_of_black_scholes(dim, generator):
    family = BlackScholes(dim)
    inputs = family.domain.sample(100, generator, torch.float64)
    at = family.domain.split(inputs)
    partials = family.closed_partials(*at)
    expected = {
        "delta": partials["x"],
        "gamma": family.closed_gamma(*at),
        "vega": partials["sigma"],
        "theta": -partials["t"],
        **vanna_and_volga(*at),
    }
    assert family.greeks.keys() == expected.keys()
    for name, greek in family.greeks.items():
        value = greek_value(
            lambda v: family.closed_form(*family.domain.split(v)), family.domain, greek, inputs
        )
        torch.testing.assert_close(
            value, expected[name].reshape(value.shape), rtol=1e-8, atol=1e-11, msg=name
        )


def vanna_and_volga(x, t, p):
    """−ψ(d₁) d₂/σ and x ψ(d₁) √t d₁ d₂/σ: of an asset each, and their mean."""
    v = p.sigma * t.sqrt()
    d1 = (x / p.strike).log() / v + v / 2
    density, d2 = torch.from_numpy(norm.pdf(d1.numpy())), d1 - v
    volga = (x * density * t.sqrt() * d1 * d2 / p.sigma).mean(-1, keepdim=True)
    return {"vanna": -density * d2 / p.sigma / x.shape[-1], "volga": volga}


def test_vanna_and_volga_are_the_differences_of_quantlibs_vega(generator):
    family = BlackScholes()
    inputs = family.domain.sample(20, generator, torch.float64)
    found = {
        name: greek_value(closed(family), family.domain, family.greeks[name], inputs).tolist()
        for name in ("vanna", "volga")
    }
    h = 1e-5
    for i, (x, t, sigma, strike) in enumerate(inputs.tolist()):
        at = (t, strike)
        vanna = (vega(x + h, sigma, *at) - vega(x - h, sigma, *at)) / (2 * h)
        volga = (vega(x, sigma + h, *at) - vega(x, sigma - h, *at)) / (2 * h)
        assert found["vanna"][i] == pytest.approx(vanna, rel=1e-6, abs=1e-8)
        assert found["volga"][i] == pytest.approx(volga, rel=1e-6, abs=1e-8)


def vega(x, sigma, t, strike):
    payoff = ql.PlainVanillaPayoff(ql.Option.Put, strike)
    return ql.BlackCalculator(payoff, x, sigma * t**0.5, 1.0).vega(t)


@pytest.mark.parametrize("names", [("a",), ("x", "x"), ("x", "k")])
@pytest.mark.parametrize(
    "flat",
    [
        pytest.param(lambda v: torch.ones(*v.shape[:-1], 1), id="constant"),
        pytest.param(lambda v: 0 * v[..., 2:3], id="no dependence"),
    ],
)
def test_where_u_is_flat_derivatives_are_zeros_of_full_shape(flat, names):
    value = greek_value(
        flat, DOMAIN, Greek(names), torch.rand(5, DOMAIN.dim, generator=torch.Generator())
    )
    assert value.shape == (5, *DOMAIN.measures[names[0]].shape)
    assert not value.any()
    assert not along(flat, torch.ones(5, DOMAIN.dim), torch.ones(DOMAIN.dim)).any()


def test_a_linear_map_has_zero_second_derivatives():
    linear = torch.nn.utils.skip_init(torch.nn.Linear, DOMAIN.dim, 1)
    torch.nn.init.ones_(linear.weight)
    inputs = torch.zeros(4, DOMAIN.dim)
    assert (partial(linear, DOMAIN, "x", inputs) == 1).all()
    assert not greek_value(linear, DOMAIN, Greek(("x", "x")), inputs).any()


def test_each_row_of_a_network_gets_its_own_derivative(generator):
    network = make_network(Multilevel(levels=2, activation="silu"), DOMAIN, generator).eval()
    inputs = DOMAIN.sample(6, generator)
    for names in (("x",), ("x", "x")):
        together = greek_value(network, DOMAIN, Greek(names), inputs)
        alone = [greek_value(network, DOMAIN, Greek(names), row[None]) for row in inputs]
        torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-6)


def test_a_relu_network_has_no_second_derivative(generator):
    network = make_network(Multilevel(levels=2), DOMAIN, generator).eval()
    inputs = DOMAIN.sample(6, generator)
    assert partial(network, DOMAIN, "x", inputs).any()
    assert not greek_value(network, DOMAIN, Greek(("x", "x")), inputs).any()


def test_derivatives_do_not_care_whether_the_caller_tracks_gradients(point):
    inputs, *_ = point
    for names in (("x",), ("x", "x")):
        expected = greek_value(polynomial, DOMAIN, Greek(names), inputs)
        with torch.no_grad():
            assert torch.equal(greek_value(polynomial, DOMAIN, Greek(names), inputs), expected)
    slope = along(polynomial, inputs, torch.ones_like(inputs))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert partial(polynomial, DOMAIN, "x", inputs).any()
            assert hessian(polynomial, DOMAIN, "x", "k", inputs).any()
            assert torch.equal(along(polynomial, inputs, torch.ones_like(inputs)), slope)


def test_nothing_is_left_behind(generator):
    network = make_network(Multilevel(levels=2), DOMAIN, generator).eval()
    inputs = DOMAIN.sample(6, generator)
    assert not greek_value(network, DOMAIN, Greek(("x", "k")), inputs).requires_grad
    assert not hessian(network, DOMAIN, "x", "a", inputs).requires_grad
    assert not along(network, inputs, torch.ones_like(inputs)).requires_grad
    assert not inputs.requires_grad
    assert all(p.grad is None for p in network.parameters())


@pytest.mark.parametrize("names", [("y",), ("x", "y"), ("y", "x")])
def test_an_unknown_variable_is_named(names):
    with pytest.raises(InputError, match=r"no variable 'y'; there are: x, t, a, k\."):
        greek_value(polynomial, DOMAIN, Greek(names), torch.zeros(1, DOMAIN.dim))


@pytest.mark.parametrize("names", [("k", "x"), ("x", "a"), ("x", "x", "x")])
def test_derivatives_without_a_shape_are_refused(names):
    with pytest.raises(InputError, match="is not a Greek: expected one variable, or two"):
        greek_value(polynomial, DOMAIN, Greek(names), torch.zeros(1, DOMAIN.dim))
