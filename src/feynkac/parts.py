"""Settings that users may extend: schemes, noises, networks, optimisers, schedules, methods.

A part is a frozen dataclass whose fields are written to the manifest beside its `kind`. A subclass
of one's own is used like ours. An artifact holds no code: to read one back, the class must have
been defined, and by the same formulas.
"""

import inspect
import re
from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from feynkac.errors import ArtifactError, InputError
from feynkac.fingerprint import fingerprint


class UnknownPartError(ArtifactError):
    """A user's own part that is not defined here, or has changed since."""


class Part(ABC):
    """Base of all settings that have subclasses. Fields of an abstract type hold any of them."""

    kind: ClassVar[str]
    """What a manifest calls it; by default the class name in kebab case."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "kind" not in vars(cls):
            cls.kind = kebab(cls.__name__)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not inspect.isabstract(cls):
            return handler(source)
        return core_schema.no_info_plain_validator_function(
            lambda value: read_part(cls, value),
            serialization=core_schema.plain_serializer_function_ser_schema(record_part),
        )


def kebab(name: str) -> str:
    """`LogOde` as `log-ode`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def record_part(part: Part) -> dict[str, Any]:
    """Fields, kind and, for a user's own, the fingerprint of its formulas; JSON-ready."""
    cls = type(part)
    role = _role(cls)
    if kinds(role).get(cls.kind) is not cls:
        raise InputError(
            f"there is another {_word(role)} called {cls.kind!r}; rename the class {cls.__name__}, "
            "or make the object anew if the class was defined again."
        )
    fields = TypeAdapter(cls).dump_python(part, mode="json", exclude_none=True)
    own = {} if is_built_in(cls) else {"source": fingerprint(cls)}
    return {**fields, "kind": cls.kind, **own}


def read_part(role: type, data: Any) -> Any:
    """The part that `record_part` wrote down.

    Args:
        role: its abstract base class.
        data: what was written, or the part itself.

    Raises:
        UnknownPartError: it is a user's own, and not defined here or changed since.
        ValueError: there is no such part.
    """
    if isinstance(data, role):
        return data
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise ValueError(f"expected a {_word(role)}, got {data!r}")
    fields = {name: value for name, value in data.items() if name not in ("kind", "source")}
    cls, source = kinds(role).get(data["kind"]), data.get("source")
    if cls is None or (source is None) != is_built_in(cls):
        raise UnknownPartError(
            f"the {_word(role)} {data['kind']!r} is not built in, and an artifact holds no code; "
            "import the file that defines it first."
        )
    if source is not None and source != fingerprint(cls):
        raise UnknownPartError(
            f"the {_word(role)} {data['kind']!r} is another one now: its formulas have changed "
            "since the artifact was written."
        )
    return TypeAdapter(cls).validate_python(fields)


def kinds(role: type) -> dict[str, type[Any]]:
    """All that can be used now in the role of an abstract class; ours win over namesakes."""
    found = [cls for cls in _subclasses(role) if not inspect.isabstract(cls)]
    return {cls.kind: cls for cls in sorted(found, key=is_built_in)}


def is_built_in(cls: type) -> bool:
    """Whether it is feynkac's own."""
    return cls.__module__.partition(".")[0] == "feynkac"


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


def _role(cls: type[Part]) -> type[Part]:
    """The abstract class just below `Part`."""
    return next(base for base in cls.__mro__ if Part in base.__bases__)


def _word(role: type) -> str:
    return role.__name__.lower()
