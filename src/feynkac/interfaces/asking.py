"""Commands that query a finished run: query, greeks, calibrate, uncertainty."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import (
    MOST,
    Json,
    RunFolder,
    Seed,
    UserFamily,
    command,
    load_solution,
    print_json,
)
from feynkac.interfaces.parsing import (
    parse_correlations,
    parse_given,
    parse_names,
    parse_point,
)

if TYPE_CHECKING:
    from feynkac.analysis.certificates import Certificate
    from feynkac.families.domain import Domain
    from feynkac.interfaces.tables import Observed
    from feynkac.solution import Solution

At = Annotated[list[str], typer.Option("--at", help="An input: x=9.5,t=0.5,… Repeatable.")]
Picture = Annotated[Path | None, typer.Option("--out", help="Draw a figure into this PNG.")]


@command
def query(
    run: RunFolder,
    at: At,
    greeks: Annotated[bool, typer.Option("--greeks", help="Print derivatives too.")] = False,
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
    """Print values, Greeks and certificates of RUN at given inputs."""
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
    answers = [answer(solution, point, greeks, extrapolate) for point in points]
    if certify:
        for found, point in zip(answers, points, strict=True):
            checked = _checked(solution, point, tolerance)
            if control_budget is not None and _too_wide(solution, checked):
                solution = with_control(solution, run, control_budget)
                checked = _checked(solution, point, tolerance)
            records = checked.record()
            found["certificate"] = records[0] if len(records) == 1 else records
    if greeks:
        _warn(solution.warnings)
    if as_json:
        return print_json(answers[0] if len(answers) == 1 else {"answers": answers})
    for text, found in zip(at, answers, strict=True):
        print_table(text, ("quantity", "network", "closed form", "difference"), answer_rows(found))
        for certificate in _listed(found.get("certificate", [])):
            print_table("certificate", ("", "value"), certificate_answer(certificate))
    return None


def with_control(solution: "Solution", run: Path, budget: str) -> "Solution":
    """The solution with a control that was trained for at least `budget`."""
    from feynkac.control import add_control
    from feynkac.interfaces.console import training_display

    typer.echo(f"plain paths are too noisy: training a control ({budget})", err=True)
    with training_display() as report:
        return add_control(solution, budget, run, report)


def _checked(solution: "Solution", at: dict[str, Any], tolerance: float | None) -> "Certificate":
    from feynkac.interfaces.console import fraction_display

    with fraction_display("simulating") as report:
        return solution.certify(at, tolerance=tolerance, report=report)


def _too_wide(solution: "Solution", found: "Certificate") -> bool:
    """Whether a verdict is missing or, without a tolerance, the interval missed its aim."""
    if found.tolerance is not None:
        return "undecided" in found.verdicts
    return bool((found.half_width > 1.05 * solution.aim * (1.0 + found.network.abs())).any())


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)


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
        _warn(found.warnings)
        return typer.echo(f"figure {out}")
    result = sensitivities(solution, point)
    if as_json:
        return print_json(result)
    columns = ("quantity", "network", "closed form", "difference")
    print_table(at, columns, answer_rows(result))
    return _warn(result["warnings"])


@command
def calibrate(
    run: RunFolder,
    data: Annotated[Path, typer.Argument(metavar="CSV", help="Columns: variables, value, noise.")],
    free: Annotated[str, typer.Option(help="Variables to find, such as sigma,x[1].")],
    given: Annotated[
        list[str] | None, typer.Option("--given", help="Known values for all rows: x=9.5,…")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of the values, if there is no column.")
    ] = None,
    method: Annotated[
        Literal["least-squares", "sgd"],
        typer.Option(help="SciPy's least squares, or the paper's sgd."),
    ] = "least-squares",
    confidence: Annotated[
        float, typer.Option(help="Confidence of the intervals.", min=0.01, max=0.999)
    ] = 0.9,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Sample the posterior too (extra uq).")
    ] = False,
    steps: Annotated[
        int, typer.Option(help="Steps of the posterior's walkers.", min=100, max=MOST)
    ] = 2000,
    seed: Seed = 0,
    out: Picture = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Find the parameters of RUN that explain observations in a CSV file."""
    from feynkac.interfaces.console import fraction_display, print_table
    from feynkac.interfaces.tables import read_observations

    solution = load_solution(run, family)
    names = parse_names(free)
    domain = solution.family.domain
    table = read_observations(data, domain, names)
    others = parse_point(",".join(given)) if given else {}
    _check_given(others, noise, domain, table, data)
    spread = noise if table.noise is None else table.noise
    problem = solution.observe(names, table.values, table.known | others, noise=spread)
    found = solution.calibrate(problem, method=method, confidence=confidence, seed=seed)
    model_error = float((problem.model**2).mean() ** 0.5)
    result = found.record() | {"model_error": model_error, "observations": len(table.values)}
    drawn = None
    if posterior:
        with fraction_display("sampling the posterior") as report:
            drawn = solution.posterior(
                problem, found, steps=steps, confidence=confidence, seed=seed, report=report
            )
        result["posterior"] = drawn.record()
    if out:
        from feynkac import plotting
        from feynkac.plotting.writing import write_figure

        fit = plotting.calibration(problem, found)
        write_figure(plotting.posterior(drawn, found) if drawn else fit, out)
        result["figure"] = str(out)
    if as_json:
        return print_json(result)
    rows = [
        (label, f"{e['value']:.6g}", "–" if e["std"] is None else f"{e['std']:.2g}", _range(e))
        for label, e in result["estimate"].items()
    ]
    print_table(
        f"{len(table.values)} observations, residuals {found.rms:.3g} rms",
        ("parameter", "estimate", "standard error", f"{100 * confidence:g} % interval"),
        rows,
    )
    if drawn:
        marginals = [
            (label, f"{m['mean']:.6g}", f"{m['std']:.2g}", _range(m))
            for label, m in result["posterior"]["marginals"].items()
        ]
        columns = ("parameter", "mean", "standard deviation", f"{100 * confidence:g} % interval")
        print_table(f"posterior, largest R̂ {drawn.r_hat.max():.3f}", columns, marginals)
    _warn([*found.warnings, *(drawn.warnings if drawn else [])])
    return typer.echo(f"figure {out}") if out else None


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


def _range(entry: dict[str, Any]) -> str:
    low, high = entry["interval"]
    return f"{low:.6g} … {high:.6g}"


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
    from feynkac.interfaces.console import fraction_display, print_table

    solution = load_solution(run, family)
    laws, pairs = parse_given(given or []), parse_correlations(correlation or [])
    if indices and pairs:
        raise InputError("Sobol' indices need independent inputs; omit --correlation.")
    with fraction_display("evaluating") as report:
        found = solution.uncertainty(laws, pairs, samples=samples, seed=seed, report=report)
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
    _warn(found.warnings)
    return typer.echo(f"figure {out}") if out else None


def _largest(figures: dict[str, Any], count: int = 8) -> list[tuple[str, Any]]:
    return sorted(figures.items(), key=lambda item: -abs(item[1].value))[:count]
