"""The zoo's rows as a table, and as a page of the documentation."""

from feynkac.analysis.rounding import figure, number
from feynkac.benchmarks.markdown import markdown_table
from feynkac.benchmarks.zoo import TARGETS, Zoo, ZooRow

ROWS = "zoo.json"
COLUMNS = ("", "inputs", "L1 ± s.e.", "/ std u", "largest", "mean", "says", "steps", "s", "MB")
TITLE = "# Families that nobody prepared"


def table(zoo: Zoo) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows."""
    return COLUMNS, [_cells(row) for row in zoo.rows]


def _cells(row: ZooRow) -> tuple[str, ...]:
    return (
        row.name,
        _count(row.inputs),
        "refused" if row.refused else figure(row.l1, row.l1_se),
        number(row.relative),
        number(row.largest),
        number(row.mean_baseline),
        number(row.own_l1),
        _count(row.steps),
        _count(row.seconds),
        _count(row.megabytes),
    )


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def summary_text(zoo: Zoo) -> str:
    """One line."""
    shares = ", ".join(f"{name}: {share:.0%}" for name, share in zoo.summary().items())
    return f"{len(zoo.rows)} families; {shares}"


def page(zoo: Zoo) -> str:
    """The page docs/results/zoo.md."""
    conditions = (
        f"`feynkac bench --suite zoo`: defaults, {_values(zoo, 'budget')} s of budget, "
        f"{_values(zoo, 'threads')} threads, seed {_values(zoo, 'seed')}. Each family is a file of "
        "`benchmarks/zoo`, written from these pages alone, with a reference that uses none of our "
        "code."
    )
    parts = (TITLE, conditions, summary_text(zoo) + ".", _by_area(zoo), LEGEND, _remarks(zoo))
    return "\n\n".join(part for part in parts if part)


def _values(zoo: Zoo, name: str) -> str:
    """What the rows have under a name, each value once."""
    found = {getattr(row, name) for row in zoo.rows} - {None}
    return ", ".join(f"{value:g}" for value in sorted(found))


LEGEND = (
    "L1 is Eq. (9) of the paper, mean |Φ − u|/(1 + |u|), against the reference; **bold** where it "
    f"is above {TARGETS[0]}. *error / std u* is the mean error over the standard deviation of u; "
    "*largest* is the largest error relative to 1 + |u|; *mean* is the L1 of predicting the mean; "
    "*says* is the L1 that the solution itself reports; *s* is the wall clock of `solve`, *MB* the "
    "growth of its peak memory."
)
PAGE_COLUMNS = (
    "family",
    "reference",
    "inputs",
    "L1 ± s.e.",
    "error / std u",
    "largest",
    "mean",
    "says",
    "steps",
    "s",
    "MB",
)


def _by_area(zoo: Zoo) -> str:
    """One table per area, areas in order of their names."""
    names = sorted({row.area or "" for row in zoo.rows})
    parts = []
    for name in names:
        rows = [_page_cells(row) for row in zoo.rows if (row.area or "") == name]
        parts.append(f"## {name.capitalize()}\n\n{markdown_table(PAGE_COLUMNS, rows)}")
    return "\n\n".join(parts)


def _page_cells(row: ZooRow) -> tuple[str, ...]:
    name, inputs, l1, *rest = _cells(row)
    missed = row.l1 is None or row.l1 > TARGETS[0]
    return (name, row.method or "–", inputs, f"**{l1}**" if missed else l1, *rest)


def _remarks(zoo: Zoo) -> str:
    """What was refused, and what the program says about families and results."""
    lines = [f"- {row.name}: {text}" for row in zoo.rows for text in _said(row)]
    return "\n".join(["## What the program said", "", *lines]) if lines else ""


def _said(row: ZooRow) -> list[str]:
    errors = [f"error: {row.error}"] if row.error else []
    checks = [f"`check`, {alarm}" for alarm in row.alarms or ()]
    return [_line(text) for text in (*errors, *row.warnings, *checks)]


def _line(text: str) -> str:
    return " ".join(text.split())
