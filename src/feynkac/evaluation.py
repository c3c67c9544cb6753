"""How a run measures its own error while it trains, and what that costs.

Without a budget every evaluation has a fixed size, so that the same seed gives the same numbers.
With one, the inputs and their reference values are made once, in a small part of the budget.
"""

from dataclasses import dataclass, field

from feynkac.analysis.metrics import Yardstick, make_yardstick
from feynkac.clock import Clock
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family
from feynkac.networks.network import Network
from feynkac.phases import Phase, tell
from feynkac.runs.run import Run
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import Independent
from feynkac.training.state import Record

REFERENCE_SHARE = 0.05  # of a budget
MOST_SHARE = 0.15  # of a budget, for all evaluations together


@dataclass
class Evaluator:
    """Measures the error of a network at a step."""

    run: Run
    family: Family
    device: str
    count: int = 0
    """Evaluations so far."""
    spent: float = 0.0
    """Seconds that they took, references included."""
    cost: float = 0.0
    """Seconds of the last one."""
    _yardstick: Yardstick | None = field(default=None, repr=False)

    def __call__(self, network: Network, step: int) -> Record:
        """The errors, as `Errors.record` has them."""
        clock = Clock()
        tell(Phase("measuring the error"))
        record = self._yardstick_at(step).measure(network).record()
        self.count += 1
        self.cost = clock.spent()
        self.spent += self.cost
        return record

    def affordable(self, network: Network) -> int:
        """How often the budget allows to measure: the first time, to see, is not counted."""
        training = self.run.training
        assert training.budget is not None
        self(network, 0)  # makes the reference
        self(network, 0)
        self.count = 0
        fitting = (MOST_SHARE * training.budget - self.spent) / max(self.cost, 1e-9)
        return int(max(1.0, min(training.evaluations, fitting)))

    def reserved(self, evaluations: int) -> float:
        """Seconds for those of so many evaluations that are still to come."""
        return self.cost * max(1, evaluations - self.count)

    def _yardstick_at(self, step: int) -> Yardstick:
        """At fresh inputs each time if u is known there, else where it was simulated once."""
        if self.run.training.budget is not None or not isinstance(self.family, ClosedForm):
            self._yardstick = self._yardstick or self._make()
            return self._yardstick
        return self._make(step)

    def _make(self, *stream: int) -> Yardstick:
        training = self.run.training
        generator = make_generator(training.seed, "evaluation", *stream, device=self.device)
        grid = self.run.method.grid
        if training.budget is None:
            return make_yardstick(self.family, self.run.method.scheme, generator, grid=grid)
        quiet = None if isinstance(self.run.method.noise, Independent) else self.run.method.noise
        limit = REFERENCE_SHARE * training.budget
        return make_yardstick(
            self.family, self.run.method.scheme, generator, noise=quiet, seconds=limit, grid=grid
        )
