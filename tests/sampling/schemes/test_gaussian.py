"""Normal laws of linear equations, against integrals by SciPy and against small steps."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.integrate import quad_vec
from scipy.linalg import expm

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.schemes.gaussian import coefficients, is_gaussian
from feynkac.sampling.schemes.linear_law import Coefficients, transition


@dataclass(frozen=True)
class Linear(fk.Family):
    """dS = (A S + b) dt + σ dB with A diagonal, or with everything coupled."""

    coupled: bool = True

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(3,)),
            t=fk.Box(0.05, 2.0),
            kappa=fk.Box(0.0, 2.0),
            sigma=fk.Box(0.2, 1.0),
        )

    def matrix(self, like):
        coupled = [[-1.0, 0.4, 0.0], [-0.7, -0.5, 0.2], [0.1, 0.0, -0.3]]
        return like.new_tensor(coupled if self.coupled else np.diag([-1.0, -0.2, 0.0]))

    def drift(self, x, p):
        return p.kappa * (x @ self.matrix(x).mT) + 0.3

    def diffusion(self, x, dw, p):
        return p.sigma * torch.cat([dw[..., :1], dw[..., :1] + dw[..., 1:2], dw[..., 2:]], -1)

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)


def sampled(family, count, generator):
    return family.domain.split(family.domain.sample(count, generator, torch.float64))


@pytest.mark.parametrize("coupled", [True, False])
def test_mean_and_covariance_are_the_integrals(coupled, generator):
    family = Linear(coupled)
    x, t, p = sampled(family, 3, generator)
    law = transition(coefficients(family, x, p), x, t)
    noise = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for k in range(3):
        a = float(p.kappa[k]) * family.matrix(x).numpy()
        s, time = float(p.sigma[k]) * noise, float(t[k])
        mean = expm(a * time) @ x[k].numpy()
        mean += quad_vec(lambda r, a=a: expm(a * r) @ np.full(3, 0.3), 0.0, time)[0]
        spread = quad_vec(lambda r, a=a, s=s: expm(a * r) @ s @ s.T @ expm(a * r).T, 0.0, time)[0]
        assert np.allclose(law.mean[k], mean, rtol=1e-9, atol=1e-12)
        assert np.allclose(law.root[k] @ law.root[k].mT, spread, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("coupled", [True, False])
def test_slopes_are_derivatives(coupled, generator):
    family = Linear(coupled)
    inputs = family.domain.sample(4, generator, torch.float64)
    z = torch.randn(1, 4, 3, generator=generator, dtype=torch.float64)

    def state(values):
        return fk.Gaussian().terminal(family, *family.domain.split(values), z)

    assert torch.autograd.gradcheck(state, inputs.requires_grad_())


def test_without_growth_it_is_brownian_motion(generator):
    family = Linear(False).on(kappa=0.0)
    x, t, p = sampled(family, 5, generator)
    law = transition(coefficients(family, x, p), x, t)
    assert torch.allclose(law.mean, x + 0.3 * t)


@dataclass(frozen=True)
class Bent(Linear):
    """Affine in the box, and not far away."""

    def drift(self, x, p):
        return x.clamp(-5.0, 5.0)


@dataclass(frozen=True)
class Growing(Linear):
    """Noise that depends on the state."""

    def diffusion(self, x, dw, p):
        return x * dw


@dataclass(frozen=True)
class Still(Linear):
    """No noise in one coordinate, ever."""

    coupled: bool = False

    def diffusion(self, x, dw, p):
        return torch.cat([dw[..., :2], 0.0 * dw[..., 2:]], -1)


@pytest.mark.parametrize("family", [Bent(), Growing(), Still()])
def test_others_are_not_gaussian(family):
    assert not is_gaussian(family)
    with pytest.raises(InputError, match="is not Gaussian"):
        fk.Gaussian().check(family)


def test_it_is_chosen_where_the_end_of_a_path_counts_alone():
    @dataclass(frozen=True)
    class Killed(Linear, fk.Discount):
        def discount(self, x, p):
            return x.square().sum(-1, keepdim=True)

    assert suitable_scheme(Linear()) == fk.Gaussian()
    assert suitable_scheme(Killed()) != fk.Gaussian()


def test_coupled_states_stay_where_they_are_at_time_0():
    """Shear: the first coordinate is carried by the second."""
    drift = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    given = Coefficients(drift.expand(2, 2, 2), torch.zeros(2, 2), torch.eye(2).expand(2, 2, 2))
    law = transition(given, torch.tensor([[1.5, 1.5]] * 2), torch.tensor([[0.0], [1.0]]))
    torch.testing.assert_close(law.mean, torch.tensor([[1.5, 1.5], [4.5, 1.5]]))
    assert (law.root[0] == 0.0).all()
    assert law.root.isfinite().all()


@dataclass(frozen=True)
class Oscillator(fk.Family, fk.NoiseDimension):
    """Noise in the velocity alone."""

    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0, shape=(2,)), t=fk.Box(0.1, 2.0), k=fk.Box(0.5, 4.0))

    def drift(self, x, p):
        return torch.cat([x[..., 1:], -p.k * x[..., :1] - 0.4 * x[..., 1:]], dim=-1)

    def diffusion(self, x, dw, p):
        return torch.cat([0.0 * dw, 0.5 * dw], dim=-1)

    def initial(self, x, p):
        return x[..., :1].square()


@dataclass(frozen=True)
class Shared(Oscillator):
    """Three Brownian motions for two coordinates, one in both."""

    noise_dim = 3

    def diffusion(self, x, dw, p):
        return 0.3 * dw[..., :1] + 0.5 * dw[..., 1:]


@pytest.mark.parametrize(("family", "vectors"), [(Oscillator(), 2), (Shared(), 1)])
def test_there_may_be_fewer_or_more_brownian_motions_than_coordinates(family, vectors, generator):
    """Mean and covariance of paths, against the integrals of the definition."""
    scheme = suitable_scheme(family)
    assert scheme == fk.Gaussian(vectors=vectors)
    x, t, p = sampled(family, 3, generator)
    draws = vectors * family.noise_dim
    units = torch.eye(draws, dtype=torch.float64).view(draws, vectors, family.noise_dim)

    def end(z):
        return scheme.terminal(family, x, t, p, z.unsqueeze(1).expand(-1, 3, -1))

    mean = end(0.0 * units[0])
    root = torch.stack([end(unit) - mean for unit in units], dim=-1)
    columns = np.array([[0.3, 0.5, 0.0], [0.3, 0.0, 0.5]] if vectors == 1 else [[0.0], [0.5]])
    for i, (time, k) in enumerate(zip(t.flatten().tolist(), p.k.flatten().tolist(), strict=True)):
        a = np.array([[0.0, 1.0], [-k, -0.4]])
        assert np.allclose(mean[i], expm(a * time) @ x[i].numpy(), rtol=1e-9)
        spread = quad_vec(
            lambda r, a=a: expm(a * r) @ columns @ columns.T @ expm(a * r).T, 0.0, time
        )[0]
        assert np.allclose(root[i] @ root[i].mT, spread, rtol=1e-9)


def test_too_few_normals_are_refused():
    with pytest.raises(InputError, match=r"use Gaussian\(vectors=2\)"):
        fk.Gaussian().check(Oscillator())
