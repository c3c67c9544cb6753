"""Entries that may change places: order and slopes (what a domain makes of it: test_domain)."""

import torch

from feynkac.families.exchange import in_order

PLACES = [slice(0, 3), slice(4, 7)]


def test_entries_move_together(generator):
    inputs = torch.rand(2, 5, 8, generator=generator)
    found = in_order(inputs, PLACES)
    order = inputs[..., :3].argsort(-1)
    assert torch.equal(found[..., :3], inputs[..., :3].gather(-1, order))
    assert torch.equal(found[..., 4:7], inputs[..., 4:7].gather(-1, order))
    assert torch.equal(found[..., 3::4], inputs[..., 3::4])
    assert (found[..., :3].diff(dim=-1) >= 0).all()


def test_slopes_find_their_entries(generator):
    inputs = torch.rand(6, 8, generator=generator, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: in_order(v, PLACES).square(), inputs)


def test_it_can_be_mapped(generator):
    inputs = torch.rand(6, 8, generator=generator)
    mapped = torch.func.vmap(lambda row: in_order(row, PLACES))(inputs)
    assert torch.equal(mapped, in_order(inputs, PLACES))


def test_ordering_twice_is_ordering_once(generator):
    inputs = in_order(torch.rand(50, 8, generator=generator), PLACES)
    assert torch.equal(in_order(inputs, PLACES), inputs)
