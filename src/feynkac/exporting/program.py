"""The stages as a module for tracers: values, or values and first derivatives by name."""

from typing import Any

import torch
from torch import Tensor, nn

from feynkac.analysis.partials import has_slope
from feynkac.exporting.description import describe
from feynkac.exporting.stage import Chain
from feynkac.solution import Solution

Slopes = dict[str, tuple[list[int], float]]
"""Columns and sign of each first derivative that has a name."""


class Program(nn.Module):
    """Shape: `(N, dim)` → `(N, outputs)`, and with derivatives `(N, dim)`, `(N, columns)`, …

    With several outputs, derivatives have one more axis for them, `(N, outputs, dim)`.
    """

    def __init__(self, chain: Chain, slopes: Slopes | None) -> None:
        super().__init__()
        self.chain, self.slopes = chain, slopes

    @property
    def names(self) -> list[str]:
        """Of what is returned."""
        return ["value", *([] if self.slopes is None else ["gradient", *self.slopes])]

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """The value, the gradient and each named derivative."""
        if self.slopes is None:
            return (self.chain(inputs),)
        value, gradient = self.chain.jet(inputs)
        if value.shape[-1] == 1:
            gradient = gradient.squeeze(1)
        named = [sign * gradient[..., columns] for columns, sign in self.slopes.values()]
        return value, gradient, *named


@torch.inference_mode(False)
def make_program(solution: Solution, greeks: bool, single: bool) -> Program:
    """The module to trace, in float64 unless `single`."""
    chain = describe(solution)
    return Program(chain if single else chain.double(), first_greeks(solution) if greeks else None)


def traced(program: Program, dim: int) -> torch.export.ExportedProgram:
    """By `torch.export`, for any number of rows."""
    dtype = next(program.buffers()).dtype
    if not dtype.is_floating_point:
        dtype = next(b.dtype for b in program.buffers() if b.dtype.is_floating_point)
    example = torch.full((3, dim), 0.5, dtype=dtype)
    rows = {0: torch.export.Dim("batch", min=1)}
    return torch.export.export(program, (example,), dynamic_shapes=(rows,))


def first_greeks(solution: Solution) -> Slopes:
    """Columns and sign of the family's Greeks of first order.

    Example:
        >>> first_greeks(solution)["theta"]
        ([1], -1.0)
    """
    place = solution.family.domain.place
    return {
        name: (list(range(*place(greek.names[0]).columns.indices(10**9))), greek.sign)
        for name, greek in solution.named_greeks.items()
        if len(greek.names) == 1 and has_slope(solution.family.domain, greek.names[0])
    }


def metadata(solution: Solution) -> dict[str, Any]:
    """What a consumer must know: names and bounds of the inputs, error, warnings, origin.

    Example:
        >>> metadata(solution)["inputs"]
        ['x', 't', 'sigma', 'strike']
    """
    domain, manifest = solution.family.domain, solution.manifest
    low, high = (side.tolist() for side in domain.bounds)
    return {
        "family": manifest.family.name,
        "inputs": domain.entries,
        "low": low,
        "high": high,
        "coupled": domain.rule is not None,
        "outputs": 1 if solution.network.shift.ndim == 0 else len(solution.network.shift),
        "error": measured_error(solution),
        "warnings": solution.warnings,
        "created": manifest.created,
        "versions": manifest.versions,
    }


def measured_error(solution: Solution) -> dict[str, float | None] | None:
    """The errors measured last in training, relative to 1 + |u|; None: none was.

    Example:
        >>> sorted(measured_error(solution))
        ['l1', 'l2', 'max']
    """
    history = solution.manifest.history
    return {name: history[-1].get(name) for name in ("l1", "l2", "max")} if history else None
