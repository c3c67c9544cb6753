"""Inputs of a family that couples them: drawn by rejection, refused in queries."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.checks.checkup import require_sound
from feynkac.errors import InputError
from feynkac.families.rejection import accept


@dataclass(frozen=True)
class BelowBarrier(fk.Family, fk.Coupled):
    """Paths start below a barrier that is a parameter."""

    share: float = 1.0

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0), barrier=fk.Box(0.0, 1.0))

    def allowed(self, x, t, p):
        return x < self.share * p.barrier

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return 0.2 * dw

    def initial(self, x, p):
        return (x - p.barrier).square()


def test_inputs_are_those_that_are_allowed(generator):
    inputs = BelowBarrier().domain.sample(20_000, generator)
    assert inputs.shape == (20_000, 3)
    x, _, barrier = inputs.unbind(-1)
    assert (x < barrier).all()
    assert x.mean().item() == pytest.approx(1 / 3, abs=0.01)  # uniform on the triangle
    assert barrier.mean().item() == pytest.approx(2 / 3, abs=0.01)


def test_the_generator_determines_them():
    domain = BelowBarrier().domain
    one, other = (domain.sample(50, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(one, other)


def test_a_small_share_is_found_and_a_tiny_one_refused(generator):
    assert len(BelowBarrier(0.05).domain.sample(300, generator)) == 300  # 2.5 %
    with pytest.raises(
        InputError, match=r"of \d+ inputs drawn from the box are allowed, less than"
    ):
        BelowBarrier(0.01).domain.sample(300, generator)


def test_accept_takes_the_first_that_are_allowed():
    drawn = iter([torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[3.0], [5.0]])])
    found = accept(lambda _count: next(drawn), lambda v: v[:, 0] > 0.5, 3)
    assert found.flatten().tolist() == [1.0, 2.0, 3.0]


def test_queries_elsewhere_are_refused():
    domain = BelowBarrier().domain
    assert domain.join({"x": 0.2, "t": 0.5, "barrier": 0.5}).tolist() == [0.2, 0.5, 0.5]
    message = r"x = 0.7, t = 0.5, barrier = 0.5 is not allowed .* or give extrapolate=True"
    with pytest.raises(InputError, match=message):
        domain.join({"x": [0.2, 0.7], "t": 0.5, "barrier": 0.5})
    assert domain.join({"x": 0.7, "t": 0.5, "barrier": 0.5}, extrapolate=True)[0] == 0.7
    inside = domain.contains(torch.tensor([[0.2, 0.5, 0.5], [0.7, 0.5, 0.5]]))
    assert inside.tolist() == [True, False]


def test_another_box_keeps_the_rule(generator):
    family = BelowBarrier().on(x=fk.Box(0.0, 0.9), t=0.5)
    inputs = family.domain.sample(100, generator)
    assert (inputs[:, 0] < inputs[:, 2]).all()
    assert family.on(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0)) == BelowBarrier()


def test_it_is_trained_saved_and_loaded(tmp_path):
    require_sound(BelowBarrier())
    solution = fk.solve(BelowBarrier(), steps=3, batch_size=64, evaluations=1)
    solution.save(tmp_path)
    again = fk.load(tmp_path, family=BelowBarrier())
    at = {"x": 0.2, "t": 0.5, "barrier": 0.5}
    assert again(at) == solution(at)
    with pytest.raises(InputError, match="is not allowed"):
        again({**at, "x": 0.9})
    assert again({**at, "x": 0.9}, extrapolate=True).isfinite()
