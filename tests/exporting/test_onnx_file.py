"""ONNX under onnxruntime gives what torch gives: values and first derivatives."""

import json

import numpy as np
import onnxruntime
import pytest

import feynkac as fk
from feynkac.analysis.partials import gradient

CLOSE = {"rtol": 1e-6, "atol": 1e-6}


def opened(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def session(put, tmp_path_factory):
    """Values and Greeks of one network: exporting takes ten seconds."""
    return opened(fk.export(put, tmp_path_factory.mktemp("onnx") / "u.onnx", greeks=True))


def test_values_and_first_greeks(put, session, drawn):
    names = [output.name for output in session.get_outputs()]
    assert names == ["value", "gradient", "delta", "vega", "theta"]
    inputs = drawn(put, 1000)
    value, slopes, delta, vega, theta = session.run(None, {"inputs": inputs.numpy()})
    np.testing.assert_allclose(value, put.exactly(inputs), **CLOSE)
    expected = gradient(put.exactly, inputs)
    np.testing.assert_allclose(slopes, expected, **CLOSE)
    np.testing.assert_allclose(delta[:, 0], expected[:, 0], **CLOSE)
    np.testing.assert_allclose(vega[:, 0], expected[:, 2], **CLOSE)
    np.testing.assert_allclose(theta[:, 0], -expected[:, 1], **CLOSE)


@pytest.mark.slow
def test_any_number_of_rows_in_single_precision(rainbow, drawn, tmp_path):
    session = opened(fk.export(rainbow, tmp_path / "u.onnx", single=True))
    assert session.get_inputs()[0].shape == ["batch", 10]
    inputs = drawn(rainbow, 50).float()
    for rows in (1, 2, 52):
        (value,) = session.run(None, {"inputs": inputs[:rows].numpy()})
        np.testing.assert_allclose(value, rainbow.network(inputs[:rows]), **CLOSE)


def test_names_domain_and_error_are_in_the_metadata(put, session):
    found = {k: json.loads(v) for k, v in session.get_modelmeta().custom_metadata_map.items()}
    assert found["inputs"] == ["x", "t", "sigma", "strike"]
    assert (found["low"], found["high"]) == ([9.0, 0.0, 0.1, 10.0], [10.0, 1.0, 0.6, 12.0])
    assert found["error"]["l1"] == put.manifest.history[-1]["l1"]
    assert found["family"] == "black-scholes"


@pytest.mark.slow
def test_every_kind_of_network(each, drawn, tmp_path):
    gelu = each.manifest.run.method.architecture == fk.Multilevel(
        levels=2, factor=2, norm="layer", activation="gelu"
    )
    path = fk.export(each, tmp_path / "u.onnx", greeks=True, single=gelu)
    inputs = drawn(each)
    given = inputs.float() if gelu else inputs
    value, slopes, *_ = opened(path).run(None, {"inputs": given.numpy()})
    limit = {"rtol": 1e-4, "atol": 1e-5} if gelu else CLOSE
    np.testing.assert_allclose(value, each.exactly(inputs), **limit)
    if value.shape[-1] == 1:
        np.testing.assert_allclose(slopes, gradient(each.exactly, inputs), rtol=1e-4, atol=1e-4)
