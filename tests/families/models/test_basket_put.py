"""The basket put: domain, payoff, and the special case that is Black–Scholes."""

import pytest
import torch

from feynkac.families import BasketPut, BlackScholes, Box, Domain, Params


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_input_dimension_is_that_of_the_paper(d):
    assert BasketPut(dim=d).domain.dim == d**3 + 2 * d**2 + 2 * d + 2


def test_the_domain_is_that_of_the_paper():
    assert BasketPut().domain == Domain(
        x=Box(9, 10, shape=(3,)),
        t=Box(0, 1),
        sigma=Box(0.1, 0.6, shape=(3, 3, 4)),
        mu=Box(0.1, 0.6, shape=(3, 4)),
        strike=Box(10, 12),
    )


@pytest.mark.parametrize(
    ("x", "payoff"),
    [([9.0, 9.5, 10.0], 1.5), ([11.0, 11.0, 11.0], 0.0), ([0.0, 0.0, 33.0], 0.0), ([0, 0, 0], 11)],
)
def test_the_payoff_is_that_of_a_put_on_the_mean(x, payoff):
    p = Params(strike=torch.tensor([11.0]))
    assert BasketPut().initial(torch.tensor(x).float(), p).tolist() == [payoff]


def test_one_asset_without_constant_terms_is_black_scholes(generator):
    """σ(x) = γx, μ = 0 at d = 1: the same coefficients as the Black–Scholes family."""
    x = torch.tensor([[9.5]])
    dw = torch.randn(1, 1, generator=generator)
    affine = Params(sigma=torch.tensor([[[0.3, 0.0]]]), mu=torch.zeros(1, 2), strike=x + 1)
    simple = Params(sigma=torch.tensor([0.3]), strike=x + 1)
    ours, theirs = BasketPut(dim=1), BlackScholes()
    torch.testing.assert_close(ours.diffusion(x, dw, affine), theirs.diffusion(x, dw, simple))
    assert torch.equal(ours.drift(x, affine), theirs.drift(x, simple))
    assert torch.equal(ours.initial(x, affine), theirs.initial(x, simple))
