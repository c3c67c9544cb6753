"""The search spaces: the paper's Table 6, and the fast method's own around what it proposes."""

from dataclasses import replace

import pytest
import torch
from scipy import stats

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.method import find_method
from feynkac.preparation import make_run

LEVEL = 1e-3  # the draws are always the same


def space_of(method, family):
    return find_method(method).space(family)


@pytest.fixture(scope="module")
def paper():
    return space_of("paper", fk.BlackScholes())


@pytest.fixture(scope="module")
def fast():
    return space_of("fast", fk.BlackScholes())


@pytest.fixture(scope="module")
def drawn(paper):
    generator = torch.Generator().manual_seed(6)
    return [paper.draw(generator) for _ in range(2000)]


def test_the_paper_s_ranges(paper):
    assert paper.record() == {
        "levels": [3, 4],
        "factor": [4, 5, 6],
        "optimiser": ["adamw", "sgd"],
        "batch_size": [16384, 32768, 65536, 131072],
        "learning_rate": {"log-uniform": [1e-5, 1e-1]},
        "decay": {"uniform": [0.2, 0.6]},
    }


def test_the_parts_are_independent(drawn):
    def correlation(one, other):
        return stats.spearmanr([each[one] for each in drawn], [each[other] for each in drawn])

    assert correlation("learning_rate", "decay").pvalue > LEVEL
    assert correlation("levels", "factor").pvalue > LEVEL
    assert correlation("batch_size", "decay").pvalue > LEVEL


def test_sgd_has_momentum_and_weight_decay(paper, drawn):
    found = next(paper.at(each).optimiser for each in drawn if each["optimiser"] == "sgd")
    assert isinstance(found, fk.SGD)
    assert found.momentum > 0
    assert found.weight_decay > 0


@pytest.mark.parametrize("method", ["fast", "paper"])
def test_draws_lie_in_the_space_and_the_generator_decides(method, request):
    space = request.getfixturevalue(method)
    first, again, other = (space.draw(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert space.contains(first)
    assert not space.contains({**first, "batch_size": 3})


@pytest.mark.parametrize("method", ["fast", "paper"])
@pytest.mark.parametrize(
    "family", [fk.BlackScholes(), fk.HeatParaboloid(), fk.Digital()], ids=lambda f: f.name()
)
def test_the_default_is_what_solve_would_do(method, family):
    space = space_of(method, family)
    ours, theirs = space.at(space.default), find_method(method)
    assert ours.resolve(family) == theirs.resolve(family)
    assert ours.paths == theirs.paths  # open: a budget may change it
    assert space.contains(space.default)


def test_a_point_is_the_method_of_a_run(fast):
    values = {
        "width": 64,
        "depth": 2,
        "batch_size": 50,
        "paths": 256,
        "learning_rate": 0.1,
        "slope_weight": 3.0,
    }
    method = make_run(fk.BlackScholes(), fast.at(values), {"budget": 5}).method
    network = fk.Fast().resolve(fk.BlackScholes()).architecture
    assert method.architecture == replace(network, width=64, depth=2, products=32)
    assert method.optimiser == fk.GaussNewton(learning_rate=0.1)
    assert (method.batch_size, method.paths, method.slope_weight) == (50, 256, 3.0)


def test_many_inputs_are_searched_with_muon():
    space = space_of("fast", fk.HeatParaboloid())
    assert space.at(space.default).optimiser == fk.Muon()
    assert space.record()["learning_rate"] == {"log-uniform": [0.004, 0.1]}


def test_where_the_payoff_jumps_single_paths_have_no_slopes_to_weigh():
    space = fk.Fast(noise=fk.Sobol()).space(fk.Digital())
    assert "slope_weight" not in space.dimensions
    assert space.at(space.default).slope_weight == 1.0
    assert "slope_weight" in space_of("fast", fk.Digital()).dimensions  # means over lines


def test_a_range_can_be_replaced(fast, generator):
    narrow = fast.narrowed({"width": [8], "learning_rate": {"uniform": [0.1, 0.2]}})
    drawn = [narrow.draw(generator) for _ in range(20)]
    assert {each["width"] for each in drawn} == {8}
    assert all(0.1 <= each["learning_rate"] <= 0.2 for each in drawn)
    assert narrow.record()["depth"] == fast.record()["depth"]
    assert narrow.default == fast.default


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widht": [8]}, "nothing to search is called 'widht'; there are: width, depth, batch"),
        ({"width": [0]}, "width cannot be 0; the method's is"),
        ({"width": ["wide"]}, "width cannot be 'wide'"),
        ({"width": {"uniform": [16, 32]}}, "width cannot be 22.1"),
        ({"learning_rate": [-1.0]}, "learning_rate cannot be -1.0"),
        ({"paths": [0]}, "paths cannot be 0"),
        ({"batch_size": [1]}, "batch_size cannot be 1"),
        ({"depth": "deep"}, "cannot read the range of depth"),
    ],
)
def test_a_range_that_cannot_be_searched_is_refused(fast, given, message):
    with pytest.raises(InputError, match=message):
        fast.narrowed(given)


def test_an_unknown_optimiser_is_refused(paper):
    with pytest.raises(InputError, match="optimiser cannot be 'adam'; the method's is 'adamw'"):
        paper.narrowed({"optimiser": ["adam"]})
