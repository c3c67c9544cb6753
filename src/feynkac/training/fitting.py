"""Which objective goes with a run: the optimiser decides."""

from dataclasses import replace

from feynkac.errors import InputError
from feynkac.families.family import Family, jumps
from feynkac.networks.network import Network
from feynkac.networks.smooth import Smooth
from feynkac.sampling.noise import make_generator
from feynkac.training.gauss_newton import GaussNewton
from feynkac.training.objective import MeanSquare, Objective
from feynkac.training.optimisers import SGD, AdamW
from feynkac.training.run import Run
from feynkac.training.sobolev import Data, SobolevGradient, SobolevProjection, measure_scales

PILOT_INPUTS = 2048
PILOT_PATHS = 64
LEAST_SLOPE = 1e-3  # relative to the largest: all entries of a long vector matter together
FEW_LEAST_SLOPE = 0.1  # with few inputs: what matters less to u shall not count as much


def make_objective(run: Run, family: Family, network: Network) -> Objective:
    """The objective of `run`; the fast ones first set the scale of `network`'s output.

    It draws one worker's part of a batch, rounded up where that does not divide.
    The pilot that measures the scales has its own stream of randomness, so that a resumed run
    finds the same ones.
    """
    training, optimiser = run.training, run.training.optimiser
    rows = -(-training.batch_size // training.workers)
    if isinstance(optimiser, AdamW | SGD):
        return MeanSquare(family, run.scheme, rows, training.paths)
    if not isinstance(run.architecture, Smooth):
        raise InputError(
            f"the optimiser {optimiser.kind!r} fits Smooth networks, "
            f"not {run.architecture.kind!r}; give architecture=Smooth(…), or use AdamW."
        )
    slopes = training.slopes and not jumps(family)
    pilot = Data(family, run.scheme, run.noise, PILOT_INPUTS, PILOT_PATHS, slopes)
    device = str(network.mean.device)
    generator = make_generator(training.seed, "pilot", device=device)
    least = FEW_LEAST_SLOPE if isinstance(optimiser, GaussNewton) else LEAST_SLOPE
    scales = measure_scales(pilot, network, generator, least)
    network.shift.copy_(scales.shift.reshape(network.shift.shape))
    network.scale.copy_(scales.scale.reshape(network.scale.shape))
    relative = scales.scale / scales.scale.mean()
    data = replace(pilot, batch_size=rows, paths=training.paths, relative=relative)
    slope_weight = training.slope_weight if slopes else 0.0
    if isinstance(optimiser, GaussNewton):
        return SobolevProjection(data, scales, slope_weight)
    return SobolevGradient(data, scales, slope_weight)
