"""Powers that end at zero."""

import pytest
import torch

from feynkac.families.formulas.power import power


@pytest.mark.parametrize("exponent", [0.4, 0.5, 0.9, 2.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_above_zero_it_is_the_power(exponent, dtype):
    x = torch.tensor([1e-30, 1e-3, 1.0, 110.0], dtype=dtype)
    found = power(x, torch.tensor(exponent, dtype=dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found, x.pow(exponent))


@pytest.mark.parametrize("x", [0.0, -0.0, -3.0])
def test_at_and_below_zero_all_derivatives_vanish(x):
    at = torch.tensor([x, 0.4], dtype=torch.float64, requires_grad=True)
    value = power(at[0], at[1])
    (first,) = torch.autograd.grad(value, at, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), at)
    assert value == 0.0
    assert first.tolist() == second.tolist() == [0.0, 0.0]


def test_the_slope_above_zero_is_that_of_the_power():
    x, a = torch.tensor(4.0).double(), torch.tensor(0.5).double()
    one = torch.ones_like(x)
    assert torch.func.jvp(lambda x: power(x, a), (x,), (one,))[1].item() == pytest.approx(0.25)
    by_exponent = torch.func.grad(power, argnums=1)(x, a)
    assert by_exponent.item() == pytest.approx(2.0 * 1.3862943611198906, rel=1e-14)
