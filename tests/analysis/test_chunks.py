"""Blocks of rows give what the whole gives, graph and transforms included."""

import pytest
import torch

from feynkac.analysis.chunks import gather, over_rows, over_values
from feynkac.families import Box, Domain
from feynkac.families.values import in_blocks

DOMAIN = Domain(x=Box(0.0, 1.0, shape=(2,)), t=Box(0.0, 1.0), k=Box(0.0, 1.0))


def u(inputs):
    return inputs.square().cumsum(-1).sin()


@pytest.mark.parametrize("rows", [1, 4, 5, 12, 100])
@pytest.mark.parametrize("lead", [(), (12,), (3, 4), (1, 2, 1, 6)], ids=str)
def test_rows_keep_their_order_and_shape(rows, lead, generator):
    inputs = torch.rand(*lead, 4, generator=generator)
    assert torch.equal(over_rows(u, inputs, rows), u(inputs))


@pytest.mark.parametrize("rows", [1, 4, 5, 7, 60, 100])
def test_values_by_name_are_joined_block_by_block(rows, generator):
    x = torch.rand(5, 1, 3, 2, generator=generator, dtype=torch.float64)
    at = {"x": x, "t": torch.rand(4, 3, generator=generator), "k": 0.5}
    seen = []

    def f(block):
        seen.append(len(block))
        return u(block)

    found = over_values(f, DOMAIN, at, rows=rows)
    torch.testing.assert_close(found, u(DOMAIN.join(at)), rtol=0.0, atol=1e-15)
    assert max(seen) <= rows
    assert sum(seen) == 60


def test_blocks_are_views():
    part = torch.zeros(6, 4).expand(5, 6, 4)
    pieces = [piece for _, (piece,) in in_blocks((5, 6), [part], 3)]
    assert len(pieces) == 10
    assert all(p.untyped_storage().data_ptr() == part.untyped_storage().data_ptr() for p in pieces)


def test_a_graph_is_kept(generator):
    inputs = torch.rand(12, 4, generator=generator, requires_grad=True)
    over_rows(u, inputs, 5).sum().backward()
    again = inputs.detach().clone().requires_grad_()
    u(again).sum().backward()
    torch.testing.assert_close(inputs.grad, again.grad)


def test_transforms_pass_through(generator):
    inputs = torch.rand(3, 12, 4, generator=generator)
    found = torch.func.vmap(lambda v: over_rows(u, v, 5))(inputs)
    torch.testing.assert_close(found, u(inputs))


def test_pieces_are_gathered_one_by_one():
    """Not all of them are held beside the whole."""
    alive = []

    def pieces():
        for i in range(4):
            piece = torch.full((2,), float(i))
            alive.append(piece.untyped_storage().data_ptr())
            yield piece

    found = gather(pieces(), 8)
    assert found.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.data_ptr() not in alive
