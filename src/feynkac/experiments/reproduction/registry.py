"""All results by name, how one is made, and how all of them are written down."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from feynkac.errors import InputError
from feynkac.experiments.reproduction.ablation_tables import run_study
from feynkac.experiments.reproduction.ablations import BLACK_SCHOLES, PARABOLOID
from feynkac.experiments.reproduction.error_tables import run_table
from feynkac.experiments.reproduction.figure_1 import run as figure_1
from feynkac.experiments.reproduction.figure_2 import run as figure_2
from feynkac.experiments.reproduction.figure_9 import run as figure_9
from feynkac.experiments.reproduction.line_figures import VIEWS, run_view
from feynkac.experiments.reproduction.published import TABLES
from feynkac.experiments.reproduction.result import (
    FULL,
    Provenance,
    Result,
    describe_machine,
    describe_versions,
    markdown_table,
)
from feynkac.experiments.reproduction.settings import Settings
from feynkac.experiments.reproduction.setup_tables import table_5, table_6
from feynkac.experiments.reproduction.theorem_1 import run as theorem_1
from feynkac.experiments.reproduction.theorem_2 import run as theorem_2
from feynkac.experiments.reproduction.theorem_3 import run as theorem_3
from feynkac.experiments.reproduction.theorem_4 import run as theorem_4
from feynkac.experiments.reproduction.theorem_a4 import run as theorem_a4
from feynkac.files import write_atomically

ALL = "all"
INDEX = "index.md"


@dataclass(frozen=True)
class Item:
    """A function that makes a result, and how much of a budget for all it is given."""

    run: Callable[[Settings], Result]
    share: float = 0.0
    shows: str | None = None
    """The result whose trainings it shows, with that one's share."""


ITEMS: Mapping[str, Item] = {
    **{t.name: Item(partial(run_table, t), 2 if t is TABLES[0] else 3) for t in TABLES},
    "table-5": Item(table_5),
    "table-6": Item(table_6),
    "table-7": Item(partial(run_study, BLACK_SCHOLES), 4),
    "table-8": Item(partial(run_study, PARABOLOID), 3),
    "figure-1": Item(figure_1),
    "figure-2": Item(figure_2),
    **{view.name: Item(partial(run_view, view), shows="table-1") for view in VIEWS},
    "figure-9": Item(figure_9, 4),
    "theorem-1": Item(theorem_1, 1),
    "theorem-2": Item(theorem_2, 1),
    "theorem-3": Item(theorem_3, 1),
    "theorem-4": Item(theorem_4, 3),
    "theorem-a4": Item(theorem_a4, 1),
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
    if name == ALL:
        write_atomically(folder / INDEX, index_page(made).encode())
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
    start = time.perf_counter()
    result = ITEMS[name].run(settings)
    seconds = time.perf_counter() - start
    seeds = settings.seeds if result.seeds is None else result.seeds
    provenance = Provenance(seeds, seconds, describe_versions(), describe_machine())
    return Made(result, provenance, tuple(result.write(folder, provenance)))


def index_page(made: list[Made]) -> str:
    """A page that lists every result with its scale."""
    rows: list[tuple[str, ...]] = [
        (
            f"[{each.result.title}]({each.result.name}.md)",
            "full" if each.result.scale == FULL else f"scaled: {each.result.scale}",
            f"{each.provenance.seconds:.0f}",
        )
        for each in made
    ]
    table = markdown_table(("result", "scale", "s"), rows)
    return "\n\n".join([TITLE, OPENING, table, made[0].provenance.machine() + ".", *CLOSING]) + "\n"


TITLE = "# The paper's results"
OPENING = (
    "Every table, figure and theorem of Berner, Dablander and Grohs (NeurIPS 2020), made anew by "
    "our implementation of the paper's method, with the fast method beside it. What was scaled "
    "down to run here says so. Nothing was run on a GPU."
)
CLOSING = (
    "All of it is made by",
    "    feynkac reproduce all",
    "which goes on where it was stopped. `--full` takes the paper's scale, `--budget` another "
    "time, `--seeds 0-3` the paper's seeds.",
)
