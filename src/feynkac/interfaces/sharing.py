"""Commands that give a finished run to others: export."""

from pathlib import Path
from typing import Annotated

import typer

from feynkac.interfaces.application import (
    Json,
    RunFolder,
    UserFamily,
    command,
    load_solution,
    print_json,
)


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
