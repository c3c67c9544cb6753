"""The command `families`: what is built in, one line each, or one family in detail."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from feynkac.errors import InputError
from feynkac.interfaces.application import Json, command, print_json

if TYPE_CHECKING:
    from feynkac.families.family import Family


@command
def families(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS]...", help="Only those that mention all of these words."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the built-in families; the name of one shows its variables and their ranges."""
    from feynkac.families.catalogue import BUILT_IN
    from feynkac.families.family import description
    from feynkac.interfaces.console import print_table
    from feynkac.suggestions import did_you_mean

    asked = words or []
    named = [name for name in BUILT_IN if asked == [name]]
    found = {
        name: cls()
        for name, cls in BUILT_IN.items()
        if name in named or (not named and _mentions(cls, asked))
    }
    if not found:
        raise InputError(
            f"no family mentions {' '.join(asked)!r}.{did_you_mean(' '.join(asked), BUILT_IN)}"
        )
    if as_json:
        return print_json({"families": [_record(family) for family in found.values()]})
    if len(found) == 1:
        return _print_one(*found.values())
    rows = [(name, description(family)) for name, family in found.items()]
    print_table(_title(asked), ("name", "what it is"), rows, cut=True)
    return typer.echo("feynkac families NAME shows one of them in detail")


def _title(words: list[str]) -> str:
    return "Built-in families" + (f" that mention {' '.join(words)}" if words else "")


def _mentions(cls: "type[Family]", words: list[str]) -> bool:
    """Whether name, description or variables hold all words; a plural counts as its singular."""
    text = " ".join([cls.name(), cls.__doc__ or "", *cls().domain.measures]).lower()
    return all(word.lower().removesuffix("s") in text for word in words)


def _record(family: "Family") -> dict[str, Any]:
    from feynkac.families.capabilities import ClosedForm, ExactSampler
    from feynkac.families.family import description

    return {
        "name": family.name(),
        "description": description(family),
        "inputs": family.domain.dim,
        "domain": {n: box.record() for n, box in family.domain.measures.items()},
        "exact_sampler": isinstance(family, ExactSampler),
        "closed_form": isinstance(family, ClosedForm),
    }


def _print_one(family: "Family") -> None:
    from feynkac.families.family import description
    from feynkac.interfaces.console import print_table

    record = _record(family)
    rows = [(name, str(measure)) for name, measure in family.domain.measures.items()]
    yes = {True: "yes", False: "no"}
    rows += [
        ("numbers the network reads", str(record["inputs"])),
        ("exact sampler", yes[record["exact_sampler"]]),
        ("closed form", yes[record["closed_form"]]),
    ]
    print_table(f"{family.name()}: {description(family)}", ("", ""), rows)
    typer.echo(f"feynkac solve {family.name()} --budget 60s trains one network for all of it")
