r"""Theorem 1: the solution map is the minimiser of the learning problem (paper, Section 2; A.1).

    E(f(Λ) − Y)² = E(f(Λ) − ū(Λ))² + E V(Y | Λ)     for every f,   Y = φ_Γ(S_Λ),

so that ū is the only minimiser. Both sides are measured for maps f of all kinds, on the same fresh
samples; their difference has the mean 0, as E[Y | Λ] = ū. And a regression on n labels that has
never seen ū converges to the projection of ū on its polynomials, as n^{−1/2}.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import mean, stdev
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from feynkac.benchmarks.dimensions import loglog_slope
from feynkac.benchmarks.markdown import markdown_table
from feynkac.families.formulas.normal_law import cdf
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.point import Params
from feynkac.plotting.style import BLUE, PALETTE, panels, styled
from feynkac.preparation import make_run
from feynkac.reproduction.legendre import basis, indices, project, regress
from feynkac.reproduction.result import FULL, Result
from feynkac.reproduction.settings import Settings
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.exact import Exact

SAMPLES, SCALED, LABELS_AT_ONCE = 2**22, 2**19, 2**16
DEGREE = 5
SIZES = tuple(2**k for k in range(12, 19, 2))
REPEATS = 8  # independent samples of the regression
PROJECTION_NODES = 2**19  # of the projection
TRAININGS: Mapping[str, dict[str, Any]] = {
    "network, fast method, 3 steps": {"method": "fast", "steps": 3},
    "network, fast method, 30 steps": {"method": "fast", "steps": 30},
    "network, paper's method, 200 steps": {"method": "paper", "steps": 200, "batch_size": 2048},
}

Map = Callable[[Tensor], Tensor]
Row = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A family whose labels have a known conditional variance."""

    title: str
    family: BlackScholes | HeatGaussian
    second: Callable[[Tensor, Tensor, Params], Tensor]
    """E[Y² | Λ]."""

    def solution(self, inputs: Tensor) -> Tensor:
        """ū.  Shape: `(N, dim)` → `(N, 1)`."""
        return self.family.closed_form(*self.family.domain.split(inputs))

    def variance(self, inputs: Tensor) -> Tensor:
        """V(Y | Λ).  Shape: `(N, dim)` → `(N, 1)`."""
        at = self.family.domain.split(inputs)
        return self.second(*at) - self.family.closed_form(*at).square()

    def normalised(self, inputs: Tensor) -> Tensor:
        """Each input in [−1, 1]."""
        domain = self.family.domain
        return (inputs - domain.mean) / (math.sqrt(3) * domain.std)

    def placed(self, w: Tensor) -> Tensor:
        """The inverse of `normalised`."""
        domain = self.family.domain
        return domain.mean + math.sqrt(3) * domain.std * w


def squared_put(x: Tensor, t: Tensor, p: Params) -> Tensor:
    """E((K − S)⁺)² = K² Ψ(h + v) − 2Kx Ψ(h) + x² e^{v²} Ψ(h − v), t > 0."""
    v = p.sigma * t.sqrt()
    h = (p.strike / x).log() / v - v / 2
    strike = p.strike
    grown = x.square() * v.square().exp()
    return strike.square() * cdf(h + v) - 2 * strike * x * cdf(h) + grown * cdf(h - v)


def squared_gaussian(x: Tensor, t: Tensor, p: Params) -> Tensor:
    """E exp(−2‖S‖²) = c^{−d/2} exp(−2‖x‖²/c) with c = 1 + 4tγ²."""
    c = 1.0 + 4.0 * t * p.sigma.square()
    return (-2 * x.square().sum(-1, keepdim=True) / c - x.shape[-1] / 2 * c.log()).exp()


PUT = Problem("Black–Scholes", BlackScholes(), squared_put)
HEAT = Problem("heat equation, Gaussian, d = 10", HeatGaussian(dim=10), squared_gaussian)


def run(settings: Settings) -> Result:
    """Risks and distances of all maps, and the regression."""
    regressions = settings.store.once(_key(settings, "regressions"), lambda: converge(settings))
    rows = [row for problem in (PUT, HEAT) for row in _risks(settings, problem, regressions)]
    return Result(
        name="theorem-1",
        title="Theorem 1: risk of a map and its distance from the solution map",
        columns=COLUMNS,
        rows=[_cells(row) for row in rows],
        scale=FULL if settings.full else f"{SCALED:,} samples in place of {SAMPLES:,}.",
        notes=_notes(rows, regressions, _samples(settings)),
        data={"risks": rows, "regression": regressions},
        figure=draw(rows, regressions),
        seeds=settings.seeds[:1],
    )


def _samples(settings: Settings) -> int:
    return SAMPLES if settings.full else SCALED


def _key(settings: Settings, what: str) -> str:
    sizes = f"{_samples(settings)} {DEGREE} {SIZES} {REPEATS} {PROJECTION_NODES}"
    return f"theorem-1 {what} {sizes} {dict(TRAININGS)} seed {settings.seeds[0]}"


def _risks(settings: Settings, problem: Problem, regressions: Row) -> list[Row]:
    def compute() -> list[Row]:
        maps = simple_maps(problem)
        if problem is PUT:
            maps |= _regressed(regressions) | _trained(settings)
        settings.announce(f"{problem.title}: the risk of {len(maps)} maps")
        generator = make_generator(settings.seeds[0], "theorem-1", problem.title)
        return compare(problem, maps, _samples(settings), generator)

    names = ", ".join(simple_maps(problem))
    return settings.store.once(_key(settings, f"{problem.title}: {names}"), compute)


def simple_maps(problem: Problem) -> dict[str, Map]:
    """The solution map, a constant, and maps beside the solution."""
    middle = float(problem.solution(problem.placed(torch.zeros(1, problem.family.domain.dim))))

    def constant(inputs: Tensor) -> Tensor:
        return torch.full((len(inputs), 1), middle, dtype=inputs.dtype)

    return {
        "ū": problem.solution,
        "constant, ū in the middle of the domain": constant,
        "1.02 ū": lambda inputs: 1.02 * problem.solution(inputs),
        "ū + 0.01 sin(5 w₁)": lambda inputs: (
            problem.solution(inputs) + 0.01 * (5 * problem.normalised(inputs)[:, :1]).sin()
        ),
        "ū at inputs moved halfway to the middle": lambda inputs: problem.solution(
            problem.placed(0.5 * problem.normalised(inputs))
        ),
    }


def _trained(settings: Settings) -> dict[str, Map]:
    family, found = PUT.family, dict[str, Map]()
    for title, given in TRAININGS.items():
        lengths = {"seed": settings.seeds[0], "evaluations": 1} | given
        settings.announce(f"{PUT.title}: {title}")
        run = make_run(family, str(lengths.pop("method")), lengths)
        network = settings.store.solve(run, family, settings.report).network
        found[title] = partial(_evaluate, network)
    return found


def _evaluate(network: nn.Module, inputs: Tensor) -> Tensor:
    return network(inputs.float()).double()  # type: ignore[no-any-return]


def _regressed(regressions: Row) -> dict[str, Map]:
    """The first of the regressions, by number of labels."""
    found = zip(SIZES, regressions["coefficients"], strict=True)
    return {f"regression on {size:,} labels": partial(_polynomial, c) for size, c in found}


def _polynomial(coefficients: list[float], inputs: Tensor) -> Tensor:
    features = basis(PUT.normalised(inputs), indices(inputs.shape[1], DEGREE))
    return features @ torch.tensor(coefficients, dtype=torch.float64).unsqueeze(-1)


@torch.no_grad()
def compare(
    problem: Problem, maps: Mapping[str, Map], samples: int, generator: torch.Generator
) -> list[Row]:
    """Excess risk, squared distance and their difference, each with its standard error."""
    sums: dict[str, Tensor] = {}
    for _ in range(samples // LABELS_AT_ONCE):
        inputs = problem.family.domain.sample(LABELS_AT_ONCE, generator, torch.float64)
        values = labels(problem.family, Exact(), inputs, generator)
        truth = problem.solution(inputs)
        noise = (truth - values).square()
        for name, function in maps.items():
            found = function(inputs)
            excess, distance = (found - values).square() - noise, (found - truth).square()
            if name == "ū":  # its risk is the variance
                excess, distance = noise, problem.variance(inputs)
            parts = torch.cat([excess, distance, excess - distance], dim=1)
            moments = torch.stack([parts.sum(0), parts.square().sum(0)])
            sums[name] = sums.get(name, torch.zeros_like(moments)) + moments
    return [{"problem": problem.title, "map": n, **_summary(s, samples)} for n, s in sums.items()]


def _summary(sums: Tensor, samples: int) -> Row:
    means = sums[0] / samples
    errors = ((sums[1] / samples - means.square()).clamp_min(0.0) / samples).sqrt()
    names = ("excess", "distance", "gap")
    found = dict(zip(names, means.tolist(), strict=True))
    return found | {f"{n}_se": e for n, e in zip(names, errors.tolist(), strict=True)}


@torch.no_grad()
def converge(settings: Settings) -> Row:
    """‖f_n − Πu‖ for each n and repeat, with what theory predicts."""
    settings.announce(f"{PUT.title}: regressions of degree {DEGREE}")
    domain = PUT.family.domain
    powers = indices(domain.dim, DEGREE)
    engine = torch.quasirandom.SobolEngine(domain.dim, scramble=True, seed=0)  # type: ignore[no-untyped-call]
    nodes = 2 * engine.draw(PROJECTION_NODES, dtype=torch.float64) - 1
    target = project(lambda w: PUT.solution(PUT.placed(w)), powers, nodes)
    runs = [_regression(settings.seeds[0], k, powers, target) for k in range(REPEATS)]
    square = PUT.solution(PUT.placed(nodes)).square().mean() - target.square().sum()
    return {
        "sizes": SIZES,
        "errors": [errors for errors, _, _ in runs],
        "predicted": mean(predicted for _, predicted, _ in runs),
        "projection": math.sqrt(square.item()),
        "coefficients": runs[0][2],
    }


def _regression(
    seed: int, number: int, powers: Tensor, target: Tensor
) -> tuple[list[float], float, list[list[float]]]:
    """‖ĉ − c‖ for each n; Σ_k E P_k² (Y − Πu)²; ĉ."""
    generator = make_generator(seed, "theorem-1 regression", number)
    inputs = PUT.family.domain.sample(SIZES[-1], generator, torch.float64)
    values = labels(PUT.family, Exact(), inputs, generator)
    features = basis(PUT.normalised(inputs), powers)
    found = regress(features, values, SIZES)
    residual = values - features @ target.unsqueeze(-1)
    predicted = (features * residual).square().sum(1).mean().item()
    return (found - target).norm(dim=1).tolist(), predicted, found.tolist()


COLUMNS = (
    "family",
    "f",
    "risk(f) − risk(ū) ± s.e.",
    "‖f − ū‖² ± s.e.",
    "difference ± s.e.",
    "in s.e.",
)


def _cells(row: Row) -> tuple[str, ...]:
    name = row["map"] if row["map"] != "ū" else "ū: its risk, and E V(Y given Λ)"
    pairs = ((row[n], row[f"{n}_se"]) for n in ("excess", "distance", "gap"))
    deviation = row["gap"] / row["gap_se"] if row["gap_se"] else 0.0
    return (row["problem"], name, *(f"{v:.4g} ± {e:.2g}" for v, e in pairs), f"{deviation:+.1f}")


def rates(regressions: Row) -> tuple[float, float]:
    """The exponent of n, and its standard error over the independent samples."""
    slopes = [loglog_slope(SIZES, errors) or math.nan for errors in regressions["errors"]]
    return mean(slopes), stdev(slopes) / math.sqrt(len(slopes))


def _notes(rows: list[Row], regressions: Row, samples: int) -> tuple[str, ...]:
    others = [row for row in rows if row["map"] != "ū"]
    resolved = [row for row in others if row["excess"] > 3 * row["excess_se"]]
    below = [row for row in others if row["excess"] < -3 * row["excess_se"]]
    worst = max(abs(row["gap"]) / row["gap_se"] for row in rows if row["gap_se"])
    slope, error = rates(regressions)
    return (
        f"On {samples:,} fresh samples (Λ, Y) of each family, with exact sampling and one path per "
        "label; the rows of a family share them. If ū is the minimiser then risk(f) − risk(ū) = "
        "‖f − ū‖² for every f: the largest "
        f"difference is {worst:.1f} standard errors among {len(rows)} rows. "
        f"{'No map has' if not below else f'{len(below)} maps have'} a risk significantly below "
        f"that of ū; {len(resolved)} of {len(others)} have one significantly above"
        + (".", ", the others are too near to ū for this many samples.")[
            len(resolved) < len(others)
        ],
        "The first row of each family is the least risk there is: that of ū, beside E V(Y given Λ) "
        "from a closed form. What networks approach when they are trained is therefore this "
        "number, not 0.",
        f"Regressions, Black–Scholes: least squares in the Legendre polynomials of degree {DEGREE} "
        f"on n labels, {REPEATS} independent samples. Πū is the best such polynomial, with "
        f"‖Πū − ū‖ = {regressions['projection']:.2g}. The distance from it falls as n to the power "
        f"{slope:.3f} ± {error:.2g}; theory says −1/2. Standard errors are over the samples.",
        markdown_table(
            ("n", "‖f_n − Πū‖ ± s.e.", "predicted for large n", "‖f_n − ū‖"),
            [_regression_cells(regressions, k) for k in range(len(SIZES))],
        ),
    )


def _regression_cells(regressions: Row, k: int) -> tuple[str, ...]:
    errors = [each[k] for each in regressions["errors"]]
    size = math.sqrt(mean(e**2 for e in errors))
    error = stdev(e**2 for e in errors) / math.sqrt(len(errors)) / (2 * size)
    predicted = math.sqrt(regressions["predicted"] / SIZES[k])
    total = math.hypot(size, regressions["projection"])
    return (f"{SIZES[k]:,}", f"{size:.3g} ± {error:.2g}", f"{predicted:.3g}", f"{total:.3g}")


@styled
def draw(rows: list[Row], regressions: Row) -> Figure:
    """Excess risk against distance, and the regression's convergence."""
    figure, (left, right) = panels(1, 2, panel=(5.2, 4.4))
    for k, (title, group) in enumerate(itertools.groupby(rows, lambda row: row["problem"])):
        shown = [r for r in group if r["map"] != "ū" and r["excess"] > r["excess_se"]]
        x, y = [r["distance"] for r in shown], [r["excess"] for r in shown]
        bars = [[min(2 * r["excess_se"], 0.9 * r["excess"]) for r in shown]]
        bars.append([2 * r["excess_se"] for r in shown])
        left.errorbar(x, y, bars, fmt="o", ms=4, color=PALETTE[k], label=f"{title}, ± 2 s.e.")
    ends = [min(r["distance"] for r in rows if r["distance"]), max(r["distance"] for r in rows)]
    left.loglog(ends, ends, "k--", lw=1, label="equal")
    left.set(xlabel="‖f − ū‖²", ylabel="risk(f) − risk(ū)")
    left.legend()
    for errors in regressions["errors"]:
        right.loglog(SIZES, errors, "o", ms=3, color=BLUE)
    predicted = [math.sqrt(regressions["predicted"] / size) for size in SIZES]
    right.loglog(SIZES, predicted, "k--", label="predicted, slope −1/2")
    right.plot([], [], "o", ms=3, color=BLUE, label="regressions")
    right.set(xlabel="labels n", ylabel="‖f_n − Πū‖")
    right.legend()
    return figure
