"""The command `solve`: one run or several, in this process or on Ray."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feynkac.clock import Clock
from feynkac.errors import FeynkacError, InputError, Interrupted
from feynkac.interfaces.application import (
    MOST,
    Address,
    Dashboard,
    Dim,
    Fields,
    Json,
    OtherDomain,
    command,
    print_json,
)
from feynkac.interfaces.jobs import Job, Place, absolute_spec
from feynkac.interfaces.parsing import parse_family, parse_scheme, parse_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from feynkac.families.family import Family
    from feynkac.methods import Method
    from feynkac.solution import Solution
    from feynkac.training.loop import Progress


@command
def solve(
    family: Annotated[
        list[str],
        typer.Argument(metavar="FAMILY", help="Built-in names, or path/to/file.py:ClassName."),
    ],
    method: Annotated[
        str | None,
        typer.Option(help=r"fast (ours), paper, or your own with --use. \[default: fast]"),
    ] = None,
    preset: Annotated[
        Path | None, typer.Option(help="Settings that tune found; other options override them.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of training steps.", max=MOST)] = None,
    budget: Annotated[
        str | None, typer.Option(help='Wall-clock time instead, such as "60s".')
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    seeds: Annotated[str | None, typer.Option(help="One run per seed, such as 0,1 or 0-3.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run, or for all runs.")] = None,
    dim: Dim = None,
    field: Fields = None,
    domain: OtherDomain = None,
    scheme: Annotated[
        str, typer.Option(help="auto, exact, or a name with :STEPS, as log-ode:2, euler:25.")
    ] = "auto",
    batch_size: Annotated[int | None, typer.Option(help="Inputs per step.", max=MOST)] = None,
    paths: Annotated[int | None, typer.Option(help="Paths per input.", max=MOST)] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
    compiling: Annotated[bool, typer.Option("--compile/--no-compile")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes that train together, on Ray.", min=1)
    ] = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Run several trainings at once, on Ray.")
    ] = False,
    address: Address = None,
    dashboard: Dashboard = False,
    retrain: Annotated[
        bool, typer.Option("--retrain", "--force", help="Start over, whatever the folder holds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train one network for a whole FAMILY. Run the same command again to resume.

    A budget counts from the start of the command to the saved result, except for the few seconds
    in which torch is imported.
    """
    clock = Clock()
    import torch  # noqa: F401  (seconds, before the clock of the budget starts)

    loading, clock = clock.spent(), Clock()
    choices = {"scheme": parse_scheme(scheme), "batch_size": batch_size, "paths": paths}
    asked = _find_method(method, preset).with_fields(
        {name: value for name, value in choices.items() if value is not None}
    )
    training = {
        "steps": steps,
        "budget": budget,
        "device": device,
        "compile": compiling,
        "workers": workers,
    }
    if parallel and workers is not None:
        raise InputError("--parallel gives every run one worker; omit --workers.")
    if retrain and (parallel or workers is not None):
        raise InputError("--retrain is for runs in this process; omit --parallel and --workers.")
    single = seeds is None and len(family) == 1 and not parallel
    jobs = [
        _make_job(
            parse_family(spec, dim, field, domain),
            spec,
            asked,
            training | {"seed": each},
            out,
            single,
            retrain,
        )
        for spec in family
        for each in (parse_seeds(seeds) if seeds is not None else (seed,))
    ]
    place = Place(address, dashboard)
    distributed = workers is not None or (place != Place() and not parallel)
    if single:
        return _solve_one(jobs[0], distributed, place, clock, loading, as_json)
    return _solve_many(jobs, distributed, parallel, place, as_json)


def _find_method(name: str | None, preset: Path | None) -> "Method":
    """The method of the preset, or the method of that name."""
    from feynkac.methods.method import find_method
    from feynkac.methods.preset import read_preset

    chosen = read_preset(preset) if preset else find_method(name or "fast")
    if name is not None and name != chosen.kind:
        raise InputError(f"{preset} is a preset of the method {chosen.kind!r}; omit --method.")
    return chosen


def _make_job(
    family: "Family",
    spec: str,
    method: "Method",
    training: dict[str, Any],
    out: Path | None,
    single: bool,
    retrain: bool,
) -> Job:
    from feynkac.preparation import make_run
    from feynkac.runs.run import asked_for

    asked = asked_for(family, method, training)
    default = f"{family.name()}-{method.kind}-seed{training['seed']}-{asked[:8]}"
    folder = out if single and out else (out or Path("runs")) / default
    run = make_run(family, method, training, None if retrain else folder)
    return Job(absolute_spec(spec), family, run, folder, retrain)


def _carry_out(
    job: Job,
    distributed: bool,
    place: Place,
    report: "Callable[[Progress], Any]",
    clock: Clock | None = None,
) -> "Solution":
    if distributed and not job.finished():
        from feynkac.interfaces.ray.training import distribute

        distribute(job, report, place)
    return job.execute(report, clock)


def _solve_one(
    job: Job, distributed: bool, place: Place, clock: Clock, loading: float, as_json: bool
) -> None:
    from feynkac.interfaces.console import print_errors, training_display

    with training_display() as report:
        solution = _carry_out(job, distributed, place, report, clock)
    times = {"wall_seconds": clock.spent(), "import_seconds": loading}
    curve = _draw_error_curve(solution, job.folder)
    result = _summary(solution, job.folder) | times
    if as_json:
        return print_json(result)
    print_errors(f"{job.run.family.name}, method {job.run.method.kind}", result)
    return typer.echo(f"saved in {job.folder}" + (f", error curve in {curve}" if curve else ""))


def _solve_many(
    jobs: "Sequence[Job]", distributed: bool, parallel: bool, place: Place, as_json: bool
) -> None:
    """Solve all jobs; if one fails, the others still run."""
    from feynkac.interfaces.console import runs_display

    with runs_display([job.name for job in jobs]) as show:
        if parallel:
            from feynkac.interfaces.ray.many import solve_parallel

            errors = solve_parallel(jobs, show, place)
        else:
            errors = _solve_in_turn(jobs, distributed, place, show)
    solved = [job for i, job in enumerate(jobs) if i not in errors]
    runs = [_summary(replace(job, retrain=False).execute(), job.folder) for job in solved]
    spread = {name: _spread(runs, name) for name in dict.fromkeys(r["family"] for r in runs)}
    failed = [
        {"family": jobs[i].run.family.name, "seed": jobs[i].run.training.seed, "error": str(e)}
        for i, e in errors.items()
    ]
    if as_json:
        print_json({"runs": runs, "l1": spread, "failed": failed})
    else:
        _print_runs(runs, spread)
    for i, error in errors.items():
        raise type(error)(f"{jobs[i].name}: {error}")


def _solve_in_turn(
    jobs: "Sequence[Job]",
    distributed: bool,
    place: Place,
    show: "Callable[[int, Progress], Any]",
) -> dict[int, FeynkacError]:
    errors: dict[int, FeynkacError] = {}
    for i, job in enumerate(jobs):
        try:
            _carry_out(job, distributed, place, partial(show, i))
        except Interrupted:
            raise
        except FeynkacError as error:
            errors[i] = error
    return errors


def _spread(runs: list[dict[str, Any]], family: str) -> dict[str, Any]:
    """Mean and standard deviation of the L1 error over the seeds."""
    from statistics import mean, stdev

    errors = [run["l1"] for run in runs if run["family"] == family]
    return {
        "mean": mean(errors),
        "sd": stdev(errors) if len(errors) > 1 else None,
        "seeds": len(errors),
    }


def _print_runs(runs: list[dict[str, Any]], spread: dict[str, dict[str, Any]]) -> None:
    from feynkac.analysis.rounding import figure
    from feynkac.interfaces.console import print_table

    rows = [
        (
            run["family"],
            str(run["seed"]),
            figure(run["l1"], run["l1_se"]),
            str(run["steps"]),
            f"{run['seconds']:.1f}",
            run["run"],
        )
        for run in runs
    ]
    print_table("Runs", ("family", "seed", "L1 ± s.e.", "steps", "seconds", "folder"), rows)
    means = [
        (name, str(found["seeds"]), figure(found["mean"], found["sd"]))
        for name, found in spread.items()
    ]
    print_table("Over the seeds", ("family", "seeds", "mean L1 ± s.d."), means)


def _summary(solution: "Solution", folder: Path) -> dict[str, Any]:
    manifest = solution.manifest
    return {
        "family": manifest.family.name,
        "method": manifest.run.method.kind,
        "seed": manifest.run.training.seed,
        "run": str(folder),
        "parameters": manifest.parameters,
        **{k: v for k, v in manifest.history[-1].items() if k != "step"},
        "seconds": manifest.seconds,
        "training_seconds": manifest.training_seconds,
        "warnings": manifest.warnings,
        "steps": manifest.steps,
        "paths": manifest.run.method.paths,
        "discretisation": manifest.discretisation and manifest.discretisation.model_dump(),
        "versions": manifest.versions,
    }


def _draw_error_curve(solution: "Solution", folder: Path) -> Path | None:
    try:
        from feynkac import plotting
        from feynkac.plotting.writing import write_figure
    except ModuleNotFoundError:  # the plot extra is not installed
        return None
    return write_figure(plotting.history(solution.manifest.history), folder / "error.png")
