"""A method's setup is complete: every part reaches the run, and any part can be replaced."""

from dataclasses import FrozenInstanceError

import pytest

import feynkac as fk
from feynkac.networks.smooth import Smooth
from feynkac.solver import METHODS, plan_run

each_method = pytest.mark.parametrize("method", list(METHODS))


@each_method
@pytest.mark.parametrize("family", [fk.BlackScholes(), fk.HeatGaussian(20)], ids=lambda f: f.name())
def test_every_part_reaches_the_run(method, family):
    setup = METHODS[method](family, None)
    run = plan_run(family, method, None, None, {})
    assert (run.architecture, run.scheme, run.noise) == (
        setup.architecture,
        setup.scheme,
        setup.noise,
    )
    for name in ("optimiser", "schedule", "batch_size", "paths", "steps"):
        assert getattr(run.training, name) == getattr(setup, name)


@each_method
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimiser", fk.SGD()),
        ("schedule", fk.StepDecay(patience=7)),
        ("batch_size", 33),
        ("paths", 3),
        ("steps", 11),
    ],
)
def test_any_part_of_the_training_can_be_replaced(method, name, value):
    run = plan_run(fk.BlackScholes(), method, None, None, {name: value})
    assert getattr(run.training, name) == value


@each_method
def test_architecture_and_scheme_can_be_replaced(method):
    architecture, scheme = Smooth(width=5, depth=1), fk.EulerMaruyama(steps=2)
    run = plan_run(fk.BlackScholes(), method, architecture, scheme, {})
    assert (run.architecture, run.scheme) == (architecture, scheme)


@each_method
def test_a_setup_is_frozen(method):
    with pytest.raises(FrozenInstanceError, match="batch_size"):
        METHODS[method](fk.BlackScholes(), None).batch_size = 1
