"""Figures as text: two digits of the error, no zeros that mean nothing."""

import math

import pytest

from feynkac.analysis.rounding import error_text, figure, number


@pytest.mark.parametrize(
    ("value", "se", "text"),
    [
        (3.9123e-5, 4.2e-7, "3.912e-05 ± 4.2e-07"),
        (0.012345, 0.0004, "0.01235 ± 0.00040"),
        (12.34, 0.5, "12.34 ± 0.50"),
        (1234.5, 25.0, "1234 ± 25"),
        (2e-4, 3e-4, "2.0e-04 ± 3.0e-04"),
        (0.0, 2e-5, "0.0e+00 ± 2.0e-05"),
        (0.25, 0.0, "0.250 ± 0"),
        (-3e-5, 1e-6, "-3.00e-05 ± 1.0e-06"),
        (None, None, "– ± –"),
        (math.nan, 0.1, "– ± 0.100"),
        (0.5, None, "0.500 ± –"),
    ],
)
def test_a_figure_has_two_digits_of_its_error(value, se, text):
    assert figure(value, se) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234567, "0.123"), (1e-9, "1.00e-09"), (0, "0"), (None, "–"), (1234.5, "1234")],
)
def test_a_number_has_three_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0, 2e-4, "at most 2.00e-04"),
        (1e-5, 2e-4, "1.00e-04 ± 2.0e-05"),
        (None, None, "1.00e-04 ± 2.0e-05"),
    ],
)
def test_an_error_that_may_be_none_is_bounded(low, high, text):
    assert error_text(1e-4, 2e-5, low, high) == text


def test_an_exact_solution_has_error_zero():
    assert error_text(0.0, 0.0, 0.0, 0.0) == "0 ± 0"


def test_huge_numbers_have_three_digits_too():
    assert number(5.3288e200) == "5.33e+200"
    assert number(-1234567.0) == "-1.23e+06"
    assert number(999999.0) == "999999"
