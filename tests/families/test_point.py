"""Points: parameters by name, and the sentence that meets a misspelt one."""

import copy
import pickle

import pytest
import torch

from feynkac.families.point import Params, Point, describe

SIGMA, STRIKE = torch.tensor([0.3]), torch.tensor([11.0])


def test_parameters_are_read_by_name_and_listed_in_order():
    p = Params(sigma=SIGMA, strike=STRIKE)
    assert p.sigma is SIGMA
    assert p.strike is STRIKE
    assert list(p) == ["sigma", "strike"]


@pytest.mark.parametrize(
    ("params", "known"), [(Params(sigma=SIGMA, strike=STRIKE), "sigma, strike"), (Params(), "none")]
)
def test_an_unknown_parameter_is_named_beside_the_known_ones(params, known):
    with pytest.raises(
        AttributeError, match=f"no parameter 'sgima' in the domain; it has: {known}"
    ):
        _ = params.sgima


def test_a_parameter_may_have_any_name():
    names = ["noise", "value", "model", "self", "values", "items", "name", "keys", "t"]
    p = Params(**dict.fromkeys(names, SIGMA))
    assert list(p) == names
    assert all(getattr(p, name) is SIGMA for name in names)


def test_a_point_unpacks_into_x_t_p():
    p = Params(sigma=SIGMA)
    x, t, params = Point(torch.zeros(3), torch.ones(1), p)
    assert x.shape == (3,)
    assert t.item() == 1.0
    assert params is p


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_parameters_can_be_copied(twin):
    assert torch.equal(twin(Params(sigma=SIGMA)).sigma, SIGMA)


def test_an_input_in_words_cuts_long_arrays():
    p = Params(sigma=SIGMA, m=torch.arange(6.0).reshape(2, 3))
    words = describe(Point(torch.tensor([1.5, -2.0]), torch.tensor([0.25]), p))
    assert words == "x = [1.5, -2], t = 0.25, sigma = 0.3, m = [0, 1, 2, …]"


def test_the_time_is_no_parameter_unless_it_is_declared():
    with pytest.raises(AttributeError, match=r"no parameter 't' .*; p\.t is for .* TimeDependent"):
        _ = Params(sigma=SIGMA).t
