"""The command `feynkac`: solving, measuring, experiments; more in the files beside this."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from feynkac.errors import InputError
from feynkac.interfaces import authoring, reproducing  # noqa: F401  (their commands)
from feynkac.interfaces.application import (
    Dim,
    FamilyName,
    Fields,
    Json,
    RunFolder,
    Seed,
    UserFamily,
    app,
    command,
    load_solution,
    print_json,
)
from feynkac.interfaces.asking import with_control
from feynkac.interfaces.parsing import family_settings, parse_scheme

if TYPE_CHECKING:
    from feynkac.solution import Solution


def main() -> None:
    """Entry point of the program."""
    if "--debug" in sys.argv:  # allowed anywhere on the line
        sys.argv.remove("--debug")
        sys.argv.insert(1, "--debug")
    app()


@command
def families(as_json: Json = False) -> None:
    """List the built-in families with their domains."""
    from feynkac.families.catalogue import BUILT_IN
    from feynkac.families.family import ClosedForm, ExactSampler
    from feynkac.interfaces.console import print_table

    found = {name: cls() for name, cls in BUILT_IN.items()}
    if as_json:
        described = [
            {
                "name": name,
                "inputs": family.domain.dim,
                "domain": {n: box.record() for n, box in family.domain.boxes.items()},
                "exact_sampler": isinstance(family, ExactSampler),
                "closed_form": isinstance(family, ClosedForm),
            }
            for name, family in found.items()
        ]
        return print_json({"families": described})
    rows = [
        (
            name,
            str(family.domain.dim),
            "\n".join(f"{n} in {box}" for n, box in family.domain.boxes.items()),
            "yes" if isinstance(family, ExactSampler) else "no",
            "yes" if isinstance(family, ClosedForm) else "no",
        )
        for name, family in found.items()
    ]
    columns = ("name", "inputs", "variables", "exact sampler", "closed form")
    return print_table("Built-in families", columns, rows)


@command
def solve(
    family: FamilyName,
    method: Annotated[
        Literal["fast", "paper"], typer.Option(help="Ours, or the paper's.")
    ] = "fast",
    steps: Annotated[int | None, typer.Option(help="Number of updates.")] = None,
    budget: Annotated[str | None, typer.Option(help='Time instead, such as "60s".')] = None,
    seed: Annotated[int, typer.Option(help="Determines the result.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder of the run.")] = None,
    dim: Dim = None,
    field: Fields = None,
    scheme: Annotated[
        str, typer.Option(help="auto, exact, or euler, milstein, nv, log, own with :STEPS.")
    ] = "auto",
    batch_size: Annotated[int | None, typer.Option(help="Inputs per step.")] = None,
    paths: Annotated[int | None, typer.Option(help="Paths per input.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
    compiling: Annotated[bool, typer.Option("--compile/--no-compile")] = False,
    as_json: Json = False,
) -> None:
    """Train one network for a whole FAMILY. The same command again continues the run."""
    from feynkac.families.catalogue import find_family
    from feynkac.interfaces.console import training_display
    from feynkac.solver import execute, plan_run

    start = time.perf_counter()
    chosen = find_family(family, family_settings(dim, field or []))
    training = {
        "steps": steps,
        "budget": budget,
        "seed": seed,
        "batch_size": batch_size,
        "paths": paths,
        "device": device,
        "compile": compiling,
    }
    run = plan_run(chosen, method, None, parse_scheme(scheme), training)
    folder = out or Path("runs") / run.folder_name
    with training_display() as report:
        solution = execute(run, chosen, folder, report, start)
    curve = _draw_error_curve(solution, folder)
    result = _summary(solution, folder) | {"wall_seconds": time.perf_counter() - start}
    if as_json:
        return print_json(result)
    _print_errors(f"{run.family.name}, method {method}", result)
    return typer.echo(f"saved in {folder}" + (f", error curve in {curve}" if curve else ""))


@command
def evaluate(
    run: RunFolder,
    inputs: Annotated[int | None, typer.Option(help="Number of fresh inputs.", min=2)] = None,
    paths: Annotated[int, typer.Option(help="Paths of a simulated reference.", min=2)] = 2**14,
    scheme: Annotated[
        str, typer.Option(help="auto, exact, or euler, milstein, nv, log, own with :STEPS.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Of the inputs and paths.", min=0)] = 1,
    certify: Annotated[
        bool, typer.Option("--map", help="Certify inputs instead: where is the error largest?")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="A PNG of that map.")] = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Measure the error of RUN against the closed form or a Monte Carlo reference."""
    from feynkac.interfaces.console import fraction_display

    if out and not certify:
        raise InputError("--out draws the map of errors; add --map.")
    solution = load_solution(run, family)
    if certify:
        return _map(with_control(solution, run), inputs or 1024, seed, out, as_json)
    with fraction_display("simulating the reference") as report:
        errors = solution.error(
            inputs, paths=paths, seed=seed, scheme=parse_scheme(scheme), report=report
        )
    result = {"run": str(run), "seed": seed, **errors.record()}
    if as_json:
        return print_json(result)
    return _print_errors(f"{solution.manifest.family.name}, fresh inputs", result)


@command
def demo(
    out: Annotated[Path, typer.Option(help="Folder of run and figures.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Determines the result.")] = 0,
    as_json: Json = False,
) -> None:
    """Solve Black–Scholes, print the error table, draw price and Greeks."""
    from feynkac.experiments.demo import run_demo
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
        list[str] | None, typer.Option("--family", help="Only this one; may be repeated.")
    ] = None,
    suite: Annotated[
        Literal["paper", "catalogue"], typer.Option(help="The paper's families, or all others.")
    ] = "paper",
    seeds: Annotated[int, typer.Option(help="Trainings per row.", min=1)] = 1,
    budget_scale: Annotated[float, typer.Option(hidden=True, min=1e-3)] = 1.0,
    as_json: Json = False,
) -> None:
    """Accuracy and time of the fast method: beside the paper's, or over the catalogue."""
    from feynkac.experiments.bench import Effort, choose_entries, run_bench
    from feynkac.interfaces.console import print_table, training_display

    if suite == "catalogue":
        return _bench_catalogue(family or [], seeds, budget_scale, as_json)
    entries = choose_entries(family or [])
    with training_display() as report:
        result = run_bench(entries, seeds, Effort(budget_scale), report, _announce)
    if as_json:
        return print_json(result.record())
    print_table(f"Mean over {seeds} seed(s), a hundredth of the paper's time", *result.table())
    if any(row.source != "the paper" for row in result.rows):
        typer.echo("* the authors' weights, re-measured against the true PDE")
    columns, rows = result.greeks()
    return print_table("Greeks", columns, rows) if rows else None


@command
def ablation(
    family: Annotated[list[str], typer.Argument(metavar="FAMILY…", help="One or more families.")],
    budget: Annotated[str, typer.Option(help="Time of each training.")] = "20s",
    seed: Seed = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="As in docs/method.md.")] = False,
    as_json: Json = False,
) -> None:
    """What the fast method loses without each of its ingredients, at equal time."""
    from feynkac.experiments.ablation import run_ablation, to_markdown
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
        str | None, typer.Option(help="Such as 1,2,3; by default 1 … 15, 20, 30.")
    ] = None,
    target: Annotated[float, typer.Option(help="L1 error to reach.", min=0.0)] = 1e-2,
    steps: Annotated[int, typer.Option(help="Most updates.", min=1)] = 400,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="A PNG to draw.")] = None,
    as_json: Json = False,
) -> None:
    """Steps and cost to reach an error on the heat equation as the dimension grows."""
    from feynkac.experiments.dimensions import DIMS, run_dimensions
    from feynkac.interfaces.console import print_table

    study = run_dimensions(_parse_dims(dims) if dims else DIMS, target, seed, steps, _announce)
    if out:
        from feynkac.experiments.figures import draw_scaling

        draw_scaling(study, out)
    if as_json:
        return print_json(study.record() | ({"figure": str(out)} if out else {}))
    print_table(f"Cost to reach L1 = {target:g}, heat-paraboloid, seed {seed}", *study.table())
    return typer.echo(f"figure {out}") if out else None


def _bench_catalogue(names: list[str], seeds: int, budget_scale: float, as_json: bool) -> None:
    from feynkac.experiments.suite import BUDGET, choose_models, run_suite
    from feynkac.interfaces.console import print_table, training_display

    models, budget = choose_models(names), BUDGET * budget_scale
    with training_display() as report:
        found = run_suite(models, seeds, budget, report=report, announce=_announce)
    if as_json:
        return print_json(found.record())
    return print_table(f"{budget:.0f} s each, mean over {seeds} seed(s)", *found.table())


def _map(solution: "Solution", inputs: int, seed: int, out: Path | None, as_json: bool) -> None:
    from feynkac.interfaces.console import fraction_display, print_table

    with fraction_display("certifying") as report:
        found = solution.error_map(inputs, seed=seed, report=report)
    result = found.record()
    if out:
        from feynkac.experiments.answer_figures import draw_error_map

        draw_error_map(found, out)
        result["figure"] = str(out)
    if as_json:
        return print_json(result)
    low, high = found.interval
    rows = [
        ("L1 error, Eq. (9)", f"{found.mean.value:.6f} ± {found.mean.se:.6f}"),
        ("its interval", f"{low:.6f} … {high:.6f}"),
        ("mean of network − u", f"{found.signed.value:+.6f} ± {found.signed.se:.6f}"),
        ("mean s.e. of the estimates", f"{found.noise:.6f}"),
        ("largest error", f"{found.worst['error']:.6f}"),
    ]
    print_table(f"{inputs} certified inputs", ("", "value"), rows)
    return typer.echo(f"figure {out}") if out else None


def _parse_dims(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"cannot read {text!r}; expected dimensions such as 1,2,3.")
    return [int(part) for part in parts]


def _announce(text: str) -> None:
    typer.echo(text, err=True)


def _summary(solution: "Solution", folder: Path) -> dict[str, Any]:
    manifest = solution.manifest
    return {
        "family": manifest.family.name,
        "method": manifest.run.method,
        "seed": manifest.run.training.seed,
        "run": str(folder),
        "parameters": manifest.parameters,
        **{k: v for k, v in manifest.history[-1].items() if k != "step"},
        "steps": manifest.steps,
        "paths": manifest.paths,
        "discretisation": manifest.discretisation and manifest.discretisation.model_dump(),
        "versions": manifest.versions,
    }


def _draw_error_curve(solution: "Solution", folder: Path) -> Path | None:
    try:
        from feynkac.experiments.figures import draw_error_curve
    except ModuleNotFoundError:  # the plot extra is not installed
        return None
    return draw_error_curve(solution.manifest.history, folder / "error.png")


def _print_errors(title: str, result: dict[str, Any]) -> None:
    from feynkac.interfaces.console import decimals, print_table

    shown = {
        "L1 error, Eq. (9)": f"{decimals(result['l1'])} ± {decimals(result['l1_se'])}",
        "L2 error": decimals(result["l2"]),
        "largest error seen": decimals(result["max"]),
        "L1 of predicting the mean": decimals(result["mean_baseline"]),
        "L1 of a linear fit": decimals(result["linear_baseline"]),
        "mean s.e. of the reference": decimals(result["reference_se"]),
        "inputs": str(result["inputs"]),
    }
    if "steps" in result:
        shown |= {
            "steps": str(result["steps"]),
            "seconds": f"{result['seconds']:.1f}",
            "parameters": str(result["parameters"]),
        }
    if bias := result.get("discretisation"):
        error = f"{decimals(bias['l1'])} ± {decimals(bias['se'])}"
        shown["estimated error of the scheme"] = error
    print_table(title, ("", "value"), list(shown.items()))
