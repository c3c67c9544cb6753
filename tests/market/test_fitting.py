"""Fits to quotes: the parameters that made them, QuantLib's optimum, and what is not identified."""

import dataclasses

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.market.fitting import calibrate_formula, fit_quotes
from feynkac.market.placing import homogeneous, levelled
from feynkac.market.weighting import make_market

TRUE = {"x[1]": 0.06, "kappa": 2.0, "theta": 0.05, "nu": 0.6, "rho": -0.6}
WIDE = fk.Heston().on(
    x=fk.LogUniform([50.0, 0.01], [200.0, 0.5]),
    kappa=fk.LogUniform(0.2, 20.0),
    theta=fk.LogUniform(0.01, 0.3),
    nu=fk.LogUniform(0.1, 5.0),
    rho=fk.Box(-0.95, 0.3),
)


def smile(spot=4468.17, rate=0.03, dividend=0.01, maturities=(0.25, 1.0)):
    """Volatilities of Heston's closed form, as a sheet."""
    moneyness, t = (a.ravel() for a in np.meshgrid(np.linspace(0.8, 1.2, 7), maturities))
    strike, forward = moneyness * spot, spot * np.exp((rate - dividend) * t)
    at = {"x[0]": forward * np.exp(-rate * t), "t": t, "strike": strike, "rate": rate} | TRUE
    inputs = WIDE.domain.join(at, extrapolate=True)
    price = WIDE.closed_form(*WIDE.domain.split(inputs)).squeeze(-1).numpy()
    iv = fk.implied_volatility(price, forward, strike, t, np.exp(-rate * t)).numpy()
    return {"strike": strike, "years": t, "iv": iv, "rate": [rate] * 14, "q": [dividend] * 14}


@pytest.fixture(scope="module")
def quotes():
    return fk.read_quotes(smile(), spot=4468.17)


def test_parameters_are_found_again_at_any_level_and_with_dividends(quotes):
    fit = calibrate_formula(WIDE, quotes)
    found = dict(zip(fit.calibration.labels, fit.calibration.estimate, strict=True))
    assert found == pytest.approx(TRUE, rel=1e-4)
    assert fit.objective < 1e-8
    assert not fit.calibration.warnings


@pytest.mark.parametrize("residuals", ["price", "volatility"])
@pytest.mark.parametrize("weights", ["vega", "equal"])
def test_every_objective_has_the_same_exact_solution(quotes, residuals, weights):
    given = {"kappa": 2.0, "nu": 0.6}
    fit = calibrate_formula(WIDE, quotes, residuals=residuals, weights=weights, given=given)
    found = dict(zip(fit.calibration.labels, fit.calibration.estimate, strict=True))
    assert found == pytest.approx({name: TRUE[name] for name in found}, rel=1e-4)
    assert set(found) == {"x[1]", "theta", "rho"}


@pytest.mark.slow
def test_the_published_surface_is_fitted_as_well_as_by_quantlib():
    quotes = fk.read_quotes("examples/dax_2002.csv")
    family = WIDE.on(kappa=fk.Box(5.0, 25.0), nu=fk.Box(1.0, 5.0))
    fit = calibrate_formula(family, quotes)
    expected, objective = quantlib(quotes)
    found = dict(zip(fit.calibration.labels, fit.calibration.estimate, strict=True))
    assert found == pytest.approx(expected, rel=2e-3)
    assert fit.objective == pytest.approx(objective, rel=1e-5)


def quantlib(quotes):
    """Parameters and Σ (100 Δσ)² of QuantLib's calibration with its own starting values."""
    today, counter = ql.Date(5, 7, 2002), ql.Actual365Fixed()
    ql.Settings.instance().evaluationDate = today
    days = np.round(365 * quotes.t).astype(int)
    rates = -np.log(quotes.discount) / quotes.t
    curve = dict(sorted(zip(days.tolist(), rates.tolist(), strict=True)))
    dates = [today, *(today + day for day in curve)]
    rate = ql.YieldTermStructureHandle(
        ql.ZeroCurve(dates, [curve[int(days.min())], *curve.values()], counter)
    )
    none = ql.YieldTermStructureHandle(ql.FlatForward(today, 0.0, counter))
    spot = 4468.17
    process = ql.HestonProcess(
        rate, none, ql.QuoteHandle(ql.SimpleQuote(spot)), 0.1, 1.0, 0.1, 0.5, -0.5
    )
    model = ql.HestonModel(process)
    engine = ql.AnalyticHestonEngine(model, 64)
    helpers = []
    for day, strike, vol in zip(days, quotes.strike, quotes.volatility, strict=True):
        quote = ql.QuoteHandle(ql.SimpleQuote(float(vol)))
        helper = ql.HestonModelHelper(
            *(ql.Period(int(day), ql.Days), ql.NullCalendar(), spot, float(strike), quote),
            *(rate, none, ql.BlackCalibrationHelper.ImpliedVolError),
        )
        helper.setPricingEngine(engine)
        helpers.append(helper)
    end = ql.EndCriteria(400, 40, 1e-8, 1e-8, 1e-8)
    model.calibrate(helpers, ql.LevenbergMarquardt(1e-8, 1e-8, 1e-8), end)
    names = ("theta", "kappa", "nu", "rho", "x[1]")
    found = dict(zip(names, model.params(), strict=True))
    return found, sum((100 * helper.calibrationError()) ** 2 for helper in helpers)


def test_puts_are_fitted_by_parity(quotes):
    puts = dataclasses.replace(
        quotes,
        call=~quotes.call,
        price=quotes.price
        + np.where(quotes.call, 1, -1) * quotes.discount * (quotes.strike - quotes.forward),
    )
    given = {name: TRUE[name] for name in ("kappa", "nu", "rho")}
    both = [
        calibrate_formula(WIDE, each, given=given, residuals="price") for each in (quotes, puts)
    ]
    estimates = [fit.calibration.estimate for fit in both]
    assert estimates[0] == pytest.approx(estimates[1], rel=1e-6)
    assert both[1].price == pytest.approx(puts.price, rel=1e-4)


def test_spreads_weigh_and_make_the_noise_known(quotes):
    half = np.full(len(quotes), 1.0)
    half[0] = 1e3  # a quote without meaning, wrong by 50 points
    wrong = quotes.volatility.copy()
    wrong[0] += 0.5
    odd = dataclasses.replace(quotes, half_spread=half * quotes.vega / 1e3, volatility=wrong)
    given = {"kappa": 2.0, "nu": 0.6}
    fit = calibrate_formula(WIDE, odd, given=given)
    assert fit.calibration.chi_square is not None
    assert dict(
        zip(fit.calibration.labels, fit.calibration.estimate, strict=True)
    ) == pytest.approx({name: TRUE[name] for name in ("x[1]", "theta", "rho")}, rel=1e-3)
    assert "quotes are weighted by their bid–ask spreads" in fit.notes[-1]


@pytest.mark.filterwarnings("error")
def test_a_vendors_wings_of_a_week_do_not_decide_the_fit():
    """At a week and 150 %, the price is 1e-40 of the asset: no formula tells its volatility."""
    sheet = smile()
    wings = {"strike": 4468.17 * np.array([0.5, 1.4, 1.5]), "years": [7 / 365] * 3, "iv": [0.3] * 3}
    wings |= {"rate": [0.03] * 3, "q": [0.01] * 3}
    joined = {name: [*sheet[name], *wings[name]] for name in sheet}
    fit = calibrate_formula(WIDE, fk.read_quotes(joined, spot=4468.17))
    found = dict(zip(fit.calibration.labels, fit.calibration.estimate, strict=True))
    assert found == pytest.approx(TRUE, rel=1e-4)
    dropped = [str(each) for each in fit.quotes.reading.dropped]
    assert len(dropped) == 3
    assert (
        "its price does not tell its volatility: vega is below 1e-05 of the largest" in dropped[0]
    )


def test_what_is_not_identified_is_said():
    sheet = {"strike": [*range(4200, 5000, 100)], "years": [0.02] * 8}
    sheet["iv"] = [0.25, 0.24] * 4
    fit = calibrate_formula(WIDE, fk.read_quotes(sheet, spot=4468.17))
    assert any("do not identify" in text for text in fit.calibration.warnings)


def test_a_parameter_at_the_edge_of_the_box_is_said(quotes):
    narrow = WIDE.on(theta=fk.Box(0.1, 0.3))
    fit = calibrate_formula(narrow, quotes)
    assert any("theta = 0.1 lies on the boundary" in text for text in fit.calibration.warnings)


def test_a_model_that_does_not_describe_the_quotes_is_said(quotes):
    fit = calibrate_formula(fk.BlackScholesMerton(), quotes)
    assert any("black-scholes-merton misses these quotes" in w for w in fit.calibration.warnings)


@pytest.mark.filterwarnings("error")
def test_fitted_prices_without_a_volatility_are_counted():
    family = fk.BlackScholesMerton()
    sheet = {"strike": [75, 100, 105], "maturity": "6M", "iv": [0.3, 0.2, 0.2], "type": "call"}

    def u(inputs):
        x, t, p = family.domain.split(inputs)
        return torch.where(x > 1.2 * p.strike, 0.0, 1.0) * family.closed_form(x, t, p)

    fit = fit_quotes(u, family, fk.read_quotes(sheet, spot=100.0), make_market(), None, True)
    said = "1 of 3 fitted prices have no volatility; residuals and objective omit them."
    assert said in fit.calibration.warnings


def test_the_level_of_an_elastic_volatility_is_said():
    table = {"K": [45.0, 50.0, 55.0], "T": [1.0] * 3, "iv": [0.27, 0.25, 0.24]}
    box = fk.Cev().on(x=fk.Box(40.0, 250.0))
    fit = fk.calibrate_formula(box, fk.read_quotes(table, spot=50.0, rate=0.0))
    said = "the volatility of cev is that at a price of 100; the quotes are at about 50."
    assert said in fit.notes
    doubled = {"K": [90.0, 100.0, 110.0], "T": [1.0] * 3, "iv": [0.27, 0.25, 0.24]}
    fit = fk.calibrate_formula(box, fk.read_quotes(doubled, spot=100.0, rate=0.0))
    assert not any("at a price of 100" in note for note in fit.notes)


def test_elastic_models_keep_their_volatility_at_any_level():
    family = fk.Cev().on(t=fk.Box(0.0, 2.0))
    forward, t = 4468.17, np.repeat([0.5, 1.0], 5)
    strike = np.tile(np.linspace(0.9, 1.1, 5), 2) * forward
    at = {"x": 100.0, "t": t, "sigma": 0.25, "beta": 0.6, "rate": 0.03}
    inputs = family.domain.join(at | {"strike": 100 * strike / forward}, extrapolate=True)
    price = family.closed_form(*family.domain.split(inputs)).squeeze(-1).numpy() * forward / 100
    sheet = {"strike": strike, "years": t, "price": price, "type": ["call"] * 10}
    fit = calibrate_formula(family, fk.read_quotes(sheet, forward=forward, rate=0.03))
    assert fit.calibration.estimate == pytest.approx([0.25, 0.6], rel=1e-4)
    assert "prices are divided by 44.6817" in fit.notes[0]


@pytest.mark.parametrize("family", [fk.Cev(), fk.Sabr()], ids=["cev", "sabr"])
def test_the_identity_of_elastic_models_holds_for_their_formulas(family):
    """Drift and diffusion of (F/s, …) are those of F, divided by s."""
    box = family.on(
        x=fk.Box(90.0, 110.0) if family.domain.state_dim == 1 else family.domain.measures["x"]
    )
    inputs = box.domain.sample(64, torch.Generator().manual_seed(0), torch.float64)
    inputs[:, 0] *= 7.0
    inputs[:, box.domain.place("strike").columns] *= 7.0
    moved, s = levelled(box, inputs)
    dw = torch.ones(64, box.domain.state_dim, dtype=torch.float64)
    (x, _, p), (y, _, q) = box.domain.split(inputs), box.domain.split(moved)
    assert not torch.allclose(s, torch.ones_like(s))
    assert torch.allclose(box.diffusion(x, dw, p)[:, :1], s * box.diffusion(y, dw, q)[:, :1])
    assert torch.allclose(box.initial(x, p), s * box.initial(y, q))


@pytest.mark.parametrize("name", ["Vasicek", "Cir"])
def test_curves_are_found_again(name):
    family = getattr(fk, name)()
    t = np.array([0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0])
    true = {"x": 0.03, "kappa": 0.4, "theta": 0.05, "sigma": 0.02 if name == "Vasicek" else 0.1}
    inputs = family.domain.join(true | {"t": t})
    price = family.closed_form(*family.domain.split(inputs)).squeeze(-1).numpy()
    quotes = fk.read_quotes({"years": t, "zero rate": -np.log(price) / t})
    fit = calibrate_formula(family, quotes)
    found = dict(zip(fit.calibration.labels, fit.calibration.estimate, strict=True))
    assert found == pytest.approx(true, rel=1e-3)
    in_price = calibrate_formula(family, quotes, residuals="price")
    assert in_price.calibration.estimate == pytest.approx(fit.calibration.estimate, rel=1e-3)


@pytest.fixture(scope="module")
def network():
    """A small one around the parameters, at a strike of 100."""
    box = fk.Heston().on(
        **{"x[0]": fk.Box(75.0, 130.0), "x[1]": fk.Box(0.04, 0.08)},
        t=fk.Box(0.2, 1.1),
        kappa=2.0,
        theta=fk.Box(0.04, 0.06),
        nu=0.6,
        rho=fk.Box(-0.7, -0.5),
        rate=fk.Box(0.0, 0.05),
        strike=100.0,
    )
    return fk.solve(box, steps=300, seed=0, evaluations=1)


@pytest.mark.slow
def test_a_network_is_corrected_by_its_check_and_finds_the_parameters(network, quotes):
    fit = network.calibrate(quotes)
    found = dict(zip(fit.calibration.labels, fit.calibration.estimate, strict=True))
    assert found == pytest.approx({n: TRUE[n] for n in ("x[1]", "theta", "rho")}, rel=5e-3)
    assert fit.check.by == "the closed form"
    assert fit.largest_error < 1e-3
    inside = [
        low <= v <= high
        for v, (low, high) in zip(fit.calibration.estimate, fit.calibration.interval, strict=True)
    ]
    assert all(inside)


def test_the_closed_form_takes_the_last_steps_of_a_network():
    solution = fk.solve(fk.BlackScholesMerton(), steps=20, seed=0, evaluations=1)
    sheet = {"strike": [95, 100, 105], "maturity": "6M", "iv": [0.2, 0.21, 0.22]}
    quotes = fk.read_quotes(sheet, spot=100.0)
    fit, alone = solution.calibrate(quotes), solution.calibrate(quotes, polish=False)
    exact = calibrate_formula(solution.family, quotes)
    assert fit.calibration.estimate == pytest.approx(exact.calibration.estimate, rel=1e-6)
    assert fit.calibration.std == pytest.approx(exact.calibration.std, rel=1e-4)
    assert fit.price == pytest.approx(exact.price, rel=1e-6)
    assert fit.largest_error > 0.0
    assert any(note.startswith("the last steps are by the closed form") for note in fit.notes)
    assert not any("last steps" in note for note in alone.notes)
    at = fit.problem.unit(fit.calibration.estimate)
    assert fit.problem.residuals(at) == pytest.approx(exact.problem.residuals(at), abs=1e-4)


@pytest.mark.slow
def test_the_library_fits_the_published_surface_within_a_percent_of_the_best():
    fit = fk.pretrained("heston").calibrate(fk.read_quotes("examples/dax_2002.csv"))
    assert fit.objective == pytest.approx(181.5147, rel=1e-4)


@pytest.mark.slow
def test_the_error_of_the_solution_widens_the_intervals_quote_by_quote(network, quotes):
    market = make_market()

    def exact(inputs):
        value = network.exactly(inputs).detach().squeeze(-1).numpy()
        return "itself", value, np.zeros(len(value))

    def coarse(inputs):
        by, value, width = exact(inputs)
        width[-1] = 0.05
        return by, value, width

    narrow, wide = (
        fit_quotes(network.exactly, network.family, quotes, market, check, False)
        for check in (exact, coarse)
    )
    assert (wide.calibration.std > narrow.calibration.std).all()
    assert wide.calibration.estimate == pytest.approx(narrow.calibration.estimate)
    assert wide.problem.model[-1] > 0.0 == wide.problem.model[0]


@pytest.mark.slow
def test_quotes_that_the_network_does_not_cover_are_dropped_with_a_reason(network):
    sheet = smile()
    sheet["years"] = [3.0, *sheet["years"][1:]]
    fit = network.calibrate(fk.read_quotes(sheet, spot=4468.17))
    reasons = {each.reason for each in fit.quotes.reading.dropped}
    assert reasons == {"t = 3 is outside [0.2, 1.1], where the solution was trained"}
    with pytest.raises(InputError, match="solved where none of the 1 quotes lies: t = 9 is"):
        network.calibrate(fk.read_quotes({"K": [90], "years": [9.0], "iv": [0.2]}, spot=100.0))


@pytest.mark.slow
def test_wrong_settings_say_what_there_is(network, quotes):
    with pytest.raises(InputError, match="no setting 'weight'; there are: free, given"):
        network.calibrate(quotes, weight="vega")
    with pytest.raises(InputError, match="weights are one of spread, vega, equal; got 'vegas'"):
        network.calibrate(quotes, weights="vegas")
    with pytest.raises(InputError, match="no bid and ask prices to weight by"):
        network.calibrate(quotes, weights="spread")
    with pytest.raises(InputError, match="these quotes have no yield; choose price or volatility"):
        network.calibrate(quotes, residuals="yield")
    with pytest.raises(InputError, match="confidence must lie between 0 and 1, got 2"):
        network.calibrate(quotes, confidence=2)


def test_the_wrong_kind_of_family_is_refused(quotes):
    bonds = fk.read_quotes({"years": [1, 2], "zero rate": [0.03, 0.03]})
    with pytest.raises(InputError, match="the sheet quotes bonds, but heston does not price them"):
        calibrate_formula(WIDE, bonds)
    with pytest.raises(InputError, match="calls and puts, but vasicek does not price them"):
        calibrate_formula(fk.Vasicek(), quotes)
    with pytest.raises(InputError, match="digital does not price them"):
        calibrate_formula(fk.Digital(), quotes)
    with pytest.raises(InputError, match="sabr has no closed form"):
        calibrate_formula(fk.Sabr(), quotes)


def test_homogeneous_families():
    assert homogeneous(WIDE)
    assert homogeneous(fk.BlackScholesMerton())
    assert not homogeneous(fk.Bachelier().on(sigma=20.0))
