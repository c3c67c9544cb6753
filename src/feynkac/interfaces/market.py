"""What `feynkac calibrate` prints of a quote sheet: how it was read, and the fit."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from feynkac.interfaces.application import print_json, warn
from feynkac.interfaces.estimates import Output, print_estimate, print_posterior, sampled
from feynkac.interfaces.wording import in_shell

if TYPE_CHECKING:
    from feynkac.families.family import Family
    from feynkac.market.market_fit import MarketFit
    from feynkac.market.quotes import Quotes
    from feynkac.solution import Solution

MOST_ROWS = 20  # dropped ones that are listed


def calibrate_sheet(
    solution: "Solution | None",
    family: "Family",
    sheet: Path,
    reading: dict[str, Any],
    settings: dict[str, Any],
    output: Output,
) -> None:
    """Fit a solution, or the family's closed form, and print or draw the result."""
    from feynkac.market.fitting import calibrate_formula
    from feynkac.market.reading import read_quotes

    quotes = read_quotes(sheet, **reading)
    if not output.as_json:
        _print_reading(quotes)
    if solution is None:
        fit = calibrate_formula(family, quotes, **settings)
    else:
        fit = solution.calibrate(quotes, **settings)
    drawn = sampled(fit.problem, fit.calibration, output)
    result = fit.record() | ({"posterior": drawn.record()} if drawn else {})
    if output.out:
        from feynkac import plotting
        from feynkac.plotting.writing import write_figure

        write_figure(plotting.market_fit(fit), output.out)
        result["figure"] = str(output.out)
        if drawn:
            beside = output.out.with_stem(f"{output.out.stem}-posterior")
            write_figure(plotting.posterior(drawn, fit.calibration), beside)
            result["posterior_figure"] = str(beside)
    if output.as_json:
        return print_json(result)
    _print_fit(fit, len(quotes.reading.dropped), output.each)
    if drawn:
        print_posterior(drawn)
    warn([*fit.calibration.warnings, *(drawn.warnings if drawn else [])])
    figures = [result[key] for key in ("figure", "posterior_figure") if key in result]
    return typer.echo(f"figure {' and '.join(figures)}") if figures else None


def _print_reading(quotes: "Quotes") -> None:
    """The guesses, and what was dropped."""
    read = quotes.reading
    typer.echo("columns: " + ", ".join(f"{role} = {name}" for role, name in read.columns.items()))
    for note in read.notes:
        typer.echo(in_shell(note))
    _print_dropped([str(each) for each in read.dropped])


def _print_dropped(rows: list[str]) -> None:
    for row in rows[:MOST_ROWS]:
        typer.echo(f"dropped {row}")
    if len(rows) > MOST_ROWS:
        typer.echo(f"and {len(rows) - MOST_ROWS} more rows; --json lists all of them")


def _print_fit(fit: "MarketFit", already: int, each: bool) -> None:
    from feynkac.interfaces.console import print_table

    _print_dropped([str(row) for row in fit.quotes.reading.dropped[already:]])
    for note in fit.notes:
        typer.echo(in_shell(note))
    name = fit.quotes.level_name
    rms = fit.calibration.rms
    residuals = f"{100 * rms:.3g} points of {name}" if fit.in_level else f"{rms:.4g} in price"
    title = f"{fit.family}: {len(fit.quotes)} quotes, residuals {residuals} rms"
    print_estimate(title, fit.calibration)
    rows = [
        (f"{s.t:.4g}", str(s.count), f"{s.price:.4g}", f"{100 * s.level:.3g}") for s in fit.slices
    ]
    columns = ("years", "quotes", "rms in price", f"rms in points of {name}")
    print_table("residuals per maturity", columns, rows)
    if each:
        _print_each(fit)
    typer.echo(_checked(fit))
    typer.echo(f"{1000 * fit.seconds:.0f} ms for the estimate")


def _print_each(fit: "MarketFit") -> None:
    from feynkac.interfaces.console import print_table

    name = fit.quotes.level_name
    rows = [
        (
            str(row["row"]),
            f"{row['t']:.4g}",
            f"{row['strike']:g} {'call' if row['call'] else 'put'}" if "strike" in row else "bond",
            f"{row['price']:.6g}",
            f"{row['fitted_price'] - row['price']:+.3g}",
            f"{100 * row[name]:.4g}",
            "–"
            if row[f"fitted_{name}"] is None
            else f"{100 * (row[f'fitted_{name}'] - row[name]):+.3g}",
        )
        for row in fit.record()["quotes"]
    ]
    columns = ("row", "years", "quote", "price", "fitted −", f"{name} in %", "fitted −")
    print_table("residuals", columns, rows)


def _checked(fit: "MarketFit") -> str:
    if fit.check is None:
        return "fitted prices are those of the closed form"
    found = fit.record()["check"]
    what = "fitted prices" if fit.network is None else "the network's prices there"
    text = (
        f"{what} checked by {found['by']}: largest error {1e4 * found['largest_error']:.2g} "
        f"bp of {fit.quotes.level_name}, median {1e4 * found['median_error']:.2g} bp"
    )
    width = found["largest_half_width"]
    return f"{text} (± {1e4 * width:.2g} bp)" if width else text
