"""A method: every choice reaches the run, any can be made beforehand, and names are found."""

from dataclasses import FrozenInstanceError

import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.method import divide, find_method
from feynkac.parts import kinds
from feynkac.preparation import make_run

each_method = pytest.mark.parametrize("method", ["fast", "paper"])


@each_method
@pytest.mark.parametrize("family", [fk.BlackScholes(), fk.HeatGaussian(20)], ids=lambda f: f.name())
def test_a_run_holds_the_resolved_method(method, family):
    run = make_run(family, method, {})
    assert run.method == find_method(method).resolve(family)
    assert run.training.steps == run.method.length(family)


@each_method
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("architecture", fk.Smooth(width=5, depth=1)),
        ("scheme", fk.EulerMaruyama(steps=2)),
        pytest.param("noise", fk.Antithetic(), marks=pytest.mark.slow),
        pytest.param("optimiser", fk.SGD(), marks=pytest.mark.slow),
        pytest.param("schedule", fk.StepDecay(patience=7), marks=pytest.mark.slow),
        pytest.param("batch_size", 33, marks=pytest.mark.slow),
        ("paths", 3),
    ],
)
def test_any_choice_can_be_made_beforehand(method, name, value):
    made = find_method(method).with_fields({name: value})
    for run in (
        make_run(fk.BlackScholes(), made, {}),
        make_run(fk.BlackScholes(), method, {name: value}),
    ):
        assert getattr(run.method, name) == value


@each_method
def test_a_resolved_method_is_left_as_it_is(method):
    resolved = find_method(method).resolve(fk.BlackScholes())
    assert resolved.resolve(fk.BlackScholes()) == resolved


def test_a_run_is_as_long_as_its_optimiser_needs():
    radial, many = fk.HeatGaussian(40), fk.Fast(symmetries=False)
    lengths = [make_run(radial, method, {}).training.steps for method in (fk.Fast(), many)]
    assert lengths == [1000, 5000]


def test_the_length_of_a_run_can_be_given():
    assert make_run(fk.BlackScholes(), "fast", {"steps": 11}).training.steps == 11


def test_width_and_depth_are_part_of_the_architecture():
    method = fk.Fast(width=96, depth=1, symmetries=False).resolve(fk.BlackScholes())
    assert method.architecture == fk.Smooth(width=96, depth=1, products=48, log_ranges=True)
    assert (method.width, method.depth) == (None, None)
    with pytest.raises(InputError, match="give an architecture, or width and depth, not both"):
        fk.Fast(width=96, architecture=fk.Smooth()).resolve(fk.BlackScholes())


@each_method
def test_a_method_is_frozen(method):
    with pytest.raises(FrozenInstanceError, match="batch_size"):
        find_method(method).batch_size = 1


def test_keywords_belong_to_the_method_or_to_the_training():
    method, rest = divide(fk.Fast(), {"paths": 8, "seed": 3})
    assert (method, rest) == (fk.Fast(paths=8), {"seed": 3})
    with pytest.raises(InputError, match=r"'fast' has no setting called 'pahts'\. Did you mean 'p"):
        divide(fk.Fast(), {"pahts": 8})
    with pytest.raises(InputError, match="batch_size: Input should be greater than or equal to 2"):
        divide(fk.Paper(), {"batch_size": 1})


def test_methods_are_found_by_name():
    assert find_method("fast") == fk.Fast()
    assert find_method(given := fk.Paper(paths=2)) is given
    assert {"fast", "paper"} <= kinds(fk.Method).keys()
    with pytest.raises(InputError, match="unknown method 'slow'; there are: "):
        find_method("slow")
