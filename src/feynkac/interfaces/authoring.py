"""Commands for families of your own: new, check."""

import importlib.util
import keyword
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Annotated

import typer

from feynkac.errors import InputError
from feynkac.files import write_atomically
from feynkac.interfaces.application import (
    Dim,
    FamilyName,
    Fields,
    Json,
    OtherDomain,
    command,
    print_json,
)
from feynkac.interfaces.parsing import parse_family
from feynkac.interfaces.template import FAMILY, TEST, filled

LONGEST = 64
"""Letters of a name, so that file systems take it."""


@command
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the file, such as mean_reverting.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    as_json: Json = False,
) -> None:
    """Write NAME.py, a family to start from, and its test."""
    _check_name(name)
    class_name = _class_name(name)
    files = {Path(f"{name}.py"): FAMILY, Path(f"test_{name}.py"): TEST}
    if there := [str(path) for path in files if path.exists() and not force]:
        raise InputError(f"{there[0]} exists; choose another name, or overwrite it with --force.")
    for path, template in files.items():
        write_atomically(path, filled(template, name, class_name).encode())
    spec = f"{name}.py:{class_name}"
    commands = [
        f"feynkac check {spec}",
        f"feynkac solve {spec} --budget 20s",
        f"pytest test_{name}.py",
    ]
    if as_json:
        return print_json({"files": [str(path) for path in files], "next": commands})
    return typer.echo("\n".join([f"wrote {' and '.join(map(str, files))}; next:", *commands]))


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise InputError(
            f"{name!r} cannot name a family; use lower-case letters, digits and underscores, "
            "as in mean_reverting."
        )
    class_name = _class_name(name)
    if keyword.iskeyword(class_name) or len(name) > LONGEST:
        raise InputError(f"{name!r} cannot name a family: {class_name[:20]!r} is not a class name.")
    taken = _find_spec(name)
    if taken is not None and taken.origin != str(Path(f"{name}.py").resolve()):
        raise InputError(f"{name!r} is the name of an installed module; choose another one.")


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _find_spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module that says nothing about where it comes from
        return sys.modules[name].__spec__ if name in sys.modules else None


@command
def check(
    family: FamilyName,
    dim: Dim = None,
    field: Fields = None,
    domain: OtherDomain = None,
    as_json: Json = False,
) -> None:
    """Check FAMILY without training: shapes, growth, jumps, closed form, sampler, PDE."""
    from feynkac.checks.checkup import check as check_family
    from feynkac.interfaces.console import print_table

    chosen = parse_family(family, dim, field, domain)
    found = check_family(chosen)
    if as_json:
        print_json(found.record())
    else:
        rows = [(f.verdict, f"{name}: {f.sentence}") for name, f in found.findings.items()]
        print_table(found.summary, ("verdict", "finding"), rows)
    if not found.passed:
        raise typer.Exit(1)
