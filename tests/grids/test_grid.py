"""u on grids against closed forms: values, slopes, order, walls, roots, jumps."""

from dataclasses import dataclass, replace

import pytest
import torch
from written import (
    Average,
    Cir,
    Digital,
    Exit,
    Fading,
    Gompertz,
    Leaky,
    Strip,
    TruncatedHeston,
    Vasicek,
    inputs_of,
    mean_error,
    truth,
)

import feynkac as fk
from feynkac.clock import Allowance
from feynkac.families.models.barrier import Barrier
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.channel import Channel
from feynkac.families.models.heston import Heston
from feynkac.grids.extent import Sets, find_extent
from feynkac.grids.grid import Grid, at_once, grid_error, grid_reference, read_grid, suits
from feynkac.grids.table import make_table, piece_sets

LINE, PLANE = Grid((65,), 32), Grid((65, 33), 24)


def test_at_time_zero_the_reference_is_the_initial_condition():
    family = Vasicek()
    inputs = family.domain.sample(4, torch.Generator().manual_seed(0), torch.float64)
    inputs[:, family.domain.slices()["t"]] = 0.0
    found = grid_reference(family, LINE, inputs)
    x, _, p = family.domain.split(inputs)
    torch.testing.assert_close(found.value, family.initial(x, p).expand_as(found.value))
    assert found.error.isfinite().all()


@pytest.mark.parametrize(
    ("family", "grid", "most"),
    [
        (BlackScholes(), LINE, 2e-5),
        (Vasicek(), LINE, 1e-6),
        (Cir(), LINE, 2e-5),
        (Digital(), LINE, 2e-4),
        (Exit(), LINE, 1e-6),
        (Fading(), LINE, 2e-5),
        (Strip(), LINE, 2e-5),
        (Barrier(), LINE, 5e-5),
        (TruncatedHeston(), PLANE, 1e-3),
        (Average(), Grid((33, 97), 24), 5e-4),
        (Gompertz(), Grid((217,), 54), 2e-4),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, float) else "",
)
def test_values_are_those_of_the_closed_form(family, grid, most):
    assert mean_error(family, grid) < most


def test_twice_the_nodes_and_steps_are_much_better():
    family = BlackScholes()
    errors = [mean_error(family, Grid((n + 1,), n // 2), sets=64) for n in (32, 64)]
    assert errors[0] / errors[1] > 4  # the order of what is extrapolated is more than 2


def test_slopes_are_derivatives():
    family = BlackScholes()
    inputs = inputs_of(family, sets=32)
    found, at = read_grid(family, LINE, inputs), family.domain.split(inputs)
    known = family.closed_partials(*at)
    assert (found.space[..., 0] - known["x"]).abs().mean() < 2e-4
    later = at.t > 0.1
    assert (found.time - known["t"])[later].abs().mean() < 1e-3


def test_beyond_a_wall_u_is_the_value_there():
    family = Leaky()
    inputs = inputs_of(family, sets=64)
    x, _, p = family.domain.split(inputs)
    out = (x > p.level).squeeze(-1)
    assert 0.1 < out.double().mean() < 0.9
    found = read_grid(family, LINE, inputs)
    assert torch.equal(found.value[out], 1 + 0 * found.value[out])
    assert not found.space[out].any()
    u = truth(family, inputs)
    assert (found.value - u).abs().mean() < 1e-4


def test_the_error_bar_of_a_reference_covers_its_error():
    family = BlackScholes()
    inputs = family.domain.sample(256, torch.Generator().manual_seed(1), torch.float64)
    found = grid_reference(family, LINE, inputs)
    away = (found.value - truth(family, inputs)).abs()
    assert (away <= 2 * found.error + 1e-7).double().mean() > 0.9
    assert found.error.mean() < 1e-4
    error, own = grid_error(family, LINE, inputs, 64)
    assert 0 < own < error < 1e-4


def test_a_single_point_of_a_coordinate_without_noise():
    family = Average()
    inputs = family.domain.sample(16, torch.Generator().manual_seed(1), torch.float64)
    found = grid_reference(family, Grid((33, 65), 16), inputs)
    assert (found.value - truth(family, inputs)).abs().mean() < 2e-3


def test_sets_are_solved_in_pieces_with_the_same_result():
    family = Vasicek()
    grid = Grid((33,), 8)
    inputs = inputs_of(family, sets=64)
    alone = torch.cat([read_grid(family, grid, part).value for part in torch.split(inputs, 3)])
    assert torch.allclose(alone, read_grid(family, grid, inputs).value, atol=1e-12)
    assert at_once(grid) > 64


def test_which_families_have_a_grid():
    assert suits(TruncatedHeston())
    assert suits(Barrier())
    assert not suits(BasketPut())
    assert suits(Channel())


@pytest.mark.parametrize("moves", [True, False])
def test_walls_of_a_family_that_varies_with_time_must_stand_still(moves):
    @dataclass(frozen=True)
    class Tide(fk.Family, fk.Absorbing, fk.TimeDependent):
        """Brownian motion of variance ∫ (1 + cos² s) ds, stopped at 0 and 1, from a sine."""

        @property
        def domain(self):
            return fk.Domain(x=fk.Box(0.05, 0.95), t=fk.Box(0.0, 0.2))

        def drift(self, x, p):
            return 0.0 * x

        def diffusion(self, x, dw, p):
            return (1.0 + p.t.cos().square()).sqrt() * dw

        def initial(self, x, p):
            return (torch.pi * x).sin()

        def distance(self, x, p):
            return torch.cat([x, 1.0 + (p.t if moves else 0.0) - x], dim=-1)

        def truth(self, x, t, p):
            spent = 1.5 * t + (2.0 * t).sin() / 4.0
            return (torch.pi * x).sin() * (-(torch.pi**2) / 2.0 * spent).exp()

    assert suits(Tide()) is not moves
    if not moves:
        assert mean_error(Tide(), LINE) < 1e-5


def test_threads_are_left_as_they_were():
    before = torch.get_num_threads()
    read_grid(Vasicek(), Grid((33,), 8), inputs_of(Vasicek(), sets=4))
    assert torch.get_num_threads() == before


def test_a_table_has_the_law_of_the_domain():
    family = Vasicek()
    table = make_table(
        family, Grid((33,), 8, sets=256, points=16), torch.Generator().manual_seed(0)
    )
    assert table.inputs.shape == (4096, 4)
    assert table.slopes.shape == (4096, 2, 1)
    mean, std = table.inputs.double().mean(0), table.inputs.double().std(0)
    own = family.domain
    assert ((mean - own.mean) / own.std).abs().max() < 0.15  # 256 parameter sets
    assert (std / own.std - 1).abs().max() < 0.15
    assert own.contains(table.inputs).all()


def test_a_table_ends_where_time_does(monkeypatch):
    monkeypatch.setattr("feynkac.grids.grid.VALUES_AT_ONCE", 8 * 33)
    grid = Grid((33,), 8, sets=24, points=16)
    whole = make_table(Vasicek(), grid, torch.Generator().manual_seed(0))
    short = make_table(Vasicek(), grid, torch.Generator().manual_seed(0), Allowance(0.0))
    assert (whole.sets, short.sets) == (24, piece_sets(grid))
    for full, part in zip(whole[:3], short[:3], strict=True):
        assert torch.equal(full[: len(part)], part)  # so that fewer sets are found again
    again = make_table(Vasicek(), replace(grid, sets=short.sets), torch.Generator().manual_seed(0))
    assert torch.equal(again.values, short.values)


def test_a_grid_with_too_few_nodes_is_refused():
    with pytest.raises(ValueError, match="greater than or equal to 9"):
        Grid((5,), 32)


def test_refined_grids_stay_odd_and_even():
    grid = Grid((65, 33), 24)
    for _ in range(4):
        grid = grid.refined()
        assert all(n % 2 for n in grid.nodes)
        assert grid.steps % 2 == 0


def test_where_paths_are_pushed_back_there_is_no_grid():
    class Pushed(fk.Family, fk.OwnSteps, fk.Reflected):
        domain = fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0))

        def drift(self, x, p):
            return 0.0 * x

        def diffusion(self, x, dw, p):
            return dw

        def initial(self, x, p):
            return x

        def step(self, x, h, p, z):
            return (x + h.sqrt() * z).abs()

    assert not suits(Pushed())


def test_nodes_crowd_where_noise_ends_like_a_root():
    """√v near 0 for Heston's variance; not σx near 0 for a price."""
    family = Heston().on(nu=fk.Box(0.5, 1.5), t=fk.Box(0.5, 5.0))
    inputs = inputs_of(family, points=32)
    x, t, p = family.domain.split(inputs)
    p = family.domain.split(inputs[:, 0]).p
    extent = find_extent(Sets(family, x, t.squeeze(-1).amax(1), p))
    assert (extent.low[:, 1] == 0.0).all()
    assert (extent.centre[:, 1] == 0.0).all()
    assert (extent.centre[:, 0] > 50.0).all()
    found = read_grid(family, Grid((65, 25), 36), inputs).value
    truth = family.closed_form(*family.domain.split(inputs))
    error = ((found - truth) / (1.0 + truth.abs())).abs().mean()
    assert error < 5e-4  # 1.9e-3 with nodes around the middle
