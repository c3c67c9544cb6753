"""Log-ODE: weak order 2 without any noise, affine families only."""

import math

import numpy as np
import pytest
import torch

from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, HeatParaboloid
from feynkac.families.point import Params
from feynkac.sampling.labels import differential_labels, draw_paths, payoffs
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.log_ode import LogOde, areas, products
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir

BASKET = BasketPut()


def coefficients(dim, generator, scale=0.4):
    """Parameters of an affine family whose fields do not commute."""
    sigma, mu = (
        scale * torch.randn(1, 1, *shape, generator=generator, dtype=torch.float64)
        for shape in ((dim, dim, dim + 1), (dim, dim + 1))
    )
    return Params(sigma=sigma, mu=mu)


def quadrature(dim, nodes):
    """Gauss–Hermite nodes of one step's z and η, with their weights: no noise at all."""
    z, w = (torch.from_numpy(v) for v in np.polynomial.hermite_e.hermegauss(nodes))
    grid = torch.cartesian_prod(*[z] * (2 * dim)).unflatten(-1, (2, dim)).movedim(1, 0)
    return grid.unsqueeze(1), torch.cartesian_prod(*[w / w.sum()] * (2 * dim)).prod(-1)


def homogeneous(affine):
    """(A | a) as the matrix it is on (x, 1).  Shape: `(…, d, d+1)` → `(…, d+1, d+1)`."""
    last = torch.zeros_like(affine[..., :1, :])
    last[..., -1] = 1.0
    return torch.cat([affine, last], dim=-2)


def step_moments(p, h, nodes):
    """E[G ⊗ G] for the random matrix G of one step on (x, 1)."""
    dim = p.mu.shape[-2]
    z, weights = quadrature(dim, nodes)
    starts = torch.cat([torch.eye(dim), torch.zeros(1, dim)]).double().unsqueeze(1)
    t = torch.full((dim + 1, 1, 1), h, dtype=torch.float64)
    ends = LogOde(steps=1).terminal(BasketPut(dim), starts, t, p, z.expand(-1, dim + 1, -1, -1))
    *columns, constant = ends.unbind(0)
    g = homogeneous(torch.stack([*(c - constant for c in columns), constant], dim=-1))
    return torch.einsum("k,kij,kmn->imjn", weights, g, g).reshape((dim + 1) ** 2, -1)


def exact_moments(p, t):
    """E[Y ⊗ Y] for dY = B Y dt + Σ_j C_j Y dW_j solves a linear equation."""
    drift, *columns = (homogeneous(m) for m in (p.mu[0, 0], *columns_of(p)))
    drift[-1], identity = 0.0, torch.eye(len(drift)).double()
    generator = torch.kron(drift, identity) + torch.kron(identity, drift)
    for c in columns:
        c[-1] = 0.0
        generator = generator + torch.kron(c, c)
    return torch.linalg.matrix_exp(t * generator)


def columns_of(p):
    """V_j as (A | a)."""
    linear, constant = p.sigma[0, 0, ..., :-1], p.sigma[0, 0, ..., -1]
    dim = len(constant)
    return [torch.cat([linear[..., j], constant[:, j, None]], 1) for j in range(dim)]


@pytest.mark.parametrize(("dim", "nodes"), [(1, 20), (2, 14), (3, 7)])
def test_first_and_second_moments_have_weak_order_2(dim, nodes, generator):
    """Steps are independent and linear: n of them are the n-th power of one's moments."""
    p, t = coefficients(dim, generator), 0.5
    truth, errors = exact_moments(p, t), []
    for steps in (4, 8):
        power = torch.linalg.matrix_power(step_moments(p, t / steps, nodes), steps)
        errors.append((power - truth).norm().item())
    order = math.log2(errors[0] / errors[1])
    assert abs(order - 2.0) < 0.15, f"order {order:.3f} from errors {errors}"


def test_the_coefficients_of_these_tests_do_not_commute(generator):
    v, w = (field[None, None] for field in columns_of(coefficients(2, generator)))
    assert (products(v, w) - products(w, v)).norm() > 0.3 * v.norm() * w.norm()


@pytest.mark.parametrize("dim", [2, 3, 4, 5])
def test_areas_are_uncorrelated_and_of_variance_one(dim, generator):
    """Also with four dimensions, where there are more pairs than normals."""
    count, pairs = 100_000, dim * (dim - 1) // 2
    eta = torch.randn(1, dim, count, generator=generator, dtype=torch.float64)
    found = areas(eta)[0]
    assert found.shape == (pairs, count)
    assert found.mean(1).abs().max() < 4.5 / count**0.5
    covariance = torch.cov(found).reshape(pairs, pairs) - torch.eye(pairs)
    assert covariance.abs().max() < 4.5 * (8 / count) ** 0.5  # V[η_j² η_k²] = 9 − 1


def test_several_steps_are_one_after_the_other(generator):
    p, scheme = coefficients(3, generator), LogOde(steps=3)
    z = torch.randn(scheme.draws, 1, 16, 3, generator=generator, dtype=torch.float64)
    x, t = torch.ones(1, 1, 3).double(), torch.full((1, 1, 1), 0.9).double()
    state = x.expand(16, 1, 3)
    for k in range(3):
        state = LogOde(steps=1).terminal(BASKET, state, t / 3, p, z[k::3].movedim(1, 2))
    torch.testing.assert_close(scheme.terminal(BASKET, x, t, p, z)[0], state[:, 0])


def test_in_one_dimension_geometric_brownian_motion_is_exact(generator):
    """Its fields commute: no brackets, one exponential."""
    sigma, mu = (torch.tensor([v, 0.0]).double() / 10.0 for v in (3.0, 1.0))
    p = Params(sigma=sigma.view(1, 1, 1, 1, 2), mu=mu.view(1, 1, 1, 2))
    x, t = torch.full((1, 1, 1), 9.0).double(), torch.ones(1, 1, 1).double()
    z = torch.randn(8, 1, 100, 1, generator=generator, dtype=torch.float64)
    found = LogOde(steps=4).terminal(BasketPut(1), x, t, p, z)
    expected = 9.0 * (0.1 - 0.5 * 0.3**2 + 0.3 * z[:4].sum(0) / 2.0).exp()
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=0)


def test_at_time_zero_nothing_moves(generator):
    inputs = BASKET.domain.sample(5, generator)
    inputs[:, BASKET.domain.slices()["t"]] = 0.0
    x, t, p = BASKET.domain.split(inputs.unsqueeze(-2))
    z = torch.randn(4, 5, 7, 3, generator=generator)
    assert torch.equal(LogOde(steps=2).terminal(BASKET, x, t, p, z), x.expand(5, 7, 3))


@pytest.mark.slow
def test_two_steps_agree_with_eight_of_ninomiya_victoir_on_the_basket(generator):
    """Up to 2 steps' own error, measured to be 0.0002 in the paper's metric."""
    inputs = BASKET.domain.sample(32, generator, torch.float64)
    ours, theirs = (
        replicated(BASKET, scheme, Sobol(), inputs, 2**10, generator)
        for scheme in (LogOde(steps=2), NinomiyaVictoir(steps=8))
    )
    scale = 1.0 + theirs.value.abs()
    difference = (ours.value - theirs.value) / scale
    noise = (ours.error.square() + theirs.error.square()).sqrt() / scale
    assert noise.mean() < 0.0005  # 0.0001 was measured
    assert (difference.abs() < 4.5 * noise + 0.0005).all()
    assert abs(difference.mean()) < 0.0002


def test_slopes_are_central_differences_of_the_labels(generator):
    scheme, step = LogOde(steps=2), 1e-6
    inputs = BASKET.domain.sample(4, generator, torch.float64)
    draw = draw_paths(BASKET, scheme, Independent(), inputs, 16, generator)
    _, slopes = differential_labels(BASKET, scheme, inputs, draw)
    shifts = step * torch.eye(BASKET.domain.dim).double()
    above, below = (
        torch.stack([payoffs(BASKET, scheme, inputs + s, draw.z).mean(-2)[:, 0] for s in moved], 1)
        for moved in (shifts, -shifts)
    )
    torch.testing.assert_close(slopes, (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("family", [BlackScholes(), HeatParaboloid(2)], ids=lambda f: f.name())
def test_a_family_that_is_not_affine_is_refused(family):
    message = f"{type(family).__name__} is not affine-linear.*use NinomiyaVictoir"
    with pytest.raises(InputError, match=message):
        LogOde().check(family)


def test_each_step_has_increments_and_areas():
    scheme = LogOde(steps=3)
    assert (scheme.draws, scheme.increments, scheme.order) == (6, 3, 2)
    assert LogOde().check(BASKET) is None
