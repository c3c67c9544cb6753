"""Reports of violated shapes: shares, sizes and places that are known; parity of two options."""

import json

import pytest
import torch

import feynkac as fk
from feynkac.analysis.shape import check_parity, check_shape
from feynkac.errors import InputError

FAMILY = fk.BlackScholes()
CALL, PUT = fk.BlackScholesMerton(), fk.BlackScholesMerton(fk.Payoff("put"))


def closed(family):
    return lambda rows: family.closed_form(*family.domain.split(rows))


def row(report, sentence):
    return next(row for row in report.rows if row.sentence == sentence)


def test_a_known_violation_has_its_share_size_and_place(generator):
    """Minus a tenth where σ > 0.5, a fifth of the box: below the bounds where the put is cheap."""
    inputs = FAMILY.domain.sample(4000, generator, torch.float64)
    u = closed(FAMILY)

    def dented(rows):
        return u(rows) - 0.1 * (rows[:, 2:3] > 0.5)

    found = row(check_shape(dented, FAMILY, inputs), "rises with sigma")
    crossing = (inputs[:, 2] - 0.5).abs() <= 0.005  # h is a hundredth of the range 0.5
    assert found.share <= crossing.double().mean().item() + 1e-9
    assert found.share > 0.5 * crossing.double().mean().item()
    assert 0.05 < found.mean <= found.largest < 0.1
    assert found.worst["sigma"] == pytest.approx(0.5, abs=0.006)
    assert not found.kept
    assert row(check_shape(u, FAMILY, inputs), "rises with sigma").kept


def test_the_summary_names_the_largest_violation(generator):
    inputs = FAMILY.domain.sample(500, generator, torch.float64)
    u = closed(FAMILY)
    assert check_shape(u, FAMILY, inputs).summary == "all 8 shapes hold at every input checked."
    flipped = check_shape(lambda rows: -u(rows), FAMILY, inputs)
    assert "8 of 8 shapes are violated somewhere" in flipped.summary
    assert "within the bounds of arbitrage" in flipped.summary
    assert json.loads(json.dumps(flipped.record()))["shapes"][0]["share"] == 1.0


def test_below_the_tolerance_nothing_counts(generator):
    inputs = FAMILY.domain.sample(500, generator, torch.float64)
    u = closed(FAMILY)

    def lower(rows):
        return u(rows) - 5e-4

    sentence = "is within the bounds of arbitrage"
    assert row(check_shape(lower, FAMILY, inputs), sentence).share > 0
    assert row(check_shape(lower, FAMILY, inputs, tolerance=1e-3), sentence).kept
    with pytest.raises(InputError, match="a tolerance is not negative, got -1"):
        check_shape(u, FAMILY, inputs, tolerance=-1.0)


def test_shapes_along_what_is_fixed_are_left_out_and_named(generator):
    fixed = FAMILY.on(sigma=0.3, strike=11.0)
    inputs = fixed.domain.sample(200, generator, torch.float64)
    report = check_shape(closed(fixed), fixed, inputs)
    assert {r.sentence for r in report.rows} == {
        "is within the bounds of arbitrage",
        "rises with t, relative to the forward",  # by the price of the asset
        "rises with t",
        "falls with x",
        "is convex in x",
    }
    assert all(r.kept for r in report.rows)
    assert {"rises with strike", "is convex in strike"} <= set(report.unseen)


def test_a_calendar_spread_that_costs_nothing_is_seen_at_one_strike(generator):
    fixed = FAMILY.on(strike=11.0)
    inputs = fixed.domain.sample(200, generator, torch.float64)
    u = closed(fixed)

    def falling(rows):
        return u(rows) * (-2.0 * rows[:, 1:2]).exp()

    found = row(check_shape(falling, fixed, inputs), "rises with t, relative to the forward")
    assert found.share > 0.5


def test_a_family_without_shapes_says_so(generator):
    family = fk.HeatParaboloid(dim=1)
    inputs = family.domain.sample(3, generator, torch.float64)
    with pytest.raises(InputError, match="HeatParaboloid declares no shapes; make it Shaped"):
        check_shape(closed(family), family, inputs)


def test_closed_forms_are_in_parity(generator):
    inputs = CALL.domain.sample(1000, generator, torch.float64)
    for one, other in ((CALL, PUT), (PUT, CALL)):
        assert check_parity(closed(one), one, closed(other), other, inputs).kept
        u = closed(one)
        shifted = check_parity(lambda v: u(v) + 0.01, one, closed(other), other, inputs)  # noqa: B023
        assert shifted.share == 1.0
        assert shifted.mean == pytest.approx(0.01, abs=1e-9)


def test_parity_needs_a_call_and_a_put_of_one_model(generator):
    inputs = CALL.domain.sample(10, generator, torch.float64)
    u = closed(CALL)
    with pytest.raises(InputError, match="between a call and a put, but both are of one kind"):
        check_parity(u, CALL, u, CALL, inputs)
    with pytest.raises(InputError, match="black-scholes-merton and heston have other variables"):
        check_parity(u, CALL, u, fk.Heston(), inputs)
    far = PUT.on(x=fk.Box(200.0, 300.0))
    with pytest.raises(InputError, match="no input lies in both domains"):
        check_parity(u, CALL, closed(far), far, inputs)
