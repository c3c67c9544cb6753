"""Coordinates first: the same numbers and slopes, another order in memory."""

import pytest
import torch

from feynkac.families.layout import JoinCoordinates, coordinates_first, is_coordinates_first

JOINS = {
    "cat": lambda x: torch.cat([x[..., :1] * 2.0, x[..., 1:]], dim=-1),
    "cat, last axis by number": lambda x: torch.cat([x, x], x.ndim - 1),
    "cat by name": lambda x: torch.cat(tensors=[x, x], dim=-1),
    "concat": lambda x: torch.concat((x[..., -1:], x), dim=-1),
    "stack": lambda x: torch.stack([x[..., 0], x[..., 1]], dim=-1),
}
OTHERS = {
    "first axis": lambda x: torch.cat([x, x]),
    "stack, first axis": lambda x: torch.stack([x, x]),
    "one axis": lambda x: torch.cat([x.flatten(), x.flatten()], dim=-1),
    "a mask": lambda x: x[x > 0.0],
    "a row": lambda x: x[0],
    "a list": lambda x: x[..., [1, 0]],
}


@pytest.fixture
def state(generator):
    return coordinates_first(torch.randn(4, 5, 3, generator=generator, dtype=torch.float64))


def test_only_the_order_in_memory_changes(generator):
    x = torch.randn(4, 5, 3, generator=generator, dtype=torch.float64)
    moved = coordinates_first(x)
    assert torch.equal(moved, x)
    assert is_coordinates_first(moved)
    assert not is_coordinates_first(x)
    assert coordinates_first(moved).data_ptr() == moved.data_ptr()


@pytest.mark.parametrize("formula", JOINS.values(), ids=JOINS)
def test_what_is_joined_is_stored_coordinates_first(formula, state):
    with JoinCoordinates():
        found = formula(state)
    assert torch.equal(found, formula(state))
    assert is_coordinates_first(found)


@pytest.mark.parametrize("formula", OTHERS.values(), ids=OTHERS)
def test_all_else_is_left_alone(formula, state):
    with JoinCoordinates():
        found = formula(state)
    assert torch.equal(found, formula(state))
    assert found.stride() == formula(state).stride()


@pytest.mark.parametrize("formula", (JOINS | OTHERS).values(), ids=JOINS | OTHERS)
def test_slopes_are_the_same(formula, state):
    leaf = state.detach().requires_grad_()
    (expected,) = torch.autograd.grad(formula(leaf).square().sum(), leaf)
    with JoinCoordinates():
        (found,) = torch.autograd.grad(formula(leaf).square().sum(), leaf)
    assert torch.equal(found, expected)


def test_slopes_of_slices_are_stored_coordinates_first(state):
    leaf = state.detach().requires_grad_()
    with JoinCoordinates():
        part = leaf[..., 1:]
    (found,) = torch.autograd.grad(part.square().sum(), leaf)
    assert is_coordinates_first(found)
