"""What every scheme promises: any leading axes, each path on its own, its normals untouched."""

import math

import pytest
import torch

from feynkac.families import BasketPut, BlackScholes, HeatGaussian, HeatParaboloid
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.scheme import Scheme

CASES = [
    (scheme, family)
    for family in (BlackScholes(), BlackScholes(3), HeatParaboloid(3), HeatGaussian(3))
    for scheme in (Exact(), EulerMaruyama(4))
] + [(EulerMaruyama(4), BasketPut(3))]


@pytest.mark.parametrize(("scheme", "family"), CASES)
@pytest.mark.parametrize("lead", [(), (6,), (6, 5)])
def test_each_path_is_that_of_its_own_input_and_normals(scheme, family, lead, generator):
    domain = family.domain
    rows = domain.sample(math.prod(lead), generator, torch.float64)
    z = normals(scheme.draws, lead, domain.state_dim, generator, torch.float64)
    before = z.clone()

    state = scheme.terminal(family, *domain.split(rows.reshape(*lead, domain.dim)), z)

    own = z.reshape(scheme.draws, len(rows), domain.state_dim).unbind(1)
    alone = [
        scheme.terminal(family, *domain.split(row), zi) for row, zi in zip(rows, own, strict=True)
    ]
    expected = torch.stack(alone).reshape(state.shape)
    torch.testing.assert_close(state, expected, rtol=1e-14, atol=0)
    assert state.shape == (*lead, domain.state_dim)
    assert torch.equal(z, before)


@pytest.mark.parametrize(("scheme", "family"), CASES)
def test_at_time_zero_the_state_is_the_start(scheme, family, generator):
    x, t, p = family.domain.split(family.domain.sample(10, generator, torch.float64))
    z = normals(scheme.draws, (10,), family.domain.state_dim, generator, torch.float64)
    assert torch.equal(scheme.terminal(family, x, torch.zeros_like(t), p, z), x)


def test_a_scheme_without_its_methods_cannot_be_made():
    class Nothing(Scheme):
        pass

    with pytest.raises(TypeError, match=r"check.*draws.*terminal"):
        Nothing()
