"""The state of a training on disk.

A checkpoint is one safetensors file: weights, buffers, optimiser moments and the generator's state
as tensors, the step count and the history as JSON in its header, and the SHA-256 of all these. It
holds data only and is replaced atomically, so a killed run resumes from it to the bit.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from feynkac.errors import ArtifactError
from feynkac.files import parse_object, read_regular, write_atomically
from feynkac.training.state import State

LENGTH = 8  # bytes before the header of a safetensors file, which say how long it is
FACTOR, BESIDES = 16, 2**28  # a checkpoint has at most so many bytes, and times the state


def save_checkpoint(state: State, path: Path, identity: str) -> None:
    """Write `state` to `path` atomically."""
    header = json.dumps(
        {
            "identity": identity,
            "step": state.step,
            "seconds": state.seconds,
            "spent": state.spent,
            "history": state.history,
        }
    )
    tensors = state.tensors()
    seal = {"feynkac": header, "sha256": _digest(header, tensors)}
    write_atomically(path, save(tensors, metadata=seal))


def load_checkpoint(state: State, path: Path, identity: str) -> None:
    """Restore `state` from `path`.

    Raises:
        ArtifactError: the file is damaged or belongs to a run with other settings.
    """
    held = sum(tensor.nbytes for tensor in state.tensors().values())
    header, tensors = _read(path, FACTOR * held + BESIDES)
    if header.get("identity") != identity:
        raise ArtifactError(f"{path} belongs to a run with other settings; choose another folder.")
    try:
        state.restore(tensors)
        state.step, state.seconds = header["step"], header["seconds"]
        state.spent, state.history = header["spent"], header["history"]
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ArtifactError(f"{path} does not fit this run; delete it to start over.") from error


def _read(path: Path, largest: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        content = read_regular(path, largest)
        tensors = load(content)
        end = LENGTH + int.from_bytes(content[:LENGTH], "little")
        seal = parse_object(content[LENGTH:end])["__metadata__"]
        if seal["sha256"] != _digest(seal["feynkac"], tensors):
            raise ValueError("its SHA-256 does not match its content")
        return parse_object(seal["feynkac"].encode()), tensors
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(
            f"{path} is not a readable checkpoint ({error}); delete it to start over."
        ) from error


def _digest(header: str, tensors: dict[str, Tensor]) -> str:
    """SHA-256 of the header and of names, types, shapes and bytes of all tensors."""
    found = hashlib.sha256(header.encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.numpy().tobytes())
    return found.hexdigest()
