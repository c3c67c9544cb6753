"""Dimensions of a search: draws stay inside and follow the law; files are read or refused."""

from collections import Counter

import pytest
from scipy import stats

from feynkac.errors import InputError
from feynkac.methods.dimension import Choice, Interval, read_dimension

LEVEL = 1e-3  # of every test below; the draws are always the same
DRAWS = 2000


def test_choices_are_equally_likely(generator):
    drawn = Counter(Choice((1, "a", None)).draw(generator) for _ in range(DRAWS))
    assert set(drawn) == {1, "a", None}
    assert stats.chisquare(list(drawn.values())).pvalue > LEVEL


@pytest.mark.parametrize(
    ("interval", "law"),
    [
        (Interval(0.2, 0.6), stats.uniform(0.2, 0.4)),
        (Interval(1e-5, 1e-1, log=True), stats.loguniform(1e-5, 1e-1)),
    ],
    ids=["uniform", "log-uniform"],
)
def test_numbers_follow_their_law(generator, interval, law):
    drawn = [interval.draw(generator) for _ in range(DRAWS)]
    assert all(map(interval.contains, drawn))
    assert stats.kstest(drawn, law.cdf).pvalue > LEVEL


@pytest.mark.parametrize("log", [False, True])
def test_an_interval_of_no_length_is_its_bound(generator, log):
    assert Interval(0.3, 0.3, log).draw(generator) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("dimension", "inside", "outside"),
    [(Choice((16, None)), (16, None), (17, "16")), (Interval(1, 2), (1, 1.5, 2), (0.9, 2.1, "1"))],
    ids=["choice", "interval"],
)
def test_contains(dimension, inside, outside):
    assert all(map(dimension.contains, inside))
    assert not any(map(dimension.contains, outside))


@pytest.mark.parametrize(
    "dimension",
    [Choice((16, 32, None)), Interval(0.1, 0.2), Interval(0.1, 10.0, log=True)],
    ids=["choice", "uniform", "log-uniform"],
)
def test_what_is_written_is_read_again(dimension):
    assert read_dimension("name", dimension.record()) == dimension


@pytest.mark.parametrize(
    "data",
    [
        *([], 3, "16", None, {}, [[1]]),
        *({"normal": [0, 1]}, {"uniform": [1]}, {"uniform": ["a", "b"]}),
        {"uniform": [0, 1], "log-uniform": [1, 2]},
    ],
    ids=str,
)
def test_other_data_is_no_range(data):
    with pytest.raises(InputError, match="cannot read the range of width; expected a list"):
        read_dimension("width", data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"uniform": [2, 1]}, "expected two bounds low ≤ high, got 2, 1"),
        ({"uniform": [0, float("inf")]}, "expected two bounds"),
        ({"log-uniform": [0, 1]}, "log-uniform bounds are positive, got 0"),
    ],
)
def test_impossible_bounds(data, message):
    with pytest.raises(InputError, match=message):
        read_dimension("decay", data)
