"""Declared shapes hold for closed forms of the catalogue; a wrong declaration would be noticed."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.analysis.shape import check_shape
from feynkac.errors import InputError
from feynkac.families.catalogue import BUILT_IN
from feynkac.families.shapes import STEP, Bounded, Calendar, Convex, Monotone, Shaped

STYLES = [fk.Payoff(style) for style in ("call", "put", "digital")]
PRICED = [
    fk.BlackScholes(),
    fk.BlackScholes(dim=2),
    *(cls(payoff) for cls in (fk.BlackScholesMerton, fk.Bachelier, fk.Cev) for payoff in STYLES),
    *(fk.Heston(payoff) for payoff in STYLES),
    fk.Digital(),
    fk.Barrier(),
    fk.Barrier("up"),
    *(fk.GeometricBasket(3, fk.Payoff(p.style, on="geometric")) for p in STYLES),
    *(fk.Rainbow(2, fk.Payoff(p.style, on=on)) for p in STYLES for on in ("min", "max")),
    *(fk.Spread(fk.Payoff(p.style, on="spread")) for p in STYLES),
    fk.OrnsteinUhlenbeck(2),
    fk.Vasicek(),
    fk.Cir(),
]


def closed(family):
    return lambda inputs: family.closed_form(*family.domain.split(inputs))


def points(family, count, generator):
    """Of the domain, a fifth of them with a hundredth of their time."""
    inputs = family.domain.sample(count, generator, torch.float64)
    inputs[: count // 5, family.domain.slices()["t"]] *= 0.01
    return inputs


def with_slow_ones(families):
    """Of payoffs whose formulas take long, the calls alone are quick."""
    dear = (fk.Heston, fk.GeometricBasket, fk.Rainbow, fk.Spread)
    return [
        pytest.param(each, marks=pytest.mark.slow)
        if isinstance(each, dear) and each.payoff.style != "call"
        else each
        for each in families
    ]


@pytest.mark.parametrize("family", with_slow_ones(PRICED), ids=repr)
def test_closed_forms_have_every_declared_shape(family, generator):
    report = check_shape(closed(family), family, points(family, 1000, generator))
    assert [row.sentence for row in report.rows if not row.kept] == []
    assert len(report.rows) >= 2
    assert all(row.inputs > 500 for row in report.rows)


@pytest.mark.slow
@pytest.mark.parametrize("family", PRICED, ids=repr)
def test_the_opposite_of_every_shape_is_violated(family, generator):
    """So that a wrong sign or name in a declaration cannot go unnoticed."""
    inputs = points(family, 1000, generator)
    u = closed(family)
    for shape in family.shapes:
        if isinstance(shape, Monotone | Convex):
            opposite = type(shape)(shape.name, -shape.sign)
            assert opposite.violation(u, family, inputs).max() > 1e-6, shape.sentence
        elif isinstance(shape, Bounded):
            if shape.lower:
                assert shape.violation(lambda v: u(v) - 1e3, family, inputs).min() > 0
            if shape.upper:
                assert shape.violation(lambda v: u(v) + 1e3, family, inputs).min() > 0


def test_most_of_the_catalogue_declares_shapes():
    named = {type(family).name() for family in PRICED} | {"sabr", "multi-asset", "basket-put"}
    shaped = {name for name, cls in BUILT_IN.items() if issubclass(cls, Shaped)}
    assert shaped == named


def test_simulated_prices_of_sabr_have_its_shapes(generator):
    """No closed form: means over the same paths, whose payoffs have the shapes one by one."""
    family = fk.Sabr()
    inputs = family.domain.sample(64, generator, torch.float64)
    z = torch.randn(8, 1, 512, 2, generator=generator, dtype=torch.float64)

    def u(rows):
        x, t, p = family.domain.split(rows.unsqueeze(-2))
        state = x.expand(len(rows), 512, 2)
        for normal in z:
            state = family.step(state, t / 8, p, normal.expand(len(rows), 512, 2))
        return family.initial(state, p).mean(-2)

    for shape in (Monotone("x[0]", 1), Monotone("strike", -1), Convex("strike")):
        assert shape.violation(u, family, inputs).max() <= 1e-9
    assert Monotone("x[0]", -1).violation(u, family, inputs).max() > 0.1


def test_sizes_are_those_of_spreads_and_butterflies(generator):
    family = fk.BlackScholes()  # strikes from 10 to 12
    inputs = family.domain.sample(50, generator, torch.float64)

    def cubic(rows):
        return rows[:, 3:4] ** 3

    middle = inputs[:, 3].clamp(10.0 + 2.0 * STEP, 12.0 - 2.0 * STEP)
    h = 2.0 * STEP
    spread = (middle + h) ** 3 - (middle - h) ** 3
    torch.testing.assert_close(Monotone("strike", -1).violation(cubic, family, inputs), spread)
    butterfly = 6.0 * middle * h**2
    found = Convex("strike", -1).violation(cubic, family, inputs)
    torch.testing.assert_close(found, butterfly, rtol=1e-6, atol=1e-9)


def test_a_calendar_spread_keeps_the_ratio_of_strike_and_forward(generator):
    family = fk.BlackScholesMerton()
    inputs = points(family, 500, generator)
    u = closed(family)
    found = Calendar().violation(u, family, inputs)
    assert found.max() <= 1e-9
    plain = Monotone("t", 1).violation(u, family, inputs)
    assert plain.max() > 1e-3  # with dividends, calls need not rise with time

    def backwards(rows):  # the smallest prices at the longest times
        later = rows.clone()
        later[:, 1] = 1.0 - later[:, 1]
        return u(later)

    assert Calendar().violation(backwards, family, inputs).max() > 0.01


def test_inputs_that_are_not_allowed_are_left_out(generator):
    @dataclass(frozen=True)
    class Wedge(fk.BlackScholes, fk.Coupled):
        def allowed(self, x, t, p):
            return p.strike > x + 1.2

    family = Wedge()
    inputs = family.domain.sample(2000, generator, torch.float64)
    found = Monotone("strike", 1).violation(closed(family), family, inputs)
    assert 0.01 < (found == -torch.inf).double().mean() < 0.5
    assert found.max() <= 0


def test_a_variable_of_several_entries_needs_an_index(generator):
    family = fk.BlackScholes(dim=2)
    inputs = family.domain.sample(3, generator, torch.float64)
    with pytest.raises(InputError, match=r"x has several entries; name one of them, such as x\[0"):
        Monotone("x", -1).violation(closed(family), family, inputs)


def test_a_calendar_needs_quotes(generator):
    family = fk.OrnsteinUhlenbeck(1)
    inputs = family.domain.sample(3, generator, torch.float64)
    with pytest.raises(InputError, match="OrnsteinUhlenbeck is not Quoted, so it has no forward"):
        Calendar().violation(closed(family), family, inputs)
