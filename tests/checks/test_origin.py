"""The operation that made the first NaN or infinity, and the numbers it was given."""

import pytest
import torch

from feynkac.checks.origin import Origin

X = torch.tensor([[1.0, -4.0], [0.0, 9.0]])


def origin_of(formula):
    with Origin() as origin:
        formula(X)
    return origin.sentence


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        (lambda x: x.sqrt(), "the square root of -4"),
        (lambda x: torch.sqrt(x), "the square root of -4"),
        (lambda x: x.log(), "the logarithm of -4"),
        (lambda x: x**0.5, "-4 to the power 0.5"),
        (lambda x: x.pow(0.5), "-4 to the power 0.5"),
        (lambda x: 3.0 / x, "3 divided by 0"),
        (lambda x: x / torch.tensor([2.0, 0.0]), "-4 divided by 0"),
        (lambda x: x.reciprocal(), "1 divided by 0"),
        (lambda x: (100.0 * x).exp(), "the exponential of 100"),
        (lambda x: x.rsqrt(), "one over the square root of -4"),
        (lambda x: torch.where(x > 5, torch.nan, x), "torch's where"),
        (lambda x: ((x.sqrt() + 1.0).log() * 2.0).sum(), "the square root of -4"),
    ],
)
def test_the_first_culprit_is_named(formula, sentence):
    assert origin_of(formula) == sentence


@pytest.mark.parametrize("formula", [lambda x: x.abs().sqrt(), lambda x: x > 0, lambda x: x.shape])
def test_finite_work_has_no_culprit(formula):
    assert origin_of(formula) is None


def test_nan_from_outside_is_nobody_s_fault():
    bad = torch.tensor([torch.nan])
    with Origin() as origin:
        _ = bad + 1.0
    assert origin.sentence is None


def test_a_name_is_found_inside_forward_differentiation_too():
    with Origin() as origin:
        torch.func.jvp(lambda x: x.sqrt() + 1.0, (X,), (torch.ones_like(X),))
    assert origin.sentence == "the square root of -4"
