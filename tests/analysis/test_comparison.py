"""Two maps on the same inputs: the difference is paired, and chance is not taken for merit."""

import pytest
import torch

import feynkac as fk
from feynkac.analysis.comparison import compare_maps
from feynkac.analysis.metrics import make_yardstick
from feynkac.sampling.schemes.exact import Exact

FAMILY = fk.BlackScholes()


@pytest.fixture
def yardstick(generator):
    return make_yardstick(FAMILY, Exact(), generator, inputs=4096)


def exact(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs.double()))


def off_by(amount):
    return lambda inputs: exact(inputs) + amount * (1.0 + exact(inputs).abs())


def test_errors_are_those_that_the_maps_have(yardstick):
    found = compare_maps(off_by(0.01), off_by(-0.03), yardstick)
    assert found.l1 == pytest.approx(0.01, rel=1e-4)
    assert found.other_l1 == pytest.approx(0.03, rel=1e-4)
    assert found.difference == pytest.approx(-0.02, rel=1e-4)
    assert found.better


def test_the_worse_is_not_better(yardstick):
    assert not compare_maps(off_by(0.03), off_by(0.01), yardstick).better


def test_a_map_is_not_better_than_itself(yardstick):
    found = compare_maps(exact, exact, yardstick)
    assert (found.difference, found.difference_se) == (0.0, 0.0)
    assert not found.better


def test_what_both_find_hard_cancels(yardstick):
    """Errors vary by 1 between the inputs, but differ by 0.001 at each."""

    def rough(extra):
        return lambda inputs: exact(inputs) + (1 + exact(inputs)) * (inputs[:, :1] - 8.0 + extra)

    found = compare_maps(rough(0.0), rough(0.001), yardstick)
    assert found.l1_se > 0.001
    assert found.difference_se < 1e-6
    assert found.better


def test_noise_alone_is_not_significant(yardstick, generator):
    """Two maps with independent errors of the same law."""

    def noisy(seed):
        noise = torch.randn(4096, 1, generator=generator.manual_seed(seed))
        return lambda inputs: exact(inputs) + 0.01 * noise

    found = [compare_maps(noisy(2 * i), noisy(2 * i + 1), yardstick) for i in range(20)]
    assert sum(each.better for each in found) <= 2


def test_the_errors_are_those_of_the_yardstick(yardstick):
    """One definition of L1 in the program."""
    found, measured = compare_maps(off_by(0.02), exact, yardstick), yardstick.measure(off_by(0.02))
    assert (found.l1, found.l1_se) == pytest.approx((measured.l1, measured.l1_se))
