"""Values by name: a mapping and keywords together, numbers and arrays as variables."""

import numpy as np
import pytest
import torch

from feynkac.errors import InputError
from feynkac.families.values import as_variable, by_name


def test_a_mapping_and_keywords_go_together():
    assert by_name(None, {"x": 1.0}) == {"x": 1.0}
    assert by_name({"x": 1.0}, {}) == {"x": 1.0}
    assert by_name({"noise": 2.0}, {"x": 1.0}) == {"noise": 2.0, "x": 1.0}
    given = {"x": 1.0}
    assert by_name(given, {}) is not given


def test_nothing_is_given_twice():
    with pytest.raises(InputError, match="x is given twice, in the mapping and as a keyword"):
        by_name({"x": 1.0}, {"x": 2.0})


@pytest.mark.parametrize("at", [9.5, [9.5, 0.5], torch.ones(4)], ids=str)
def test_what_is_no_mapping_is_refused(at):
    with pytest.raises(InputError, match=f"as one mapping by name.*got {type(at).__name__}"):
        by_name(at, {})


@pytest.mark.parametrize("value", [[1.0, 2.0], np.array([1.0, 2.0]), torch.tensor([1.0, 2.0])])
def test_lists_arrays_and_tensors_are_the_same(value):
    assert as_variable("x", (2,), value).tolist() == [1.0, 2.0]


def test_gradients_of_tensors_in_lists_are_kept():
    a = torch.tensor(1.0, requires_grad=True)
    assert as_variable("x", (2,), [a, 2.0]).requires_grad


def test_another_shape_is_refused():
    with pytest.raises(InputError, match=r"x must have shape \(…, 2\), got \(3,\)"):
        as_variable("x", (2,), [1.0, 2.0, 3.0])
