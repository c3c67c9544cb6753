"""Expected payoffs: Black's and Bachelier's formulas against QuantLib and mpmath, also at v = 0."""

import mpmath
import pytest
import QuantLib as ql  # noqa: N813
import torch

from feynkac.families.formulas.expected_payoff import bachelier, black, moneyness
from feynkac.families.payoff import STYLES

OPTION = {"call": ql.Option.Call, "put": ql.Option.Put}
every_style = pytest.mark.parametrize("style", STYLES)
every_formula = pytest.mark.parametrize("formula", [black, bachelier], ids=["black", "bachelier"])


def tensors(*numbers, dtype=torch.float64):
    return [torch.tensor([number], dtype=dtype) for number in numbers]


def random_rows(generator, low, high):
    """F, K and v, one row a case."""
    low, high = (torch.tensor(bound, dtype=torch.float64) for bound in (low, high))
    return low + (high - low) * torch.rand(80, 3, generator=generator, dtype=torch.float64)


@every_style
def test_black_agrees_with_quantlib(style, generator):
    for F, K, v in random_rows(generator, [80.0, 80.0, 0.01], [120.0, 120.0, 0.8]).tolist():
        if style == "digital":
            expected = ql.blackFormulaCashItmProbability(ql.Option.Call, K, F, v)
        else:
            expected = ql.blackFormula(OPTION[style], K, F, v)
        assert black(style, *tensors(F, K, v)).item() == pytest.approx(
            expected, rel=1e-12, abs=3e-14
        )


@every_style
def test_bachelier_agrees_with_quantlib(style, generator):
    for F, K, v in random_rows(generator, [80.0, 80.0, 1.0], [120.0, 120.0, 40.0]).tolist():
        if style == "digital":
            expected = ql.bachelierBlackFormulaAssetItmProbability(ql.Option.Call, K, F, v)
        else:
            expected = ql.bachelierBlackFormula(OPTION[style], K, F, v)
        found = bachelier(style, *tensors(F, K, v)).item()
        assert found == pytest.approx(expected, rel=1e-12, abs=3e-14)


@pytest.mark.parametrize(("F", "v"), [(40.0, 0.1), (80.0, 0.02), (60.0, 0.05)])
def test_far_out_of_the_money_calls_and_digitals_agree_with_mpmath(F, v):
    with mpmath.workdps(60):
        f, s = mpmath.mpf(F), mpmath.mpf(v)
        d2 = mpmath.log(f / 100) / s - s / 2
        call = float(f * mpmath.ncdf(d2 + s) - 100 * mpmath.ncdf(d2))
        digital = float(mpmath.ncdf(d2))
    assert 0.0 < digital < 1e-18
    at = tensors(F, 100.0, v)
    assert black("digital", *at).item() == pytest.approx(digital, rel=1e-11, abs=0)
    assert black("call", *at).item() == pytest.approx(call, rel=1e-9, abs=0)


@every_formula
def test_call_minus_put_is_forward_minus_strike(formula, generator):
    F, K, v = random_rows(generator, [80.0, 80.0, 0.1], [120.0, 120.0, 0.9]).unbind(-1)
    torch.testing.assert_close(
        formula("call", F, K, v) - formula("put", F, K, v), F - K, rtol=0, atol=1e-13
    )


@every_formula
def test_a_digital_is_minus_the_slope_of_the_call_in_its_strike(formula, generator):
    F, K, v = random_rows(generator, [80.0, 80.0, 0.1], [120.0, 120.0, 0.9]).unbind(-1)
    _, slope = torch.func.jvp(lambda k: formula("call", F, k, v), (K,), (torch.ones_like(K),))
    torch.testing.assert_close(formula("digital", F, K, v), -slope, rtol=1e-11, atol=1e-13)


@every_formula
@every_style
@pytest.mark.parametrize("F", [90.0, 100.0, 110.0])
def test_without_deviation_value_and_slopes_are_those_of_the_payoff(formula, style, F):
    at = [number.requires_grad_() for number in tensors(F, 100.0, 0.0)]
    value = formula(style, *at)
    assert torch.equal(value, STYLES[style](at[0] - at[1]))
    slopes = torch.autograd.grad(value.sum() + 0.0 * sum(at), at, create_graph=True)
    sign = {"call": 1.0, "put": -1.0, "digital": 0.0}[style]
    paid = F != 100.0 and sign * (F - 100.0) > 0
    if F != 100.0:
        assert [slope.item() for slope in slopes] == [sign * paid, -sign * paid, 0.0]
    assert torch.cat(slopes).isfinite().all()


@every_formula
@every_style
@pytest.mark.parametrize("F", [99.0, 101.0])
def test_a_small_deviation_is_almost_none(formula, style, F):
    F, K, small, none = tensors(F, 100.0, 1e-4, 0.0)
    torch.testing.assert_close(
        formula(style, F, K, small), formula(style, F, K, none), rtol=0, atol=1e-12
    )


@every_formula
@every_style
@pytest.mark.parametrize("v", [0.0, 0.3])
def test_single_precision_stays_single(formula, style, v):
    value = formula(style, *tensors(101.0, 100.0, v, dtype=torch.float32))
    assert value.dtype == torch.float32
    double = formula(style, *tensors(101.0, 100.0, v))
    torch.testing.assert_close(value.double(), double, rtol=0, atol=2e-5)


def test_moneyness_is_that_of_the_text_books():
    d1, d2 = moneyness(*tensors(110.0, 100.0, 0.25))
    assert d1.item() == pytest.approx((float(mpmath.log("1.1")) + 0.25**2 / 2) / 0.25, rel=1e-14)
    assert d2.item() == pytest.approx((float(mpmath.log("1.1")) - 0.25**2 / 2) / 0.25, rel=1e-14)
