"""Laws of random inputs, from a request."""

from collections.abc import Mapping
from typing import Any

from feynkac.errors import InputError
from feynkac.interfaces.parsing import make_law
from feynkac.interfaces.server.inputs import as_array
from feynkac.interfaces.server.problems import Fault, bad_value
from feynkac.interfaces.server.requests import Law


def parse_laws(given: Mapping[str, Any]) -> dict[str, Any]:
    """Frozen laws of SciPy, or arrays, by name."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(value, Law):
            found[name] = as_array(value, f"given.{name}")
            continue
        try:
            found[name] = make_law(value.law, *value.parameters)
        except InputError as error:
            field = f"given.{name}.parameters"
            raise bad_value(Fault(field, str(value.parameters), f"{field}: {error}")) from None
    return found
