"""Settings of a run: what is accepted, and one clear sentence for what is not."""

import pytest
import torch
from pydantic import ValidationError

from feynkac.errors import InputError
from feynkac.training.settings import Training, one_sentence, resolve_device, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60s", 60.0),
        ("60", 60.0),
        ("20m", 1200.0),
        ("20min", 1200.0),
        ("1.5h", 5400.0),
        (".5 h", 1800.0),
        (" 90 s ", 90.0),
        (45, 45.0),
        (0.25, 0.25),
    ],
)
def test_a_budget_is_read_in_seconds(text, expected):
    assert seconds(text) == expected
    assert Training(budget=text).budget == expected


@pytest.mark.parametrize(
    "wrong", ["", "fast", "-5s", "0s", 0, -1, "5d", "1h30m", "nan", "inf", True]
)
def test_what_is_no_time_is_refused(wrong):
    with pytest.raises(ValueError, match=r'positive time such as "60s", "20m" or "1.5h", not'):
        seconds(wrong)


@pytest.mark.parametrize("lengths", [{}, {"steps": 5, "budget": "60s"}])
def test_a_run_has_steps_or_a_budget_but_not_both(lengths):
    with pytest.raises(ValidationError, match="give either steps or a budget, and not both"):
        Training(**lengths)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "steps: Input should be greater than or equal to 1 (got 0)."),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0 (got -1)."),
        ({"evaluations": 0}, "evaluations: Input should be greater than or equal to 1 (got 0)."),
        ({"checkpoint_seconds": 0}, "checkpoint_seconds: Input should be greater than 0 (got 0)."),
        (
            {"checkpoint_seconds": float("inf")},
            "checkpoint_seconds: Input should be a finite number (got inf).",
        ),
        (
            {"steps": "many"},
            "steps: Input should be a valid integer, unable to parse string as an integer "
            "(got 'many').",
        ),
        (
            {"steps": None, "budget": "soon"},
            'budget: a budget is a positive time such as "60s", "20m" or "1.5h", not \'soon\' '
            "(got 'soon').",
        ),
        ({"widht": 3}, "widht: Unexpected keyword argument (got 3)."),
        (
            {"budget": "60s"},
            "Training: give either steps or a budget, and not both.",
        ),
    ],
)
def test_a_wrong_setting_is_explained_in_one_sentence(wrong, message):
    with pytest.raises(ValidationError) as caught:
        Training(**{"steps": 5, **wrong})
    assert one_sentence(caught.value) == message


@pytest.mark.parametrize(("workers", "rows"), [(1, 10), (2, 5), (3, 4), (4, 3), (20, 1)])
def test_workers_share_a_batch(workers, rows):
    assert Training(steps=1, workers=workers).per_worker(10) == rows


def test_settings_are_frozen():
    with pytest.raises(AttributeError, match="steps"):
        Training(steps=1).steps = 2


def test_the_default_device_is_one_that_works():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto") == expected
    assert resolve_device("cpu") == "cpu"


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "", "tpu:0"])
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(InputError, match=f"device '{name}' is not available here; use 'auto'"):
        resolve_device(name)
