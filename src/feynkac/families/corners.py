"""The corners of a domain, where formulas and paths go wrong first."""

import torch
from torch import Tensor

from feynkac.families.domain import Domain

MOST_CORNERS = 256


def corners(
    domain: Domain,
    generator: torch.Generator,
    most: int = MOST_CORNERS,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """All corners of the domain that are allowed, or `most` random ones.  Shape: `(N, dim)`.

    If none is allowed, they are random inputs.

    Example:
        >>> from feynkac.families.measures.box import Box
        >>> corners(Domain(x=Box(0, 1), t=Box(0, 2)), torch.Generator()).tolist()
        [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]]
    """
    low, high = (
        torch.tensor([v for m in domain.measures.values() for v in getattr(m, side)], dtype=dtype)
        for side in ("low", "high")
    )
    if 2**domain.dim <= most:
        upper = torch.cartesian_prod(*[torch.tensor([False, True])] * domain.dim)
    else:
        upper = torch.rand(most, domain.dim, generator=generator, dtype=torch.float32) < 0.5
    found = torch.where(upper, high, low)
    found = found[domain.contains(found)]
    return found if len(found) else domain.sample(most, generator, dtype)
