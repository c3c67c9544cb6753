"""The state of a training on disk.

A checkpoint is one safetensors file: weights, buffers, optimiser moments and the generator's state
as tensors, the step count and the history as JSON in its header, and the SHA-256 of all these. It
holds data only and is replaced atomically, so a killed run resumes from it to the bit.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from feynkac.errors import ArtifactError
from feynkac.files import write_atomically
from feynkac.training.state import State


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
    header, tensors = _read(path)
    if header.get("identity") != identity:
        raise ArtifactError(f"{path} belongs to a run with other settings; choose another folder.")
    try:
        state.restore(tensors)
        state.step, state.seconds = header["step"], header["seconds"]
        state.spent, state.history = header["spent"], header["history"]
    except (KeyError, RuntimeError, ValueError) as error:
        raise ArtifactError(f"{path} does not fit this run; delete it to start over.") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            seal = file.metadata()
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        if seal["sha256"] != _digest(seal["feynkac"], tensors):
            raise ValueError("its SHA-256 does not match its content")
        return dict(json.loads(seal["feynkac"])), tensors
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
