"""The command `library`: lists the solutions that come with the package, and trains them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import Json, app, guarded, print_json

WORDS = ("L1, Eq. (9)", "absolute, relative", "volatility bp (99 %)", "certified", "shapes", "s")
RUNS = Path("runs/library")
"""Where trainings of the library are kept."""

group = typer.Typer(name="library", help="List the pretrained solutions, or train them.")
app.add_typer(group)


@group.callback(invoke_without_command=True)
@guarded
def library(context: typer.Context, as_json: Json = False) -> None:
    """List the pretrained solutions with their errors; `library train` makes them."""
    if context.invoked_subcommand is not None:
        return None
    from feynkac.library.listing import list_library
    from feynkac.library.shelf import open_shelf

    shelf = open_shelf()
    return _show(list_library(shelf), shelf.path, shelf.size, as_json)


@group.command("train")
@guarded
def train(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="Which solutions; see `library`.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Train all of them.")] = False,
    steps: Annotated[
        int | None, typer.Option(help="Number of updates instead of the entry's own.", min=1)
    ] = None,
    runs: Annotated[Path, typer.Option(help="Keep the trainings in this folder.")] = RUNS,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Start over, whatever the folder holds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train solutions from scratch and put them into the library; resumes where it stopped."""
    from dataclasses import replace

    from feynkac.interfaces.console import training_display
    from feynkac.library.entries import find_entries
    from feynkac.library.shelf import open_shelf
    from feynkac.library.training import train_library

    if bool(names) == every:
        raise InputError("say which solutions to train, by name, or --all.")
    shelf, entries = open_shelf(), find_entries(names or [])
    if steps is not None:
        entries = tuple(replace(entry, steps=steps) for entry in entries)
    with training_display() as report:
        found = train_library(entries, runs, shelf, report, _announce, retrain)
    return _show(found, shelf.path, shelf.size, as_json)


def _show(records: list[dict[str, Any]], folder: Path, size: int, as_json: bool) -> None:
    from feynkac.interfaces.console import print_table
    from feynkac.library.listing import table

    if as_json:
        return print_json({"folder": str(folder), "bytes": size, "solutions": records})
    return print_table(f"{folder}, {size / 1e6:.1f} MB", *table(records), words=WORDS)


def _announce(text: str) -> None:
    typer.echo(text, err=True)
