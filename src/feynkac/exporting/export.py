"""`export`: a solution as a file for another program; the file's ending says which."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import torch

from feynkac.errors import InputError
from feynkac.exporting.c_header import c_name, header_text
from feynkac.exporting.onnx_file import onnx_bytes
from feynkac.exporting.program import make_program, metadata, traced
from feynkac.exporting.weights import weights_bytes
from feynkac.files import write_atomically
from feynkac.solution import Solution

Writer = Callable[[Solution, Path, bool, bool], bytes]


def export(
    solution: Solution, path: str | Path, *, greeks: bool = False, single: bool = False
) -> Path:
    """Write a solution for another program; see docs/export.md.

    Args:
        solution: what `solve` or `load` returned.
        path: `….onnx`, `….pt2` (a `torch.export` program), `….h` (C) or `….json` (weights).
        greeks: with `.onnx` and `.pt2`, also the gradient and the first derivatives with names.
        single: with `.onnx` and `.pt2`, compute in float32 in place of float64.

    Returns:
        The path.

    Raises:
        InputError: another ending, an option that a format does not have, or a network of an
            architecture of your own.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export(solution, f"{folder}/put.json").stat().st_size > 1000
        True
    """
    target = Path(path)
    writer = WRITERS.get(target.suffix)
    if writer is None:
        known = ", ".join(WRITERS)
        raise InputError(f"cannot export to {target.name!r}; expected one of the endings {known}.")
    if (greeks or single) and target.suffix not in TRACED:
        option = "greeks" if greeks else "single"
        raise InputError(
            f"{option} is for {' and '.join(TRACED)}; a {target.suffix} file has no such choice, "
            f"omit {option}."
        )
    write_atomically(target, writer(solution, target, greeks, single))
    return target


def _onnx(solution: Solution, path: Path, greeks: bool, single: bool) -> bytes:
    return onnx_bytes(solution, greeks, single)


def _torch(solution: Solution, path: Path, greeks: bool, single: bool) -> bytes:
    program = traced(make_program(solution, greeks, single), solution.family.domain.dim)
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"feynkac.json": json.dumps(metadata(solution))})
    return file.getvalue()


def _header(solution: Solution, path: Path, greeks: bool, single: bool) -> bytes:
    return header_text(solution, c_name(path)).encode()


def _json(solution: Solution, path: Path, greeks: bool, single: bool) -> bytes:
    return weights_bytes(solution)


WRITERS: dict[str, Writer] = {".onnx": _onnx, ".pt2": _torch, ".h": _header, ".json": _json}
TRACED = (".onnx", ".pt2")
