r"""The region that paths visit: (S_s, t − s, γ) for λ = (x, t, γ) random and s uniform on [0, t].

A martingale control needs u where paths go, and they leave the box of x at once.
"""

import copy

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.family import Family, noise_dim
from feynkac.families.measures.box import Box
from feynkac.sampling.noise.noise import make_generator, normals
from feynkac.sampling.path import moments
from feynkac.sampling.schemes.scheme import Scheme

PILOT = 2**14
TAIL = 0.02  # of the visits, on each side, that lie outside the region


class VisitedDomain(Domain):
    """Boxes around the visits, the parameters' own measures; `sample` draws from the visits."""

    def __init__(self, family: Family, scheme: Scheme) -> None:
        self.family, self.scheme = family, scheme
        boxes = dict(family.domain.measures)
        visits = self._visits(PILOT, make_generator(0, "visited"), torch.float64)
        states = visits[:, family.domain.slices()["x"]]
        low, high = states.quantile(torch.tensor([TAIL, 1.0 - TAIL], dtype=states.dtype), dim=0)
        low = low.minimum(low.new_tensor(boxes["x"].low))  # paths start anywhere in the box
        high = high.maximum(high.new_tensor(boxes["x"].high))
        shape = boxes["x"].shape
        boxes["x"] = Box(low.reshape(shape).tolist(), high.reshape(shape).tolist(), shape=shape)
        boxes["t"] = Box(0.0, boxes["t"].high[0])
        super().__init__(**boxes)

    def sample(
        self, count: int, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """Visits, moved to the edge of the region where they left it.  Shape: `(count, dim)`."""
        return self.nearest(self._visits(count, generator, dtype))

    def _visits(self, count: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        domain = self.family.domain
        inputs = domain.sample(count, generator, dtype)
        x, t, p = domain.split(inputs.unsqueeze(-2))
        share = torch.rand(t.shape, generator=generator, dtype=dtype, device=generator.device)
        z = normals(self.scheme.draws, (count, 1), noise_dim(self.family), generator, dtype)
        with torch.no_grad():
            *_, last = moments(self.family, self.scheme, x, t, p, z, share * t)
        where = domain.slices()
        inputs[:, where["x"]] = last.state.squeeze(-2)
        inputs[:, where["t"]] = ((1.0 - share) * t).squeeze(-2)
        return inputs


def visited(family: Family, scheme: Scheme) -> Family:
    """The same equation on the region its paths visit."""
    wide = copy.copy(family)
    vars(wide)["domain"] = VisitedDomain(family, scheme)  # in place of the cached one
    return wide
