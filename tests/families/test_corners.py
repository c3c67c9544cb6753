"""Corners: all of a small domain, some of a large one."""

import torch

from feynkac.families import Box, Domain
from feynkac.families.corners import corners


def test_corners_are_all_corners_of_a_small_domain(generator):
    domain = Domain(x=Box(-1, 2), t=Box(0, 3), k=Box([5.0, 6.0], [7.0, 8.0]))
    found = corners(domain, generator)
    assert len(found) == len({tuple(row) for row in found.tolist()}) == 16
    assert {tuple(column.unique().tolist()) for column in found.T} == {
        (-1.0, 2.0),
        (0.0, 3.0),
        (5.0, 7.0),
        (6.0, 8.0),
    }


def test_corners_of_a_large_domain_are_some_of_them(generator):
    domain = Domain(x=Box(-1, 2, shape=(100,)), t=Box(0, 3))
    found = corners(domain, generator, most=50, dtype=torch.float64)
    assert found.shape == (50, 101)
    assert found.dtype == torch.float64
    assert set(found[:, :100].unique().tolist()) == {-1.0, 2.0}
    assert set(found[:, 100].unique().tolist()) == {0.0, 3.0}
