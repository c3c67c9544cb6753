r"""Processes that train together: N workers, each with its own stream of randomness.

The inputs of a step come from `Training.workers` streams. Worker r simulates those of stream r, and
the workers average their gradients, so all have the same parameters:

    ∇L = (1/N) Σ_r ∇L_r.

The streams belong to the run, not to the workers: one process that draws all of them takes the same
step, up to rounding.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from feynkac.sampling.generators import make_generator
from feynkac.training.objective import Batch

T = TypeVar("T")


def make_streams(seed: int, count: int, device: str) -> list[torch.Generator]:
    """`count` generators for training; the first is the same whatever `count` is.

    A generator on the CPU starts from 32 bits of its seed. Seeds with the same bits are skipped, so
    no two streams are equal. Two different streams overlap, within any number of draws that a
    computer can make, with a probability below 10^-5900: they share a cycle of 2^19937 − 1.
    """
    streams: dict[int, torch.Generator] = {}
    attempt = 0
    while len(streams) < count:
        name = ("training",) if attempt == 0 else ("training", attempt)
        generator = make_generator(seed, *name, device=device)
        streams.setdefault(generator.initial_seed() % 2**32, generator)
        attempt += 1
    return list(streams.values())


class Team(ABC):
    """The processes of a run, seen from one of them."""

    rank: int
    """Of this process; 0 is the leader, who alone measures errors and writes files."""
    size: int

    def mine(self, streams: Sequence[T]) -> Sequence[T]:
        """The streams that this process draws."""
        return streams[self.rank :: self.size]

    @abstractmethod
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each by its mean over the team."""

    @abstractmethod
    def gather(self, batch: Batch) -> Batch:
        """The rows of all processes."""

    @abstractmethod
    def decide(self, *values: float) -> tuple[float, ...]:
        """The values of the leader, in every process."""

    @abstractmethod
    def share(self, streams: Sequence[torch.Generator]) -> None:
        """Give every process the current state of every stream."""


class Alone(Team):
    """One process: there is nothing to exchange."""

    rank, size = 0, 1

    def average(self, tensors: Sequence[Tensor]) -> None:
        """Nothing to do: each is its own mean."""

    def gather(self, batch: Batch) -> Batch:
        """The batch itself."""
        return batch

    def decide(self, *values: float) -> tuple[float, ...]:
        """The given values."""
        return values

    def share(self, streams: Sequence[torch.Generator]) -> None:
        """Nothing to do: this process draws all of them."""


class Distributed(Team):
    """The default group of torch.distributed, which must exist already."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._device = "cuda" if dist.get_backend() == "nccl" else "cpu"

    def average(self, tensors: Sequence[Tensor]) -> None:
        """One exchange for all of them."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        parts = torch.split(flat / self.size, [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def gather(self, batch: Batch) -> Batch:
        """One exchange for the columns side by side; all parts have the same size."""
        columns = [part for part in batch if part is not None]
        table = torch.cat(columns, dim=-1)
        tables = [torch.empty_like(table) for _ in range(self.size)]
        dist.all_gather(tables, table)
        parts = iter(torch.split(torch.cat(tables), [part.shape[-1] for part in columns], dim=-1))
        return Batch._make(None if part is None else next(parts) for part in batch)

    def decide(self, *values: float) -> tuple[float, ...]:
        """One small broadcast."""
        tensor = torch.tensor(values, dtype=torch.float64, device=self._device)
        dist.broadcast(tensor, src=0)
        return tuple(tensor.tolist())

    def share(self, streams: Sequence[torch.Generator]) -> None:
        """One broadcast per stream, from the process that draws it."""
        for index, stream in enumerate(streams):
            state = stream.get_state().to(self._device)
            dist.broadcast(state, src=index % self.size)
            stream.set_state(state.cpu())
