"""What a method proposes for a family; any part can be overridden."""

from dataclasses import dataclass

from feynkac.networks.architecture import Architecture
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.training.optimisers.optimiser import Optimiser
from feynkac.training.schedules import Schedule


@dataclass(frozen=True)
class Setup:
    """All choices of a method."""

    architecture: Architecture
    scheme: Scheme
    noise: Noise
    optimiser: Optimiser
    schedule: Schedule
    batch_size: int
    paths: int
    steps: int
    balance: bool = False
    """Whether `paths` may follow the machine when a budget is given."""
