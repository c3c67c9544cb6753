"""The exact scheme hands one normal to the family's own sampler."""

import pytest
import torch
from scipy import stats

from feynkac.errors import InputError
from feynkac.families import BasketPut, BlackScholes, HeatGaussian, HeatParaboloid
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.schemes.exact import Exact


@pytest.mark.parametrize("family", [BlackScholes(), HeatParaboloid(4), HeatGaussian(4)])
def test_one_normal_a_path_goes_through_the_family_s_sampler(family, generator):
    Exact().check(family)
    x, t, p = family.domain.split(family.domain.sample(10, generator))
    z = normals(Exact().draws, (10,), family.domain.state_dim, generator)
    assert Exact().draws == len(z) == 1
    assert torch.equal(Exact().terminal(family, x, t, p, z), family.exact(x, t, p, z[0]))


def test_log_prices_have_the_law_of_geometric_brownian_motion(generator):
    family = BlackScholes()
    at = family.domain.join({"x": 9.5, "t": 0.7, "sigma": 0.4, "strike": 11.0}).expand(5000, -1)
    z = normals(1, (5000,), 1, generator, torch.float64)
    logs = (Exact().terminal(family, *family.domain.split(at), z) / 9.5).log()
    law = stats.norm(loc=-0.5 * 0.4**2 * 0.7, scale=0.4 * 0.7**0.5)
    assert stats.kstest(logs.flatten().numpy(), law.cdf).pvalue > 1e-3


def test_a_family_without_sampler_is_refused():
    with pytest.raises(InputError, match=r"BasketPut has no exact sampler; use .*EulerMaruyama"):
        Exact().check(BasketPut())
