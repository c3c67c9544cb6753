"""The safe root: √t with finite derivatives at 0."""

import torch

from feynkac.families.formulas.safe_root import positive, root


def test_the_root_is_smooth_enough_at_zero():
    t = torch.tensor([0.0, 0.25, 4.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(root(t).sum(), t, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), t)
    assert root(t).tolist() == [0.0, 0.5, 2.0]
    assert slope.tolist() == [0.0, 1.0, 0.25]
    assert second.tolist() == [0.0, -2.0, -0.03125]


def test_what_is_not_positive_is_one():
    assert positive(torch.tensor([-1.0, 0.0, 0.5])).tolist() == [1.0, 1.0, 0.5]
