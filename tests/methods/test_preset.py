"""Presets: written, read, and refused in one sentence where they cannot be used."""

import json

import pytest

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.preset import read_preset, write_preset
from feynkac.parts import record_part
from feynkac.preparation import make_run
from feynkac.training.schedules import LinearDecay

FULL = fk.Fast(
    architecture=fk.Smooth(width=24, depth=2, products=12),
    optimiser=fk.GaussNewton(learning_rate=0.2),
    schedule=LinearDecay(warmup=5),
    batch_size=50,
    paths=128,
    slope_weight=2.0,
)


@pytest.mark.parametrize("preset", [FULL, fk.Fast(), fk.Paper()], ids=range(3))
def test_what_is_written_is_read_again(tmp_path, preset):
    path = tmp_path / "preset.json"
    write_preset(preset, path)
    assert read_preset(path) == preset


def test_what_is_open_is_not_written():
    assert record_part(fk.Paper(batch_size=8)) == {"kind": "paper", "batch_size": 8}


def test_an_older_preset_names_its_method_differently(tmp_path):
    path = tmp_path / "preset.json"
    path.write_text(json.dumps({"method": "paper", "batch_size": 8}))
    assert read_preset(path) == fk.Paper(batch_size=8)


def test_one_without_a_name_is_the_fast_method_s(tmp_path):
    path = tmp_path / "preset.json"
    path.write_text(json.dumps({"paths": 8}))
    assert read_preset(path) == fk.Fast(paths=8)


def test_all_of_it_is_in_the_run():
    method = make_run(fk.BlackScholes(), FULL, {"steps": 3}).method
    for name, value in vars(FULL).items():
        assert value is None or getattr(method, name) == value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"widht": 3}, "unknown key 'widht'; a preset has: kind, architecture, scheme"),
        ({"batch_size": 1}, "batch_size: Input should be greater than or equal to 2"),
        ({"architecture": {"kind": "smooth", "wdith": 3}}, "wdith"),
        ({"optimiser": {"kind": "adam"}}, "optimiser"),
        ([1], "is not a preset: a JSON object was expected, not list"),
    ],
)
def test_other_content_is_refused_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as error:
        read_preset(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_json(tmp_path):
    path = tmp_path / "preset.json"
    path.write_text("width = 3")
    with pytest.raises(InputError, match="is not a preset"):
        read_preset(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the preset .*No such file"):
        read_preset(tmp_path / "none.json")
