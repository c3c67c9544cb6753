"""How often certificates miss the closed form, with and without a tolerance.

    python benchmarks/coverage.py [--inputs 500]

With a tolerance the network is wrong by exactly that much: every verdict but *undecided* is wrong
or right by a hair, and the search takes all its looks.
"""

import argparse

import torch

import feynkac as fk
from feynkac.analysis.certificates import certify
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol

CASES = (
    ("black-scholes", fk.BlackScholes(), 1e-3, 2**13),
    ("digital", fk.Digital(), 1e-3, 2**14),
    ("geometric-basket, 3 assets", fk.GeometricBasket(dim=3), 1e-2, 2**12),
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=500)
    count = parser.parse_args().inputs
    print(
        "| family | tolerance | missed | within | outside | undecided |\n|---|---|---|---|---|---|"
    )
    for name, family, tolerance, most in CASES:
        inputs = family.domain.sample(count, make_generator(9, "q"), torch.float64)
        truth = family.closed_form(*family.domain.split(inputs))
        for limit in (None, tolerance):
            wrong = truth + (limit or 0.0)
            found = certify(
                lambda _inputs, values=wrong: values,
                family,
                fk.Exact(),
                Sobol(),
                None,
                inputs,
                make_generator(3, "c"),
                limit,
                fk.Effort(aim=1e-3, most_paths=most),
            )
            missed = ((found.value - truth.squeeze(-1)).abs() > found.half_width).sum().item()
            counts = [found.verdicts.count(v) for v in ("within", "outside", "undecided")]
            print(f"| {name} | {limit} | {missed} of {count} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
