"""The built-in settings are those of the paper's table "Training setup"."""

from dataclasses import dataclass

import pytest

from feynkac.families import (
    BasketPut,
    BlackScholes,
    Box,
    Domain,
    Family,
    HeatGaussian,
    HeatParaboloid,
)
from feynkac.methods.paper import Paper, column
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import Network
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.optimisers.optimiser import AdamW
from feynkac.training.schedules import StepDecay

# family: dim_in, (L, q, χ), batch-size, (init. lr., min. lr.), (decay, patience), last step
TABLE = {
    BlackScholes(): (4, (4, 5, 1), 2**16, (1e-2, 1e-8), (0.25, 4000), 24_000),
    BasketPut(): (53, (4, 5, 1), 2**17, (1e-3, 1e-8), (0.4, 4000), 28_000),
    HeatParaboloid(): (111, (4, 4, 1), 2**17, (1e-3, 1e-8), (0.4, 4000), 28_000),
    HeatGaussian(): (152, (4, 4, 1), 2**17, (1e-3, 1e-8), (0.4, 4000), 28_000),
}


@dataclass(frozen=True)
class Unknown(Family):
    """A family the paper does not treat."""

    @property
    def domain(self):
        return Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0))

    def drift(self, x, p):
        return -x

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return x


@pytest.mark.parametrize("family", TABLE)
def test_setups_equal_the_table(family):
    inputs, (L, q, χ), batch_size, (initial, minimal), (decay, patience), steps = TABLE[family]
    setup = column(family)
    assert family.domain.dim == inputs
    assert setup.architecture == Multilevel(
        levels=L, factor=q, residual=bool(χ), norm="batch", activation="relu"
    )
    assert setup.optimiser == AdamW(learning_rate=initial, weight_decay=0.01)
    assert setup.schedule == StepDecay(decay=decay, patience=patience, minimal=minimal)
    assert (setup.batch_size, setup.steps) == (batch_size, steps)
    assert Paper().length(family) == steps
    method = Paper().resolve(family)
    for name in ("architecture", "optimiser", "schedule", "batch_size"):
        assert getattr(method, name) == getattr(setup, name)
    assert (method.noise, method.paths) == (Independent(), 1)


@pytest.mark.parametrize(
    ("family", "shown"), list(zip(TABLE, ["5.4K", "0.8M", "2.4M", "4.5M"], strict=True))
)
def test_networks_have_the_size_in_the_table(family, shown):
    count = Network(column(family).architecture, family.domain).parameter_count
    assert shown == (f"{count / 1e3:.1f}K" if count < 1e5 else f"{count / 1e6:.1f}M")


@pytest.mark.parametrize("family", TABLE)
def test_paths_are_drawn_as_in_the_table(family):
    expected = EulerMaruyama(steps=25) if isinstance(family, BasketPut) else Exact()
    assert Paper().resolve(family).scheme == expected
    expected.check(family)


def test_the_setup_holds_at_any_dimension():
    assert column(HeatParaboloid(3)) == column(HeatParaboloid())


def test_an_unknown_family_trains_like_the_larger_problems():
    setup, larger = column(Unknown()), column(BasketPut())
    assert (setup.optimiser, setup.schedule) == (larger.optimiser, larger.schedule)
    assert setup.steps == larger.steps
    assert Paper().resolve(Unknown()).scheme == EulerMaruyama(steps=25)
