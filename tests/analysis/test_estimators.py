"""Which estimators a certificate chooses from, and that their replicates are independent."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.analysis.candidates import candidates
from feynkac.analysis.certificates import Effort, certify
from feynkac.analysis.estimators import Simulated
from feynkac.analysis.martingale import Control
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir


@dataclass(frozen=True)
class Growth(fk.Family):
    """dS = κS dt + ½ sin(S) dB,  φ(x) = x:  u = x e^{κt}, where n Euler steps have (1 + κt/n)ⁿ."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(1.0, 2.0), t=fk.Box(0.5, 1.0), kappa=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return p.kappa * x

    def diffusion(self, x, dw, p):
        return 0.5 * x.sin() * dw

    def initial(self, x, p):
        return x

    def truth(self, inputs):
        x, t, p = self.domain.split(inputs)
        return x * (p.kappa * t).exp()


@dataclass(frozen=True)
class Drifting(Growth):
    """The same with constant noise: its law is normal."""

    def diffusion(self, x, dw, p):
        return 0.3 * dw


def control_of(family):
    return Control(family.truth, fk.Domain(**family.domain.measures | {"x": fk.Box(-9.0, 99.0)}))


def test_a_control_follows_the_paths_of_the_scheme_that_is_extrapolated():
    family = Growth()
    _, (controlled,) = candidates(
        family, fk.ExtrapolatedEuler(steps=4), fk.Sobol(), control_of(family), 4, 0
    )
    assert controlled.scheme == fk.EulerMaruyama(steps=2)
    inputs = torch.tensor([[1.5, 1.0, 1.0]], dtype=torch.float64)
    found = controlled.replicates(inputs, 256, 16, torch.Generator().manual_seed(0))
    error = (found.value.mean(0) - family.truth(inputs)[0]).abs()
    assert error > 0.2  # (1 + 1/4)⁴ is far from e
    assert found.gap.mean(0).abs() > 0.5 * error  # and the interval knows


def test_where_the_law_is_known_a_certificate_needs_no_control():
    family = Drifting()
    found = candidates(family, fk.Gaussian(), fk.Sobol(), control_of(family), 8, 0)
    assert len(found) == 1


@pytest.mark.parametrize("steps", [2, 6, 10, 14])
def test_any_even_number_of_extrapolated_steps_is_certified(steps):
    family = Growth()
    inputs = family.domain.sample(2, torch.Generator().manual_seed(1), torch.float64)
    found = certify(
        family.truth,
        family,
        fk.ExtrapolatedEuler(steps=steps),
        fk.Sobol(),
        None,
        inputs,
        torch.Generator().manual_seed(2),
        effort=Effort(aim=1e-2),
    )
    assert (found.error.abs() <= found.half_width).all()


def test_replicates_toss_their_own_coins():
    general = Simulated(Growth(), NinomiyaVictoir(steps=2), Stretched())
    diagonal = Simulated(Growth(), NinomiyaVictoir(steps=2, noise="diagonal"), Stretched())
    calls = []
    for estimator in (general, diagonal):
        counted = []
        kind = type(estimator)
        sample = kind.sample
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "sample", lambda *a, s=sample, c=counted: c.append(1) or s(*a))
            inputs = torch.tensor([[1.5, 1.0, 1.0]], dtype=torch.float64)
            estimator.replicates(inputs, 16, 4, torch.Generator().manual_seed(0))
        calls.append(len(counted))
    assert calls == [4, 1]
