"""The family's own steps: simulated as they are, refused where there are none."""

import pytest
import torch

import feynkac as fk
from feynkac.sampling.noise.noise import normals


def test_the_steps_are_those_of_the_family(generator):
    family = fk.Heston()
    x, t, p = family.domain.split(family.domain.sample(5, generator, torch.float64))
    z = normals(2, (5,), 2, generator, torch.float64)
    by_hand = family.step(family.step(x, t / 2, p, z[0]), t / 2, p, z[1])
    torch.testing.assert_close(fk.FamilySteps(steps=2).terminal(family, x, t, p, z), by_hand)


def test_a_family_without_is_refused():
    with pytest.raises(fk.InputError, match="BlackScholes has no steps of its own; use a scheme"):
        fk.FamilySteps().check(fk.BlackScholes())
    fk.FamilySteps().check(fk.Heston())


def test_an_exact_sampler_that_knows_no_time_is_refused():
    class Timed(fk.BlackScholes, fk.TimeDependent):
        pass

    with pytest.raises(fk.InputError, match="does not know the time"):
        fk.Exact().check(Timed())
