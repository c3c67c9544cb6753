"""Formulas one by one: what is wrong fails, or is noted, in the row where one looks for it."""

import dataclasses
import re

import pytest
import torch

import feynkac as fk
from feynkac.analysis.checkup.checkup import examine


def small(cls=fk.HeatGaussian, **members):
    """A family of two dimensions that is examined in no time, with some members replaced."""
    derived = type("Changed", (cls,), {"__annotations__": {"dim": int}, "dim": 2, **members})
    return dataclasses.dataclass(frozen=True)(derived)()


def sqrt_payoff(self, x, p):
    return (x.sum(-1, keepdim=True) + 0.2).abs().sqrt()


def one_branch_only(self, x, p):
    length = x.norm(dim=-1, keepdim=True)
    return torch.where(length > 5.0, (length - 5.0).sqrt(), length)


@pytest.mark.parametrize(
    ("members", "name", "verdict", "sentence"),
    [
        ({"initial": lambda s, x, p: x.mean(-1)}, "formulas", "fail", "must return shape"),
        ({"drift": lambda s, x, p: x**3}, "growth", "fail", "explodes: superlinear growth of μ"),
        (
            {"drift": lambda s, x, p: -(x**3)},
            "growth",
            "note",
            r"grow like \|x\|\^3, but μ points inw",
        ),
        (
            {"drift": lambda s, x, p: (0.1 - x.abs()).clamp_min(-1.0).sqrt() * torch.nan},
            "formulas",
            "fail",
            "is not finite everywhere",
        ),
        ({"drift": lambda s, x, p: (1 - x.square()).sqrt()}, "growth", "note", "not checked"),
        ({"diffusion": lambda s, x, dw, p: x + dw}, "noise", "fail", "not linear in dw"),
        ({"initial": sqrt_payoff}, "slopes", "note", "initial has no finite slope at the corner"),
        ({"initial": one_branch_only}, "slopes", "fail", "the slopes of 64 of 64 labels are NaN"),
    ],
)
def test_what_is_wrong_is_found(members, name, verdict, sentence):
    finding = examine(small(**members))[name]
    assert finding.verdict == verdict
    assert re.search(sentence, finding.sentence)
