"""Solutions as the service lists them: where the sliders start."""

import numpy as np
import pytest

import feynkac as fk
from feynkac.interfaces.server.description import MANY, _start


def test_few_inputs_start_in_the_middle_of_their_laws():
    domain = fk.Domain(x=fk.Box(-1, 1, shape=(3,)), t=fk.Box(1, 3), sigma=fk.LogUniform(0.04, 1.0))
    assert _start(domain).tolist() == pytest.approx([0, 0, 0, 2, 0.2])


def test_many_entries_start_where_samples_are():
    """In 150 dimensions all samples are far from the middle, and networks know nothing there."""
    domain = fk.HeatGaussian(dim=150).domain
    start = _start(domain)
    x = start[domain.slices()["x"]]
    assert len(x) >= MANY
    assert np.linalg.norm(x) == pytest.approx(0.1 * np.sqrt(150 / 3), rel=0.2)
    assert (_start(domain) == start).all()
    assert start[-2:].tolist() == pytest.approx([0.5, 0.05])
