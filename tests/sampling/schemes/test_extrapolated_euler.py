"""Extrapolated Euler–Maruyama: weak order 2 with exact expectations, and in training."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.sampling.labels import differential_labels, draw_paths, payoffs
from feynkac.sampling.path import weak_order

NODES, WEIGHTS = (torch.tensor(v) for v in np.polynomial.hermite_e.hermegauss(3))


@dataclass(frozen=True)
class Growing(fk.Family):
    """dS = ½ S dt + ½ S dB,  φ = S²:  u = x² exp(5t/4)."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(1.0, 2.0), t=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return 0.5 * x

    def diffusion(self, x, dw, p):
        return 0.5 * x * dw

    def initial(self, x, p):
        return x.square()


@dataclass(frozen=True)
class Discounted(Growing, fk.Discount):
    """The same, discounted along the path at a rate that depends on it."""

    def discount(self, x, p):
        return 0.1 * x


INPUTS = torch.tensor([[1.5, 0.5]], dtype=torch.float64)


def mean(family, scheme):
    """E Y by a product rule that is exact for polynomials of degree 5 in each normal."""
    rule = list(itertools.product(range(3), repeat=scheme.draws))
    z = torch.stack([NODES[list(k)] for k in rule]).T.reshape(scheme.draws, 1, len(rule), 1)
    weights = torch.stack([WEIGHTS[list(k)].prod() for k in rule]) / (2 * np.pi) ** (
        scheme.draws / 2
    )
    return (payoffs(family, scheme, INPUTS, z)[0, :, 0] * weights).sum()


@pytest.mark.parametrize("scheme", [fk.EulerMaruyama, fk.ExtrapolatedEuler])
def test_the_weak_order_is_as_declared(scheme):
    exact = 1.5**2 * np.exp(0.625)
    coarse, fine = (abs(float(mean(Growing(), scheme(steps=n))) - exact) for n in (4, 8))
    assert np.log2(coarse / fine) == pytest.approx(scheme.order, abs=0.3)


def test_it_is_two_thirds_of_the_way_from_half_the_steps():
    family, scheme = Growing(), fk.ExtrapolatedEuler(steps=4)
    fine, coarse = (mean(family, half) for half in scheme.halves)
    torch.testing.assert_close(mean(family, scheme), 2.0 * fine - coarse)


def test_what_happens_along_the_path_is_extrapolated_too():
    family = Discounted()
    values = [float(mean(family, fk.ExtrapolatedEuler(steps=n))) for n in (2, 4)]
    plain = [float(mean(family, fk.EulerMaruyama(steps=n))) for n in (2, 4)]
    assert abs(values[1] - values[0]) < abs(plain[1] - plain[0])
    assert weak_order(family, fk.ExtrapolatedEuler()) == 2


def test_slopes_are_those_of_the_extrapolated_label(generator):
    family, scheme = Growing(), fk.ExtrapolatedEuler(steps=4)
    inputs = family.domain.sample(8, generator, torch.float64)
    draw = draw_paths(family, scheme, fk.Sobol(), inputs, 16, generator)
    values, slopes = differential_labels(family, scheme, inputs, draw)
    torch.testing.assert_close(slopes[:, :1], 2.0 * values / inputs[:, :1])  # φ is quadratic


@pytest.mark.slow
def test_the_fast_method_learns_with_it():
    method = fk.Fast(scheme=fk.ExtrapolatedEuler(steps=8), paths=64)
    solution = fk.solve(Growing(), method, steps=60, evaluations=1)
    assert solution.error(64, paths=2**12).l1 < 0.02
    assert solution.manifest.discretisation.l1 < 0.05


def test_an_odd_number_of_steps_is_refused():
    with pytest.raises(InputError, match="needs an even number of steps, got 5"):
        fk.ExtrapolatedEuler(steps=5).check(Growing())
