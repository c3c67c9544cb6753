r"""Tables 5 and 6: the training setup and the ranges of its search, read off the program.

Nothing here is typed in but what the paper prints and our program need not share: its rounded
numbers of parameters, the size of its evaluations, its seeds and its hardware.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from feynkac.analysis.metrics import known_inputs
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family
from feynkac.families.measures.measure import Measure
from feynkac.methods import Paper
from feynkac.methods.paper import OPTIMISERS, TABLE_5, TABLE_6
from feynkac.methods.paper import Column as Setup
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import make_network
from feynkac.reproduction.published import AUTHORS, NETWORK_NOTE, TABLES
from feynkac.reproduction.result import Result
from feynkac.reproduction.settings import Settings
from feynkac.sampling.generators import make_generator
from feynkac.sampling.reference_size import REPLICATES, fixed_size
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.optimisers.optimiser import SGD, AdamW


@dataclass(frozen=True)
class Column:
    """A family with the paper's settings for it."""

    family: Family
    setup: Setup

    @property
    def architecture(self) -> Multilevel:
        """Its network."""
        return self.setup.architecture

    @property
    def parameters(self) -> int:
        """Counted on the network itself."""
        generator = make_generator(0, "table-5")
        return make_network(self.architecture, self.family.domain, generator).parameter_count

    @property
    def evaluation_inputs(self) -> int:
        """How many inputs our evaluations take."""
        if isinstance(self.family, ClosedForm):
            return known_inputs(self.family)
        return fixed_size(self.family, Paper().resolve(self.family).scheme).inputs

    @property
    def evaluation_paths(self) -> int:
        """How many paths per input, if the reference is simulated."""
        return REPLICATES * fixed_size(self.family, Paper().resolve(self.family).scheme).paths


PAPER_PATHS = 2**20
HEADING = ("", "", "", "")
ROWS: dict[str, Callable[[Column], str] | tuple[str, str, str, str]] = {
    "Input sets": HEADING,
    "D_σ": lambda c: _interval(c, "sigma"),
    "D_μ": lambda c: _interval(c, "mu"),
    "D_φ": lambda c: _interval(c, "strike"),
    "[v, w]^d": lambda c: _interval(c, "x"),
    "[0, T]": lambda c: _interval(c, "t"),
    "Network": HEADING,
    "inputs": lambda c: str(c.family.domain.dim),
    "architecture": lambda c: type(c.architecture).__name__,
    "(L, q, χ)": lambda c: _tuple(
        c.architecture.levels, c.architecture.factor, int(c.architecture.residual)
    ),
    "activation": lambda c: c.architecture.activation,
    "normalisation": lambda c: c.architecture.norm,
    "parameters here": lambda c: f"{c.parameters:,}",
    "parameters, paper": ("5.4K", "0.8M", "2.4M", "4.5M"),
    "Training": HEADING,
    "solution of the SDE": lambda c: _scheme(c.family),
    "optimiser": lambda c: type(c.setup.optimiser).__name__,
    "initial parameters": lambda _c: "U(−ξ, ξ)",
    "weight decay": lambda c: f"{c.setup.optimiser.weight_decay:g}",
    "batch size": lambda c: _power(c.setup.batch_size),
    "steps": lambda c: f"{c.setup.steps:,}",
    "(initial, minimal) learning rate": lambda c: _tuple(
        c.setup.learning_rate, c.setup.schedule.minimal
    ),
    "(decay, patience)": lambda c: _tuple(c.setup.decay, c.setup.schedule.patience),
    "Validation": HEADING,
    "solution of the PDE here": lambda c: _reference(c.family, c.evaluation_paths),
    "solution of the PDE, paper": lambda c: _reference(c.family, PAPER_PATHS),
    "inputs of an evaluation here": lambda c: _power(c.evaluation_inputs),
    "inputs of an evaluation, paper": ("150 · 2^16", "2^17", "150 · 2^17", "150 · 2^17"),
    "Execution": HEADING,
    "seeds, paper": ("0, 1, 2, 3",) * 4,
    "hardware, paper": ("2 V100", "4 V100", "2 V100", "2 V100"),
}


def table_5(_settings: Settings) -> Result:
    """The training setup."""
    columns = [Column(family(), setup) for family, setup in TABLE_5.items()]
    rows = [
        (name, *(cells if isinstance(cells, tuple) else map(cells, columns)))
        for name, cells in ROWS.items()
    ]
    return Result(
        name="table-5",
        title="Table 5: training setup",
        columns=("", *(column.family.name() for column in columns)),
        rows=rows,
        notes=(
            "The rows are read off the program's settings of the paper's method, but those called "
            "the paper's. ξ = 1/√n in a layer of n inputs; – stands for what a family has not.",
            "An evaluation here has fewer inputs than the paper's; the program reports the "
            "standard error with it. Each result says which seeds it was trained with.",
            NETWORK_NOTE,
            f"By the records in {AUTHORS} the trainings of Table 1 took "
            f"{TABLES[0].trained_steps:,} steps and those of Tables 3 and 4 "
            f"{TABLES[2].trained_steps:,}, of which the tables show the first.",
        ),
        data={c.family.name(): {"parameters": c.parameters} for c in columns},
        seeds=(),
    )


def table_6(_settings: Settings) -> Result:
    """The ranges of the hyperparameters."""
    ranges = TABLE_6
    return Result(
        name="table-6",
        title="Table 6: ranges for hyperparameter optimisation",
        columns=("hyperparameter", "range here", "range in the paper"),
        rows=[
            ("(L, q)", f"{ranges['levels']} × {ranges['factor']}", "{3, 4} × {4, 5, 6}"),
            (
                "optimiser",
                f"{{{', '.join(map(_optimiser, OPTIMISERS.values()))}}}",
                "{AdamW, SGD (with momentum & weight decay)}",
            ),
            ("batch size", str(ranges["batch_size"]), "{16384, 32768, 65536, 131072}"),
            ("learning rate", str(ranges["learning_rate"]), "(10^-1, 10^-5)"),
            ("decay of the learning rate", str(ranges["decay"]), "(0.2, 0.6)"),
        ],
        notes=(
            "The ranges are those that `feynkac tune --method paper` searches. The paper gives "
            "neither the momentum and weight decay of SGD nor the laws inside the intervals.",
        ),
        data={name: dimension.record() for name, dimension in ranges.items()},
        seeds=(),
    )


def _interval(column: Column, name: str) -> str:
    """Bounds and shape of a variable."""
    box: Measure | None = column.family.domain.measures.get(name)
    if box is None:
        return "–"
    shape = "×".join(map(str, box.shape))
    return f"[{box.low[0]:g}, {box.high[0]:g}]" + (f"^{shape}" if shape else "")


def _scheme(family: Family) -> str:
    scheme = Paper().resolve(family).scheme
    if isinstance(scheme, Exact):
        return "analytic"
    return f"Euler–Maruyama, {scheme.steps} steps"


def _reference(family: Family, paths: int) -> str:
    return "analytic" if isinstance(family, ClosedForm) else f"Monte Carlo, {_power(paths)} paths"


def _optimiser(optimiser: AdamW | SGD) -> str:
    decay = f"weight decay {optimiser.weight_decay:g}"
    momentum = f"momentum {optimiser.momentum:g}, " if isinstance(optimiser, SGD) else ""
    return f"{type(optimiser).__name__} ({momentum}{decay})"


def _tuple(*numbers: float) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


def _power(number: int) -> str:
    """A power of two as such."""
    exponent = round(math.log2(number))
    return f"2^{exponent}" if 2**exponent == number else f"{number:,}"
