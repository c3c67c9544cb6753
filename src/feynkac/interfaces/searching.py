"""The command `tune`: search for better settings than the method's own."""

import importlib.util
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feynkac.errors import InputError, Interrupted
from feynkac.interfaces.application import (
    Address,
    Dashboard,
    Dim,
    FamilyName,
    Fields,
    Json,
    OtherDomain,
    Seed,
    command,
    print_json,
)
from feynkac.interfaces.jobs import Place, absolute_spec
from feynkac.interfaces.parsing import family_settings, parse_domain

if TYPE_CHECKING:
    from feynkac.tuning.trials import Trials
    from feynkac.tuning.verdict import Verdict


@command
def tune(
    family: FamilyName,
    method: Annotated[
        str, typer.Option(help="fast (ours), paper (its Table 6), or your own with --use.")
    ] = "fast",
    trials: Annotated[
        int, typer.Option(help="Number of trials; the first is the default.", min=1)
    ] = 16,
    budget: Annotated[str, typer.Option(help='Time per trial, such as "60s".')] = "60s",
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the search.")] = None,
    space: Annotated[
        Path | None, typer.Option(help='JSON file with other ranges: {"width": [16, 32], …}.')
    ] = None,
    confirm: Annotated[
        int, typer.Option(help="Train best and default again with so many new seeds.", min=0)
    ] = 2,
    dim: Dim = None,
    field: Fields = None,
    domain: OtherDomain = None,
    address: Address = None,
    dashboard: Dashboard = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write its logs.")] = False,
    as_json: Json = False,
) -> None:
    """Search settings for FAMILY with equal time per trial. Run the command again to resume.

    One trial per CPU, with one thread each. `feynkac solve FAMILY --preset FILE` uses the result.
    """
    import optuna  # noqa: F401  (report that it is missing before any work)

    from feynkac.families.catalogue import find_family
    from feynkac.files import locked
    from feynkac.interfaces.ray.cluster import cluster
    from feynkac.interfaces.ray.watching import search_display
    from feynkac.methods.preset import read_json_object
    from feynkac.tuning.search_report import write_tensorboard
    from feynkac.tuning.trials import Trials, make_search

    if tensorboard and importlib.util.find_spec("tensorboardX") is None:
        raise InputError("--tensorboard needs tensorboardX; pip install tensorboardX.")
    ranges = read_json_object(space, "search space") if space else {}
    fields = family_settings(dim, field or [])
    spec = absolute_spec(family)
    measures = parse_domain(domain, find_family(spec, fields).domain) if domain else None
    search, searched = make_search(spec, fields, method, budget, seed, ranges, measures)
    found = Trials((out or Path("runs") / search.folder_name).absolute())
    found.require(search)
    with cluster(Place(address, dashboard)):
        from feynkac.interfaces.ray.tuning import run_trials, train_again

        found.claim(search)
        with locked(found.folder), search_display(found), _interruptible(found, trials):
            failures = run_trials(search, searched, found, trials)
            verdict = train_again(search, found, confirm)
    for failure in failures:
        typer.echo(f"a trial failed: {str(failure).strip().splitlines()[-1]}", err=True)
    if found.best() is None:
        raise RuntimeError("no trial finished")
    if tensorboard:
        write_tensorboard(found)
    _show(found, verdict, as_json)


@contextmanager
def _interruptible(trials: "Trials", count: int) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the search properly, and report how far it was."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as error:
        ended = sum(trial.status != "open" for trial in trials.read())
        raise Interrupted(f"{ended} of {count} trials have ended") from error
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(trials: "Trials", verdict: "Verdict", as_json: bool) -> None:
    from feynkac.interfaces.console import print_table
    from feynkac.tuning.search_report import columns, read_rows, write_results

    result, figure = write_results(trials, verdict), _draw(trials)
    if as_json:
        return print_json(result)
    rows = read_rows(trials)
    title = f"{result['family']}, {result['budget']:g} s per trial, one thread each"
    print_table(title, columns(rows), [row.cells() for row in rows])
    typer.echo(verdict.sentence(result["budget"]))
    place = f"preset in {trials.folder / 'preset.json'}"
    return typer.echo(place + (f", best so far in {figure}" if figure else ""))


def _draw(trials: "Trials") -> Path | None:
    try:
        from feynkac.plotting.writing import write_figure
        from feynkac.tuning.search_figure import draw_search
    except ModuleNotFoundError:  # the plot extra is not installed
        return None
    from feynkac.tuning.search_report import read_rows

    return write_figure(draw_search(read_rows(trials)), trials.folder / "best-so-far.png")
