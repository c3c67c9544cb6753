"""`feynkac calibrate`: parameters from a quote sheet, or from a table of observations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import (
    Json,
    OtherDomain,
    Picture,
    Seed,
    UserFamily,
    command,
    load_solution,
    print_json,
    warn,
)
from feynkac.interfaces.estimates import Output, print_estimate, print_posterior, sampled
from feynkac.interfaces.market import calibrate_sheet
from feynkac.interfaces.parsing import parse_domain, parse_names, parse_point

if TYPE_CHECKING:
    from feynkac.families.domain import Domain
    from feynkac.families.family import Family
    from feynkac.interfaces.tables import Observed
    from feynkac.solution import Solution

Sheet = Annotated[Path, typer.Argument(metavar="SHEET", help="Quotes or observations, as CSV.")]


@command
def calibrate(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A folder written by solve, or the name of a family."),
    ],
    sheet: Sheet,
    free: Annotated[
        str | None,
        typer.Option(help="Variables to find, such as sigma,x[1]; of quotes: all unknown ones."),
    ] = None,
    given: Annotated[
        list[str] | None, typer.Option("--given", help="Known values for all rows: x=9.5,…")
    ] = None,
    spot: Annotated[float | None, typer.Option(help="Price of the asset.")] = None,
    forward: Annotated[float | None, typer.Option(help="Forward price, any maturity.")] = None,
    rate: Annotated[float | None, typer.Option(help="Interest rate, such as 0.03.")] = None,
    dividend: Annotated[float | None, typer.Option(help="Dividend yield.")] = None,
    date: Annotated[str | None, typer.Option(help="Day of the quotes, as 2027-01-31.")] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="A column's meaning: strike=K. Repeatable.")
    ] = None,
    values: Annotated[
        Literal["price", "volatility"] | None,
        typer.Option(help="Which of both counts, or what the cells of a matrix are."),
    ] = None,
    residuals: Annotated[
        Literal["price", "volatility", "yield"] | None,
        typer.Option(help="In what to compare; default: what is quoted."),
    ] = None,
    weights: Annotated[
        Literal["spread", "vega", "equal"] | None,
        typer.Option(help="Of quotes; default: by bid–ask spread if there is one."),
    ] = None,
    by: Annotated[
        Literal["network", "closed-form"], typer.Option(help="What to fit: RUN or its formula.")
    ] = "network",
    polish: Annotated[
        bool, typer.Option(help="Finish the fit of a network by its closed form, if it has one.")
    ] = True,
    domain: OtherDomain = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of observations, if not a column.")
    ] = None,
    method: Annotated[
        Literal["least-squares", "sgd"],
        typer.Option(help="SciPy's least squares, or the paper's sgd (observations only)."),
    ] = "least-squares",
    confidence: Annotated[
        float, typer.Option(help="Confidence of the intervals.", min=0.01, max=0.999)
    ] = 0.9,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Sample the posterior too (extra uq).")
    ] = False,
    steps: Annotated[int, typer.Option(help="Steps of the posterior's walkers.", min=100)] = 2000,
    each: Annotated[bool, typer.Option("--each", help="Print the residual of each quote.")] = False,
    seed: Seed = 0,
    out: Picture = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Find the parameters of RUN that explain a quote sheet, or observations in a CSV file."""
    from feynkac.interfaces.tables import is_observations

    output = Output(confidence, posterior, steps, seed, out, as_json, each)
    others = parse_point(",".join(given)) if given else {}
    names = parse_names(free) if free else None
    solution, model = _model(run, family, by, domain)
    reading: dict[str, Any] = {"spot": spot, "forward": forward, "rate": rate, "dividend": dividend}
    reading |= {"date": date, "values": values}
    settings: dict[str, Any] = {"residuals": residuals, "weights": weights}
    if is_observations(sheet, model.domain, names is not None):
        of_quotes = reading | settings | {"column": column, "no-polish": not polish}
        _require_unset(f"{sheet} holds observations", of_quotes)
        if solution is None:
            raise InputError(f"{sheet} holds observations, and those need a solution; omit --by.")
        if names is None:
            raise InputError(f"{sheet} holds observations; name what to find, as in --free sigma.")
        return _observations(solution, sheet, names, others, noise, method, output)
    of_observations = {"noise": noise, "method": None if method == "least-squares" else method}
    _require_unset(f"{sheet} holds quotes", of_observations)
    reading["columns"] = _columns(column or [])
    settings |= {"free": names, "given": others, "confidence": confidence, "seed": seed}
    settings["polish"] = polish
    return calibrate_sheet(solution, model, sheet, reading, settings, output)


def _require_unset(what: str, options: dict[str, Any]) -> None:
    """What does not apply is not ignored."""
    if given := next((name for name, value in options.items() if value), None):
        raise InputError(f"{what}, for which --{given} means nothing; omit it.")


def _model(
    run: Path, family: str | None, by: str, domain: str | None
) -> tuple["Solution | None", "Family"]:
    """The solution, or None for the closed form, and the family."""
    if by == "network":
        if domain is not None:
            raise InputError("a solution keeps its domain; omit --domain, or add --by closed-form.")
        solution = load_solution(run, family)
        return solution, solution.family
    found = load_solution(run, family).family if run.is_dir() else _family(family or str(run))
    return None, found.on(**parse_domain(domain, found.domain)) if domain else found


def _family(name: str) -> "Family":
    """On the wide box of the library, if it is there."""
    from feynkac.families.catalogue import find_family
    from feynkac.library.entries import ENTRIES

    wide = {entry.name: entry.family for entry in ENTRIES}
    return wide[name] if name in wide else find_family(name)


def _columns(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        role, sign, name = (part.strip() for part in text.partition("="))
        if not sign or not name:
            raise InputError(f"cannot read the column {text!r}; expected strike=K.")
        found[role] = name
    return found


def _observations(
    solution: "Solution",
    sheet: Path,
    names: list[str],
    others: dict[str, Any],
    noise: float | None,
    method: Any,
    output: Output,
) -> None:
    from feynkac.interfaces.tables import read_observations

    domain = solution.family.domain
    table = read_observations(sheet, domain, names)
    _check_given(others, noise, domain, table, sheet)
    spread = noise if table.noise is None else table.noise
    problem = solution.observe(names, table.values, table.known | others, noise=spread)
    found = solution.calibrate(
        problem, method=method, confidence=output.confidence, seed=output.seed
    )
    model_error = float((problem.model**2).mean() ** 0.5)
    result = found.record() | {"model_error": model_error, "observations": len(table.values)}
    drawn = sampled(problem, found, output)
    if drawn:
        result["posterior"] = drawn.record()
    if output.out:
        from feynkac import plotting
        from feynkac.plotting.writing import write_figure

        fit = plotting.calibration(problem, found)
        write_figure(plotting.posterior(drawn, found) if drawn else fit, output.out)
        result["figure"] = str(output.out)
    if output.as_json:
        return print_json(result)
    print_estimate(f"{len(table.values)} observations, residuals {found.rms:.3g} rms", found)
    if drawn:
        print_posterior(drawn)
    warn([*found.warnings, *(drawn.warnings if drawn else [])])
    return typer.echo(f"figure {output.out}") if output.out else None


def _check_given(
    others: dict[str, Any],
    noise: float | None,
    domain: "Domain",
    table: "Observed",
    data: Path,
) -> None:
    given = {name: domain.place(name).columns for name in others}
    columns = [domain.place(name).columns for name in table.known]
    doubled = [
        name
        for name, ours in given.items()
        if any(ours.start < theirs.stop and theirs.start < ours.stop for theirs in columns)
    ]
    doubled += ["noise"] * (noise is not None and table.noise is not None)
    if doubled:
        raise InputError(f"{doubled[0]} is a column of {data} and given as well; omit one of them.")
