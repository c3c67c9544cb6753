"""The endings of files, the options, the command, and the program of `torch.export`."""

import json

import pytest
import torch
from typer.testing import CliRunner

import feynkac as fk
from feynkac.analysis.partials import gradient
from feynkac.exporting.program import first_greeks
from feynkac.interfaces.cli import app


def test_a_program_of_torch_export(put, drawn, tmp_path):
    path = fk.export(put, tmp_path / "u.pt2", greeks=True)
    extra = {"feynkac.json": ""}
    program = torch.export.load(path, extra_files=extra).module()
    inputs = drawn(put)
    value, slopes, *_ = program(inputs)
    torch.testing.assert_close(value, put.exactly(inputs), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(slopes, gradient(put.exactly, inputs), rtol=1e-6, atol=1e-8)
    assert json.loads(extra["feynkac.json"])["inputs"] == ["x", "t", "sigma", "strike"]


def test_another_ending_is_refused(put, tmp_path):
    with pytest.raises(
        fk.InputError, match=r"expected one of the endings \.onnx, \.pt2, \.h, \.json"
    ):
        fk.export(put, tmp_path / "u.pkl")


@pytest.mark.parametrize("name", ["u.h", "u.json"])
@pytest.mark.parametrize("option", ["greeks", "single"])
def test_an_option_that_a_format_does_not_have_is_refused(put, tmp_path, name, option):
    with pytest.raises(fk.InputError, match=f"{option} is for .onnx and .pt2"):
        fk.export(put, tmp_path / name, **{option: True})


def test_the_command_writes_and_says_so(put, tmp_path):
    put.save(tmp_path / "run")
    out = tmp_path / "put.json"
    result = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"file": str(out), "bytes": out.stat().st_size}
    result = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "u.zip")])
    assert result.exit_code == 2
    assert "cannot export to 'u.zip'" in result.output


def test_greeks_along_what_is_fixed_are_not_exported():
    """The library gets vega by symmetry; the network alone has no slope in a fixed σ."""
    calm = fk.solve(fk.BlackScholes().on(sigma=0.3), steps=1, batch_size=16, evaluations=1)
    assert "vega" in calm.named_greeks
    assert set(first_greeks(calm)) == {"delta", "theta"}
