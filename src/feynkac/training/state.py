"""Everything that changes during training, and its checkpoint on disk.

A checkpoint is one safetensors file: weights, buffers, optimiser moments and the generator's state
as tensors, the step count and the history as JSON in its header, and the SHA-256 of all these. It
holds data only and is replaced atomically, so a killed run resumes from it to the bit.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from feynkac.errors import ArtifactError
from feynkac.families.family import Family, outputs
from feynkac.files import write_atomically
from feynkac.networks.architecture import Architecture
from feynkac.networks.network import Network, make_network
from feynkac.networks.synchronised import synchronise
from feynkac.sampling.noise.noise import make_generator
from feynkac.training.optimisers.optimiser import Optimiser
from feynkac.training.settings import Training
from feynkac.training.team import Alone, Team, make_streams

Record = dict[str, float | int | None]


@dataclass
class State:
    """A run at some step."""

    network: Network
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    step: int = 0
    seconds: float = 0.0
    """Time in training steps."""
    spent: float = 0.0
    """Wall-clock seconds of the run up to the last checkpoint, over all its resumptions."""
    history: list[Record] = field(default_factory=list)
    further: Sequence[torch.Generator] = ()
    """Further streams, if the inputs of a step come from several."""

    @property
    def streams(self) -> list[torch.Generator]:
        """All of them."""
        return [self.generator, *self.further]

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name, copied."""
        moments = self.optimiser.state_dict()["state"]
        named = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        for index, entries in moments.items():
            named |= {f"optimiser.{index}.{k}": v for k, v in entries.items() if v is not None}
        named["generator"] = torch.cat([stream.get_state() for stream in self.streams])
        return {k: v.detach().to("cpu", copy=True).contiguous() for k, v in named.items()}

    def is_finite(self) -> bool:
        """Whether every weight and buffer is finite."""
        return all(bool(v.isfinite().all()) for v in self.network.state_dict().values())

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `tensors()` returned."""
        weights = _below("network.", tensors)
        self.network.load_state_dict(weights)
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in _below("optimiser.", tensors).items():
            index, _, name = key.partition(".")
            moments.setdefault(int(index), {})[name] = value.clone()
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})
        for stream, state in zip(
            self.streams, tensors["generator"].chunk(len(self.streams)), strict=True
        ):
            stream.set_state(state.clone())


def begin(
    architecture: Architecture,
    optimiser: Optimiser,
    family: Family,
    training: Training,
    device: str,
    team: Team = Alone(),  # noqa: B008  (stateless)
) -> State:
    """The state before the first step, with parameters drawn from the seed of the run."""
    weights = make_generator(training.seed, "weights")
    network = make_network(architecture, family.domain, weights, outputs(family)).to(device)
    if team.size > 1:
        synchronise(network)
    if training.compile:
        network.compile_layers(device)
    generator, *further = make_streams(training.seed, training.workers, device)
    return State(network, optimiser.build(network), generator, further=further)


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


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
