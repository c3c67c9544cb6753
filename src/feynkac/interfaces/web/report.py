"""What a report says about a run: accuracy, curves, certificates, settings, and the network."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from feynkac import __version__
from feynkac.analysis.partials import has_slope
from feynkac.analysis.rounding import FLOAT32, number, to_digit
from feynkac.errors import InputError
from feynkac.exporting.weights import weights_record
from feynkac.families.family import outputs
from feynkac.families.shapes import Shaped
from feynkac.files import write_atomically
from feynkac.interfaces.console import error_rows
from feynkac.interfaces.server.requests import Axis, CertifyBody, GreeksBody, SliceBody
from feynkac.interfaces.server.served import Served
from feynkac.interfaces.web.page import make_page
from feynkac.interfaces.web.plain import plain
from feynkac.runs.run import run_to_dict
from feynkac.sampling.generators import make_generator
from feynkac.solution import Solution

CURVES = 4  # inputs along which u is drawn
CURVE_POINTS, CERTIFIED = 101, 7  # points of a curve, and certified ones on it
SECONDS = 0.2  # for each of these
SLOPES = 8  # derivatives in the table of their errors
SAMPLE = 500  # inputs of that table
CHECKED = 8  # inputs in the table of certificates
SHAPE_INPUTS = 2000  # at which shapes are looked at
MOST_NAMED, MOST_ENTRIES = 8, 3  # variables of an input that are listed, and entries of one

Data = dict[str, Any]
Step = Callable[[float], None]


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much a report measures."""

    inputs: int = 256
    """Of the error map; 0: no map."""
    error_inputs: int | None = None
    """Fresh inputs of the error table; None: as `solution.error`."""


def write_report(solution: Solution, out: Path, effort: Effort, report: Step) -> Path:
    """One self-contained HTML file about a run; `report` is told the fraction done."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is an HTML file; name it as {out.stem}.html, got {out.name!r}.")
    if not out.parent.is_dir():  # now, and not after a minute
        raise InputError(f"there is no folder {out.parent}; make it first, or choose another.")
    data = report_data(solution, effort, report)
    write_atomically(out, make_page(data["title"], data).encode())
    return out


def report_data(solution: Solution, effort: Effort, report: Step) -> Data:
    """All that the page shows, as JSON-ready data."""
    one = solution.output(0)
    served = Served(solution.manifest.family.name, solution)
    network, note = _network(solution)
    tables = [_errors(solution, effort.error_inputs, lambda f: report(0.4 * f))]
    tables += _slopes(served)
    tables.append(_certificates(served))
    tables += _shapes(solution)
    report(0.5)
    curves = _curves(served)
    report(0.7)
    found = one.error_map(effort.inputs) if effort.inputs else None
    report(1.0)
    manifest = solution.manifest
    whole: Data = plain(
        {
            "title": f"{manifest.family.name}: report of a run",
            "created": manifest.created,
            "version": __version__,
            "solution": served.description | {"greeks": _shown_greeks(served)},
            "network": network,
            "note": note,
            "settings": _settings(solution),
            "tables": tables,
            "curves": curves,
            "error_map": found and found.record(),
            "history": manifest.history,
        }
    )
    return whole


def _shown_greeks(served: Served) -> list[Data]:
    """Those that the network alone gives: on the page nothing moves inputs along symmetries."""
    domain = served.solution.family.domain
    greeks: list[Data] = served.description["greeks"]
    return [each for each in greeks if all(has_slope(domain, name) for name in each["of"])]


def _network(solution: Solution) -> tuple[Data | None, str]:
    """The stages, or why there are none."""
    try:
        return weights_record(solution), ""
    except InputError as error:
        return None, f"There is no live explorer in this report: {error}"


def _table(title: str, columns: list[str], rows: list[list[str]], note: str = "") -> Data:
    return {"title": title, "columns": columns, "rows": rows, "note": note}


def _errors(solution: Solution, inputs: int | None, report: Step) -> Data:
    errors = solution.error(inputs, report=report)
    rows = [[name, value] for name, value in error_rows(errors.record())]
    note = "Errors are relative to 1 + |u|, on inputs that training has not seen."
    return _table("Errors of u", ["", "value"], rows, note)


def _slopes(served: Served) -> list[Data]:
    """Errors of Greeks, or of first derivatives, where they are known exactly."""
    if not served.description["closed_form"]:
        return []
    domain = served.solution.family.domain
    inputs = domain.sample(SAMPLE, make_generator(1, "report"), torch.float64)
    at: Data = {entry: inputs[:, i].tolist() for i, entry in enumerate(domain.entries)}
    names = list(served.solution.named_greeks) or [f"∂u/∂{n}" for n in domain.free]
    body = GreeksBody(at=at, quantities=names[:SLOPES], closed_form=True)
    found = served.greeks(body)
    rows = []
    for name in ["value", *names[:SLOPES]]:
        gap = abs(found["values"][name] - found["closed_form"][name])
        size = abs(found["closed_form"][name])
        rows.append([name, *(number(float(v)) for v in (size.mean(), gap.mean(), gap.max()))])
    columns = ["quantity", "mean size", "mean error", "largest error"]
    note = f"Absolute errors against the closed form at {SAMPLE} random inputs."
    return [_table(f"Values and derivatives{_of_first(served)}", columns, rows, note)]


def _of_first(served: Served) -> str:
    return ", output 0" if outputs(served.solution.family) > 1 else ""


def _certificates(served: Served) -> Data:
    """Independent estimates at random inputs."""
    domain = served.solution.family.domain
    inputs = domain.sample(CHECKED, make_generator(2, "report"), torch.float64)
    at: Data = {entry: inputs[:, i].tolist() for i, entry in enumerate(domain.entries)}
    found = served.certify(CertifyBody(at=at, seconds=SECONDS))["certificates"]
    rows = [
        [
            _short_point(domain.named(row)),
            to_digit(each["network"], max(each["half_width"], FLOAT32 * abs(each["network"]))),
            f"{to_digit(each['value'], each['half_width'])} ± {each['half_width']:.2g}",
            f"{each['network'] - each['value']:+.1e}",
            str(each["paths"]),
        ]
        for row, each in zip(inputs, found, strict=True)
    ]
    columns = ["input", "network", "estimate", "difference", "paths"]
    sure = f"{100 * found[0]['confidence']:g} %"
    note = f"Independent simulations at random inputs, each with its interval of {sure} confidence."
    return _table(f"Certificates{_of_first(served)}", columns, rows, note)


def _shapes(solution: Solution) -> list[Data]:
    """Whether u is monotone, convex or bounded as its family says, if it says so."""
    if not isinstance(solution.family, Shaped) or outputs(solution.family) > 1:
        return []
    found = solution.shape(SHAPE_INPUTS)
    rows = [
        [f"u {row.sentence}", f"{row.share:.2%}", number(row.mean), number(row.largest)]
        for row in found.rows
    ]
    columns = ["shape", "violated at", "mean violation", "largest"]
    least = f"{found.tolerance:g} (1 + |u|)"
    note = f"{SHAPE_INPUTS} random inputs; sizes in units of u, counted above {least}."
    return [_table("Shapes", columns, rows, note)]


def _short_point(at: Data) -> str:
    """The first variables of an input, short vectors entry by entry."""
    texts = [f"{name} = {_short_value(value)}" for name, value in at.items()]
    rest = ["…"] if len(texts) > MOST_NAMED else []
    return ", ".join([*texts[:MOST_NAMED], *rest])


def _short_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    few = len(value) <= MOST_ENTRIES and all(isinstance(each, float) for each in value)
    return f"({', '.join(f'{each:.4g}' for each in value)})" if few else "…"


def _curves(served: Served) -> list[Data]:
    """u along a few inputs through the middle of the domain, and what it should be."""
    variables = served.description["variables"]
    at = {
        entry: start
        for variable in variables
        for entry, start in zip(variable["entries"], variable["default"], strict=True)
    }
    free = [
        entry
        for variable in variables
        for entry, low, high in zip(
            variable["entries"], variable["low"], variable["high"], strict=True
        )
        if low < high
    ]
    return [_curve(served, at, entry) for entry in free[:CURVES]]


def _curve(served: Served, at: Data, entry: str) -> Data:
    known = served.description["closed_form"]
    axis = Axis(name=entry, points=CURVE_POINTS)
    found = served.slice(SliceBody(over=[axis], at=at, quantities=["value"], closed_form=known))
    others = _short_point({name: value for name, value in at.items() if name != entry})
    curve: Data = {"slice": found, "at": others, "certificates": None, "points": []}
    if known or served.description["coupled"]:
        return curve
    points = list(found["over"][0]["points"])[:: (CURVE_POINTS - 1) // (CERTIFIED - 1)]
    moved: Data = {**at, entry: [float(p) for p in points]}
    body = CertifyBody(at=moved, seconds=SECONDS)
    return curve | {"certificates": served.certify(body)["certificates"], "points": points}


def _settings(solution: Solution) -> Data:
    """Family, method and training, one row per choice."""
    manifest = solution.manifest
    run = run_to_dict(manifest.run)
    rows = [["family", manifest.family.name]]
    rows += [[name, str(law)] for name, law in solution.family.domain.measures.items()]
    rows += _flat("family", run["family"]["fields"])
    rows += _flat("method", run["method"]) + _flat("training", run["training"])
    rows += [
        ["parameters", str(manifest.parameters)],
        ["steps", str(manifest.steps)],
        ["seconds", f"{manifest.seconds:.1f}"],
        *([f"version of {name}", text] for name, text in manifest.versions.items()),
    ]
    return _table("", ["setting", "value"], rows)


def _flat(prefix: str, data: Data) -> list[list[str]]:
    """Nested settings by dotted names; what is not set is left out."""
    rows: list[list[str]] = []
    for name, value in data.items():
        if isinstance(value, dict):
            rows += _flat(f"{prefix}.{name}", value)
        elif value not in (None, [], ()):
            text = str(value)
            rows.append([f"{prefix}.{name}", text if len(text) <= 120 else f"{text[:117]}…"])
    return rows
