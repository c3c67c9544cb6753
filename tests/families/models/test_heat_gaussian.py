"""The Gaussian: the paper's formula in 50 digits, and as a Feynman–Kac expectation."""

import mpmath
import pytest
import torch

from feynkac.families import Box, Domain, HeatGaussian


def test_the_domain_is_that_of_the_paper():
    family = HeatGaussian()
    assert family.domain == Domain(x=Box(-0.1, 0.1, shape=(150,)), t=Box(0, 1), sigma=Box(0, 0.1))
    assert family.domain.dim == 152


@pytest.mark.parametrize("d", [1, 2, 10, 150])
def test_the_value_is_the_paper_s_formula(d, generator):
    """exp(−‖x‖² / (1 + 2tγ²)) / (1 + 2tγ²)^{d/2} in 50 digits."""
    family = HeatGaussian(dim=d)
    x, t, p = family.domain.split(family.domain.sample(5, generator, torch.float64))
    values = family.closed_form(x, t, p).squeeze(-1).tolist()
    with mpmath.workdps(50):
        for n, value in enumerate(values):
            c = 1 + 2 * mpmath.mpf(t[n].item()) * mpmath.mpf(p.sigma[n].item()) ** 2
            norm = sum(mpmath.mpf(v) ** 2 for v in x[n].tolist())
            exact = mpmath.exp(-norm / c) / c ** (mpmath.mpf(d) / 2)
            assert value == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize(
    ("x", "t", "sigma"), [(0.1, 1.0, 0.1), (-0.05, 0.5, 0.07), (0.0, 1.0, 0.1), (2.0, 3.0, 1.5)]
)
def test_the_value_is_the_expectation_of_the_initial_condition(x, t, sigma):
    """E φ(S_t) by adaptive quadrature; in d dimensions u is the product over the coordinates."""

    def integrand(z):
        return mpmath.exp(-((x + mpmath.sqrt(t) * sigma * z) ** 2)) * mpmath.npdf(z)

    expectation = float(mpmath.quad(integrand, [-mpmath.inf, -2, 0, 2, mpmath.inf]))
    family = HeatGaussian(dim=3)
    inputs = family.domain.join({"x": x, "t": t, "sigma": sigma}, extrapolate=True)
    value = family.closed_form(*family.domain.split(inputs)).item()
    assert value == pytest.approx(expectation**3, rel=1e-12)


def test_without_diffusion_nothing_changes(generator):
    family = HeatGaussian(dim=3)
    x, t, p = family.domain.split(family.domain.sample(8, generator, torch.float64))
    p.sigma.zero_()
    assert torch.equal(family.closed_form(x, t, p), family.initial(x, p))
    assert torch.equal(family.exact(x, t, p, torch.ones_like(x)), x)
