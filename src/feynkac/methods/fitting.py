"""Which objective goes with a run: the optimiser decides."""

from dataclasses import replace

from feynkac.clock import Allowance, Clock
from feynkac.errors import InputError
from feynkac.families.family import Family, jumps
from feynkac.methods.fast.sobolev import Data, SobolevGradient, SobolevProjection, measure_scales
from feynkac.networks.network import Network
from feynkac.networks.smooth import Smooth
from feynkac.runs.run import Run
from feynkac.sampling.noise.noise import make_generator
from feynkac.training.objective import MeanSquare, Objective
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.optimiser import SGD, AdamW

SCALE_INPUTS = 2048
FEWEST_SCALE_INPUTS = 128
SCALE_PATHS = 64
LEAST_SLOPE = 1e-3  # relative to the largest: all entries of a long vector matter together
FEW_LEAST_SLOPE = 0.1  # with few inputs: what matters less to u shall not count as much


def make_objective(
    run: Run, family: Family, network: Network, scale_inputs: int = SCALE_INPUTS
) -> Objective:
    """The objective of `run`; the fast ones first set the scale of `network`'s output.

    It draws one worker's part of a batch, rounded up where that does not divide.
    The pilot that measures the scales on `scale_inputs` inputs has its own stream of randomness,
    so that a continued run finds the same ones.
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
    pilot = _scale_pilot(run, family, scale_inputs)
    device = str(network.mean.device)
    generator = make_generator(training.seed, "pilot", device=device)
    least = FEW_LEAST_SLOPE if isinstance(optimiser, GaussNewton) else LEAST_SLOPE
    scales = measure_scales(pilot, network, generator, least)
    network.shift.copy_(scales.shift.reshape(network.shift.shape))
    network.scale.copy_(scales.scale.reshape(network.scale.shape))
    relative = scales.scale / scales.scale.mean()
    data = replace(pilot, batch_size=rows, paths=training.paths, relative=relative)
    slope_weight = training.slope_weight if pilot.slopes else 0.0
    if isinstance(optimiser, GaussNewton):
        return SobolevProjection(data, scales, slope_weight)
    return SobolevGradient(data, scales, slope_weight)


def _scale_pilot(run: Run, family: Family, inputs: int) -> Data:
    slopes = run.training.slopes and not jumps(family)
    return Data(family, run.scheme, run.noise, inputs, SCALE_PATHS, slopes)


def affordable_scale_inputs(run: Run, family: Family, allowance: Allowance, device: str) -> int:
    """How many inputs the pilot of the scales can afford, a power of two."""
    if isinstance(run.training.optimiser, AdamW | SGD):
        return SCALE_INPUTS
    generator = make_generator(run.training.seed, "scale inputs", device=device)
    few = _scale_pilot(run, family, FEWEST_SCALE_INPUTS)
    few.sample(generator)  # compiles, where something is compiled
    clock = Clock()
    few.sample(generator)
    times = allowance.times(clock.spent(), SCALE_INPUTS // FEWEST_SCALE_INPUTS)
    return FEWEST_SCALE_INPUTS << max(0, times.bit_length() - 1)
