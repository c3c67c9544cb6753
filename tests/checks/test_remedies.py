"""Every remedy that a finding names works when it is followed."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.checks.agreement import exact_sampler
from feynkac.checks.checkup import _is_drawn_exactly, require_simulable, require_sound
from feynkac.checks.finding import Subject
from feynkac.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1] / "broken"))

from changes_dtype import ChangesDtype
from explodes import Explodes
from falls_below_zero import FallsBelowZero
from negative_variance import NegativeVariance
from nonlinear_noise import NonlinearNoise
from undeclared_jump import UndeclaredJump
from wrong_payoff_shape import WrongPayoffShape
from wrong_width import WrongWidth


@dataclass(frozen=True)
class KeptDtype(ChangesDtype):
    def initial(self, x, p):
        return (torch.tensor([0.3, 0.7], dtype=x.dtype) * x).sum(-1, keepdim=True)


@dataclass(frozen=True)
class Clamped(Explodes):
    def drift(self, x, p):
        return x.clamp(-5.0, 5.0) ** 3


@dataclass(frozen=True)
class Walled(Explodes, fk.Absorbing):
    def distance(self, x, p):
        return torch.cat([5.0 - x, 5.0 + x], dim=-1)


@dataclass(frozen=True)
class InDrift(NonlinearNoise):
    def drift(self, x, p):
        return -x

    def diffusion(self, x, dw, p):
        return p.sigma * dw


@dataclass(frozen=True)
class Declared(UndeclaredJump, fk.Jumps):
    pass


@dataclass(frozen=True)
class KeptAxis(WrongPayoffShape):
    def initial(self, x, p):
        return (p.strike - x).clamp_min(0.0).mean(-1, keepdim=True)


@dataclass(frozen=True)
class ThreeNormals(WrongWidth, fk.NoiseDimension):
    noise_dim = 3

    def exact(self, x, t, p, z):
        return x + t.sqrt() * self.diffusion(x, z, p)


@dataclass(frozen=True)
class StaysAbove(FallsBelowZero):
    def initial(self, x, p):
        return x.clamp_min(0.0).sqrt()


@pytest.mark.parametrize(
    ("broken", "named", "corrected"),
    [
        (ChangesDtype(), r"dtype=x\.dtype", KeptDtype()),
        (Explodes(), r"\(clamp\)", Clamped()),
        (Explodes(), "or add a wall", Walled()),
        (NonlinearNoise(), "belongs in drift", InDrift()),
        (WrongPayoffShape(), "keepdim=True keeps the last axis", KeptAxis()),
        (WrongWidth(), "NoiseDimension with noise_dim = 3", ThreeNormals()),
        (
            NegativeVariance(),
            "choose ranges without such inputs",
            NegativeVariance().on(theta=fk.Box(0.03, 0.1)),
        ),
    ],
)
def test_what_the_formulas_need_is_said(broken, named, corrected):
    with pytest.raises(InputError, match=named):
        require_sound(broken)
    require_sound(corrected)


def test_what_paths_need_is_said():
    with pytest.raises(InputError, match=r"fk.safe_root\(x\) for a square root"):
        require_simulable(FallsBelowZero(), fk.Exact())
    require_simulable(StaysAbove(), fk.Exact())


def test_a_jump_is_to_be_declared():
    jump = fk.check(UndeclaredJump()).findings["jumps"]
    assert jump.verdict == "fail"
    assert "add Jumps to the base classes" in jump.sentence
    assert fk.check(Declared()).findings["jumps"].verdict == "ok"


@dataclass(frozen=True)
class Silent(fk.Family, fk.ExactSampler):
    """Reflected, but does not say so."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.1, 1.0))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return dw

    def exact(self, x, t, p, z):
        return (x + t.sqrt() * z).abs()

    def initial(self, x, p):
        return x


@dataclass(frozen=True)
class Said(Silent, fk.Reflected):
    pass


def test_a_reflection_is_declared():
    found = exact_sampler(Subject(Silent()))
    assert found.verdict == "fail"
    assert "add Reflected to the base classes if paths are pushed back" in found.sentence
    assert not _is_drawn_exactly(Said())


def test_a_reflection_needs_paths_that_know_it():
    @dataclass(frozen=True)
    class Unknown(fk.HeatGaussian, fk.Reflected):
        pass

    class Plain(fk.Family, fk.Reflected):
        domain = drift = diffusion = initial = None

    assert Unknown().dim
    with pytest.raises(InputError, match="make it OwnSteps or ExactSampler too"):
        Plain()
