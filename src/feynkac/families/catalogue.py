"""Families by name: the built-in ones, and a user's own from `path/to/file.py:ClassName`.

A family is written down as its name and its dataclass fields, and rebuilt from them. A user's file
is code: it is imported only when the user names it, never because a saved artifact mentions it.
"""

import dataclasses
from typing import Any

from feynkac.errors import FeynkacError, InputError
from feynkac.families.capabilities import Pays
from feynkac.families.family import Family
from feynkac.families.models.bachelier import Bachelier
from feynkac.families.models.barrier import Barrier
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.families.models.cev import Cev
from feynkac.families.models.channel import Channel
from feynkac.families.models.cir import Cir
from feynkac.families.models.digital import Digital
from feynkac.families.models.double_well import DoubleWell
from feynkac.families.models.geometric_basket import GeometricBasket
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.families.models.heston import Heston
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.models.ornstein_uhlenbeck import OrnsteinUhlenbeck
from feynkac.families.models.rainbow import Rainbow
from feynkac.families.models.sabr import Sabr
from feynkac.families.models.spread import Spread
from feynkac.families.models.vasicek import Vasicek
from feynkac.families.payoff import Payoff
from feynkac.suggestions import did_you_mean
from feynkac.user_files import import_file

BUILT_IN: dict[str, type[Family]] = {
    cls.name(): cls
    for cls in (
        *(BlackScholes, BasketPut, HeatParaboloid, HeatGaussian),  # the paper's
        *(BlackScholesMerton, Digital, Barrier, Bachelier, Cev, Heston, Sabr),
        *(MultiAsset, GeometricBasket, Rainbow, Spread),
        *(Vasicek, Cir),
        *(OrnsteinUhlenbeck, Channel, DoubleWell),
    )
}


def find_family(spec: str, fields: dict[str, Any] | None = None) -> Family:
    """The family that `spec` names, with its fields set.

    Args:
        spec: a built-in name, or `path/to/file.py:ClassName`.
        fields: values of the dataclass fields, such as `{"dim": 5}`.

    Example:
        >>> find_family("heat-paraboloid", {"dim": 5})
        HeatParaboloid(dim=5)
    """
    cls = _class_from_file(spec) if ":" in spec else _built_in(spec)
    return _instantiate(cls, fields or {})


def family_fields(family: Family) -> dict[str, Any]:
    """The dataclass fields that rebuild `family`.

    Raises:
        InputError: the family is not a dataclass, so that its settings cannot be known.
    """
    fields = _dataclass_fields(type(family))
    if fields is None:
        raise InputError(
            f"{type(family).__name__} must be a frozen dataclass, so that its settings can be "
            "saved; put @dataclass(frozen=True) above it."
        )
    values = {name: getattr(family, name) for name in fields}
    return {n: str(v) if isinstance(v, Payoff) else v for n, v in values.items()}


def _dataclass_fields(cls: type[Family]) -> list[str] | None:
    if "__dataclass_params__" not in vars(cls):
        return None
    base = {f.name for f in dataclasses.fields(Family)}  # the domain is recorded on its own
    return [f.name for f in dataclasses.fields(cls) if f.init and f.name not in base]


def _built_in(name: str) -> type[Family]:
    if name in BUILT_IN:
        return BUILT_IN[name]
    raise InputError(
        f"unknown family {name!r}.{did_you_mean(name, BUILT_IN)} Built in: {', '.join(BUILT_IN)}; "
        "your own: path/to/file.py:ClassName."
    )


def _class_from_file(spec: str) -> type[Family]:
    location, _, class_name = spec.rpartition(":")
    module = import_file(location)
    cls = getattr(module, class_name, None)
    if not (isinstance(cls, type) and issubclass(cls, Family)):
        own = [n for n, c in vars(module).items() if _is_own_family(c, module.__name__)]
        raise InputError(
            f"{location} has no Family named {class_name!r}; it has: {', '.join(own) or 'none'}."
        )
    return cls


def _is_own_family(value: Any, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Family) and value.__module__ == module


def _instantiate(cls: type[Family], fields: dict[str, Any]) -> Family:
    known = _dataclass_fields(cls) or []
    if unknown := [name for name in fields if name not in known]:
        names = ", ".join(known) or "none"
        raise InputError(
            f"{cls.__name__} has no field {unknown[0]!r}; it has: {names}."
            f"{did_you_mean(unknown[0], known)}"
        )
    dim = fields.get("dim", 1)
    if not (isinstance(dim, int) and dim >= 1):
        raise InputError(f"dim must be a whole number ≥ 1, got {dim!r}.")
    if issubclass(cls, Pays) and isinstance(text := fields.get("payoff"), str):
        fields = fields | {"payoff": Payoff.parse(text)}
    try:
        return cls(**fields)
    except FeynkacError:
        raise
    except Exception as error:  # a field without default, or the user's own __post_init__
        raise InputError(f"{cls.__name__} cannot be made from {fields}: {error}.") from error
