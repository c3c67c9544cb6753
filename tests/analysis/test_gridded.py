"""Intervals by grids: they contain the closed form, narrow as asked, and stand in for paths."""

import pytest
import torch

import feynkac as fk
from feynkac.analysis.certificates import certify
from feynkac.analysis.gridded import grid_intervals
from feynkac.methods.fast.choose_scheme import suitable_scheme


def inputs_of(family, count):
    return family.domain.sample(count, torch.Generator().manual_seed(3), torch.float64)


def truth_of(family, inputs):
    return family.closed_form(*family.domain.split(inputs)).squeeze(-1)


@pytest.mark.parametrize(
    "family",
    [
        *(fk.BlackScholesMerton(), fk.Barrier(), fk.Cir(), fk.Cev()),
        *(pytest.param(family, marks=pytest.mark.slow) for family in (fk.Channel(), fk.Heston())),
    ],
    ids=lambda family: family.name(),
)
def test_the_closed_form_lies_in_the_interval(family):
    inputs = inputs_of(family, 100)
    (value, noise, half, _), _ = grid_intervals(family, inputs, [1.0] * 100, 0.0)
    assert ((value - truth_of(family, inputs)).abs() > half).sum() <= 3
    assert not noise.any()


def test_finer_grids_narrow_the_interval():
    family = fk.Cir()
    inputs = inputs_of(family, 16)
    (_, _, wide, _), _ = grid_intervals(family, inputs, [1.0] * 16, 0.0)
    (value, _, half, _), names = grid_intervals(family, inputs, [5e-6] * 16, 60.0)
    assert bool((half <= 5e-6).all())
    assert wide.mean() > 3.0 * half.mean()
    assert len(set(names)) > 1
    assert ((value - truth_of(family, inputs)).abs() > half).sum() <= 1


def test_without_time_the_second_grid_is_the_last():
    family = fk.Cev()
    (_, _, half, _), names = grid_intervals(family, inputs_of(family, 4), [1e-15] * 4, 0.0)
    assert names == ["grid 97, 36 steps"] * 4
    assert bool((half > 1e-15).all())


@pytest.mark.parametrize("family", [fk.BasketPut(), fk.Digital()])
def test_many_dimensions_and_jumps_have_none(family):
    assert grid_intervals(family, inputs_of(family, 2), [1.0, 1.0], 1.0) is None


def test_a_certificate_takes_a_grid_where_paths_would_be_wider():
    family = fk.Channel()
    inputs = inputs_of(family, 6)
    truth = truth_of(family, inputs)
    found = certify(
        lambda _: truth.unsqueeze(-1),
        family,
        suitable_scheme(family),
        fk.Sobol(),
        None,
        inputs,
        torch.Generator().manual_seed(0),
        effort=fk.Effort(seconds=0.05, aim=2e-5),
    )
    assert any(name.startswith("grid") for name in found.estimators)
    assert found.verdicts.count("within") >= 5
