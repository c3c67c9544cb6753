"""Levels are found in whatever comparisons a payoff is written with."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.families.levels import has_levels, jump_across, with_levels
from feynkac.families.point import Params


@dataclass(frozen=True)
class Written(fk.Family):
    """Any payoff."""

    style: str = "above"

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.0, 1.0, shape=(2,)), t=fk.Box(0.0, 1.0), k=fk.Box(0.0, 1.0))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return STYLES[self.style](x, p)


STYLES = {
    "above": lambda x, p: (x[..., :1] > p.k).to(x.dtype),
    "torch": lambda x, p: torch.ge(x[..., :1], p.k) * 1.0,
    "below": lambda x, p: 1.0 - (x[..., :1] <= p.k).to(x.dtype),
    "reflected": lambda x, p: (0.5 < x[..., :1]).to(x.dtype),  # noqa: SIM300
    "number": lambda x, p: torch.where(x[..., :1] > 0.5, 1.0, 0.0),
    "axis summed away": lambda x, p: (x.mean(-1) > 0.5).unsqueeze(-1).to(x.dtype),
}
X, P = torch.tensor([[[0.7, 0.9], [0.2, 0.4]]]), Params(k=torch.tensor([[[0.5]]]))
FIRST = torch.zeros(1, 2, 1, dtype=torch.int64)


@pytest.mark.parametrize("style", STYLES)
def test_a_level_is_the_difference_of_both_sides(style):
    family = Written(style)
    value, levels = with_levels(family, X, P)
    torch.testing.assert_close(value, family.initial(X, P))
    below = -1.0 if style == "below" else 1.0
    entry = X.mean(-1, keepdim=True) if "summed" in style else X[..., :1]
    torch.testing.assert_close(levels, below * (entry - 0.5))
    assert has_levels(family)
    torch.testing.assert_close(jump_across(family, X, P, FIRST), below * torch.ones(1, 2, 1))


def test_one_of_several_comparisons_is_changed(monkeypatch):
    inside = lambda x, p: ((x < 0.8) & (x > 0.1)).all(-1, keepdim=True).to(x.dtype)  # noqa: E731
    monkeypatch.setitem(STYLES, "inside", inside)
    _, levels = with_levels(Written("inside"), X, P)
    expected = torch.cat([0.8 - X, X - 0.1], dim=-1)
    torch.testing.assert_close(levels, expected)
    jumps = [jump_across(Written("inside"), X, P, FIRST + which).squeeze() for which in range(4)]
    # the first state has its second entry outside: only that level decides
    assert [jump.tolist() for jump in jumps] == [[0, 1], [1, 1], [0, 1], [0, 1]]


def test_a_continuous_payoff_has_none(monkeypatch):
    monkeypatch.setitem(STYLES, "call", lambda x, p: (x[..., :1] - p.k).clamp_min(0.0))
    assert with_levels(Written("call"), X, P)[1].shape == (1, 2, 0)
    assert not has_levels(Written("call"))


@pytest.mark.parametrize(
    "other",
    [
        torch.floor,
        torch.sign,
        lambda x: x.round(),
        lambda x: x // 0.3,
        lambda x: x % 0.3,
        lambda x: x.long(),
        lambda x: x.to(torch.int32),
        lambda x: x.argmax(-1, keepdim=True),
        lambda x: (x == x.amax(-1, keepdim=True))[..., :1],
        lambda x: (x.unsqueeze(-1) > x.unsqueeze(-2)).sum((-1, -2)).unsqueeze(-1),
    ],
)
def test_what_else_jumps_is_noticed(other, monkeypatch):
    """Slopes by levels alone would be wrong."""
    both = lambda x, p: (x[..., :1] > p.k) * other(x)[..., :1].to(x.dtype)  # noqa: E731
    monkeypatch.setitem(STYLES, "both", both)
    assert not has_levels(Written("both"))


def test_what_does_not_jump_is_no_obstacle(monkeypatch):
    def careful(x, p):
        inside = ~(x[..., :1] < p.k) & (x[..., 1:] < 2.0 * p.k)
        return torch.where(x.isnan(), 0.0, x.clamp_min(0.1))[..., :1] * inside

    monkeypatch.setitem(STYLES, "careful", careful)
    assert has_levels(Written("careful"))
