"""Which noise is tried: cubature for few normals, the trapezoidal rule for one."""

import pytest

from feynkac.sampling.noise.candidates import MOST_CUBATURE_PATHS, candidate_noises


@pytest.mark.parametrize(
    ("normals", "integrated", "more"),
    [
        (1, True, ["spherical-radial", "trapezoid"]),
        (1, False, ["spherical-radial", "stretched"]),
        (2, True, ["spherical-radial", "stretched"]),
        ((MOST_CUBATURE_PATHS - 1) // 2, False, ["spherical-radial", "stretched"]),
        (MOST_CUBATURE_PATHS // 2, True, ["stretched"]),
    ],
)
def test_what_is_tried(normals, integrated, more):
    found = [noise.kind for noise in candidate_noises(normals, integrated)]
    assert found == ["antithetic", "sobol", *more]
