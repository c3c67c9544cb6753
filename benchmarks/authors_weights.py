r"""What the authors' published weights are worth:  E[ |Φ − ū| / (1 + |ū|) ]  on fresh inputs.

    python benchmarks/authors_weights.py CHECKOUT --out docs/results

CHECKOUT is a clone of github.com/juliusberner/deep_kolmogorov, whose folder `exp` has the weights
of four seeds per problem. The references are the closed forms; for the basket the 25
Euler–Maruyama steps that it was trained with, and the true PDE by 8 log-ODE steps. The network
differs from ours in two ways: the residual that a level hands on contains those it received, and
batch normalisation has ε = 1e-8.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor, nn

from feynkac.analysis.partials import greek_value
from feynkac.families.capabilities import ClosedForm, NamedGreeks
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.methods.paper import column
from feynkac.networks.multilevel import MultilevelNetwork
from feynkac.networks.network import Network
from feynkac.reproduction.result import describe_machine, markdown_table
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import Estimate, closed_form_values, replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.scheme import Scheme

NAME = "authors-weights"
REPOSITORY = "github.com/juliusberner/deep_kolmogorov"
EPSILON = 1e-8
ORDER = ("t", "x", "sigma", "mu", "strike")
"""In which the authors' networks take the variables."""
FOLDERS: dict[str, Family] = {
    "avg_bs": BlackScholes(),
    "avg_basket": BasketPut(),
    "avg_heat_paraboloid": HeatParaboloid(),
    "avg_heat_gaussian": HeatGaussian(),
}
CLOSED, EM, PDE = "closed form", "25 Euler–Maruyama steps", "true PDE (8 log-ODE steps)"
SCHEMES: dict[str, Scheme] = {EM: EulerMaruyama(steps=25), PDE: LogOde(steps=8)}
OWN = "25 Euler–Maruyama steps themselves"
GREEKS = ("delta", "vega", "theta")
REPLICATES = 16


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    closed_inputs: int = 2**16
    simulated_inputs: int = 4096
    paths: int = 2**10
    """Per input and replicate; there are 16."""
    scheme_inputs: int = 512
    """To compare the weights with the scheme they were trained with."""
    scheme_paths: int = 2**14
    """The same for these."""
    greek_inputs: int = 20_000


@dataclass(frozen=True)
class Row:
    """One comparison; means are over the seeds."""

    family: str
    what: str
    """L1 of the weights, of a derivative of theirs, or of a scheme."""
    reference: str
    l1: float
    l1_se: float
    """Standard error over the inputs, which all seeds share."""
    l1_by_seed: list[float]
    reference_se: float
    """Mean statistical error at an input, of all that is simulated; 0 for a closed form."""
    inputs: int
    steps: int | None = None
    """That the weights were trained for."""
    recorded: list[float] | None = None
    """What the authors measured at the end of these trainings."""


@dataclass(frozen=True)
class Trained:
    """One of the authors' trainings."""

    seed: int
    steps: int
    recorded: float
    weights: Path | None
    """None where the checkout has the record alone."""


class Accumulating(nn.Module):
    """Our layers, with residuals handed on as in the authors' code.  Shape: `(N, dim)` → `(N, 1)`.

    Ψ_l^i = A_l^i(ϱ(Norm(Ψ_l^{i−1}))) + Ψ_{l+1}^{2i},    Φ = Ψ_0^1
    """

    def __init__(self, core: MultilevelNetwork) -> None:
        super().__init__()
        self.core = core

    def forward(self, x: Tensor) -> Tensor:
        """From the deepest level up."""
        columns = x.mT.contiguous()
        above: list[Tensor] = []
        for entry, level in zip(
            reversed(self.core.entries), reversed(self.core.levels), strict=True
        ):
            outputs = [entry(columns)]
            assert isinstance(level, nn.ModuleList)
            for i, layer in enumerate(level, start=1):
                found = layer(outputs[-1])
                outputs.append(found + above[2 * i] if above else found)
            above = outputs
        return above[-1].mT


def load_network(path: Path, family: Family) -> Network:
    """The authors' weights, on inputs in our order."""
    weights = torch.load(path, map_location="cpu", weights_only=True)
    network = Network(column(family).architecture, family.domain)
    core = network.core
    assert isinstance(core, MultilevelNetwork)
    core.load_state_dict(dict(renamed(weights, columns_of(family.domain))))
    for module in core.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.eps = EPSILON
    network.core = Accumulating(core)
    return network.eval().requires_grad_(False)


def columns_of(domain: Domain) -> Tensor:
    """For each of our inputs the place where the authors' network takes it.  Shape: `(dim,)`."""
    slices = domain.slices()
    theirs = [i for name in ORDER if name in slices for i in range(domain.dim)[slices[name]]]
    return torch.tensor(theirs).argsort()


def renamed(weights: dict[str, Tensor], columns: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The same tensors under our names: `nets.l.dense_layers.i` is the map A_l^i."""
    for name, value in weights.items():
        found = re.fullmatch(r"nets\.(\d+)\.(dense|norm)_layers\.(\d+)\.(\w+)", name)
        if found is None:
            raise SystemExit(f"expected weights of a multilevel network, got {name!r}.")
        level, kind, number, rest = found.groups()
        if kind == "norm":
            yield f"levels.{level}.{number}.norm.{rest}", value
        elif number == "0":
            yield f"entries.{level}.{rest}", value[:, columns]
        else:
            yield f"levels.{level}.{int(number) - 1}.linear.{rest}", value


def find_trainings(checkout: Path, folder: str) -> list[Trained]:
    """By seed; the last line of `result.json` is the end of a training."""
    found = []
    for path in sorted((checkout / "exp").glob(f"{folder}_2*/Trainer/Trainer_*/result.json")):
        last = json.loads(path.read_text().splitlines()[-1])
        seed = json.loads((path.parent / "params.json").read_text())["seed"]
        steps, recorded = last["train"]["current"]["overall steps"], last["val"]["current"]["L1"]
        weights = next(iter(path.parent.glob("checkpoint_*/model.pth")), None)
        found.append(Trained(seed, int(steps), recorded, weights))
    return sorted(found, key=lambda training: training.seed)


def measure_all(checkout: Path, effort: Effort) -> list[Row]:
    """Every comparison that the checkout allows."""
    rows = []
    for folder, family in FOLDERS.items():
        trainings = find_trainings(checkout, folder)
        if not trainings:
            raise SystemExit(f"{checkout}/exp has no {folder}_*; is it a clone of {REPOSITORY}?")
        if any(training.weights is None for training in trainings):
            print(f"{family.name()}: the checkout lacks its weights", file=sys.stderr)
            continue
        rows += measure_family(family, trainings, effort)
    return rows


def measure_family(family: Family, trainings: Sequence[Trained], effort: Effort) -> list[Row]:
    """Of all seeds."""
    networks = [load_network(one.weights, family) for one in trainings if one.weights]
    kept = {"steps": trainings[0].steps, "recorded": [one.recorded for one in trainings]}
    if not isinstance(family, ClosedForm):
        return measure_simulated(family, networks, effort, kept)
    points = family.domain.sample(effort.closed_inputs, make_generator(0, NAME))
    truth = closed_form_values(family, points)
    assert truth is not None
    first = compare(family, "the weights", CLOSED, evaluate(networks, points), truth, **kept)
    return [first, *measure_greeks(family, networks, effort)]


def measure_simulated(
    family: Family, networks: Sequence[Network], effort: Effort, kept: dict[str, Any]
) -> list[Row]:
    """Against the scheme of the training and the true PDE, and the one against the other.

    A path of the scheme is noisier, and against it the weights' error is small: fewer inputs, on
    which it is exact enough.
    """
    generator = make_generator(0, NAME)
    points = family.domain.sample(effort.simulated_inputs, generator)
    few = points[: effort.scheme_inputs]
    sharp = refer(family, EM, few, effort.scheme_paths, generator)
    coarse = refer(family, EM, points, effort.paths, generator)
    truth = refer(family, PDE, points, effort.paths, generator)
    both = Estimate(truth.value, torch.hypot(truth.error, coarse.error))
    values, unrecorded = evaluate(networks, points), kept | {"recorded": None}
    return [
        compare(family, "the weights", EM, evaluate(networks, few), sharp, **kept),
        compare(family, "the weights", PDE, values, truth, **unrecorded),
        compare(family, OWN, PDE, [coarse.value], both),
    ]


def refer(
    family: Family, name: str, points: Tensor, paths: int, generator: torch.Generator
) -> Estimate:
    """A simulation with Sobol' noise."""
    start = time.perf_counter()
    found = replicated(family, SCHEMES[name], Sobol(), points, paths, generator, REPLICATES)
    print(f"{family.name()}: {name}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return found


def evaluate(networks: Sequence[Network], points: Tensor) -> list[Tensor]:
    """Shape: `(N, dim)` → `(N, 1)` of each."""
    blocks = torch.split(points, 2**13)
    return [torch.cat([network(block) for block in blocks]).double() for network in networks]


def compare(
    family: Family,
    what: str,
    name: str,
    values: Sequence[Tensor],
    reference: Estimate,
    **kept: Any,
) -> Row:
    """Errors of all seeds on the same inputs."""
    scale = 1.0 + reference.value.abs()
    errors = torch.stack([(found - reference.value).abs() / scale for found in values])
    by_input = errors.mean(0).flatten()
    return Row(
        family.name(),
        what,
        name,
        l1=by_input.mean().item(),
        l1_se=by_input.std().item() / len(by_input) ** 0.5,
        l1_by_seed=errors.flatten(1).mean(1).tolist(),
        reference_se=(reference.error / scale).mean().item(),
        inputs=len(by_input),
        **kept,
    )


def measure_greeks(family: Family, networks: Sequence[Network], effort: Effort) -> Iterator[Row]:
    """The first derivatives by name; a ReLU network has no others."""
    if not (isinstance(family, NamedGreeks) and isinstance(family, ClosedForm)):
        return
    domain, closed = family.domain, family.closed_form
    points = domain.sample(effort.greek_inputs, make_generator(0, f"{NAME} greeks"))
    for name in GREEKS:
        greek = family.greeks[name]
        truth = greek_value(lambda at: closed(*domain.split(at)), domain, greek, points.double())
        found = [greek_value(network, domain, greek, points).double() for network in networks]
        exact = Estimate(truth[:, None], torch.zeros_like(truth[:, None]))
        yield compare(family, name, CLOSED, [value[:, None] for value in found], exact)


def text(row: Row) -> tuple[str, ...]:
    """A line of the table."""
    seeds = f" ± {stdev(row.l1_by_seed):.2g}" if len(row.l1_by_seed) > 1 else ""
    recorded = "" if row.recorded is None else f"{mean(row.recorded):.2g}"
    return (
        row.family,
        row.what,
        row.reference,
        f"{row.l1:.3g} ± {row.l1_se:.1g}",
        seeds.removeprefix(" "),
        f"{row.reference_se:.1g}" if row.reference_se else "exact",
        f"{row.inputs:,}",
        recorded,
    )


COLUMNS = (
    "problem",
    "what",
    "against",
    "L1 ± s.e. over inputs",
    "over seeds",
    "reference ±",
    "inputs",
    "the authors' own record",
)


def page(record: Mapping[str, Any]) -> str:
    """For docs/results, from what is recorded."""
    rows = [Row(**row) for row in record["rows"]]
    effort = Effort(**record["effort"])
    parts = [
        "# The authors' published weights, measured",
        f"Weights of four seeds per problem from {REPOSITORY}, commit {record['commit'][:10]}. "
        + " ".join(describe_records(record["records"], {row.family for row in rows})),
        markdown_table(COLUMNS, [text(row) for row in rows]),
        "L1 is that of Eq. (9); its standard error is over the inputs, which all seeds share. The "
        f"simulated references have {REPLICATES} × {effort.paths:,} paths per input with Sobol' "
        f"noise, those on {effort.scheme_inputs:,} inputs {REPLICATES} × {effort.scheme_paths:,}.",
        "'The authors' own record' is what their `result.json` has for the end of the same "
        "trainings: that the weights give the same number here shows that they are read as they "
        "were meant.",
        "The authors' network differs from the paper's definition and from ours: the residual "
        "that a level hands on also contains those it received, and batch normalisation has "
        "ε = 1e-8 (ours 1e-5). The weights are evaluated as in their code.",
        f"The numbers are in [{NAME}.json]({NAME}.json). {record['seconds']:,.0f} s; "
        f"{record['hardware']}. Made by",
        "    python benchmarks/authors_weights.py CHECKOUT --out docs/results",
    ]
    return "\n\n".join(parts) + "\n"


def describe_records(records: Mapping[str, Any], measured: Container[str]) -> Iterator[str]:
    """How long each problem was trained, and the authors' error where we have no weights."""
    for name, each in records.items():
        if name in measured:
            yield f"{name}: {each['steps']:,} steps."
        else:
            l1 = mean(each["l1"])
            known = f"{each['steps']:,} steps, L1 {l1:.2g} by the authors' record"
            yield f"{name}: the checkout lacks the weights ({known})."


def read_records(checkout: Path) -> dict[str, Any]:
    """Steps and last errors of all problems, as the authors recorded them."""
    found = {family.name(): find_trainings(checkout, name) for name, family in FOLDERS.items()}
    return {
        name: {"steps": trainings[0].steps, "l1": [one.recorded for one in trainings]}
        for name, trainings in found.items()
        if trainings
    }


def commit_of(checkout: Path) -> str:
    """The checkout's commit."""
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main() -> None:
    """Parse the arguments, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help=f"a clone of {REPOSITORY}")
    parser.add_argument("--paths", type=int, default=Effort.paths)
    parser.add_argument("--inputs", type=int, default=Effort.simulated_inputs)
    parser.add_argument("--commit", help="of the checkout, if it is not a git repository")
    parser.add_argument("--out", type=Path, help="a folder for the page and the numbers")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    few = min(Effort.scheme_inputs, given.inputs)
    effort = Effort(
        simulated_inputs=given.inputs,
        paths=given.paths,
        scheme_inputs=few,
        scheme_paths=16 * given.paths,
    )
    start = time.perf_counter()
    rows = measure_all(given.checkout, effort)
    record = {
        "name": NAME,
        "repository": REPOSITORY,
        "commit": given.commit or commit_of(given.checkout),
        "effort": asdict(effort),
        "records": read_records(given.checkout),
        "rows": [asdict(row) for row in rows],
        "seconds": time.perf_counter() - start,
        "hardware": describe_machine(),
    }
    if given.out:
        (given.out / f"{NAME}.json").write_text(json.dumps(record, indent=1) + "\n")
        (given.out / f"{NAME}.md").write_text(page(record))
    print(json.dumps(record) if given.json else markdown_table(COLUMNS, [text(r) for r in rows]))


if __name__ == "__main__":
    main()
