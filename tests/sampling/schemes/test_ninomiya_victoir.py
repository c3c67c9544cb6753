"""Ninomiya–Victoir: weak order 2, and one result from affine and from general fields."""

import math

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, Heston, MultiAsset, OrnsteinUhlenbeck
from feynkac.families.family import noise_dim
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.schemes.ninomiya_victoir import AffineFields, NinomiyaVictoir, SmoothFields

FAMILY = BasketPut(dim=2)


def point(generator, scale=1.0):
    inputs = FAMILY.domain.sample(1, generator, torch.float64)
    inputs[:, FAMILY.domain.slices()["t"]] = 1.0
    inputs[:, FAMILY.domain.slices()["sigma"]] *= scale
    return FAMILY.domain.split(inputs.unsqueeze(-2))


def exact_mean(x, t, p):
    """E S_t = e^{t(M x + m)}, whatever σ is."""
    mu = p.mu[0, 0].numpy()
    matrix = [[*mu[0]], [*mu[1]], [0.0, 0.0, 0.0]]
    return expm(float(t) * torch.tensor(matrix).numpy()) @ [*x[0, 0].tolist(), 1.0]


def quadrature(steps, nodes=16):
    """All Gauss–Hermite nodes and coins of a path with their weights: no noise at all."""
    z, w = (torch.from_numpy(v) for v in np.polynomial.hermite_e.hermegauss(nodes))
    grid = torch.cartesian_prod(*[z] * (2 * steps), *[torch.tensor([-1.0, 1.0]).double()] * steps)
    weights = torch.cartesian_prod(*[w / w.sum()] * (2 * steps)).prod(-1)
    weights = weights.repeat_interleave(2**steps) / 2**steps
    normals, coins = grid[:, : 2 * steps], grid[:, 2 * steps :]
    draws = [normals.unflatten(-1, (steps, 2)), coins.unsqueeze(-1).expand(-1, -1, 2)]
    return torch.cat(draws, dim=1).movedim(1, 0).unsqueeze(1), weights


def test_the_weak_error_of_the_mean_falls_with_the_square_of_the_step(generator):
    x, t, p = point(generator)
    t = 0.5 * t
    truth = torch.tensor(exact_mean(x, t, p)[:2])
    errors = []
    for steps in (1, 2):
        z, weights = quadrature(steps)
        states = NinomiyaVictoir(steps=steps).terminal(FAMILY, x, t, p, z)[0]
        errors.append((weights @ states - truth).norm().item())
    order = math.log2(errors[0] / errors[1])
    assert abs(order - 2.0) < 0.3, f"order {order:.2f} from errors {errors}"


@pytest.mark.parametrize("forward", [True, False])
def test_affine_and_general_fields_take_the_same_step(forward, generator):
    x, t, p = point(generator, scale=0.3)
    x = x.expand(1, 64, 2).clone()
    dw = 0.3 * torch.randn(1, 64, 2, generator=generator, dtype=torch.float64)
    coin = torch.full((64,), forward)
    one, other = (
        f.step(x, t / 4, dw, coin) for f in (AffineFields(p), SmoothFields(FAMILY, p, "general"))
    )
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_in_one_dimension_geometric_brownian_motion_is_exact(generator):
    """Its fields commute, so that splitting has no error but Runge–Kutta's."""
    family, scheme = BlackScholes(), NinomiyaVictoir(steps=6)
    inputs = family.domain.sample(16, generator, torch.float64).unsqueeze(-2)
    x, t, p = family.domain.split(inputs)
    z = torch.randn(scheme.draws, 16, 8, 1, generator=generator, dtype=torch.float64)
    summed = z[:6].sum(0) / math.sqrt(6)
    expected = family.exact(x, t, p, summed)
    torch.testing.assert_close(scheme.terminal(family, x, t, p, z), expected, rtol=1e-4, atol=0)


def test_the_coin_matters_and_time_zero_does_not_move(generator):
    x, t, p = point(generator)
    z = torch.randn(2, 1, 5, 2, generator=generator, dtype=torch.float64)
    scheme = NinomiyaVictoir(steps=1)
    heads, tails = (torch.stack([z[0], torch.full_like(z[1], s)]) for s in (1.0, -1.0))
    a, b = (scheme.terminal(FAMILY, x, t, p, draw) for draw in (heads, tails))
    assert (a - b).abs().max() > 1e-3
    torch.testing.assert_close(scheme.terminal(FAMILY, x, 0 * t, p, z), x.expand(1, 5, 2))


@pytest.mark.parametrize(
    ("family", "noise"),
    [
        (MultiAsset(2), "commuting"),
        (BlackScholes(3), "diagonal"),
        (OrnsteinUhlenbeck(3), "additive"),
        (OrnsteinUhlenbeck(3), "diagonal"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name(),
)
def test_what_is_relied_on_changes_no_path(family, noise, generator):
    """Flows that commute are one flow; that of an additive field is a sum."""
    domain, dim = family.domain, noise_dim(family)
    x, t, p = domain.split(domain.sample(4, generator, torch.float64).unsqueeze(-2))
    z = normals(6, (4, 5), dim, generator, torch.float64)
    general = NinomiyaVictoir(steps=3).terminal(family, x, t, p, z)
    quick = NinomiyaVictoir(steps=3, noise=noise)
    assert quick.draws == 3
    quick.check(family)
    torch.testing.assert_close(quick.terminal(family, x, t, p, z[:3]), general, rtol=1e-4, atol=0)


def test_noise_is_not_relied_on_in_vain():
    with pytest.raises(InputError, match="the noise of Heston is not diagonal, but general; use"):
        NinomiyaVictoir(noise="diagonal").check(Heston())
    with pytest.raises(InputError, match="BlackScholes is not additive, but diagonal"):
        NinomiyaVictoir(noise="additive").check(BlackScholes())
