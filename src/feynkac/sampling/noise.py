"""Where the normals of a path come from, and the seeds of all randomness."""

import hashlib

import torch
from torch import Tensor


def make_generator(seed: int, *stream: str | int, device: str = "cpu") -> torch.Generator:
    """A generator for one named stream of a run: same seed and name, same numbers.

    Example:
        >>> a = torch.rand(1, generator=make_generator(0, "training"))
        >>> b = torch.rand(1, generator=make_generator(0, "training"))
        >>> bool(a == b)
        True
    """
    digest = hashlib.sha256(repr((seed, *stream)).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def normals(
    draws: int,
    lead: tuple[int, ...],
    dim: int,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Independent standard normals.  Shape: `(draws, *lead, dim)`."""
    return torch.randn(draws, *lead, dim, generator=generator, dtype=dtype, device=generator.device)
