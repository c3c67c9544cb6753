"""How inputs that symmetry has mixed are normalised: by their measures, however they are drawn."""

import pytest
import torch

import feynkac as fk
from feynkac.networks.columns import make_columns
from feynkac.networks.reduction import Reduction, Unit

DOMAIN = fk.BlackScholes().domain
UNITS = (Unit("strike", (("x", 1.0),), value=1.0),)


def corner(count, generator, dtype):
    """A joint law that is far from that of the measures."""
    return DOMAIN.bounds[1].to(dtype).expand(count, -1)


def columns(domain):
    return make_columns(domain, Reduction(domain, False, UNITS), root_time=True, log_ranges=True)


def test_mixed_inputs_have_mean_0_and_variance_1():
    inputs = DOMAIN.sample(2**15, torch.Generator().manual_seed(7), torch.float64)
    found = columns(DOMAIN)
    read = found.read(Reduction(DOMAIN, False, UNITS).double()(inputs))
    normalised = (read - found.mean) / found.std
    torch.testing.assert_close(normalised.mean(0), torch.zeros(3).double(), rtol=0, atol=0.03)
    torch.testing.assert_close(normalised.std(0), torch.ones(3).double(), rtol=0, atol=0.03)


@pytest.mark.parametrize(
    "domain",
    [DOMAIN.drawn_by(corner), DOMAIN.where(lambda x, t, p: x > 9.9)],
    ids=["together", "by a rule"],
)
def test_what_is_drawn_otherwise_is_normalised_alike(domain):
    """Else a network whose inputs were drawn by code would be another one when it is loaded."""
    torch.testing.assert_close(columns(domain).mean, columns(DOMAIN).mean, rtol=0, atol=0)
    torch.testing.assert_close(columns(domain).std, columns(DOMAIN).std, rtol=0, atol=0)
