"""The command `feynkac`: evaluation and benchmarks; the other commands are in files beside this."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from feynkac.errors import InputError
from feynkac.interfaces import (  # noqa: F401
    asking,
    authoring,
    calibrating,
    library,
    listing,
    reproducing,
    searching,
    sharing,
    solving,
)
from feynkac.interfaces.application import (
    MOST,
    Json,
    Picture,
    RunFolder,
    Seed,
    UserFamily,
    app,
    command,
    load_solution,
    png_file,
    print_json,
)
from feynkac.interfaces.parsing import parse_scheme

if TYPE_CHECKING:
    from feynkac.solution import Solution

LARGEST_DIM = 1000
"""Of `dimensions`; its family has the square of that as inputs."""
ZOO = Path("runs/zoo")
"""Where the rows of the zoo are kept."""


def main() -> None:
    """Entry point of the program."""
    if "--debug" in sys.argv:  # allowed anywhere on the line
        sys.argv.remove("--debug")
        sys.argv.insert(1, "--debug")
    app()


@command
def error(
    run: RunFolder,
    inputs: Annotated[
        int | None, typer.Option(help="Number of fresh inputs.", min=2, max=MOST)
    ] = None,
    paths: Annotated[
        int | None,
        typer.Option(
            help="Paths per input of a simulated reference; default: 2^14, or a finer grid if RUN "
            "was trained on one.",
            min=2,
            max=MOST,
        ),
    ] = None,
    scheme: Annotated[
        str, typer.Option(help="auto (that of RUN), exact, or a name with :STEPS, as log-ode:4.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the inputs and paths.", min=0)] = 1,
    error_map: Annotated[
        bool, typer.Option("--map", help="Certify many inputs: where is the error largest?")
    ] = False,
    shape: Annotated[
        bool, typer.Option("--shape", help="Is u monotone, convex and bounded as it should be?")
    ] = False,
    parity: Annotated[
        Path | None, typer.Option(help="Check put–call parity with this run, the put or call.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw the map into this PNG.", callback=png_file)
    ] = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Measure the error of RUN against the closed form or a Monte Carlo reference."""
    from feynkac.interfaces.console import print_errors, print_shape

    if error_map and (scheme != "auto" or paths is not None):
        raise InputError(
            "a map certifies every input with paths of its own; omit --scheme, --paths."
        )
    if out and not error_map:
        raise InputError("--out draws the map of errors; add --map.")
    if error_map and (shape or parity):
        raise InputError("--map answers alone; omit --shape and --parity.")
    solution = load_solution(run, family)
    if error_map:
        return _map(solution, inputs or 1024, seed, out, as_json)
    report = None
    if shape or parity:
        partner = load_solution(parity, family) if parity else None
        report = solution.shape(partner=partner, seed=seed)
    errors = solution.error(inputs, paths=paths, seed=seed, scheme=parse_scheme(scheme))
    aside = {"worst": errors.worst, "warnings": errors.warnings}
    result = {"run": str(run), "seed": seed, **errors.record(), **aside}
    if as_json:
        return print_json(result | ({"shape": report.record()} if report else {}))
    print_errors(f"{solution.manifest.family.name}, fresh inputs", result)
    return print_shape(report) if report else None


app.command("evaluate", hidden=True)(error)  # its earlier name


@command
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run and the figures.")] = Path(
        "runs/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    as_json: Json = False,
) -> None:
    """Solve Black–Scholes, print the error table, draw price and Greeks."""
    from feynkac.benchmarks.demo import run_demo
    from feynkac.interfaces.console import print_table, training_display

    with training_display() as report:
        result = run_demo(out, seed, report)
    if as_json:
        return print_json(result)
    print_table("Black–Scholes put, one network for all x, t, sigma, strike", *result["table"])
    return typer.echo("\n".join(f"figure {path}" for path in result["figures"]))


@command
def bench(
    family: Annotated[
        list[str] | None,
        typer.Option("--family", "--only", help="Only this family. Repeatable."),
    ] = None,
    suite: Annotated[
        Literal["paper", "catalogue", "zoo"],
        typer.Option(help="The paper's families, the catalogue, or families of users."),
    ] = "paper",
    seeds: Annotated[int, typer.Option(help="Trainings per row.", min=1)] = 1,
    runs: Annotated[
        Path | None, typer.Option(help="Keep the trainings in this folder and reuse them.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as in the README.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="Time per training of the zoo; default: 60s.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the zoo's trainings; default: 0.", min=0)
    ] = None,
    budget_scale: Annotated[float, typer.Option(hidden=True, min=1e-3)] = 1.0,
    as_json: Json = False,
) -> None:
    """Measure accuracy and time of the fast method: beside the paper's, catalogue or zoo."""
    from feynkac.benchmarks.bench import Thoroughness, choose_entries, run_bench
    from feynkac.benchmarks.store import Store
    from feynkac.interfaces.console import print_table, training_display

    if suite == "zoo":
        if seeds != 1:
            raise InputError("the zoo has one training per family; give --seed instead of --seeds.")
        kept, length = runs or ZOO, budget or "60s"
        return _bench_zoo(family or [], kept, length, seed or 0, markdown, as_json)
    if budget or seed is not None:
        raise InputError("--budget and --seed are for --suite zoo; omit them.")
    if suite == "catalogue":
        return _bench_catalogue(family or [], seeds, budget_scale, as_json)
    entries = choose_entries(family or [])
    with training_display() as report:
        store = None if runs is None else Store(runs)
        result = run_bench(entries, seeds, Thoroughness(budget_scale), report, _announce, store)
    if as_json:
        return print_json(result.record())
    if markdown:
        return typer.echo(result.markdown())
    print_table(f"Mean over {seeds} seed(s), a hundredth of the paper's time", *result.table())
    if any(row.source != "the paper" for row in result.rows):
        typer.echo("* the authors' weights, re-measured against the true PDE")
    columns, rows = result.greeks()
    return print_table("Greeks", columns, rows) if rows else None


@command
def ablation(
    family: Annotated[list[str], typer.Argument(metavar="FAMILY…", help="One or more families.")],
    budget: Annotated[str, typer.Option(help="Time per training.")] = "20s",
    seed: Seed = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Measure what the fast method loses without each of its ingredients, at equal time."""
    from feynkac.benchmarks.ablation import run_ablation, to_markdown
    from feynkac.families.catalogue import find_family
    from feynkac.interfaces.console import print_table, training_display

    chosen = [find_family(name) for name in family]
    with training_display() as report:
        found = [run_ablation(f, budget, seed, report=report, announce=_announce) for f in chosen]
    if as_json:
        return print_json({"ablations": [result.record() for result in found]})
    if markdown:
        return typer.echo(to_markdown(found))
    for result in found:
        print_table(f"{result.family}, {result.budget:g} s each, seed {seed}", *result.table())
    return None


@command
def dimensions(
    dims: Annotated[
        str | None, typer.Option(help="Dimensions, such as 1,2,3; default: 1 … 15, 20, 30.")
    ] = None,
    target: Annotated[float, typer.Option(help="L1 error to reach.", min=0.0)] = 1e-2,
    steps: Annotated[int, typer.Option(help="Maximal number of steps.", min=1)] = 400,
    seed: Seed = 0,
    out: Picture = None,
    as_json: Json = False,
) -> None:
    """Measure steps and cost to reach an error on the heat equation as the dimension grows."""
    from feynkac.benchmarks.dimensions import DIMS, run_dimensions
    from feynkac.interfaces.console import print_table

    study = run_dimensions(
        DIMS if dims is None else _parse_dims(dims), target, seed, steps, _announce
    )
    if out:
        from feynkac.benchmarks.dimensions_figure import draw_scaling
        from feynkac.plotting.writing import write_figure

        write_figure(draw_scaling(study), out)
    if as_json:
        return print_json(study.record() | ({"figure": str(out)} if out else {}))
    print_table(f"Cost to reach L1 = {target:g}, heat-paraboloid, seed {seed}", *study.table())
    return typer.echo(f"figure {out}") if out else None


def _bench_catalogue(names: list[str], seeds: int, budget_scale: float, as_json: bool) -> None:
    from feynkac.benchmarks.suite import BUDGET, choose_models, run_suite
    from feynkac.interfaces.console import print_table, training_display

    models, budget = choose_models(names), BUDGET * budget_scale
    with training_display() as report:
        found = run_suite(models, seeds, budget, report=report, announce=_announce)
    if as_json:
        return print_json(found.record())
    return print_table(f"{budget:.0f} s each, mean over {seeds} seed(s)", *found.table())


def _bench_zoo(
    names: list[str], runs: Path, budget: str, seed: int, markdown: bool, as_json: bool
) -> None:
    from feynkac.benchmarks.zoo import run_zoo
    from feynkac.benchmarks.zoo_members import choose_members
    from feynkac.benchmarks.zoo_table import ROWS, page, summary_text, table
    from feynkac.interfaces.console import print_table
    from feynkac.interfaces.parsing import parse_budget

    allowed = parse_budget(budget)
    found = run_zoo(choose_members(names), runs / ROWS, allowed, seed, _announce)
    if as_json:
        return print_json(found.record())
    if markdown:
        return typer.echo(page(found))
    print_table(f"{allowed:g} s each, seed {seed}", *table(found))
    return typer.echo(summary_text(found))


def _map(solution: "Solution", inputs: int, seed: int, out: Path | None, as_json: bool) -> None:
    from feynkac.analysis.rounding import error_text, figure, number
    from feynkac.interfaces.console import print_table

    found = solution.error_map(inputs, seed=seed)
    result = found.record()
    if out:
        from feynkac import plotting
        from feynkac.plotting.writing import write_figure

        write_figure(plotting.error_map(found), out)
        result["figure"] = str(out)
    if as_json:
        return print_json(result)
    low, high = found.interval
    rows = [
        ("L1 error, Eq. (9)", error_text(found.mean.value, found.mean.se, low, high)),
        ("its 95 % interval", f"{number(low)} … {number(high)}"),
        ("mean of network − u", figure(found.signed.value, found.signed.se)),
        ("mean s.e. of the estimates", number(found.noise)),
        ("largest error", number(found.worst["error"])),
    ]
    words = ("L1 error", "inputs", "estimate", "s.e.")
    print_table(f"{inputs} certified inputs", ("", "value"), rows, words)
    return typer.echo(f"figure {out}") if out else None


def _parse_dims(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(len(p) < 9 and p.isdecimal() and 0 < int(p) <= LARGEST_DIM for p in parts):
        raise InputError(
            f"cannot read {text[:40]!r}; expected dimensions such as 1,2,3, at most {LARGEST_DIM}."
        )
    return [int(part) for part in parts]


def _announce(text: str) -> None:
    typer.echo(text, err=True)
