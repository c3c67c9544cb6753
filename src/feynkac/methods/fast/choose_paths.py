r"""How many paths each input gets when the run has a wall-clock budget.

A step takes  a + bK + n  seconds: what a simulation costs whatever K is, K paths, and the network.
If the paths take less than half of the rest, labels are noisier than they need be, so K doubles; if
more than four times, K is halved: steps are too few. (On the basket, 128 paths at twice the
network's time beat 64.) Gauss–Newton steps follow the labels of a batch closely, noise included, so
there K is halved only at 32 times the rest. Times are the shortest of several, taken in turns:
other work on the machine only adds to them. The choice depends on the machine and is therefore
stored with the run. Without a budget it is not made: then the same seed gives the same numbers.
"""

import time

from feynkac.clock import Allowance, Clock
from feynkac.sampling.generators import make_generator
from feynkac.training.objective import Objective
from feynkac.training.state import State

MOST_DOUBLINGS = 2
CHEAP, DEAR, DEAR_WHOLE = 0.5, 4.0, 32.0  # times the rest, see above
MORE = 4  # times as many paths, to see what they cost
REPEATS = 5
LEAST_SAMPLES = 2 * (1 + MORE)  # of the time of one with few paths, for two repeats


def choose_paths(
    objective: Objective,
    state: State,
    paths: int,
    allowance: Allowance = Allowance(),  # noqa: B008  (whole)
) -> int:
    """K near `paths` that balances paths and all else, or `paths` if there is no time to find out.

    `state` is left as it was.
    """
    before = state.tensors()
    some, more, network = _times(
        objective.with_paths(paths), objective.with_paths(MORE * paths), state, allowance
    )
    state.restore(before)
    each = max(0.0, more - some) / ((MORE - 1) * paths)
    rest = max(0.0, some - each * paths) + network
    dear = DEAR_WHOLE if objective.whole else DEAR
    for _ in range(MOST_DOUBLINGS if rest > 0.0 else 0):
        if each * paths < CHEAP * rest:
            paths *= 2
        elif each * paths > dear * rest and paths >= 2:
            paths //= 2
        else:
            break
    return paths


def _times(
    few: Objective, many: Objective, state: State, allowance: Allowance
) -> tuple[float, float, float]:
    """Shortest seconds of drawing a batch with few and with many paths, and of an update."""
    generator = make_generator(0, "allocation", device=str(state.generator.device))
    clock = Clock()
    few.sample(generator)  # the first is the slowest
    if allowance.times(clock.spent()) < LEAST_SAMPLES:
        return 0.0, 0.0, 0.0
    some: list[float] = []
    more: list[float] = []
    network: list[float] = []
    while len(some) < REPEATS and (len(some) < 2 or allowance.left):
        start = time.perf_counter()
        batch = few.sample(generator)
        drawn = time.perf_counter()
        few.differentiate(state.network, batch, state.optimiser)
        state.optimiser.step()
        updated = time.perf_counter()
        many.sample(generator)
        more.append(time.perf_counter() - updated)
        some.append(drawn - start)
        network.append(updated - drawn)
    return min(some), min(more), min(network)
