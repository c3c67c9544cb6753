r"""How long one training step of the paper's method takes on Black–Scholes, batch 2^16.

Three ways to do the same mathematics, sampling + forward + backward + optimiser:

- plain: the definition written with nn.Linear and nn.BatchNorm1d, eager, torch's default AdamW;
- eager: `feynkac.training.loop.update` without compiling (features first in memory, fused AdamW);
- library: the same with `compile=True`, as `solve` runs it.

All are timed in turns in one process, so that a busy machine slows both; medians are compared.
"""

import argparse
import json
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn

import feynkac as fk
from feynkac.compilation import can_compile
from feynkac.networks.network import make_network
from feynkac.preparation import make_run
from feynkac.runs.run import Run
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.training.loop import update
from feynkac.training.objective import MeanSquare
from feynkac.training.state import State

TARGET = 0.7
STEPS = 10**6  # of the schedule; it only has to be longer than the measurement
Step = Callable[[], float]


def plan(family: fk.Family, batch_size: int) -> Run:
    """The paper's run of `family`, compiled."""
    lengths = {"steps": STEPS, "batch_size": batch_size, "device": "cpu", "compile": True}
    return make_run(family, "paper", lengths)


class PlainMultilevel(nn.Module):
    """The paper's definition as one writes it down at first.  Shape: `(N, p)` → `(N, 1)`."""

    def __init__(self, inputs: int, levels: int, factor: int) -> None:
        super().__init__()
        width = factor * inputs
        self.maps = nn.ModuleList(_plain_maps(inputs, width, 2**level) for level in range(levels))
        self.norms = nn.ModuleList(
            nn.ModuleList(nn.BatchNorm1d(width) for _ in range(2**level)) for level in range(levels)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Level by level, from the deepest up."""
        total, above = 0.0, None
        for maps, norms in zip(reversed(self.maps), reversed(self.norms), strict=True):
            outputs = [maps[0](x)]
            for i in range(1, len(maps)):
                h = outputs[-1] + above[2 * i - 2] if above and i >= 2 else outputs[-1]
                outputs.append(maps[i](torch.relu(norms[i - 1](h))))
            total, above = total + outputs[-1], outputs
        return total


def _plain_maps(inputs: int, width: int, layers: int) -> nn.ModuleList:
    hidden = [nn.Linear(width, width, bias=False) for _ in range(layers - 1)]
    return nn.ModuleList([nn.Linear(inputs, width, bias=False), *hidden, nn.Linear(width, 1)])


def plain_step(run: Run, family: fk.Family) -> Step:
    """A step as one writes it down at first."""
    domain, settings = family.domain, run.method.optimiser
    network = PlainMultilevel(
        domain.dim, run.method.architecture.levels, run.method.architecture.factor
    )
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    generator = make_generator(0, "training")
    mean, std = domain.mean.float(), domain.std.float()

    def step() -> float:
        inputs = domain.sample(run.method.batch_size, generator)
        values = labels(family, run.method.scheme, inputs, generator)
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(network((inputs - mean) / std), values)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def library_step(run: Run, family: fk.Family, compiling: bool) -> Step:
    """A step as the library takes it, with its checks for NaN and infinity."""
    network = make_network(run.method.architecture, family.domain, make_generator(0, "weights"))
    if compiling:
        network.compile_layers("cpu")
    optimiser = run.method.optimiser.build(network)
    state = State(network, optimiser, make_generator(0, "training"))
    objective = MeanSquare(family, run.method.scheme, run.method.batch_size)
    return lambda: update(state, objective, family.domain, run.method.rate, STEPS)


def milliseconds(step: Step) -> float:
    """Duration of one step."""
    start = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - start)


def measure(batch_size: int, rounds: int) -> dict[str, float | int | bool]:
    """Medians of both, taken in turns after a warm-up that includes compiling."""
    family = fk.BlackScholes()
    run = plan(family, batch_size)
    library = library_step(run, family, compiling=True)
    warm_up = milliseconds(library) / 1e3
    ways = (plain_step(run, family), library_step(run, family, compiling=False), library)
    for step in ways * 3:
        step()
    times = [tuple(map(milliseconds, ways)) for _ in range(rounds)]
    plain, eager, compiled = (median(column) for column in zip(*times, strict=True))
    return {
        "batch_size": batch_size,
        "rounds": rounds,
        "threads": torch.get_num_threads(),
        "compiler": can_compile(),
        "first_step_seconds": warm_up,
        "plain_ms": plain,
        "eager_ms": eager,
        "library_ms": compiled,
        "ratio": compiled / plain,
        "target": TARGET,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time the training step on Black–Scholes.")
    parser.add_argument("--batch-size", type=int, default=2**16)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = measure(options.batch_size, options.rounds)
    if options.json:
        print(json.dumps(result))
        return
    print(f"training step, batch {result['batch_size']}, median of {result['rounds']} each")
    print(f"  plain eager   {result['plain_ms']:8.1f} ms")
    print(f"  feynkac eager {result['eager_ms']:8.1f} ms")
    print(f"  feynkac       {result['library_ms']:8.1f} ms")
    print(f"  ratio         {result['ratio']:8.3f}      (target at most {TARGET})")
    print(
        f"  first step    {result['first_step_seconds']:8.1f} s       (compiles, or loads what was)"
    )


if __name__ == "__main__":
    main()
