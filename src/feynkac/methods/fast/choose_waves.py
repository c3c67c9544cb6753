r"""Whether u oscillates, and how fast along each input. In normalised inputs, with two independent
labels Y, Y′ at each of a few inputs,

    ω_j² = E[∂_j Y ∂_j Y′] / V(Y),      Σ_j ω_j²  is about the mean degree of u as a polynomial:

1 for a linear function, k for one of degree k.
"""

import torch

from feynkac.families.evaluating import once_per_family
from feynkac.families.family import Family
from feynkac.methods.fast.choose_symmetries import Symmetries
from feynkac.methods.fast.path_data import PathData
from feynkac.networks.network import Network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.schemes.scheme import Scheme

OSCILLATING = 6.0  # mean degree from which on waves are worth it
INPUTS, PATHS = 128, 16


@once_per_family
def choose_frequencies(
    family: Family, scheme: Scheme, noise: Noise, symmetries: Symmetries
) -> tuple[float, ...]:
    """ω of each normalised input, or none if u does not oscillate; found once per family."""
    seen = Smooth(width=2, log_ranges=True, radial=symmetries.radial, units=symmetries.units)
    network = Network(seen, family.domain)
    data = PathData(family, scheme, noise, INPUTS, PATHS)
    batch = data.repeated(INPUTS, 2, make_generator(0, "waves"))
    assert batch.gradients is not None
    assert batch.mix is not None
    slopes = network.slopes(batch.inputs, batch.gradients).unflatten(0, (INPUTS, 2))  # type: ignore[no-untyped-call]
    unit = network.reduction.unit(batch.inputs)
    values = (batch.values / unit * batch.mix).sum(-1).view(INPUTS, 2)
    variance = (values - values.mean()).prod(-1).mean()  # without the labels' noise
    squares = slopes.prod(1).mean(0).clamp_min(0.0) / variance
    if not squares.isfinite().all() or variance <= 0.0 or squares.sum() < OSCILLATING:
        return ()
    return tuple(torch.sqrt(squares).tolist())
