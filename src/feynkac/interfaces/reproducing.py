"""The command `reproduce`: the paper's tables, figures and theorems."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import Json, command, print_json
from feynkac.interfaces.parsing import parse_budget, parse_seeds

BUDGETS = {"all": "20m"}
BUDGET = "2m"


@command
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table-1 … 8, figure-1 … 9, theorem-1 … 4, theorem-a4, not-run, or all.",
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Run at the paper's scale, however long it takes.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(help=f'Scale the work to this time; default: "{BUDGET}", for all "20m".'),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Such as 0,1 or 0-3; default: 0,1, with --full 0-3.")
    ] = None,
    method: Annotated[
        Literal["both", "paper", "fast"], typer.Option(help="Methods that --full applies to.")
    ] = "both",
    out: Annotated[Path, typer.Option(help="Folder for pages and figures.")] = Path("docs/results"),
    runs: Annotated[
        Path, typer.Option(help="Keep trainings and numbers in this folder and reuse them.")
    ] = Path("runs/reproduce"),
    trainings: Annotated[
        Path, typer.Option(help="Folder of committed full-scale trainings; only read.")
    ] = Path("docs/results/trainings"),
    render: Annotated[
        bool, typer.Option("--render", help="Only write the pages, from recorded numbers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute a result of the paper again. Run the same command again to resume."""
    from feynkac.benchmarks.store import Store
    from feynkac.interfaces.console import print_table, training_display
    from feynkac.reproduction.registry import find_items
    from feynkac.reproduction.registry import render as write_pages
    from feynkac.reproduction.registry import reproduce as make
    from feynkac.reproduction.settings import METHODS, Settings

    if full and budget:
        raise InputError("--full takes the time it needs; omit --budget.")
    find_items(name)
    with training_display() as report:
        settings = Settings(
            Store(runs, trainings),
            budget=parse_budget(budget or BUDGETS.get(name, BUDGET)),
            full=full,
            seeds=parse_seeds(seeds or ("0-3" if full else "0,1")),
            methods=METHODS if method == "both" else (method,),
            report=report,
            announce=lambda text: typer.echo(text, err=True),
        )
        made = write_pages(name, out) if render else make(name, settings, out)
    if as_json:
        records = [each.result.record(each.provenance) for each in made]
        return print_json({"results": records, "folder": str(out)})
    for each in made:
        print_table(each.result.title, each.result.columns, each.result.rows)
        typer.echo("\n".join(("scale: " + each.result.scale, *each.result.notes)))
    return typer.echo(f"written to {out}")
