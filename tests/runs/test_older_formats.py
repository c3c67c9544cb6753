"""Artifacts written by earlier versions load, and answer the same."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import feynkac as fk
from feynkac.files import seal, unseal
from feynkac.runs.older_formats import FORMAT, upgraded

KEPT = Path(__file__).parent / "kept"
ANSWERS = json.loads((KEPT / "answers.json").read_text())
"""By folder: what the version that wrote the artifact said at some inputs."""


@pytest.mark.parametrize("name", ANSWERS)
def test_an_earlier_artifact_answers_the_same(name):
    """Up to the last digits of float32, which depend on the processor."""
    kept = ANSWERS[name]
    solution = fk.load(KEPT / name)
    found = solution(**kept["at"]), solution.grad("x", **kept["at"])
    for value, expected in zip(found, (kept["values"], kept["delta"]), strict=True):
        expected = torch.tensor(expected, dtype=value.dtype)
        torch.testing.assert_close(value, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", ANSWERS)
def test_its_settings_are_those_of_the_same_run_today(name):
    kept, run = ANSWERS[name], fk.load(KEPT / name).manifest.run
    assert json.loads((KEPT / name / "manifest.json").read_text())["format"] < FORMAT
    assert (run.method.kind, run.method.paths) == (kept["method"], kept["paths"])
    assert (run.method.scheme.kind, run.method.noise.kind) == (kept["scheme"], kept["noise"])
    assert run.training.steps == kept["steps"]


def test_an_artifact_of_format_1_loads_too(tmp_path):
    """As they were written before manifests had a checksum."""
    shutil.copytree(KEPT / "fast-heston", tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    data = unseal(path.read_bytes()) | {"format": 1}
    del data["training_seconds"]
    path.write_text(json.dumps(data))
    found = fk.load(tmp_path / "run").manifest
    assert (found.format, found.steps, found.training_seconds) == (FORMAT, 20, None)


@pytest.mark.parametrize("key", ["run", "paths"])
def test_an_earlier_manifest_that_lacks_something_is_damaged(tmp_path, key):
    shutil.copytree(KEPT / "fast-heston", tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    data = unseal(path.read_bytes())
    del data[key]
    path.write_bytes(seal(data))
    with pytest.raises(fk.ArtifactError, match=r"manifest\.json is damaged"):
        fk.load(tmp_path / "run")


def test_the_present_format_is_left_alone():
    manifest = {"format": FORMAT, "run": {}}
    assert upgraded(manifest) is manifest
