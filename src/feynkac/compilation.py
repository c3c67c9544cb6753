"""torch.compile where it works, plain Python where it does not.

Compiling needs a C++ compiler on the CPU. Whether it works is found out once, on a function of one
line, so that a machine without a compiler runs the same program more slowly instead of failing.
"""

import functools

import torch
from torch import nn


@functools.cache
def can_compile(device: str = "cpu") -> bool:
    """Whether torch.compile produces running code for `device`."""
    try:
        torch.compile(_probe)(torch.zeros(16, device=device))
    except Exception:  # whatever the compiler stack raises, the answer is no
        return False
    return True


def _probe(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1.0


def compile_module(module: nn.Module, device: str = "cpu") -> None:
    """Compile `module` in place if that works here; its parameters keep their names."""
    if can_compile(device):
        module.compile(dynamic=False)
