r"""Does u vary along a few directions of a long variable alone? In normalised entries of unit
covariance, with two independent labels Y, Y′ at each of a few inputs,

    C = E[∇Y (∇Y′)ᵀ] / V(Y) = U Λ Uᵀ,      √(Σ_{j>r} λ_j)  bounds what r directions leave out,

in standard deviations of u (Poincaré's inequality). Directions come from one half of the inputs,
what they leave out from the other. The more time there is, the less may be left out.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.clock import Allowance
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.symmetry import exchangeable_variables
from feynkac.methods.fast.choose_symmetries import LONG, Symmetries
from feynkac.methods.fast.path_data import PathData
from feynkac.networks.network import Network
from feynkac.networks.reduction import Reduction
from feynkac.networks.smooth import Smooth
from feynkac.networks.subspaces import Subspace, order_moments
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import Antithetic
from feynkac.sampling.schemes.scheme import Scheme

LEFT_OUT, USUAL = 2e-3, 1.5  # of the standard deviation of u, at most; with so many seconds
FEWEST, MOST, PATHS = 64, 1024, 256
DIGITS = 7


class Seen(NamedTuple):
    """What a network needs to see of the long variables; by default all as it is."""

    ordered: tuple[str, ...] = ()
    subspaces: tuple[Subspace, ...] = ()
    symmetries: Symmetries = Symmetries()

    def size(self, domain: Domain) -> int:
        """How many inputs that leaves."""
        kept = [(len(space.directions), len(space.directions[0])) for space in self.subspaces]
        return domain.dim - self.symmetries.saved(domain) - sum(n - few for few, n in kept)


def choose_subspaces(
    family: Family, scheme: Scheme, allowance: Allowance, symmetries: Symmetries
) -> Seen:
    """In order, if that takes fewer directions; nothing where u varies along many."""
    known = family.domain.exchanged  # these are in order anyway
    orders = dict.fromkeys([(), () if known else exchangeable_variables(family)])
    short = math.isinf(allowance.seconds) or allowance.seconds <= USUAL
    limit = LEFT_OUT if short else LEFT_OUT * (USUAL / allowance.seconds) ** 0.5

    def among(count: int) -> Seen:
        batch = _labels(family, scheme, symmetries, count)
        spaces = [
            (order, _found(family.domain, order, symmetries, limit, *batch)) for order in orders
        ]
        found = [Seen(), *(Seen(*pair) for pair in spaces if pair[1])]
        found = [seen._replace(symmetries=symmetries) for seen in found]
        return min(found, key=lambda seen: seen.size(family.domain))

    return allowance.afford(among, FEWEST, MOST)


def _labels(
    family: Family, scheme: Scheme, symmetries: Symmetries, count: int
) -> tuple[Tensor, Tensor]:
    """Inputs `(N, dim)`, and two slopes at each, in standard deviations of u `(N, 2, dim)`."""
    data = PathData(family, scheme, Antithetic(), count, PATHS)
    batch = data.repeated(count, 2, make_generator(0, "subspaces"))
    assert batch.gradients is not None
    assert batch.mix is not None
    unit = Reduction(family.domain, symmetries.radial, symmetries.units).unit(batch.inputs)
    values = (batch.values / unit * batch.mix).sum(-1).view(count, 2)
    variance = (values - values.mean()).prod(-1).mean()  # without the labels' noise
    slopes = batch.gradients.view(count, 2, -1) / variance.sqrt()  # NaN if all is noise
    return batch.inputs[::2], slopes


def _found(
    domain: Domain,
    order: tuple[str, ...],
    symmetries: Symmetries,
    limit: float,
    inputs: Tensor,
    slopes: Tensor,
) -> tuple[Subspace, ...]:
    radial, units = symmetries
    seen = Smooth(width=1, log_ranges=True, ordered=order, radial=radial, units=units)
    network = Network(seen, domain)
    both = [network.slopes(inputs, slopes[:, k]).double() for k in (0, 1)]
    exchanged = domain.exchanged or order
    spaces = []
    for name, where in network.columns.places.items():
        long = where.stop - where.start >= LONG and bool(network.columns.varies[where].all())
        if not long:
            continue
        root = torch.eye(where.stop - where.start, dtype=torch.float64)
        if exchanged and name == exchanged[0]:
            root = torch.linalg.cholesky(order_moments(len(root))[1])
        turned = _few_directions(both[0][:, where] @ root, both[1][:, where] @ root, limit)
        if turned is not None:
            spaces.append(Subspace(name, _rounded(root @ turned)))
    return tuple(spaces)


def _few_directions(a: Tensor, b: Tensor, limit: float) -> Tensor | None:
    """The fewest that leave out little, from two slopes at each input; None if they are many.

    Shape: `(N, k)` twice → `(k, r)`.
    """
    if not (a.isfinite().all() and b.isfinite().all()):
        return None
    half, count = len(a) // 2, a.shape[1]
    product = a[:half].mT @ b[:half]
    directions: Tensor = torch.linalg.eigh(product + product.mT).eigenvectors.flip(-1)
    energy = (a[half:] @ directions) * (b[half:] @ directions)
    for size in range(1, count // 2 + 1):
        tail = energy[:, size:].sum(-1)
        if tail.mean() + 2.0 * tail.std() / half**0.5 <= limit**2:
            return directions[:, :size]
    return None


def _rounded(directions: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{v:.{DIGITS}g}") for v in row) for row in directions.mT.tolist())
