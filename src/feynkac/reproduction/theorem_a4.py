r"""Theorem A.4: a ReLU network for the heat flow of a Gaussian, ε-close in L^∞ (paper, A.1).

    ‖Φ − ū‖_∞ ≤ ε,   ū = (1 + 2tγ²)^{−d/2} exp(−‖x‖²/(1 + 2tγ²)),

with at most q(log(d/ε)) layers, q a polynomial, at most C d neurons a layer, and parameters bounded
by C. The network of the paper's proof is built weight by weight (`relu_gaussian.py`), for the
paper's domain and for a larger one. Its guaranteed error holds on the whole domain. The supremum
is looked for at random points, on random rays through x = 0, where ū is largest, and at corners.
"""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from feynkac.benchmarks.dimensions import loglog_slope
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.plotting.style import PALETTE, panels, styled
from feynkac.reproduction.relu_calculus import Chain, ReluNetwork, count_nonzero
from feynkac.reproduction.relu_gaussian import Reach, gaussian, guarantee, plan_for
from feynkac.reproduction.result import Result
from feynkac.reproduction.settings import Settings
from feynkac.sampling.generators import make_generator

REACHES = {"paper's": Reach(x=0.1, gamma=0.1), "unit": Reach(x=1.0, gamma=1.0)}
DIMS = (1, 5, 20, 50, 150)
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)
POINTS = 128  # of each of the three kinds
POINTS_AT_ONCE = 128

Record = dict[str, Any]


def run(settings: Settings) -> Result:
    """Errors and sizes of the network for both domains, all d and ε."""
    records = [
        _record(settings, domain, dim, eps)
        for domain in REACHES
        for dim in DIMS
        for eps in TOLERANCES
    ]
    return Result(
        name="theorem-a4",
        title="Theorem A.4: the proof's ReLU network for the Gaussian, built and measured",
        columns=COLUMNS,
        rows=[_cells(record) for record in records],
        notes=_notes(records),
        data={"records": records, "domains": {k: asdict(r) for k, r in REACHES.items()}},
        figure=draw(records),
        seeds=settings.seeds[:1],
    )


def _record(settings: Settings, domain: str, dim: int, eps: float) -> Record:
    seed, reach = settings.seeds[0], REACHES[domain]
    settings.announce(f"{domain} domain, d = {dim}, ε = {eps:g}")
    key = f"theorem-a4 {reach} d {dim} eps {eps} points {POINTS} seed {seed}"
    found = settings.store.once(key, lambda: examine(dim, reach, eps, POINTS, seed))
    return {"domain": domain} | found


def examine(dim: int, reach: Reach, eps: float, points: int, seed: int = 0) -> Record:
    """Size, guaranteed and measured error of the network for d and ε."""
    plan = plan_for(dim, reach, eps)
    chain = gaussian(dim, reach, plan)
    generator = make_generator(seed, "theorem-a4", dim, plan.levels)
    return {
        "dim": dim,
        "eps": eps,
        "plan": asdict(plan),
        "layers": len(chain) - 1,
        "width": max(layer.weight.shape[0] for layer in chain),
        "largest": largest_parameter(chain),
        "nonzero": count_nonzero(chain),
        "guaranteed": guarantee(dim, reach, plan),
        "measured": measure(ReluNetwork(chain), choose_points(dim, reach, points, generator)),
    }


def largest_parameter(chain: Chain) -> float:
    """The largest absolute value of a weight or bias."""
    parts = [part for layer in chain for part in (layer.weight.data, layer.bias)]
    return float(max(np.abs(part).max(initial=0.0) for part in parts))


def choose_points(dim: int, reach: Reach, count: int, generator: torch.Generator) -> Tensor:
    """Random, on random rays through x = 0, and corners.  Shape: `(3 count, d + 2)`."""

    def pick(size: int) -> Tensor:
        return torch.rand(count, size, generator=generator, dtype=torch.float64)

    low = torch.tensor([-reach.x] * dim + [0.0, 0.0], dtype=torch.float64)
    high = torch.tensor([reach.x] * dim + [1.0, reach.gamma], dtype=torch.float64)
    random, rays = (low + pick(dim + 2) * (high - low) for _ in range(2))
    rays[:, :dim] *= pick(1)
    return torch.cat([random, rays, torch.where(pick(dim + 2) < 0.5, low, high)])


@torch.no_grad()
def measure(network: nn.Module, points: Tensor) -> float:
    """The largest |Φ − ū| of the points."""
    family = HeatGaussian(dim=points.shape[1] - 2)
    errors = [
        float((network(block) - family.closed_form(*family.domain.split(block))).abs().max())
        for block in torch.split(points, POINTS_AT_ONCE)
    ]
    return max(errors)


COLUMNS = (
    "domain",
    "d",
    "ε",
    "levels m, degrees of h and g",
    "hidden layers",
    "layers / log²(d/ε)",
    "widest layer",
    "neurons / d",
    "largest parameter",
    "parameters ≠ 0",
    "error seen",
    "guaranteed",
)


def _logarithm(record: Record) -> float:
    return math.log(record["dim"] / record["eps"])


def _cells(record: Record) -> tuple[str, ...]:
    return (
        record["domain"],
        str(record["dim"]),
        f"{record['eps']:g}",
        ", ".join(str(number) for number in record["plan"].values()),
        str(record["layers"]),
        f"{record['layers'] / _logarithm(record) ** 2:.2f}",
        f"{record['width']:,}",
        f"{record['width'] / record['dim']:.2f}",
        f"{record['largest']:g}",
        f"{record['nonzero']:,}",
        f"{record['measured']:.1e}",
        f"{record['guaranteed']:.1e}",
    )


def _notes(records: list[Record]) -> tuple[str, ...]:
    kept = all(r["measured"] <= r["guaranteed"] <= r["eps"] for r in records)
    seen = max(r["measured"] / r["guaranteed"] for r in records)
    width = max(r["width"] / r["dim"] for r in records)
    slopes = {name: _exponent(records, name) for name in REACHES}
    largest = {n: max(r["largest"] for r in records if r["domain"] == n) for n in REACHES}
    return (
        "The domains are [−X, X]^d × [0, 1] × [0, G], with X = G = 0.1 (the paper's, Table 5) and "
        "X = G = 1 (unit). Guaranteed errors hold on the whole domain, by the exact error of each "
        f"product and the Chebyshev coefficients left out; they are {'all' if kept else 'NOT all'} "
        f"at most ε and at least what is seen. Errors seen come up to {seen:.0%} of them: the "
        "guarantee adds up errors that partly cancel.",
        "**Layers**: the theorem allows a polynomial in log(d/ε). Here it has degree 2: products "
        "of m ~ log(d/ε) levels one after the other, as many as the Chebyshev degrees, which grow "
        "as log(d/ε) too, and log₂ d of the tree. Over this table layers grow as log(d/ε) to the "
        "power " + " and ".join(f"{s:.2f} ({name} domain)" for name, s in slopes.items()) + ".",
        f"**Neurons per layer**: at most {width:.0f} d. **Parameters** are bounded by a constant "
        "that depends on the domain only: "
        + " and ".join(f"{v:g} ({name} domain)" for name, v in largest.items())
        + ". The scaling 1/X of the inputs and the range of Clenshaw's recursion set it.",
    )


def _exponent(records: list[Record], domain: str) -> float:
    """Of log(d/ε) in the number of layers."""
    same = [r for r in records if r["domain"] == domain]
    found = loglog_slope([_logarithm(r) for r in same], [r["layers"] for r in same])
    return math.nan if found is None else found


@styled
def draw(records: list[Record]) -> Figure:
    """Layers against log(d/ε), and errors against ε."""
    figure, (left, right) = panels(1, 2, panel=(5.2, 4.4))
    for k, domain in enumerate(REACHES):
        same = sorted((r for r in records if r["domain"] == domain), key=_logarithm)
        logs = [_logarithm(r) for r in same]
        label = f"{domain} domain, exponent {_exponent(records, domain):.2f}"
        left.loglog(logs, [r["layers"] for r in same], "o", ms=4, color=PALETTE[k], label=label)
    ends = min(map(_logarithm, records)), max(map(_logarithm, records))
    top = max(r["layers"] / _logarithm(r) ** 2 for r in records)
    left.loglog(ends, [top * e**2 for e in ends], "k--", label=f"{top:.1f} log²(d/ε)")
    left.set(xlabel="log(d/ε)", ylabel="hidden layers")
    ticks = [3, 5, 8, 12]
    left.set_xticks(ticks, [f"{tick}" for tick in ticks])
    left.minorticks_off()
    left.legend()
    _draw_errors(right, records)
    return figure


def _draw_errors(axes: Any, records: list[Record]) -> None:
    """Of the unit domain, smallest and largest d."""
    domain = [*REACHES][-1]
    for k, dim in enumerate((DIMS[0], DIMS[-1])):
        same = [r for r in records if (r["domain"], r["dim"]) == (domain, dim)]
        for name, style in (("guaranteed", "_-"), ("measured", "o:")):
            values = [r[name] for r in same]
            label = f"{name}, d = {dim}"
            axes.loglog(TOLERANCES, values, style, ms=5, color=PALETTE[k + 2], label=label)
    axes.loglog(TOLERANCES, TOLERANCES, "k--", label="ε")
    axes.set(xlabel="ε", ylabel="‖Φ − ū‖, largest over the domain", title=f"{domain} domain")
    axes.legend()
