"""Gauss–Legendre nodes on an interval from zero."""

import pytest
import torch
from scipy.integrate import quad

from feynkac.families.formulas.quadrature import gauss_legendre


@pytest.mark.parametrize("degree", [0, 1, 6, 7])
def test_four_nodes_are_exact_up_to_degree_seven(degree):
    y, w = gauss_legendre(torch.tensor([3.0]).double(), 4)
    assert (w * y**degree).sum().item() == pytest.approx(3.0 ** (degree + 1) / (degree + 1))


def test_four_nodes_are_not_exact_for_degree_eight():
    y, w = gauss_legendre(torch.tensor([3.0]).double(), 4)
    assert (w * y**8).sum().item() != pytest.approx(3.0**9 / 9.0, rel=1e-4)


def test_each_row_has_its_own_interval():
    last = torch.tensor([[0.5], [2.0]], dtype=torch.float64)
    y, w = gauss_legendre(last, 40)
    assert y.shape == w.shape == (2, 40)
    for row, end in enumerate((0.5, 2.0)):
        value = (w[row] * (-y[row].square()).exp()).sum().item()
        expected = quad(lambda s: 2.718281828459045 ** (-s * s), 0.0, end)[0]
        assert value == pytest.approx(expected, rel=1e-13)


def test_the_dtype_is_kept():
    assert {v.dtype for v in gauss_legendre(torch.tensor([1.0]), 3)} == {torch.float32}
