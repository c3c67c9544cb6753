"""Derivatives of u that have names, such as  Δ = ∂u/∂x  and  Θ = −∂u/∂t."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Greek:
    """A named derivative: `sign` times ∂u along `names`, as in Θ = −∂u/∂t.

    A second derivative along the same vector variable is its diagonal, one number per asset.

    Example:
        >>> Greek(("t",), sign=-1.0)
        Greek(names=('t',), sign=-1.0)
    """

    names: tuple[str, ...]
    sign: float = 1.0
