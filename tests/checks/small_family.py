"""A family that is checked in no time, with something wrong if a test wants that."""

import dataclasses

import feynkac as fk


def small(cls=fk.HeatGaussian, **members):
    """A family of two dimensions with some members replaced."""
    derived = type("Changed", (cls,), {"__annotations__": {"dim": int}, "dim": 2, **members})
    return dataclasses.dataclass(frozen=True)(derived)()
