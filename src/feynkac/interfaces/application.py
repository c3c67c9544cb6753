"""The program `feynkac` itself: options, errors and exit codes of all commands.

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted. The commands import
torch, so that `--help` answers at once.
"""

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from feynkac import __version__
from feynkac.errors import ArtifactError, FeynkacError, Interrupted, NonFiniteError
from feynkac.interfaces.wording import in_shell

if TYPE_CHECKING:
    from feynkac.solution import Solution

P = ParamSpec("P")
MOST = 10**9
"""Of inputs, paths, steps and the like; more would be a slip of the finger."""
USE = "FEYNKAC_USE"
"""Environment variable with the files that processes of Ray import too."""
EXTRAS = {
    "matplotlib": "plot",
    "emcee": "uq",
    "SALib": "uq",
    "ray": "ray",
    "grpc": "ray",
    "optuna": "ray",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "fastapi": "serve",
    "uvicorn": "serve",
    "orjson": "serve",
    "uvloop": "serve",
    "httptools": "serve",
}
"""The extra that installs a module."""

app = typer.Typer(
    name="feynkac",
    help="One network for a whole family of Kolmogorov PDEs: values, Greeks, error bars.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
RunFolder = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="A folder written by solve, or a name from the library."),
]


def png_file(path: Path | None) -> Path | None:
    """Refuse now what could not be written in the end, after minutes perhaps."""
    if path is not None and path.suffix.lower() != ".png":
        raise typer.BadParameter(f"a figure is a PNG file; name it as {path.stem}.png.")
    if path is not None and not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}; make it first.")
    return path


Picture = Annotated[
    Path | None, typer.Option("--out", help="Draw a figure into this PNG.", callback=png_file)
]
FamilyName = Annotated[
    str, typer.Argument(metavar="FAMILY", help="A built-in name, or path/to/file.py:ClassName.")
]
Seed = Annotated[
    int, typer.Option("--seed", help="Seed of all random numbers.", min=0, max=2**63 - 1)
]
Dim = Annotated[int | None, typer.Option("--dim", help="Dimension of the family.")]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", help="Set a field of the family: payoff=put:max. Repeatable."),
]
OtherDomain = Annotated[
    str | None,
    typer.Option(
        "--domain",
        help="Other ranges of some variables, or values: t=0.02:5,sigma=log(0.02,2),rate=0.03.",
    ),
]
UserFamily = Annotated[
    str | None,
    typer.Option("--family", help="A family of your own: path/to/file.py:ClassName."),
]

Address = Annotated[
    str | None,
    typer.Option("--address", help="A Ray cluster, ray://host:port; default: this machine."),
]
Dashboard = Annotated[
    bool, typer.Option("--dashboard", help="Start Ray's web page too, on this machine only.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"feynkac {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    use: Annotated[
        list[str] | None,
        typer.Option(help="Python file with your own scheme, method, … Repeatable."),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options of all commands."""
    global _debug
    _debug = debug
    if use:
        if bad := [name for name in use if "\0" in name]:
            raise typer.BadParameter(f"there is no file {bad[0]!r}.")
        os.environ[USE] = os.pathsep.join(os.path.abspath(name) for name in use)


_debug = False


def import_used() -> None:
    """Import the files that the user named, in this process or in a process that it started."""
    from feynkac.user_files import import_file

    for name in filter(None, os.environ.get(USE, "").split(os.pathsep)):
        import_file(name)


def debugging() -> bool:
    """Whether the user wants tracebacks and internal logs."""
    return _debug


def command(body: Callable[P, None]) -> Callable[P, None]:
    """Register `body` as a command whose errors become one sentence and an exit code."""
    return app.command()(guarded(body))


def guarded(body: Callable[P, None]) -> Callable[P, None]:
    """`body`, whose errors become one sentence and an exit code."""

    @functools.wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            import_used()
            body(*args, **kwargs)
        except (typer.Exit, BrokenPipeError):  # nobody reads on, as in `| head -1`: typer ends it
            raise
        except BaseException as error:
            if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
                raise  # met by rich
            if _debug and not isinstance(error, KeyboardInterrupt | Interrupted):
                raise
            text, code = _explain(error)
            typer.echo(text, err=True)
            raise typer.Exit(code) from None

    return run


def _explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt | Interrupted):
        return f"interrupted: {error or 'stopped'}; run the same command again to resume", 130
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        extra = EXTRAS[error.name]
        return f"error: this needs {error.name}; install feynkac[{extra}].", 2
    if isinstance(error, FeynkacError | OSError | ModuleNotFoundError):
        return f"error: {in_shell(str(error))}", 1 if isinstance(error, NonFiniteError) else 2
    if isinstance(error, SystemExit | GeneratorExit):  # ours are `typer.Exit`
        return "error: a formula of the family ends the program (sys.exit); remove that.", 2
    first = str(error).strip().partition("\n")[0]
    return f"error: {type(error).__name__}: {first} (--debug shows where)", 1


def load_solution(run: Path, family: str | None) -> "Solution":
    """The solution in a folder, or in the library; `family` names a user's own."""
    from feynkac.families.catalogue import find_family
    from feynkac.loading import require_dimension
    from feynkac.runs.artifact import read_artifact
    from feynkac.solution import Solution
    from feynkac.user_files import import_file

    folder = find_folder(run)
    if family is None:
        return Solution.load(folder)
    import_file(family.rpartition(":")[0])  # it may also define the scheme of the run
    manifest, _ = read_artifact(folder)
    require_dimension(manifest)
    return Solution.load(folder, find_family(family, dict(manifest.family.fields)))


def find_folder(run: Path) -> Path:
    """`run` if there is such a folder, else the library's solution of this name."""
    from feynkac.library.shelf import open_shelf

    shelf, name = open_shelf(), str(run)
    if run.exists() or name != run.name:  # not a plain name
        if name in shelf:
            typer.echo(f"{name}: the folder here, not the library's solution", err=True)
        return run
    if name in shelf:
        typer.echo(f"{name}: the library's solution", err=True)
        return shelf.folder(name)
    from feynkac.library.pretrained import missing

    raise ArtifactError(f"there is no folder {name}, and {missing(name, shelf)}")


def print_json(data: dict[str, Any]) -> None:
    """One line on standard output; what is not finite is null."""
    from feynkac.interfaces.web.plain import plain

    typer.echo(json.dumps(plain(data), allow_nan=False))


def warn(warnings: list[str]) -> None:
    """Warnings on standard error, in terms of the shell."""
    for warning in warnings:
        typer.echo(f"warning: {in_shell(warning)}", err=True)
