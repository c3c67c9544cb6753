"""The value of each ingredient of the fast method: the error without it, at equal wall clock."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from feynkac.analysis.metrics import Yardstick
from feynkac.analysis.rounding import figure
from feynkac.benchmarks.bench import Thoroughness, yardstick_for
from feynkac.clock import Clock
from feynkac.errors import InputError
from feynkac.execution import execute
from feynkac.families.family import Family, jumps
from feynkac.methods import Fast
from feynkac.methods.method import unset
from feynkac.networks.smooth import Smooth
from feynkac.preparation import make_run
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.training.loop import Progress
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.optimisers.optimiser import AdamW
from feynkac.training.schedules import StepDecay
from feynkac.training.settings import seconds

Change = Callable[[Family, Fast], Fast | None]
"""The method without an ingredient; None if the default for the family lacks it."""


def _values_alone(family: Family, method: Fast) -> Fast | None:
    return replace(method, slopes=False) if method.slopes and not jumps(family) else None


def _plain_time(_family: Family, method: Fast) -> Fast | None:
    return _other_network(method, root_time=False)


def _unaligned(_family: Family, method: Fast) -> Fast | None:
    noise = method.noise
    if not isinstance(noise, Sobol) or not noise.aligned:
        return None
    return replace(method, noise=replace(noise, aligned=False))


def _independent_paths(_family: Family, method: Fast) -> Fast | None:
    plain = isinstance(method.noise, Independent)
    return None if plain else replace(method, noise=Independent())


def _fewest_paths(_family: Family, method: Fast) -> Fast | None:
    return replace(method, noise=Independent(), paths=1)


def _unbalanced(family: Family, method: Fast) -> Fast | None:
    proposed = replace(method, paths=unset).resolve(family).paths
    return replace(method, paths=proposed)


def _muon(_family: Family, method: Fast) -> Fast | None:
    second_order = isinstance(method.optimiser, GaussNewton)
    return replace(method, optimiser=Muon()) if second_order else None


def _adamw(_family: Family, method: Fast) -> Fast | None:
    return replace(method, optimiser=AdamW())


def _constant_rate(_family: Family, method: Fast) -> Fast | None:
    return replace(method, schedule=StepDecay(patience=10**9))


def _no_products(_family: Family, method: Fast) -> Fast | None:
    return _other_network(method, products=0)


def _half_width(_family: Family, method: Fast) -> Fast | None:
    network = method.architecture
    assert isinstance(network, Smooth)
    return _other_network(method, width=max(1, network.width // 2))


def _one_layer(_family: Family, method: Fast) -> Fast | None:
    return _other_network(method, depth=1)


def _euler_maruyama(family: Family, method: Fast) -> Fast | None:
    scheme = EulerMaruyama(steps=25)
    if isinstance(method.scheme, Exact) or method.scheme == scheme:
        return None
    return replace(method, scheme=scheme, noise=Fast(scheme=scheme).resolve(family).noise)


def _other_network(method: Fast, **changes: Any) -> Fast | None:
    """The method with another network; None if it is the same."""
    assert isinstance(method.architecture, Smooth)
    network = replace(method.architecture, **changes)
    return None if network == method.architecture else replace(method, architecture=network)


INGREDIENTS: dict[str, Change] = {
    "values alone, no slopes": _values_alone,
    "t instead of √t": _plain_time,
    "Sobol points not aligned": _unaligned,
    "independent paths": _independent_paths,
    "one independent path per input": _fewest_paths,
    "paths not balanced with the network": _unbalanced,
    "Muon instead of Gauss–Newton": _muon,
    "AdamW on values alone, independent paths": _adamw,
    "constant learning rate": _constant_rate,
    "no products of inputs": _no_products,
    "half the width": _half_width,
    "one hidden layer": _one_layer,
    "Euler–Maruyama with 25 steps": _euler_maruyama,
}
"""What replaces each ingredient."""


@dataclass(frozen=True)
class Variant:
    """The fast method with one change."""

    name: str
    l1: float
    l1_se: float
    factor: float
    """L1 relative to the default's."""
    steps: int
    seconds: float
    """Wall clock."""


@dataclass(frozen=True)
class Ablation:
    """All variants for one family, the default first."""

    family: str
    budget: float
    seed: int
    variants: tuple[Variant, ...]

    def record(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Columns and rows."""
        columns = ("", "L1 ± s.e.", "of the default", "steps", "s")
        rows: list[tuple[str, ...]] = [
            (
                v.name,
                figure(v.l1, v.l1_se),
                f"× {v.factor:.1f}",
                str(v.steps),
                f"{v.seconds:.1f}",
            )
            for v in self.variants
        ]
        return columns, rows


def run_ablation(
    family: Family,
    budget: float | str = "20s",
    seed: int = 0,
    effort: Thoroughness = Thoroughness(paths=2**11),  # noqa: B008  (frozen)
    report: Callable[[Progress], None] | None = None,
    announce: Callable[[str], None] = lambda _text: None,
) -> Ablation:
    """Train the default and each variant for `budget` and measure all with one yardstick."""
    try:
        lengths = {"budget": seconds(budget), "seed": seed, "evaluations": 1}
    except ValueError as error:
        raise InputError(f"{error}.") from error
    method = Fast().resolve(family)
    announce(f"{family.name()}: reference")
    warm = make_run(family, method, {"steps": 2, "seed": seed})
    yardstick = yardstick_for(family, warm, effort)
    execute(warm, family)  # imports, compiles
    variants: list[Variant] = []
    for name, changed in variant_methods(family, method).items():
        announce(f"{family.name()}: {name}")
        best = variants[0].l1 if variants else None
        variants.append(_measure(name, changed, family, lengths, yardstick, best, report))
    return Ablation(family.name(), lengths["budget"], seed, tuple(variants))


def variant_methods(family: Family, method: Fast) -> dict[str, Fast]:
    """The method with an open number of paths, and all variants that differ, by name."""
    default = replace(method, paths=unset)
    changed = {name: change(family, default) for name, change in INGREDIENTS.items()}
    found = {name: each for name, each in changed.items() if each is not None}
    return {"default": default} | found


def _measure(
    name: str,
    method: Fast,
    family: Family,
    lengths: dict[str, Any],
    yardstick: Yardstick,
    default_l1: float | None,
    report: Callable[[Progress], None] | None,
) -> Variant:
    clock = Clock()
    solution = execute(make_run(family, method, lengths), family, None, report, clock)
    taken = clock.spent()
    errors = yardstick.measure(solution.network)
    return Variant(
        name=name,
        l1=errors.l1,
        l1_se=errors.l1_se,
        factor=errors.l1 / (default_l1 or errors.l1),
        steps=solution.manifest.steps,
        seconds=taken,
    )


def to_markdown(ablations: Sequence[Ablation]) -> str:
    """One table with one row per variant and one column per family; – where it does not apply."""
    names = dict.fromkeys(v.name for a in ablations for v in a.variants)
    lines = [
        ["", *(f"{a.family}, {a.budget:g} s" for a in ablations)],
        ["---"] * (len(ablations) + 1),
    ]
    lines += [[name, *(_markdown_cell(a, name) for a in ablations)] for name in names]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _markdown_cell(ablation: Ablation, name: str) -> str:
    found = [v for v in ablation.variants if v.name == name]
    return f"{found[0].l1:.5f} (× {found[0].factor:.1f})" if found else "–"
