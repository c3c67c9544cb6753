"""Commands that query a finished run: query, greeks, uncertainty."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import (
    MOST,
    Json,
    Picture,
    RunFolder,
    Seed,
    UserFamily,
    command,
    load_solution,
    print_json,
    warn,
)
from feynkac.interfaces.parsing import (
    parse_correlations,
    parse_given,
    parse_point,
)

if TYPE_CHECKING:
    from feynkac.analysis.certificates import Certificate
    from feynkac.solution import Solution

At = Annotated[list[str], typer.Option("--at", help="An input: x=9.5,t=0.5,… Repeatable.")]
COLUMNS = ("quantity", "network", "closed form", "difference")
WORDS = ("estimate", "statistical", "discretisation", "variance reduction", "verdict")


@command
def query(
    run: RunFolder,
    at: At,
    greeks: Annotated[bool, typer.Option("--greeks", help="Print derivatives too.")] = False,
    implied_volatility: Annotated[
        bool, typer.Option("--implied-volatility", help="Print Black's volatility of the price.")
    ] = False,
    certify: Annotated[
        bool, typer.Option("--certify", help="Check each value by Monte Carlo.")
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(help="Simulate until the error is clearly within or outside.")
    ] = None,
    control_budget: Annotated[
        str | None,
        typer.Option(help="Time to train a control, such as 20s, if paths are too noisy."),
    ] = None,
    extrapolate: Annotated[bool, typer.Option("--extrapolate", help="Allow any input.")] = False,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Print values, Greeks, volatilities and certificates of RUN at given inputs."""
    from feynkac.interfaces.answers import answer, answer_rows, certificate_answer
    from feynkac.interfaces.console import print_table

    if tolerance is not None and not certify:
        raise InputError("--tolerance belongs to a certificate; add --certify.")
    if tolerance is not None and not tolerance > 0.0:
        raise InputError(f"a tolerance must be positive, got {tolerance}.")
    if certify and extrapolate:
        raise InputError("a certificate is for inputs inside the domain; omit --extrapolate.")
    solution = load_solution(run, family)
    points = [parse_point(text) for text in at]
    kinds = {"greeks": greeks, "volatility": implied_volatility, "extrapolate": extrapolate}
    answers = [answer(solution, point, **kinds) for point in points]
    if certify:
        for found, point in zip(answers, points, strict=True):
            checked = _checked(solution, point, tolerance)
            if control_budget is not None and _too_wide(solution, point, checked):
                solution = with_control(solution, run, control_budget)
                checked = _checked(solution, point, tolerance)
            records = checked.record()
            found["certificate"] = records[0] if len(records) == 1 else records
    if greeks:
        warn(solution.warnings)
    if as_json:
        return print_json(answers[0] if len(answers) == 1 else {"answers": answers})
    for text, found in zip(at, answers, strict=True):
        print_table(text, COLUMNS, answer_rows(found))
        for sentence, count in found.get("no_volatility", {}).items():
            typer.echo(f"no implied volatility of {count} price(s): {sentence}")
        certificates = _listed(found.get("certificate", []))
        for number, certificate in enumerate(certificates, start=1):
            words = WORDS if number == len(certificates) else ()
            print_table("certificate", ("", "value"), certificate_answer(certificate), words)
    return None


def with_control(solution: "Solution", run: Path, budget: str) -> "Solution":
    """The solution with a control that was trained for at least `budget`."""
    from feynkac.control import add_control
    from feynkac.interfaces.console import training_display

    typer.echo(f"plain paths are too noisy: training a control ({budget})", err=True)
    with training_display() as report:
        return add_control(solution, budget, run if run.is_dir() else None, report)


def _checked(solution: "Solution", at: dict[str, Any], tolerance: float | None) -> "Certificate":
    return solution.certify(at, tolerance=tolerance)


def _too_wide(solution: "Solution", at: dict[str, Any], found: "Certificate") -> bool:
    """Whether a verdict is missing or, without a tolerance, the interval missed its aim."""
    if found.tolerance is not None:
        return "undecided" in found.verdicts
    unit = solution.reach.moved(solution.reach.join(at))[1].flatten()
    return bool((found.half_width > 1.05 * solution.aim * (unit + found.network.abs())).any())


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


@command
def greeks(
    run: RunFolder,
    at: Annotated[str, typer.Option("--at", help="An input: x=9.5,t=0.5,…")],
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over", help="Sweep a scalar, such as t or x[1], over its range; repeatable."
        ),
    ] = None,
    points: Annotated[int, typer.Option(help="Points per swept variable.", min=2, max=10**4)] = 41,
    out: Picture = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Print derivatives of RUN at an input, or sweep them over one or two variables."""
    from feynkac.interfaces.answers import answer_rows, sensitivities
    from feynkac.interfaces.console import print_table

    if over and not (out or as_json):
        raise InputError("a sweep needs an output; add --out FIGURE.png or --json.")
    if out and not over:
        raise InputError("--out draws a sweep; add --over VARIABLE.")
    solution = load_solution(run, family)
    point = parse_point(at)
    if over:
        found = solution.sweep(over, point, points=points)
        if out:
            from feynkac import plotting
            from feynkac.plotting.writing import write_figure

            write_figure(plotting.sweep(found), out)
        if as_json:
            return print_json(found.record())
        warn(found.warnings)
        return typer.echo(f"figure {out}")
    result = sensitivities(solution, point)
    if as_json:
        return print_json(result)
    print_table(at, COLUMNS, answer_rows(result))
    return warn(result["warnings"])


@command
def uncertainty(
    run: RunFolder,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", help="t=0.5 or sigma=normal(0.3,0.05); default: as in training."),
    ] = None,
    correlation: Annotated[
        list[str] | None, typer.Option("--correlation", help="Of two inputs: sigma,strike=0.5.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Number of evaluations.", min=64, max=MOST)] = 10**6,
    indices: Annotated[
        bool, typer.Option("--indices", help="Compute Sobol' indices too (extra uq).")
    ] = False,
    seed: Seed = 0,
    out: Picture = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Compute the distribution of RUN's value for random inputs, and which input causes it."""
    from feynkac.interfaces.console import print_table

    solution = load_solution(run, family)
    laws, pairs = parse_given(given or []), parse_correlations(correlation or [])
    if indices and pairs:
        raise InputError("Sobol' indices need independent inputs; omit --correlation.")
    found = solution.uncertainty(laws, pairs, samples=samples, seed=seed)
    result = found.record()
    shares = None
    if indices:
        shares = solution.sobol_indices(laws, seed=seed)
        result["indices"] = shares.record()
    if out:
        from feynkac import plotting
        from feynkac.plotting.writing import write_figure

        write_figure(plotting.sobol_indices(shares) if shares else plotting.uncertainty(found), out)
        result["figure"] = str(out)
    if as_json:
        return print_json(result)
    rows = [("mean", found.mean), ("variance", found.variance)]
    rows += [(f"quantile {q:g}", figure) for q, figure in found.quantiles.items()]
    rows += [(f"correlation with {name}", f) for name, f in _largest(found.correlation)]
    if shares:
        rows += [(f"total Sobol' index of {name}", f) for name, f in _largest(shares.total)]
    shown = [
        (name, f"{f.value:.6g}", f"{f.error:.1g}", f"{f.se:.1g}", f"{f.network:.1g}")
        for name, f in rows
    ]
    columns = ("", "value", "±", "from sampling", "from the network")
    print_table(f"{samples} evaluations", columns, shown)
    warn(found.warnings)
    return typer.echo(f"figure {out}") if out else None


def _largest(figures: dict[str, Any], count: int = 8) -> list[tuple[str, Any]]:
    return sorted(figures.items(), key=lambda item: -abs(item[1].value))[:count]
