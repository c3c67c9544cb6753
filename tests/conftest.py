"""Every test: one thread, its own seed, and torch's global state left as it was found."""

import os
from collections.abc import Iterator

import pytest
import torch

from feynkac.analysis import metrics
from feynkac.sampling import reference_size

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # commands compile the package once, not each
torch.set_num_threads(1)  # two test processes share two cores
reference_size.NORMALS = 2**21  # a sixty-fourth: most networks here are hardly trained
metrics.KNOWN_INPUTS = 2**12  # a sixteenth, likewise


@pytest.fixture
def generator() -> torch.Generator:
    """A freshly seeded generator."""
    return torch.Generator().manual_seed(20201)


@pytest.fixture(autouse=True)
def untouched_global_state() -> Iterator[None]:
    """Fail a test that draws from torch's global generator or changes its defaults."""
    torch.default_generator.manual_seed(0)  # manual_seed itself formats a stack for CUDA
    before = _global_state()
    yield
    assert _global_state() == before, "the test changed torch's global state"


def _global_state() -> tuple[bytes, torch.dtype, int, bool]:
    return (
        torch.random.get_rng_state().numpy().tobytes(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
    )
