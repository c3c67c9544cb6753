"""Labels and their slopes are unbiased."""

import pytest
import torch

from feynkac.families import BasketPut, BlackScholes, HeatGaussian, HeatParaboloid, Heston
from feynkac.sampling.labels import differential_labels, draw_paths, labels, payoffs
from feynkac.sampling.noise.noise import Antithetic, Independent, Shape, normals
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps

EXACT = [BlackScholes(), BlackScholes(2), HeatParaboloid(3), HeatGaussian(5)]


@pytest.mark.parametrize("family", EXACT)
@pytest.mark.parametrize("paths", [1, 4])
def test_labels_are_unbiased(family, paths, generator):
    count = 40_000
    at = family.domain.sample(1, generator, torch.float64)
    y = labels(family, Exact(), at.expand(count, -1), generator, paths)
    u = family.closed_form(*family.domain.split(at))
    assert abs(y.mean() - u) < 4.5 * y.std() / count**0.5


def test_averaging_k_paths_divides_the_variance_by_k(generator):
    family, count, paths = BlackScholes(), 20_000, 16
    at = family.domain.sample(1, generator).expand(count, -1)
    one, many = (labels(family, Exact(), at, generator, k).var() for k in (1, paths))
    assert one / many == pytest.approx(paths, rel=4.5 * (4 / count) ** 0.5)


@pytest.mark.parametrize(
    ("family", "scheme"), [(f, Exact()) for f in EXACT] + [(BasketPut(), EulerMaruyama(5))]
)
def test_a_label_is_the_mean_payoff_of_its_own_paths(family, scheme, generator):
    inputs = family.domain.sample(6, generator, torch.float64)
    state = generator.get_state()
    y = labels(family, scheme, inputs, generator, paths=3)
    z = normals(
        scheme.draws, (6, 3), family.domain.state_dim, generator.set_state(state), torch.float64
    )
    assert y.shape == (6, 1)
    for n in range(6):
        x, t, p = family.domain.split(inputs[n])
        along = [family.initial(scheme.terminal(family, x, t, p, z[:, n, k]), p) for k in range(3)]
        torch.testing.assert_close(y[n], torch.stack(along).mean(0), rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_payoffs_keep_every_path_and_the_dtype(dtype, generator):
    family, scheme = BasketPut(), EulerMaruyama(3)
    inputs = family.domain.sample(4, generator, dtype)
    values = payoffs(family, scheme, inputs, normals(3, (4, 5), 3, generator, dtype))
    assert (values.shape, values.dtype) == ((4, 5, 1), dtype)


SIMULATED = [(f, Exact()) for f in EXACT] + [(BasketPut(), EulerMaruyama(5))]
each_simulated = pytest.mark.parametrize(("family", "scheme"), SIMULATED)


def draw_for(family, scheme, inputs, noise, generator, paths=6):
    shape = Shape(len(inputs), paths, scheme.draws, family.domain.state_dim)
    return noise.draw(shape, generator, inputs.dtype)


@each_simulated
def test_differential_labels_are_the_labels_of_the_same_paths(family, scheme, generator):
    inputs = family.domain.sample(7, generator, torch.float64)
    state = generator.get_state()
    expected = labels(family, scheme, inputs, generator, paths=6)
    draw = draw_for(family, scheme, inputs, Independent(), generator.set_state(state))
    values, slopes = differential_labels(family, scheme, inputs, draw)
    torch.testing.assert_close(values, expected, rtol=1e-13, atol=1e-15)
    assert slopes.shape == inputs.shape
    assert not values.requires_grad
    assert not slopes.requires_grad


@each_simulated
@pytest.mark.parametrize("noise", [Antithetic(), SphericalRadial()], ids=lambda n: n.kind)
def test_slopes_equal_finite_differences_with_common_paths(family, scheme, noise, generator):
    inputs = family.domain.sample(7, generator, torch.float64)
    draw = draw_for(family, scheme, inputs, noise, generator)
    _, slopes = differential_labels(family, scheme, inputs, draw)
    for column in range(family.domain.dim):
        h = torch.zeros_like(inputs)
        h[:, column] = 1e-6
        up, down = (
            (payoffs(family, scheme, at, draw.z) * draw.weights).sum((1, 2))
            for at in (inputs + h, inputs - h)
        )
        expected = (up - down) / 2e-6
        torch.testing.assert_close(slopes[:, column], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("family", EXACT)
def test_slopes_are_unbiased(family, generator):
    count, domain = 40_000, family.domain
    at = domain.sample(1, generator, torch.float64)
    inputs = at.expand(count, -1)
    draw = draw_for(family, Exact(), inputs, Independent(), generator, paths=2)
    _, slopes = differential_labels(family, Exact(), inputs, draw)
    partials = family.closed_partials(*domain.split(at))
    expected = torch.cat([partials[name].flatten(1) for name in domain.measures], 1)[0]
    assert ((slopes.mean(0) - expected).abs() < 4.5 * slopes.std(0) / count**0.5).all()


def test_differential_labels_leave_the_inputs_alone(generator):
    inputs = BlackScholes().domain.sample(4, generator)
    before = inputs.clone()
    draw = draw_for(BlackScholes(), Exact(), inputs, Independent(), generator)
    with torch.no_grad():
        differential_labels(BlackScholes(), Exact(), inputs, draw)
    assert torch.equal(inputs, before)
    assert not inputs.requires_grad


def test_only_normals_that_are_left_are_drawn(generator):
    """A step of Heston's has two, and one of them is integrated."""
    family = Heston()
    inputs = family.domain.sample(3, generator)
    drawn = draw_paths(family, FamilySteps(steps=8), SphericalRadial(), inputs, 1, generator)
    assert drawn.z.shape == (8, 3, 17, 1)
    plain = draw_paths(family, EulerMaruyama(steps=8), SphericalRadial(), inputs, 1, generator)
    assert plain.z.shape == (8, 3, 33, 2)
