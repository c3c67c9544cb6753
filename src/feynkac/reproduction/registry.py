"""All results by name, how one is made, and how all of them are written down."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from feynkac.benchmarks.markdown import markdown_table
from feynkac.benchmarks.store import Used
from feynkac.errors import InputError
from feynkac.files import write_atomically
from feynkac.reproduction.ablation_tables import present_study, run_study
from feynkac.reproduction.ablations import BLACK_SCHOLES, PARABOLOID
from feynkac.reproduction.error_tables import present_table, run_table
from feynkac.reproduction.figure_1 import run as figure_1
from feynkac.reproduction.figure_2 import run as figure_2
from feynkac.reproduction.figure_9 import present as present_figure_9
from feynkac.reproduction.figure_9 import run as figure_9
from feynkac.reproduction.line_figures import VIEWS, present_view, run_view
from feynkac.reproduction.not_run import present as present_not_run
from feynkac.reproduction.not_run import run as not_run
from feynkac.reproduction.published import TABLES
from feynkac.reproduction.result import (
    FULL,
    Provenance,
    Result,
    describe_machine,
    describe_versions,
    read_provenance,
)
from feynkac.reproduction.settings import METHODS, Settings
from feynkac.reproduction.setup_tables import table_5, table_6
from feynkac.reproduction.theorem_1 import run as theorem_1
from feynkac.reproduction.theorem_2 import run as theorem_2
from feynkac.reproduction.theorem_3 import run as theorem_3
from feynkac.reproduction.theorem_4 import run as theorem_4
from feynkac.reproduction.theorem_a4 import run as theorem_a4

ALL = "all"
INDEX = "index.md"


@dataclass(frozen=True)
class Item:
    """A function that makes a result, and how much of a budget for all it is given."""

    run: Callable[[Settings], Result]
    share: float = 0.0
    shows: str | None = None
    """The result whose trainings it shows, with that one's share."""
    present: Callable[[Mapping[str, Any]], Result] | None = None
    """Its page from recorded numbers, where that is all it needs."""


ITEMS: Mapping[str, Item] = {
    **{
        table.name: Item(
            partial(run_table, table),
            2 if table is TABLES[0] else 3,
            present=partial(present_table, table),
        )
        for table in TABLES
    },
    "table-5": Item(table_5),
    "table-6": Item(table_6),
    **{
        study.name: Item(partial(run_study, study), share, present=partial(present_study, study))
        for study, share in ((BLACK_SCHOLES, 4), (PARABOLOID, 3))
    },
    "figure-1": Item(figure_1),
    "figure-2": Item(figure_2),
    **{
        view.name: Item(
            partial(run_view, view), shows="table-1", present=partial(present_view, view)
        )
        for view in VIEWS
    },
    "figure-9": Item(figure_9, 4, present=present_figure_9),
    "theorem-1": Item(theorem_1, 1),
    "theorem-2": Item(theorem_2, 1),
    "theorem-3": Item(theorem_3, 1),
    "theorem-4": Item(theorem_4, 3),
    "theorem-a4": Item(theorem_a4, 1),
    "not-run": Item(not_run, present=present_not_run),
}


@dataclass(frozen=True)
class Made:
    """A result, where it comes from, and the files it was written to."""

    result: Result
    provenance: Provenance
    files: tuple[Path, ...]


def find_items(name: str) -> list[str]:
    """The names that `name` stands for.

    Example:
        >>> find_items("table-1")
        ['table-1']
    """
    if name != ALL and name not in ITEMS:
        raise InputError(f"nothing is called {name!r}; there are: {', '.join(ITEMS)}, {ALL}.")
    return list(ITEMS) if name == ALL else [name]


def reproduce(name: str, settings: Settings, folder: Path) -> list[Made]:
    """Make what `name` stands for and write it into `folder`; a budget is shared by all of it."""
    budgets = divide(settings.budget, find_items(name))
    made = []
    for number, (each, budget) in enumerate(budgets.items(), 1):
        left = sum(budgets[other] for other in [*budgets][number - 1 :] if not ITEMS[other].shows)
        time_left = "" if settings.full else f", about {left / 60:.1f} min left"
        settings.announce(f"{each}, {number} of {len(budgets)}{time_left}")
        made.append(_make(each, replace(settings, budget=budget), folder))
    write_index(folder)
    return made


def render(name: str, folder: Path) -> list[Made]:
    """Write the pages anew from the numbers in `folder`; nothing is computed."""
    made = []
    for each in find_items(name):
        present, path = ITEMS[each].present, folder / f"{each}.json"
        if present is None or not path.exists():
            if name != ALL:
                raise InputError(f"{each} cannot be written from {path}; leave --render out.")
            continue
        record = json.loads(path.read_text())
        result = present({"scale": record["scale"], **record["data"]})
        provenance = read_provenance(record["provenance"])
        made.append(Made(result, provenance, tuple(result.write(folder, provenance))))
    write_index(folder)
    return made


def divide(budget: float, names: Sequence[str]) -> dict[str, float]:
    """What each of `names` gets of a budget; one alone gets it whole.

    Example:
        >>> divide(30.0, ["table-1", "theorem-2", "figure-3"])
        {'table-1': 20.0, 'theorem-2': 10.0, 'figure-3': 20.0}
    """
    if len(names) == 1:
        return {names[0]: budget}
    total = sum(ITEMS[name].share for name in names)
    return {name: budget * ITEMS[ITEMS[name].shows or name].share / total for name in names}


def _make(name: str, settings: Settings, folder: Path) -> Made:
    settings = replace(settings, store=replace(settings.store, used=[]), pages=folder)
    start = time.perf_counter()
    result = ITEMS[name].run(settings)
    seconds = time.perf_counter() - start
    used = tuple(settings.store.used)
    provenance = Provenance(
        settings.seeds if result.seeds is None else result.seeds,
        seconds,
        describe_versions(),
        describe_machine(),
        used,
        commands_for(name, settings, used),
    )
    return Made(result, provenance, tuple(result.write(folder, provenance)))


def commands_for(name: str, settings: Settings, used: Sequence[Used]) -> tuple[str, ...]:
    """What makes this result on a fresh clone: first the trainings that only a store has."""
    item, commands = ITEMS[name], []
    for method in METHODS:
        found = [each for each in used if each.method == method and each.full]
        asked = settings.full and method in settings.methods
        if missing := [each for each in found if not each.committed and not asked]:
            seeds = sorted({each.seed for each in missing if each.seed is not None})
            lengths = f"--full --seeds {','.join(map(str, seeds))} --method {method}"
            commands.append(f"feynkac reproduce {item.shows or name} {lengths}")
    return (*commands, f"feynkac reproduce {name}{_options(item, settings)}")


def _options(item: Item, settings: Settings) -> str:
    if item.share == 0.0 and item.shows is None:
        return ""  # neither time nor seeds change it
    length = "--full" if settings.full else f"--budget {settings.budget:.0f}s"
    whose = "" if settings.methods == METHODS else f" --method {settings.methods[0]}"
    return f" {length} --seeds {','.join(map(str, settings.seeds))}{whose}"


def write_index(folder: Path) -> None:
    """The page that lists every result that `folder` has, as its numbers say."""
    paths = [folder / f"{name}.json" for name in ITEMS]
    records = [json.loads(path.read_text()) for path in paths if path.exists()]
    if records:
        write_atomically(folder / INDEX, index_page(records).encode())


def index_page(records: Sequence[Mapping[str, Any]]) -> str:
    """Every result with its scale, its seeds, and the seconds of its trainings and numbers."""
    rows: list[tuple[str, ...]] = []
    machines: dict[str, None] = {}
    for record in records:
        provenance = read_provenance(record["provenance"])
        scale = record["scale"]
        rows.append(
            (
                f"[{record['title']}]({record['name']}.md)",
                "full" if scale == FULL else f"scaled: {scale}" if scale else "–",
                provenance.seeds_text(),
                f"{provenance.spent:,.0f}" if provenance.used else "–",
            )
        )
        machines[provenance.machine()] = None
    table = markdown_table(("result", "scale", "seeds", "s of training"), rows)
    return "\n\n".join([TITLE, OPENING, table, "; ".join(machines) + ".", *CLOSING]) + "\n"


TITLE = "# The paper's results"
OPENING = (
    "Every table, figure and theorem of Berner, Dablander and Grohs (NeurIPS 2020), made anew by "
    "our implementation of the paper's method, with the fast method beside it. What was scaled "
    "down to run here says so. Nothing was run on a GPU."
)
CLOSING = (
    "What the weights that the authors published are worth is on a [page](authors-weights.md) of "
    "its own.",
    "All of it is made by",
    "    feynkac reproduce all",
    "Run it again to resume it. `--full` takes the paper's scale, `--budget` another time, "
    "`--seeds 0-3` the paper's seeds; each page has the command that makes it, unless an earlier "
    "version made it. The seconds are those of "
    "trainings and numbers whenever they were made; – where a page is older than their record. "
    "Table 4 shows the fast method before its networks used symmetries; the README has newer "
    "figures. Seed 3 of Table 1 was stopped for 35 minutes after 12,000 steps while a benchmark "
    "ran; the seconds from there on contain them.",
)
