r"""Theorem 3: a ReLU network of O(d⁴ log(d/ε)) parameters is ε-close in W^{1,∞} (paper, Section 4).

    ‖Φ − ū‖_∞ ≤ ε   and   ‖∇Φ − ∇ū‖_∞ ≤ ε,    ū = ‖x‖² + t Tr(γγ*),

with the network of the paper's proof, built weight by weight (`relu_paraboloid.py`). The
bounds hold on the whole domain. The suprema are looked for at random points, next to corners, and
where sawtooths are worst: at the ends and in the middle of their pieces, all x_i equal and all
γ_ij equal, so that their errors add up.
"""

import math
from dataclasses import asdict
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from feynkac.benchmarks.dimensions import loglog_slope
from feynkac.families.measures.measure import vector
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.plotting.style import BLACK, PALETTE, panels, styled
from feynkac.reproduction.relu_calculus import (
    ReluNetwork,
    count_dense,
    count_nonzero,
    squaring,
)
from feynkac.reproduction.relu_paraboloid import (
    SPACE,
    guarantee,
    levels_for,
    paraboloid,
)
from feynkac.reproduction.result import Result
from feynkac.reproduction.settings import Settings
from feynkac.sampling.generators import make_generator

DIMS = tuple(range(1, 11))
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)
POINTS = 512  # of each of the three kinds
POINTS_AT_ONCE = 256
INSIDE = 0.01  # of a piece: how far from its ends, where slopes jump

Record = dict[str, Any]


def run(settings: Settings) -> Result:
    """Errors and sizes of the network for all d and ε."""
    records = [_record(settings, dim, eps) for dim in DIMS for eps in TOLERANCES]
    deepest = max(r["levels"] for r in records)
    settings.announce(f"the square of {deepest} levels at all its breakpoints")
    gap = settings.store.once(f"theorem-3 breakpoints {deepest}", lambda: breakpoint_gap(deepest))
    return Result(
        name="theorem-3",
        title="Theorem 3: the proof's ReLU network for the heat equation, built and measured",
        columns=COLUMNS,
        rows=[*map(_cells, records), *(_exponents(records, eps) for eps in TOLERANCES)],
        notes=_notes(records, deepest, gap),
        data={"records": records, "breakpoint_gap": gap},
        figure=draw(records),
        seeds=settings.seeds[:1],
    )


def _record(settings: Settings, dim: int, eps: float) -> Record:
    seed = settings.seeds[0]
    key = f"theorem-3 d {dim} eps {eps} points {POINTS} seed {seed}"
    settings.announce(f"d = {dim}, ε = {eps:g}")
    return settings.store.once(key, lambda: examine(dim, eps, POINTS, seed))


def examine(dim: int, eps: float, points: int, seed: int = 0) -> Record:
    """Size, guaranteed and measured errors of the network for d and ε."""
    levels = levels_for(dim, eps)
    chain = paraboloid(dim, levels)
    return {
        "dim": dim,
        "eps": eps,
        "levels": levels,
        "nonzero": count_nonzero(chain),
        "dense": count_dense(chain),
        "published": dim**4 * math.log(dim / eps),
        "guaranteed": asdict(guarantee(dim, levels)),
        "measured": measure(
            ReluNetwork(chain),
            HeatParaboloid(dim=dim),
            choose_points(dim, levels, points, make_generator(seed, "theorem-3", dim, levels)),
        ),
    }


def choose_points(dim: int, levels: int, count: int, generator: torch.Generator) -> Tensor:
    """Random, next to corners, and worst for the sawtooth.  Shape: `(3 count, dim_in)`."""
    domain, piece = HeatParaboloid(dim=dim).domain, 0.5**levels

    def pick(size: int) -> Tensor:
        return torch.rand(count, size, generator=generator, dtype=torch.float64)

    low = vector([v for box in domain.measures.values() for v in box.low])
    high = vector([v for box in domain.measures.values() for v in box.high])
    scale = torch.ones(domain.dim, dtype=torch.float64)
    scale[domain.slices()["x"]] = SPACE  # pieces of sq(x_i) are so much longer
    inside = INSIDE * piece * scale
    corners = torch.where(pick(domain.dim) < 0.5, low + inside, high - inside)
    sizes = torch.tensor([dim, 1, dim**2])  # x, t and γ: entries of one variable are all equal
    place, where = (pick(3).repeat_interleave(sizes, dim=1) for _ in range(2))
    pieces = (place * (high - low) / (piece * scale)).floor()
    offset = torch.tensor([INSIDE, 0.5, 1 - INSIDE]).double()[(3 * where).long()]
    worst = low + (pieces + offset) * piece * scale
    return torch.cat([low + pick(domain.dim) * (high - low), corners, domain.nearest(worst)])


def measure(network: ReluNetwork, family: HeatParaboloid, points: Tensor) -> dict[str, float]:
    """Largest errors seen of the value, of a slope, and of the gradient."""
    parts = [_errors(network, family, block) for block in torch.split(points, POINTS_AT_ONCE)]
    return {name: max(part[name] for part in parts) for name in parts[0]}


def _errors(network: ReluNetwork, family: HeatParaboloid, points: Tensor) -> dict[str, float]:
    leaf = points.detach().requires_grad_()
    values = network(leaf)
    (slopes,) = torch.autograd.grad(values.sum(), leaf)
    at = family.domain.split(points)
    truth = torch.cat([part.flatten(1) for part in family.closed_partials(*at).values()], dim=1)
    error = slopes - truth
    return {
        "value": float((values.detach() - family.closed_form(*at)).abs().max()),
        "component": float(error.abs().max()),
        "gradient": float(error.norm(dim=-1).max()),
    }


@torch.no_grad()
def breakpoint_gap(levels: int) -> float:
    """Largest |sq_m(y) − y²| where it should be 0: at all multiples of 2^−m in [0, 1].

    Example:
        >>> breakpoint_gap(5)
        0.0
    """
    y = torch.arange(2**levels + 1, dtype=torch.float64).unsqueeze(-1) * 0.5**levels
    return float((ReluNetwork(squaring(1.0, levels))(y) - y.square()).abs().max())


COLUMNS = (
    "d",
    "ε",
    "levels m",
    "parameters ≠ 0",
    "parameters, dense",
    "d⁴ log(d/ε)",
    "value: error seen",
    "guaranteed",
    "one slope: error seen",
    "guaranteed",
    "gradient: error seen",
    "guaranteed",
)


def _cells(record: Record) -> tuple[str, ...]:
    seen, sure = record["measured"], record["guaranteed"]
    return (
        str(record["dim"]),
        f"{record['eps']:g}",
        str(record["levels"]),
        *(f"{record[name]:,.0f}" for name in ("nonzero", "dense", "published")),
        *(f"{kind[name]:.1e}" for name in seen for kind in (seen, sure)),
    )


def _exponents(records: list[Record], eps: float) -> tuple[str, ...]:
    """Of d, fitted at one ε."""
    same = [r for r in records if r["eps"] == eps]
    dims = [r["dim"] for r in same]
    slopes = [loglog_slope(dims, [r[n] for r in same]) for n in ("nonzero", "dense", "published")]
    return ("exponent of d", f"{eps:g}", "", *(f"{s:.2f}" for s in slopes), *[""] * 6)


def _notes(records: list[Record], deepest: int, gap: float) -> tuple[str, ...]:
    kept = all(max(r["guaranteed"].values()) <= r["eps"] for r in records)
    seen = max(r["measured"]["gradient"] / r["guaranteed"]["gradient"] for r in records)
    dense = max(r["dense"] / r["published"] for r in records)
    sparse = max(r["nonzero"] / r["published"] for r in records)
    return (
        "Errors are those of Φ − ū, of its partial derivatives (the largest), and of its gradient "
        "in the Euclidean norm. Guaranteed ones hold on the whole domain, by the exact error of "
        f"each piece of each square. They are {'all' if kept else 'NOT all'} ≤ ε. Gradients seen "
        f"come up to {seen:.0%} of what is guaranteed.",
        f"The squaring network of {deepest} levels, run in float64 at all its 2^{deepest} + 1 "
        f"breakpoints in [0, 1], differs from the square by at most {gap:g}.",
        f"Fully connected layers of the same widths have at most {dense:.0f} · d⁴ log(d/ε) "
        f"parameters in this table; those that are not zero, at most {sparse:.0f} · d⁴ log(d/ε). "
        "They grow as d² log(d/ε), because the squares stand side by side.",
    )


@styled
def draw(records: list[Record]) -> Figure:
    """Parameters against d, and errors against ε."""
    figure, (left, right) = panels(1, 2, panel=(5.2, 5.2))
    _draw_sizes(left, records)
    _draw_errors(right, records)
    return figure


def _draw_sizes(axes: Any, records: list[Record]) -> None:
    """A colour for each ε, a style for each way to count."""
    dims = sorted({r["dim"] for r in records})
    for k, eps in enumerate(TOLERANCES):
        same = [r for r in records if r["eps"] == eps]
        anchor = same[0]["nonzero"] / same[0]["published"]
        axes.plot([], [], color=PALETTE[k], label=f"ε = {eps:g}")
        for name, (style, _) in KINDS.items():
            factor = anchor if name == "published" else 1.0
            axes.loglog(dims, [factor * r[name] for r in same], style, ms=3, color=PALETTE[k])
    for style, label in KINDS.values():
        axes.plot([], [], style, ms=3, color=BLACK, label=label)
    axes.set(xlabel="dimension d", ylabel="parameters")
    axes.set_xticks(dims, [f"{dim}" for dim in dims])
    axes.minorticks_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def _draw_errors(axes: Any, records: list[Record]) -> None:
    """Gradients, guaranteed and seen."""
    for k, dim in enumerate((DIMS[0], DIMS[-1])):
        same = [r for r in records if r["dim"] == dim]
        for name, style in (("guaranteed", "_-"), ("measured", "o:")):
            values = [r[name]["gradient"] for r in same]
            label = f"{name}, d = {dim}"
            axes.loglog(TOLERANCES, values, style, ms=5, color=PALETTE[k + 4], label=label)
    axes.loglog(TOLERANCES, TOLERANCES, "k--", label="ε")
    axes.set(xlabel="ε", ylabel="‖∇Φ − ∇ū‖, largest over the domain")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


KINDS = {
    "nonzero": ("o-", "not zero"),
    "dense": ("s--", "fully connected"),
    "published": (":", "Theorem 3: C d⁴ log(d/ε)"),
}
