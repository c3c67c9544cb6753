"""A run: a family, a resolved method, and its length, seed and place, in one object.

It can be written down, and determines the result.
"""

import contextlib
import dataclasses
import json
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from feynkac.families.catalogue import BUILT_IN, family_fields
from feynkac.families.family import Family
from feynkac.files import sha256
from feynkac.fingerprint import fingerprint
from feynkac.methods import Method
from feynkac.parts import record_part
from feynkac.training.settings import Training, seconds

LOGISTICS = ("checkpoint_seconds",)
"""Fields of `Training` that do not change the result."""


@dataclass(frozen=True, config={"extra": "forbid"})
class FamilyRecord:
    """A family by name and fields; `built_in` ones can be rebuilt from that alone."""

    name: str
    fields: dict[str, Any]
    built_in: bool
    source: Annotated[str | None, Field(exclude_if=lambda found: found is None)] = None
    """Fingerprint of a user's formulas, see `fingerprint.py`."""
    domain: Annotated[dict[str, Any] | None, Field(exclude_if=lambda found: found is None)] = (
        dataclasses.field(default=None, repr=False)
    )
    """Where it is solved, if not on its own domain; see `Family.on`."""
    samplers: Annotated[str | None, Field(exclude_if=lambda found: found is None)] = None
    """Fingerprint of the functions that draw the inputs of that domain, if there are any."""


@dataclass(frozen=True, config={"extra": "forbid"})
class Run:
    """Same run, same numbers (on the same machine with the same number of threads)."""

    family: FamilyRecord
    method: Method
    """With all choices made."""
    training: Training
    asked: Annotated[str | None, Field(exclude_if=lambda found: found is None)] = dataclasses.field(
        default=None, compare=False
    )
    """A hash of what was asked for; the rest was chosen, partly by pilots."""

    @property
    def identity(self) -> str:
        """A hash of all settings."""
        return sha256(json.dumps(settings_of(self), sort_keys=True).encode())


_ADAPTER = TypeAdapter(Run)


def run_to_dict(run: Run) -> dict[str, Any]:
    """`run` as JSON-ready data."""
    data: dict[str, Any] = _ADAPTER.dump_python(run, mode="json")
    return data


def run_from_dict(data: dict[str, Any]) -> Run:
    """The run that `run_to_dict` wrote down."""
    return _ADAPTER.validate_python(data)


def settings_of(run: Run) -> dict[str, Any]:
    """What determines the result, as JSON-ready data."""
    return determining(run_to_dict(run))


def determining(data: dict[str, Any]) -> dict[str, Any]:
    """The part of a run's data that determines the result."""
    training = {k: v for k, v in data["training"].items() if k not in LOGISTICS}
    return {name: data[name] for name in ("family", "method")} | {"training": training}


def record_family(family: Family) -> FamilyRecord:
    """What identifies `family`.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> record_family(BlackScholes()).name
        'black-scholes'
    """
    name, cls = family.name(), type(family)
    built_in = BUILT_IN.get(name) is cls
    source = None if built_in else fingerprint(cls)
    other = None if family.other_domain is None else family.other_domain.record()
    drawn_by = family.other_domain.samplers if family.other_domain else ()
    samplers = fingerprint(*drawn_by) if drawn_by else None
    return FamilyRecord(name, family_fields(family), built_in, source, other, samplers)


def asked_for(family: Family, method: Method, training: dict[str, Any]) -> str:
    """A hash of what a user says when a run is begun; defaults that are spelled out do not count.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.methods import Fast
        >>> a, b = ({"steps": 3}, {"steps": 3, "seed": 0, "budget": None})
        >>> len({asked_for(BlackScholes(), Fast(), given) for given in (a, b)})
        1
    """
    usual = {field.name: field.default for field in dataclasses.fields(Training)}
    counted = {k: v for k, v in training.items() if k not in LOGISTICS}
    given = {k: v for k, v in counted.items() if v is not None and v != usual.get(k)}
    with contextlib.suppress(KeyError, ValueError):  # what is no time is refused elsewhere
        given["budget"] = seconds(given["budget"])
    record = record_family(family)
    said = [record, record_part(method), sorted(given.items())]
    if record.domain is not None:
        said.append(record.domain)
    return sha256(repr(said).encode())


def with_logistics(run: Run, given: dict[str, Any]) -> Run:
    """`run` with those of the `given` settings that do not change its result."""
    wanted = {name: given[name] for name in LOGISTICS if name in given}
    return dataclasses.replace(run, training=dataclasses.replace(run.training, **wanted))


@dataclass(frozen=True, config={"extra": "forbid", "strict": True})
class Decisions:
    """What a run decides for itself when it begins, and keeps when it is continued."""

    evaluations: Annotated[int, Field(ge=1)]
    """How often the error is measured."""
    bias: tuple[float, float] | None = None
    """Estimated discretisation error of the scheme and its standard error, where it has one."""
    threads: Annotated[int, Field(ge=1)] | None = None
    """Threads of training, if a run with a budget chose them; None: those of the process."""
    began_with: Annotated[int, Field(ge=1)] | None = None
    """Threads of the process that began the run; older runs do not say."""
    sets: Annotated[int, Field(ge=1)] | None = None
    """Parameter sets of labels that were made before training; None: there are none."""


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two JSON trees differ, as `path: theirs there, ours here`.

    Example:
        >>> differences({"a": {"b": 1}}, {"a": {"b": 2}})
        ['a.b is 2 there, 1 here']
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(ours.keys() | theirs.keys())
        return [
            line
            for key in keys
            for line in differences(ours.get(key), theirs.get(key), f"{path}.{key}".strip("."))
        ]
    return [] if ours == theirs else [f"{path} is {theirs!r} there, {ours!r} here"]
