"""Commands that give runs to others: serve, export, report."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feynkac.errors import ArtifactError, InputError
from feynkac.interfaces.application import (
    Json,
    RunFolder,
    UserFamily,
    command,
    find_folder,
    load_solution,
    print_json,
    warn,
)

if TYPE_CHECKING:
    from feynkac.solution import Solution


@command
def export(
    run: RunFolder,
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="out.onnx, out.pt2, out.h or out.json.")
    ],
    greeks: Annotated[
        bool, typer.Option("--greeks", help="With .onnx and .pt2: first derivatives too.")
    ] = False,
    single: Annotated[
        bool, typer.Option("--single", help="With .onnx and .pt2: compute in float32.")
    ] = False,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Write RUN for another program: ONNX, torch.export, a C header, or weights as JSON."""
    from feynkac.exporting.export import export

    path = export(load_solution(run, family), out, greeks=greeks, single=single)
    size = path.stat().st_size
    if as_json:
        return print_json({"file": str(path), "bytes": size})
    return typer.echo(f"wrote {path} ({size / 1000:.0f} kB)")


@command
def serve(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]…",
            help="Folders of runs, or names from the library; default: all of the library.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="Another address needs a token.")] = "127.0.0.1",
    token_file: Annotated[
        Path | None, typer.Option(help="File with a token that requests for data must carry.")
    ] = None,
    family: UserFamily = None,
) -> None:
    """Serve solutions over HTTP, with the explorer's page, until Ctrl-C."""
    from feynkac.interfaces.server import running
    from feynkac.interfaces.server.offer import make_offer

    folders = [_existing(run) for run in runs] if runs else _library()
    token = running.read_token(token_file) if token_file else None
    offer = make_offer(folders, lambda folder: _load(folder, family))
    warn([f"{name} is not served: {fault}" for name, fault in offer.faults.items()])
    names = ", ".join(name for name in offer.runs if name not in offer.faults)

    def announce(address: str) -> None:
        typer.echo(f"serving {names} at {address} (Ctrl-C stops)", err=True)

    running.serve(offer, host, port, token, announce)


def _existing(run: Path) -> Path:
    """The folder of a run, finished or not, or of a solution in the library."""
    folder = find_folder(run)
    if not folder.is_dir():
        raise ArtifactError(f"there is no folder {run}; give folders written by solve.")
    return folder


def _load(folder: Path, family: str | None) -> "Solution":
    """A user's family is for those runs that were made with it."""
    from feynkac.runs.artifact import read_artifact

    built_in = family is None or read_artifact(folder)[0].family.built_in
    return load_solution(folder, None if built_in else family)


def _library() -> list[Path]:
    """The folders of the pretrained library."""
    try:
        shelf = import_module("feynkac.library.shelf").open_shelf()
    except ModuleNotFoundError:
        names: list[str] = []
    else:
        names = shelf.names
    if not names:
        raise InputError("this installation has no pretrained solutions; name folders of runs.")
    return [shelf.folder(name) for name in names]


@command
def report(
    run: RunFolder,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The HTML file to write.")],
    map_inputs: Annotated[
        int, typer.Option(help="Inputs of the error map; 0 omits it.", min=0, max=4096)
    ] = 256,
    inputs: Annotated[
        int | None, typer.Option(help="Fresh inputs of the error table.", min=2)
    ] = None,
    family: UserFamily = None,
    as_json: Json = False,
) -> None:
    """Write all about RUN, with its network, into one HTML file that needs no server."""
    from feynkac.display import showing
    from feynkac.interfaces.web.report import Effort, write_report
    from feynkac.phases import enter

    if map_inputs == 1:
        raise InputError("an error map needs at least 2 inputs; give 0 to omit it.")
    solution = load_solution(run, family)
    with showing():
        path = write_report(solution, out, Effort(map_inputs, inputs), enter("measuring"))
    size = path.stat().st_size
    if as_json:
        return print_json({"file": str(path), "bytes": size})
    return typer.echo(f"wrote {path} ({size / 1000:.0f} kB)")
