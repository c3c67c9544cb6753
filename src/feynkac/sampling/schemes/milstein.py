r"""Milstein, with V_j the columns of σ and h = t / steps:

    S ← S + μ h + σ ΔB + ½ Σ_jk (DV_j) V_k (ΔB_j ΔB_k − δ_jk h).

Strong order 1, for noise that commutes: (DV_j) V_k = (DV_k) V_j for all j, k, as in one dimension,
for diagonal σ and for constant σ. Other noise needs Lévy areas, which are not drawn here; without
them the strong order is ½, that of `EulerMaruyama`, and `check` refuses the family. The weak order
is 1, no more than Euler's: for expectations `NinomiyaVictoir` needs far fewer steps.

A step costs d + 1 directional derivatives of σ; with constant σ they vanish, and Euler–Maruyama
gives the same paths for less.
"""

from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import Family, noise_dim
from feynkac.families.point import Params
from feynkac.sampling.schemes.fields import commutator, derivative, noise_kind
from feynkac.sampling.schemes.scheme import Scheme, require_free


@dataclass(frozen=True, config={"extra": "forbid"})
class Milstein(Scheme):
    """Milstein with `steps` equal steps; for families whose noise commutes.

    Example:
        >>> Milstein(steps=25).draws
        25
    """

    order: ClassVar[int] = 1
    steps: Annotated[int, Field(ge=1)] = 25

    @property
    def draws(self) -> int:
        """One vector per step."""
        return self.steps

    def terminal(self, family: Family, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """State at time t.  Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, d)` → `(…, d)`."""
        h = t / self.steps
        root = h.sqrt()
        x = x.expand(*z.shape[1:-1], -1)
        for normal in z.unbind(0):
            dw = root * normal
            euler = h * family.drift(x, p) + family.diffusion(x, dw, p)
            double = derivative(family, x, p, dw, dw)
            for unit in torch.eye(noise_dim(family), dtype=x.dtype, device=x.device):
                column = unit.expand_as(dw)
                double = double - h * derivative(family, x, p, column, column)
            x = x + euler + 0.5 * double
        return x

    def check(self, family: Family) -> None:
        """The noise must commute, as declared or at a few random points of the domain."""
        require_free(family)
        if noise_kind(family) == "general":
            raise InputError(
                f"Milstein expects noise that commutes, but that of {type(family).__name__} does "
                f"not (relative commutator {commutator(family):.2g}); use "
                "NinomiyaVictoir(steps=4)."
            )
