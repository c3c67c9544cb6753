"""A solution in another dtype or on another device; gradients flow through it there too."""

import pytest
import torch

import feynkac as fk

AT = {"x": [9.2, 9.7], "t": 0.5, "sigma": 0.3, "strike": 11.0}


@pytest.fixture(scope="module")
def solution():
    return fk.solve(fk.BlackScholes(), steps=3, batch_size=64, evaluations=1)


def test_double_computes_in_float64_and_leaves_the_original_alone(solution):
    double = solution.double()
    assert double(AT).dtype == torch.float64
    assert solution(AT).dtype == torch.float32
    assert double(AT).tolist() == pytest.approx(solution(AT).tolist(), rel=1e-5)
    assert double.manifest is solution.manifest
    assert double.to(torch.float32)(AT).tolist() == solution(AT).tolist()


def test_the_error_in_float64_is_that_in_float32(solution):
    assert solution.double().error(256).l1 == pytest.approx(solution.error(256).l1, rel=1e-5)


def test_derivatives_in_float64_agree_with_differences(solution):
    double, h = solution.double(), 1e-5
    up, down = (double(AT | {"sigma": 0.3 + s * h}) for s in (1, -1))
    assert double.greeks(AT)["vega"].tolist() == pytest.approx(
        ((up - down) / (2 * h)).tolist(), rel=1e-7
    )


def test_a_device_by_its_name(solution):
    assert solution.to("cpu")(AT).tolist() == solution(AT).tolist()
    assert solution.to(device="meta").network.mean.device.type == "meta"


def test_whole_numbers_are_refused(solution):
    with pytest.raises(TypeError, match="floating point"):
        solution.to(torch.int64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_flow_back_to_the_inputs(solution, dtype):
    u = solution.to(dtype)
    x = torch.tensor([9.2, 9.7], dtype=dtype, requires_grad=True)
    u(AT | {"x": x}).sum().backward()
    assert x.grad.tolist() == pytest.approx(u.grad("x", AT).tolist(), rel=1e-5)


def test_transforms_of_torch_func_differentiate(solution):
    x = torch.tensor([9.2, 9.7], dtype=torch.float64)
    slope = torch.func.grad(lambda v: solution(AT | {"x": v}).sum())(x)
    assert slope.tolist() == pytest.approx(solution.grad("x", AT).tolist(), rel=1e-5)
    assert slope.abs().min() > 1e-3


def test_gradients_flow_through_blocks(solution):
    x = torch.linspace(9.0, 10.0, 20_000, requires_grad=True)
    solution(AT | {"x": x}).sum().backward()
    assert x.grad.count_nonzero() == len(x)


def test_another_dtype_is_saved_and_read_back(solution, tmp_path):
    solution.double().save(tmp_path)
    assert fk.load(tmp_path)(AT).tolist() == solution(AT).tolist()
