"""Everything that changes during training, and its checkpoint on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from feynkac.families.family import Family, outputs
from feynkac.networks.architecture import Architecture
from feynkac.networks.network import Network, make_network
from feynkac.networks.synchronised import synchronise
from feynkac.sampling.generators import make_generator
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


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
