r"""μ, σσ* and φ of many parameter sets at once, as finite differences read them."""

import torch
from torch import Tensor

from feynkac.families.family import Family, noise_dim, timed
from feynkac.families.point import Params


def columns(family: Family, x: Tensor, p: Params) -> list[Tensor]:
    """The columns of σ.  Shape: x `(…, d)` → `(…, d)` each."""
    units = torch.eye(noise_dim(family), dtype=x.dtype)
    lead = x.shape[:-1]
    return [family.diffusion(x, unit.expand(*lead, -1), p).expand_as(x) for unit in units]


def variances(family: Family, x: Tensor, p: Params) -> Tensor:
    """The diagonal of σσ*.  Shape: `(…, d)` → `(…, d)`."""
    return torch.stack(columns(family, x, p)).square().sum(0)


def drift(family: Family, x: Tensor, p: Params) -> Tensor:
    """μ.  Shape: `(…, d)` → `(…, d)`."""
    return family.drift(x, p).expand_as(x)


def all_finite(family: Family, x: Tensor, t: Tensor, p: Params) -> Tensor:
    """Whether μ, σ and φ are numbers.  Shape: x `(B, d)`, t `(B,)` → `(B,)`."""
    p = timed(family, p, t.unsqueeze(-1))
    parts = [drift(family, x, p), family.initial(x, p), *columns(family, x, p)]
    return torch.cat([part.expand(len(x), -1) for part in parts], dim=-1).isfinite().all(-1)
