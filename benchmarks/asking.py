"""How fast a finished run answers, beside Monte Carlo in the same process.

    python benchmarks/asking.py [RUN] [--certificates 32] [--samples 1000000] [--json]

RUN is a folder written by `feynkac solve`. Without one, Black–Scholes is solved in a hundred steps.
"""

import argparse
import json
import time

import numpy as np
import torch

import feynkac as fk
from feynkac.sampling.generators import make_generator

BATCH = 10_000


def seconds(action, least=0.5):
    """Of one call, by repeating it for half a second."""
    action()
    start, count = time.perf_counter(), 0
    while count < 2 or time.perf_counter() - start < least:
        action()
        count += 1
    return (time.perf_counter() - start) / count


def throughput(solution):
    """Values, and values with all first derivatives, a second."""
    inputs = solution.family.domain.sample(BATCH, make_generator(0, "asking"))

    def slopes():
        leaf = inputs.clone().requires_grad_()
        torch.autograd.grad(solution.network(leaf).sum(), leaf)

    with torch.no_grad():
        values = BATCH / seconds(lambda: solution.network(inputs))
    return {"values_per_second": values, "gradients_per_second": BATCH / seconds(slopes)}


def against_monte_carlo(solution, l1):
    """Seconds an input for the same accuracy: plain Monte Carlo over the network."""
    family, scheme, paths = solution.family, solution.manifest.run.method.scheme, 2**14
    inputs = family.domain.sample(16, make_generator(1, "asking"))
    found = []

    def simulate():
        generator = make_generator(2, "asking")
        found.append(fk.monte_carlo(family, scheme, inputs, paths, generator))

    per_path = seconds(simulate) / (16 * paths)
    relative = found[0].error / (1 + found[0].value.abs())
    variance = (relative.square() * paths).mean().item()
    # E|N(0, s²)| = s √(2/π): the Monte Carlo error whose mean size is the network's
    needed = variance / (l1**2 * np.pi / 2)
    with torch.no_grad():
        batch = family.domain.sample(BATCH, make_generator(0, "asking"))
        per_value = seconds(lambda: solution.network(batch)) / BATCH
    return {
        "paths_needed": needed,
        "monte_carlo_seconds": needed * per_path,
        "network_seconds": per_value,
        "ratio_at_equal_accuracy": needed * per_path / per_value,
    }


def certificates(solution, count):
    """Half width and seconds of certificates, one input at a time."""
    inputs = solution.family.domain.sample(count, make_generator(3, "asking"), torch.float64)
    start = time.perf_counter()
    found = [solution.certify(row[None]) for row in inputs]
    each = (time.perf_counter() - start) / count
    widths = torch.cat([one.half_width / (1.0 + one.value.abs()) for one in found])
    return {
        "certificate_seconds": each,
        "aim": solution.aim,
        "median_half_width": widths.median().item(),
        "largest_half_width": widths.max().item(),
        "median_variance_reduction": torch.cat([one.reduction for one in found]).median().item(),
        "within": sum(one.verdicts == ["within"] for one in found),
        "inputs": count,
    }


def calibration(solution, quotes=50):
    """Three parameters from fifty quotes: seconds of a fit."""
    domain = solution.family.domain
    free = [name for name, box in domain.measures.items() if box.size == 1 and name != "t"][:3]
    if len(free) < 3:
        return {}
    inputs = domain.sample(quotes, make_generator(5, "asking"), torch.float64)
    where = domain.slices()
    for name in free:
        inputs[:, where[name]] = domain.mean[where[name]]
    with torch.no_grad():
        values = solution.quickly(inputs).squeeze(-1).double().numpy()
    known = {
        name: inputs[:, columns].reshape(-1, *domain.measures[name].shape).numpy()
        for name, columns in where.items()
        if name not in free
    }
    problem = solution.observe(free, values, noise=0.01, **known)
    return {"free": free, "calibration_seconds": seconds(lambda: solution.calibrate(problem))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run", nargs="?")
    parser.add_argument("--certificates", type=int, default=32)
    parser.add_argument("--samples", type=int, default=10**6)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    solution = fk.load(given.run) if given.run else fk.solve(fk.BlackScholes(), steps=100)
    start = time.perf_counter()
    solution.uncertainty(samples=given.samples)
    uncertainty = time.perf_counter() - start
    result = {
        "family": solution.manifest.family.name,
        **throughput(solution),
        **against_monte_carlo(solution, solution.manifest.history[-1]["l1"]),
        **certificates(solution, given.certificates),
        **calibration(solution),
        "uncertainty_seconds": uncertainty,
        "uncertainty_samples": given.samples,
    }
    if given.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:32}", f"{value:.4g}" if isinstance(value, float) else value)


if __name__ == "__main__":
    main()
