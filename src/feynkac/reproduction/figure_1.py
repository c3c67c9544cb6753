r"""Figure 1: the learning problem, with predictor Λ = (Γ, X, T) and target Y = φ_Γ(S_Λ).

The paper's is a drawing without numbers. Ours shows the same with data of the Black–Scholes model:
predictors drawn uniformly, the paths that lead from them to the targets, and the targets against
the solution map. Their means in bins of ū show what is learned:  E[Y | Λ] = ū(Λ).
"""

import math

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from feynkac.families.models.black_scholes import BlackScholes
from feynkac.plotting.style import BLACK, GREY, PALETTE, VERMILION, panels, styled
from feynkac.reproduction.result import Result
from feynkac.reproduction.settings import Settings
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import labels
from feynkac.sampling.schemes.exact import Exact

SAMPLES, BINS = 2**18, 8
SHOWN, PATHS, TIMES = 400, 6, 200

Sample = tuple[Tensor, Tensor, Tensor]
"""Λ, Y and ū(Λ).  Shape: `(N, 4)`, `(N,)`, `(N,)`."""


def run(settings: Settings) -> Result:
    """A sample of the learning problem, in bins of ū and as a picture."""
    seed = settings.seeds[0]
    sample = draw_sample(SAMPLES, make_generator(seed, "figure-1"))
    rows = binned(sample)
    return Result(
        name="figure-1",
        title="Figure 1: the learning problem, drawn with data of the Black–Scholes model",
        columns=("bin of ū(Λ)", "samples", "mean of ū(Λ)", "mean of Y ± s.e.", "deviation of Y"),
        rows=[_cells(row) for row in rows],
        notes=(
            "The paper's Figure 1 is a drawing of the supervised learning problem and has no "
            "numbers to reproduce. Here it is drawn with real samples: predictors Λ = (Γ, X, T) "
            f"({SHOWN} of them, left), paths of the SDE from X to S_Λ, each stopped at its own "
            f"time ({PATHS} of them, middle), and targets Y = φ_Γ(S_Λ) against the solution map "
            f"({SHOWN}, right).",
            f"The table and the black dots are means of {SAMPLES:,} samples in bins of equal "
            "number. A single target is far from ū(Λ), by its standard deviation in the last "
            "column; the means agree with ū, which is why least squares learn it (Theorem 1).",
        ),
        data={"bins": rows},
        figure=draw(sample, rows, make_generator(seed, "figure-1 paths")),
        seeds=(seed,),
    )


def draw_sample(count: int, generator: torch.Generator) -> Sample:
    """Independent (Λ, Y), and ū(Λ)."""
    family = BlackScholes()
    inputs = family.domain.sample(count, generator, torch.float64)
    values = labels(family, Exact(), inputs, generator)
    return inputs, values[:, 0], family.closed_form(*family.domain.split(inputs))[:, 0]


def binned(sample: Sample) -> list[dict[str, float]]:
    """Means in bins of ū with equally many samples."""
    _, values, truth = sample
    order = truth.argsort()
    return [
        {
            "low": truth[part].min().item(),
            "high": truth[part].max().item(),
            "samples": len(part),
            "solution": truth[part].mean().item(),
            "target": values[part].mean().item(),
            "target_se": (values - truth)[part].std().item() / math.sqrt(len(part)),
            "deviation": (values - truth)[part].std().item(),
        }
        for part in order.chunk(BINS)
    ]


def _cells(row: dict[str, float]) -> tuple[str, ...]:
    return (
        f"{row['low']:.3f} to {row['high']:.3f}",
        f"{row['samples']:,}",
        f"{row['solution']:.4f}",
        f"{row['target']:.4f} ± {row['target_se']:.2g}",
        f"{row['deviation']:.3g}",
    )


def simulate_path(at: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Times and states of one exact path up to its own t.  Shape: `(4,)` → `(TIMES + 1,)` each."""
    x, t, sigma, _ = at
    times = torch.linspace(0, 1, TIMES + 1, dtype=torch.float64) * t
    steps = torch.randn(TIMES, generator=generator, dtype=torch.float64) * (t / TIMES).sqrt()
    brownian = torch.cat([steps.new_zeros(1), steps.cumsum(0)])
    return times, x * (sigma * brownian - sigma**2 * times / 2).exp()


@styled
def draw(sample: Sample, rows: list[dict[str, float]], generator: torch.Generator) -> Figure:
    """Predictors, paths, targets."""
    figure, (predictors, paths, targets) = panels(1, 3, panel=(3.9, 3.6))
    inputs, values, truth = (part[:SHOWN] for part in sample)
    _draw_predictors(predictors, inputs)
    _draw_paths(paths, inputs, generator)
    targets.plot(truth, values, "o", ms=2.5, color=GREY, alpha=0.6, label="samples (Λ, Y)")
    ends = [0.0, float(truth.max())]
    targets.plot(ends, ends, color=VERMILION, lw=1.5, label=r"$Y = \bar u(\Lambda)$")
    means = [[row[name] for row in rows] for name in ("solution", "target")]
    targets.plot(*means, "o", ms=6, color=BLACK, label="means in bins")
    targets.set(xlabel=r"solution map $\bar u(\Lambda)$", ylabel="target Y", title="targets")
    targets.legend()
    return figure


def _draw_predictors(axes: Axes, inputs: Tensor) -> None:
    shown = axes.scatter(inputs[:, 1], inputs[:, 0], 8, inputs[:, 2], cmap="viridis")
    axes.figure.colorbar(shown, ax=axes, label=r"volatility $\Gamma_\sigma$")
    axes.set(xlabel="stopping time T", ylabel="initial state X", title="predictors Λ = (Γ, X, T)")


def _draw_paths(axes: Axes, inputs: Tensor, generator: torch.Generator) -> None:
    """Each with the strike and what it pays at its end."""
    late = inputs[inputs[:, 1] > 0.3][:PATHS]
    for number, at in enumerate(late):
        times, states = simulate_path(at, generator)
        axes.plot(times, states, lw=0.8, color=PALETTE[number])
        axes.plot(times[-1:], states[-1:], "o", ms=4, color=PALETTE[number])
        ends = [float(states[-1]), max(float(states[-1]), float(at[3]))]
        axes.plot([float(at[1])] * 2, ends, ":", color=PALETTE[number])
    axes.plot([], [], "k:", label=r"$Y = (\Gamma_\varphi - S_\Lambda)^+$")
    axes.plot([], [], "ko", ms=4, label=r"$S_\Lambda$")
    axes.set(xlabel="time", ylabel=r"$S_{\Gamma,X,t}$", title="paths")
    axes.legend()
