"""Half width and seconds of certificates on every family of the catalogue.

    python benchmarks/certificates.py [NAME …] [--inputs 16] [--seconds 1] [--cpu]

The aim is a third of the L1 error that the defaults reach in a minute (docs/models/index.md, and
README for the paper's four), times 1 + |u|. No network is trained: a certificate does not depend on
it, but for the aim. `--cpu` counts the processor's seconds, for a machine that is busy.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

import torch

import feynkac as fk
from feynkac.analysis import certificates, gridded, pilot
from feynkac.analysis.certificates import certify
from feynkac.benchmarks.suite import MODELS
from feynkac.families.capabilities import ClosedForm
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.spherical import SphericalRadial

ROOT = Path(__file__).parents[1]
PAPER = {
    "black-scholes": fk.BlackScholes(),
    "basket-put": fk.BasketPut(),
    "heat-paraboloid": fk.HeatParaboloid(),
    "heat-gaussian": fk.HeatGaussian(),
}


def errors():
    """L1 by row, from the tables of the documentation."""
    found = {}
    for line in (ROOT / "docs/models/index.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) > 3 and re.match(r"[0-9.]+ ± ", cells[2]):
            name = re.sub(r"[`\[\]]|\(.*\)", "", cells[0]).strip()
            found.setdefault(name, float(cells[2].split(" ± ")[0]))
    kept = json.loads((ROOT / "docs/results/bench.json").read_text())
    return {row["name"]: row["l1"] for row in kept["rows"]} | found


def one_row(name, family, l1, count, seconds, clock):
    """Certificates at single inputs, as a user asks for them."""
    scheme = suitable_scheme(family)
    noise = SphericalRadial() if name.startswith("heat") else Sobol()
    inputs = family.domain.sample(count, make_generator(0, "queries"), torch.float64)
    rough = fk.Effort(seconds=seconds, aim=1e-2)

    def check(inputs, values, effort, seed):
        generator = make_generator(seed, "certificate")
        return certify(
            lambda _inputs: values, family, scheme, noise, None, inputs, generator, effort=effort
        )

    values = check(inputs, torch.zeros(count, 1), rough, 0).value[:, None]
    effort, ratios, times, misses = fk.Effort(seconds=seconds, aim=l1 / 3), [], [], 0
    for i in range(count):
        start = clock()
        found = check(inputs[i : i + 1], values[i : i + 1], effort, i)
        times.append(clock() - start)
        ratios.append((found.half_width / (effort.aim * (1.0 + found.value.abs()))).item())
        if isinstance(family, ClosedForm):
            truth = family.closed_form(*family.domain.split(inputs[i : i + 1])).squeeze(-1)
            misses += int(((truth - found.value).abs() > found.half_width).item())
    ratio, second = (torch.tensor(v).quantile(torch.tensor([0.5, 0.9])) for v in (ratios, times))
    reached = sum(r <= 1.0 for r in ratios)
    missed = misses if isinstance(family, ClosedForm) else "–"
    return (
        f"| {name} | {l1:.1e} | {ratio[0]:.2f} | {ratio[1]:.2f} | {reached} of {count} "
        f"| {second[0]:.2f} | {second[1]:.2f} | {missed} |"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--inputs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.process_time if given.cpu else time.perf_counter
    pilot.clock = certificates.clock = gridded.clock = clock
    known = errors()
    print(
        "| family | L1 | half width / aim, median | 90 % | reached | seconds, median | 90 % |",
        end="",
    )
    print(" missed |\n|---|---|---|---|---|---|---|---|")
    for name, family in [*PAPER.items(), *((m.name, m.family) for m in MODELS)]:
        if name not in known:
            print(f"{name}: docs/models/index.md has no error of it", file=sys.stderr)
        elif not given.names or name in given.names:
            row = one_row(name, family, known[name], given.inputs, given.seconds, clock)
            print(row, flush=True)


if __name__ == "__main__":
    main()
