"""Boxes: broadcasting of bounds, volume, value semantics, and every refused pair of bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feynkac.errors import InputError
from feynkac.families.measures.box import Box

unhurried = settings(deadline=None)  # the machine may be busy
BOUNDS = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=5)


@unhurried
@given(BOUNDS)
def test_the_volume_is_the_product_of_the_widths(bounds):
    low = [a for a, _ in bounds]
    high = [a + width for a, width in bounds]
    box = Box(low, high)
    assert box.size == len(bounds)
    assert box.volume == pytest.approx(math.prod(b - a for a, b in zip(low, high, strict=True)))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_numbers_fill_the_shape(shape):
    box = Box(-1, 2.5, shape=shape)
    assert box.shape == shape
    assert box.low == (-1.0,) * math.prod(shape)
    assert box.high == (2.5,) * math.prod(shape)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([[0, 1], [2, 3]], 9),
        (np.array([[0.0, 1.0], [2.0, 3.0]]), [[9, 9], [9, 9]]),
        ([[0, 1], [2, 3]], [9, 9]),
    ],
)
def test_bounds_broadcast_against_each_other(low, high):
    assert Box(low, high) == Box([[0, 1], [2, 3]], [[9, 9], [9, 9]], shape=(2, 2))


def test_a_box_is_a_value():
    assert Box(0, 1, shape=(2,)) == Box([0, 0], [1, 1])
    assert len({Box(0, 1), Box(0.0, 1.0), Box(0, 1, shape=(1,))}) == 2
    with pytest.raises(AttributeError, match="cannot assign"):
        Box(0, 1).low = (5.0,)


@pytest.mark.parametrize(
    "text",
    [
        "Box(0, 1)",
        "Box(-0.1, 0.1, shape=(150,))",
        "Box(0.1, 0.6, shape=(3, 3, 4))",
        "Box([0.1, 0.2], [0.3, 0.4])",
        "Box([[0.0, 1.0]], [[2.0, 2.0]])",
    ],
)
def test_a_box_is_shown_as_it_is_written(text):
    assert repr(eval(text)) == text


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1, 0, "coordinate 0 has lower=1, upper=0"),
        (1, 1, "coordinate 0 has lower=1, upper=1"),
        ([0, 0, 5], [1, 1, 2], "coordinate 2 has lower=5, upper=2"),
    ],
)
def test_lower_must_be_below_upper(low, high, shown):
    with pytest.raises(InputError, match=f"needs lower < upper in every coordinate.*{shown}; swap"):
        Box(low, high)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, [0.0, math.nan]])
def test_bounds_must_be_finite(bad):
    with pytest.raises(InputError, match=r"Box lower bound must be finite, got .*give finite"):
        Box(bad, 1.0)
    with pytest.raises(InputError, match="Box upper bound must be finite"):
        Box(0.0, bad)


@pytest.mark.parametrize("bad", ["a", None, [[1, 2], [3]], {}, 1j])
def test_bounds_must_be_numbers(bad):
    with pytest.raises(InputError, match="Box upper bound must be numbers, got "):
        Box(0.0, bad)


@pytest.mark.parametrize(
    ("low", "high", "shape"),
    [
        ([0, 0], [1, 1, 1], None),
        ([0, 0], 1, (3,)),
        ([0, 0], 1, ()),
        ([0, 0], 1, (1,)),
        (0, 1, (0,)),
        (0, 1, (-1,)),
        (0, 1, (2.5,)),
        (0, 1, 3),
        ([], [], None),
    ],
)
def test_bounds_must_fit_the_shape(low, high, shape):
    with pytest.raises(InputError, match=r"Box bounds of shapes .* do not fit shape=.*; give"):
        Box(low, high, shape=shape)
