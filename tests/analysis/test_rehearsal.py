"""Paths that break are refused before training, in a second, with the reason and the input."""

import time
from dataclasses import dataclass

import pytest
from feynkac.methods.fast.choices import suitable_scheme

import feynkac as fk
from feynkac.analysis.rehearsal import check_jumps, check_paths, rehearse
from feynkac.errors import InputError
from feynkac.families.catalogue import BUILT_IN
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir


@dataclass(frozen=True)
class Root(fk.Family):
    """A square-root process without clamp."""

    domain = fk.Domain(x=fk.Box(0.01, 0.1), t=fk.Box(0.0, 1.0), nu=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return 0.05 - x

    def diffusion(self, x, dw, p):
        return p.nu * x.sqrt() * dw

    def initial(self, x, p):
        return x


class Clamped(Root):
    def diffusion(self, x, dw, p):
        return p.nu * x.clamp_min(0.0).sqrt() * dw


class Cubic(Root):
    def drift(self, x, p):
        return -1e6 * x**3

    def diffusion(self, x, dw, p):
        return p.nu * dw


class Digital(Clamped):
    def initial(self, x, p):
        return (x > 0.04).to(x.dtype)


class Declared(Digital, fk.Jumps):
    pass


EULER = fk.EulerMaruyama(steps=8)


def test_the_root_of_a_negative_number_is_named():
    with pytest.raises(
        InputError,
        match=r"Root cannot be simulated: \d+ of 576 paths are not finite, one from x = \S+, "
        r"t = \S+, nu = \S+, which met the square root of -0\.\d+; keep the formulas finite",
    ):
        check_paths(Root(), EULER)


def test_an_overflow_of_the_scheme_is_refused():
    """The equation is sound; eight Euler steps of it are not."""
    with pytest.raises(InputError, match=r"which met .*; .* or take more steps"):
        check_paths(Cubic(), EULER)


def test_a_derivative_that_the_scheme_takes_is_named():
    """√ has none at zero, which a clamp does not mend."""
    with pytest.raises(InputError, match="met a derivative that is not finite, as that of a sq"):
        check_paths(Clamped(), NinomiyaVictoir(steps=4))


def test_a_clamp_mends_euler():
    rehearse(Clamped(), EULER)


def test_a_jump_must_be_declared():
    with pytest.raises(InputError, match=r"Digital\.initial jumps by 100 % .* add Jumps to the"):
        rehearse(Digital(), EULER)
    check_jumps(Declared(), EULER)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_families_pass_in_a_second(name):
    family = BUILT_IN[name]()
    scheme = suitable_scheme(family)
    rehearse(family, scheme)
    start = time.perf_counter()
    rehearse(family, scheme)
    assert time.perf_counter() - start < 1.0


@pytest.mark.parametrize("method", ["fast", "paper"])
def test_solve_refuses_before_training(method, tmp_path):
    def report(_progress):
        pytest.fail("trained")

    with pytest.raises(InputError, match="Root cannot be simulated"):
        fk.solve(Root(), method=method, scheme=EULER, out=tmp_path / "run", report=report)
    assert not (tmp_path / "run").exists()
