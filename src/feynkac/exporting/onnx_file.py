"""ONNX: the traced program with the solution's metadata, for any number of rows (extra `onnx`)."""

import contextlib
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from feynkac.exporting.program import make_program, metadata, traced
from feynkac.solution import Solution


def onnx_bytes(solution: Solution, greeks: bool, single: bool) -> bytes:
    """The model; input `inputs`, outputs `value`, and with Greeks `gradient`, `delta`, …"""
    import onnx  # an extra, needed here only

    program = make_program(solution, greeks, single)
    with _quiet():
        made = torch.onnx.export(
            traced(program, solution.family.domain.dim),
            (),
            dynamo=True,
            input_names=["inputs"],
            output_names=program.names,
            external_data=False,
            verbose=False,
        )
    assert made is not None
    model = made.model_proto
    _name_rows(model)
    about = metadata(solution)
    onnx.helper.set_model_props(model, {name: json.dumps(value) for name, value in about.items()})
    model.producer_name = "feynkac"
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _name_rows(model: Any) -> None:
    """Call the free dimension `batch`; the tracer numbers it."""
    traced_name = model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param == traced_name:
                size.dim_param = "batch"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporter logs what it does not need, and warns of its own old calls."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
