"""Draw the pictures of docs/images again, except for screenshots.

python benchmarks/images.py  (about four minutes on two cores)
"""

import argparse
from pathlib import Path

import numpy as np

import feynkac as fk
from feynkac.benchmarks.demo_figure import draw_price_and_greeks
from feynkac.plotting.writing import write_figure

PUT = {"sigma": 0.35, "strike": 11.0}


def draw_put(folder: Path, steps: int, posterior: int) -> None:
    """Price and Greeks, the surfaces, a map of the error, and a posterior."""
    family = fk.BlackScholes()
    solution = fk.solve(family, steps=steps, seed=0)
    write_figure(draw_price_and_greeks(solution), folder / "price-and-greeks.png")
    only = ["value", "delta", "gamma", "vega", "theta", "volga"]
    surface = solution.plot.surface("x", "t", only=only, **PUT)
    write_figure(surface, folder / "greeks-surface.png")
    rough = fk.solve(family, steps=25, seed=0)
    write_figure(rough.plot.error_map(), folder / "error-map.png")
    rng = np.random.default_rng(0)
    known = {"strike": rng.uniform(10, 12, 50), "t": rng.uniform(0.1, 1, 50)}
    quotes = family.domain.join({"x": 9.5, "sigma": 0.35, **known})
    price = family.closed_form(*family.domain.split(quotes)).squeeze(-1).numpy()
    price += 0.01 * rng.standard_normal(50)
    problem = solution.observe(["sigma", "x"], price, noise=0.01, **known)
    found = solution.calibrate(problem)
    drawn = solution.posterior(problem, found, steps=posterior)
    write_figure(fk.plot.posterior(drawn, found), folder / "corner.png")


def draw_indices(folder: Path, steps: int) -> None:
    """Which of the basket's inputs matter."""
    solution = fk.solve(fk.BasketPut(), steps=steps, evaluations=2, seed=0)
    write_figure(fk.plot.sobol_indices(solution.sobol_indices()), folder / "indices.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("docs/images"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--posterior", type=int, default=2000)
    parser.add_argument("--basket-steps", type=int, default=500)
    options = parser.parse_args()
    draw_put(options.folder, options.steps, options.posterior)
    draw_indices(options.folder, options.basket_steps)


if __name__ == "__main__":
    main()
