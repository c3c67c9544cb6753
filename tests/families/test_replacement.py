"""Other laws of some variables: boxes, values, single entries."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.log_uniform import LogUniform

DOMAIN = Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1), a=Box(1, 2), b=LogUniform(1, 2, shape=(2,)))


def test_a_value_fixes_a_variable_or_one_entry(generator):
    found = DOMAIN.replacing({"x[1]": 0.25}, a=1.5)
    assert found.measures["x"] == Box([0.0, 0.25], [1.0, 0.25])
    assert found.measures["a"] == Fixed(1.5)
    assert found.free == ["x[0]", "t", "b"]
    assert found.varies.tolist() == [True, False, True, False, True, True]
    inputs = found.sample(100, generator)
    assert (inputs[:, 1] == 0.25).all()
    assert (inputs[:, 3] == 1.5).all()
    assert inputs[:, 0].std() > 0.1


def test_entry_after_entry():
    both = DOMAIN.replacing({"x[0]": 0.5, "x[1]": Box(0, 2)})
    assert both.measures["x"] == Box([0.5, 0.0], [0.5, 2.0])
    assert DOMAIN.replacing({"x[0]": 0.5, "x[1]": 0.25}).measures["x"] == Fixed([0.5, 0.25])
    assert both.replacing({"x[0]": Box(0, 1)}).measures["x"] == Box([0.0, 0.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b[0]": 1.5}, "one entry gets a Box or a value"),
        ({"x[0]": LogUniform(0.1, 1)}, "one entry gets a Box or a value"),
        ({"x[5]": 1.5}, "there is no entry"),
        ({"a": [1.0, 2.0]}, r"a gets a measure, such as Box\(0, 1\), or a value of shape \(\)"),
        ({"t": 0.0}, "a fixed t is positive"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        DOMAIN.replacing(changes)


def test_fixed_entries_do_not_change_places():
    rainbow = fk.Rainbow(dim=2)
    assert rainbow.on(sigma=0.3).domain.exchanged == ("x", "sigma")
    assert rainbow.on(sigma=[0.2, 0.3]).domain.exchanged == ()
    assert rainbow.on(**{"x[0]": 100.0}).domain.exchanged == ()
    with pytest.raises(InputError, match="cannot change places, since some are fixed"):
        rainbow.on(sigma=[0.2, 0.3]).domain.exchanging("x", "sigma")


def test_queries_may_omit_what_is_fixed():
    found = DOMAIN.replacing({"x[1]": 0.25}, a=1.5)
    flat = found.join({"x[0]": [0.1, 0.2], "t": 0.5, "b": 1.5})
    assert flat.tolist() == [[0.1, 0.25, 0.5, 1.5, 1.5, 1.5], [0.2, 0.25, 0.5, 1.5, 1.5, 1.5]]
    same = found.join({"x": [[0.1, 0.25], [0.2, 0.25]], "t": 0.5, "b": 1.5, "a": 1.5})
    assert torch.equal(flat, same)
    for extrapolate in (False, True):  # nothing was learned of how u depends on it
        with pytest.raises(InputError, match=r"a = 1.6, but it was fixed at 1.5 in training; omit"):
            found.join({"x[0]": 0.1, "t": 0.5, "b": 1.5, "a": 1.6}, extrapolate)
    with pytest.raises(InputError, match=r"missing: x\[0\]$|missing: x\[0\]\."):
        found.join({"x[1]": 0.25, "t": 0.5, "b": 1.5})


def test_an_entry_says_more_than_its_variable():
    flat = DOMAIN.join({"x": [0.1, 0.2], "x[1]": [0.5, 0.6], "t": 0, "a": 1, "b": 1})
    assert flat[:, :2].tolist() == [[0.1, 0.5], [0.1, 0.6]]


def test_gradients_flow_back_to_entries():
    value = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    DOMAIN.join({"x[0]": 0.1, "x[1]": value, "t": 0, "a": 1, "b": 1}).square().sum().backward()
    assert value.grad == 1.0


def ones(count, generator, dtype):
    return torch.ones(count, dtype=dtype)


def zeros(count, generator, dtype):
    return torch.zeros(count, dtype=dtype)


@dataclass(frozen=True)
class Still(fk.Family):
    """Begins where a sampler says, and stays there."""

    @property
    def domain(self):
        return Domain(x=fk.Sampled(ones, -1.0, 1.0, mean=0.0, std=0.5), t=Box(0, 1))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return 0.0 * dw

    def initial(self, x, p):
        return x


def test_a_sampler_is_replaced_by_another_with_the_same_bounds(generator):
    family = Still().on(x=fk.Sampled(zeros, -1.0, 1.0, mean=0.0, std=0.5))
    assert (family.domain.sample(3, generator)[:, 0] == 0.0).all()
