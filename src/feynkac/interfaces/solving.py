"""The command `solve`: one run or several, in this process or on Ray."""

from contextlib import ExitStack, nullcontext
from dataclasses import replace
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
from feynkac.interfaces.following import following
from feynkac.interfaces.jobs import Job, Place, absolute_spec
from feynkac.interfaces.parsing import parse_family, parse_scheme, parse_seeds
from feynkac.phases import Listener, enter, listening

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from feynkac.families.family import Family
    from feynkac.methods import Method
    from feynkac.solution import Solution


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
    watch: Annotated[
        bool, typer.Option("--watch", help="Show the training in the browser, until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train one network for a whole FAMILY. Run the same command again to resume.

    A budget counts from the start of the command to the saved result, except for the few seconds
    in which torch is imported.
    """
    from feynkac.display import screen

    if parallel and workers is not None:
        raise InputError("--parallel gives every run one worker; omit --workers.")
    if retrain and (parallel or workers is not None):
        raise InputError("--retrain is for runs in this process; omit --parallel and --workers.")
    single = seeds is None and len(family) == 1 and not parallel
    each = parse_seeds(seeds) if seeds is not None else (seed,)
    runs = [(spec, number) for spec in family for number in each]
    place = Place(address, dashboard)
    distributed = workers is not None or (place != Place() and not parallel)
    if watch and not single:
        raise InputError("--watch follows one run; omit it, or give one family and one seed.")
    with ExitStack() as watched:
        with screen([""] if single else [f"{spec}, seed {n}" for spec, n in runs]) as lines:
            loading = _load(lines[0])
            clock = Clock()
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
            jobs = []
            for line, (spec, number) in zip(lines, runs, strict=True):
                with listening(line):
                    chosen = parse_family(spec, dim, field, domain)
                    settings, own = training | {"seed": number}, Clock()
                    job = _make_job(chosen, spec, asked, settings, out, single, retrain)
                    jobs.append(replace(job, prepared=own.spent()))
            before = [job.finished() and not retrain for job in jobs]
            if single:
                wait = watched.enter_context(_watched(jobs[0], watch))
                solution = _carry_out(jobs[0], distributed, place, lines[0], clock)
            elif parallel:
                errors = _solve_parallel(jobs, place, lines)
            else:
                errors = _solve_in_turn(jobs, distributed, place, lines)
        if single:
            times = {"wall_seconds": clock.spent(), "import_seconds": loading}
            _show_one(jobs[0], solution, times, before[0], as_json)
            return wait()
    return _show_many(jobs, errors, before, as_json)


def _watched(job: Job, watch: bool) -> "AbstractContextManager[Callable[[], None]]":
    """The training in the browser, if that is wanted; what it gives waits for Ctrl-C."""
    return following(job, _announce) if watch else nullcontext(lambda: None)


def _load(line: Listener) -> float:
    """Import torch, which takes seconds; they are not part of a budget."""
    clock = Clock()
    with listening(line):
        enter("loading PyTorch")
    import torch  # noqa: F401

    return clock.spent()


def _announce(text: str) -> None:
    typer.echo(text, err=True)


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
    job: Job, distributed: bool, place: Place, line: Listener, clock: Clock | None = None
) -> "Solution":
    if distributed and not job.finished():
        from feynkac.interfaces.console import reporter
        from feynkac.interfaces.ray.training import distribute

        distribute(job, reporter(line), place)
    with listening(line):
        return job.execute(clock=clock)


def _show_one(
    job: Job, solution: "Solution", times: dict[str, float], before: bool, as_json: bool
) -> None:
    from feynkac.interfaces.console import print_errors

    curve = _draw_error_curve(solution, job.folder)
    result = _summary(solution, job.folder) | times | {"already_finished": before}
    if as_json:
        return print_json(result)
    print_errors(f"{job.run.family.name}, method {job.run.method.kind}", result)
    if before:
        typer.echo(f"already finished, answered from {job.folder}; --retrain starts over")
    return typer.echo(f"saved in {job.folder}" + (f", error curve in {curve}" if curve else ""))


def _show_many(
    jobs: "Sequence[Job]", errors: dict[int, FeynkacError], before: "Sequence[bool]", as_json: bool
) -> None:
    """What became of all jobs; the first error, if there is one, comes last."""
    runs = [
        _summary(replace(job, retrain=False).execute(), job.folder)
        | {"already_finished": before[i]}
        for i, job in enumerate(jobs)
        if i not in errors
    ]
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


def _solve_parallel(
    jobs: "Sequence[Job]", place: Place, lines: "Sequence[Listener]"
) -> dict[int, FeynkacError]:
    from feynkac.interfaces.console import reporter
    from feynkac.interfaces.ray.many import solve_parallel

    reports = [reporter(line) for line in lines]
    return solve_parallel(jobs, lambda run, progress: reports[run](progress), place)


def _solve_in_turn(
    jobs: "Sequence[Job]",
    distributed: bool,
    place: Place,
    lines: "Sequence[Listener]",
) -> dict[int, FeynkacError]:
    """Solve all jobs; if one fails, the others still run."""
    errors: dict[int, FeynkacError] = {}
    for i, job in enumerate(jobs):
        try:
            _carry_out(job, distributed, place, lines[i])
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
    from feynkac.display import duration
    from feynkac.interfaces.console import print_table

    rows = [
        (
            run["family"],
            str(run["seed"]),
            figure(run["l1"], run["l1_se"]),
            str(run["steps"]),
            duration(run["seconds"]),
            "–" if run["training_seconds"] is None else duration(run["training_seconds"]),
            run["run"] + (" (already finished)" if run["already_finished"] else ""),
        )
        for run in runs
    ]
    columns = ("family", "seed", "L1 ± s.e.", "steps", "time", "training", "folder")
    print_table("Runs", columns, rows, ("L1 error", "s.e."))
    means = [
        (name, str(found["seeds"]), figure(found["mean"], found["sd"]))
        for name, found in spread.items()
    ]
    print_table("Over the seeds", ("family", "seeds", "mean L1 ± s.d."), means, ("s.d.",))


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
