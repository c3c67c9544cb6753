"""A variable with one value: its law, how it is shown, recorded and read again."""

import pytest
import torch
from pydantic import ValidationError

from feynkac.errors import InputError
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.runs.artifact import MeasureRecord, read_measure


def test_it_has_one_value_and_does_not_vary(generator):
    law = Fixed([1.0, 0.5])
    assert law.mean.tolist() == [1.0, 0.5]
    assert law.std.tolist() == [0.0, 0.0]
    assert law.volume == 1.0
    assert law.draw(torch.rand(3, 2, generator=generator), generator).tolist() == [[1.0, 0.5]] * 3
    mean, std = Fixed(4.0).moments(torch.sqrt)
    assert (mean.item(), std.item()) == (2.0, 0.0)


@pytest.mark.parametrize("text", ["Fixed(0.3)", "Fixed([1.0, 0.5])", "Fixed(2, shape=(3,))"])
def test_it_is_shown_as_it_is_written(text):
    assert repr(eval(text)) == text


@pytest.mark.parametrize("law", [Fixed(0.3), Fixed([[1.0, 2.0]]), Box([1.0, 2.0], [1.0, 3.0])])
def test_it_is_read_as_it_was_recorded(law):
    assert read_measure(MeasureRecord(**law.record())) == law


def test_a_record_with_two_values_is_refused():
    with pytest.raises(ValidationError, match="there is no measure"):
        MeasureRecord(**(Fixed(0.3).record() | {"high": (0.4,)}))


def test_a_box_may_be_fixed_in_part_but_not_in_all():
    box = Box([100.0, 0.04], [100.0, 0.09])
    assert box.std[0] == 0.0
    assert box.std[1] > 0.0
    assert box.volume == pytest.approx(0.05)
    with pytest.raises(InputError, match=r"lower=1, upper=1; swap or widen .*, or give Fixed\(1\)"):
        Box(1.0, 1.0)
    with pytest.raises(InputError, match="coordinate 1 has lower=5, upper=2"):
        Box([1.0, 5.0], [1.0, 2.0])


@pytest.mark.parametrize("bad", [float("nan"), "a", [[1.0], [1.0, 2.0]]])
def test_its_value_is_a_number(bad):
    with pytest.raises(InputError, match="Fixed value must be"):
        Fixed(bad)
