r"""The region that paths visit: (S_s, t − s, γ) for λ = (x, t, γ) random and s uniform on [0, t].

A martingale control needs u where paths go, and they leave the box of x at once.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.families.domain import Domain
from feynkac.families.family import Family, noise_dim
from feynkac.families.measures.box import Box
from feynkac.families.replacement import bounded
from feynkac.sampling.chunks import cut, path_numbers, rows_drawn
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.path import path_states
from feynkac.sampling.schemes.scheme import Scheme

PILOT_VISITS = 2**14  # from which the region is found
TAIL = 0.02  # of the visits, on each side, that lie outside the region


@dataclass(frozen=True)
class Visits:
    """The law of visits, as a joint sampler of a domain.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.sampling.schemes.exact import Exact
        >>> Visits(BlackScholes(), Exact())(5, torch.Generator().manual_seed(0)).shape
        torch.Size([5, 4])
    """

    family: Family
    scheme: Scheme

    def __call__(
        self, count: int, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """Independent visits.  Shape: `(count, dim)`."""
        rows = rows_drawn(path_numbers(self.family, self.scheme), dtype.itemsize)
        parts = [self._some(len(range(count)[part]), generator, dtype) for part in cut(count, rows)]
        return torch.cat(parts)

    def _some(self, count: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """So many at once."""
        domain = self.family.domain
        inputs = domain.sample(count, generator, dtype)
        x, t, p = domain.split(inputs.unsqueeze(-2))
        share = torch.rand(t.shape, generator=generator, dtype=dtype, device=generator.device)
        z = normals(self.scheme.draws, (count, 1), noise_dim(self.family), generator, dtype)
        with torch.no_grad():
            *_, last = path_states(self.family, self.scheme, x, t, p, z, share * t)
        where = domain.slices()
        inputs[:, where["x"]] = last.state.squeeze(-2)
        inputs[:, where["t"]] = ((1.0 - share) * t).squeeze(-2)
        return inputs


def visited_domain(family: Family, scheme: Scheme) -> Domain:
    """Boxes around the visits of a pilot, the parameters' own measures; inputs are visits.

    Visits that left the region are moved to its edge.
    """
    visits, measures = Visits(family, scheme), dict(family.domain.measures)
    inputs = visits(PILOT_VISITS, make_generator(0, "visited"), torch.float64)
    states, box = inputs[:, family.domain.slices()["x"]], measures["x"]
    low, high = states.quantile(torch.tensor([TAIL, 1.0 - TAIL], dtype=states.dtype), dim=0)
    low = low.minimum(low.new_tensor(box.low))  # paths start anywhere in the box
    high = high.maximum(high.new_tensor(box.high))
    first, last = (bound.reshape(box.shape).tolist() for bound in (low, high))
    measures["x"] = bounded(first, last, box.shape)
    measures["t"] = Box(0.0, measures["t"].high[0])
    return Domain(**measures).drawn_by(visits)


def visited(family: Family, scheme: Scheme) -> Family:
    """The same equation on the region its paths visit."""
    return family.on(visited_domain(family, scheme))
