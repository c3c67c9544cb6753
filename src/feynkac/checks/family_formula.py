"""The formulas of a family as functions of a batch of inputs, so that one loop checks them all."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from torch import Tensor

from feynkac.families.capabilities import (
    Absorbing,
    BoundaryValue,
    ClosedForm,
    ConditionalMean,
    ControlVariate,
    Discount,
    ExactSampler,
    OwnSteps,
    Source,
)
from feynkac.families.family import Family, outputs, timed
from feynkac.families.point import Params, Point


class FamilyFormula(NamedTuple):
    """One formula of a family, such as μ or the closed form."""

    name: str
    value: Callable[[Point, Tensor], Tensor]
    """Of points and normals.  Shape: x `(…, d)`, dw `(…, m)` → `(…, width)`."""
    width: int | None
    """Length of the last axis of its values; None: any."""
    by_path: bool = False
    """Whether it depends on the normals."""


def formulas_of(family: Family) -> Iterator[FamilyFormula]:
    """All formulas of `family`, those of its capabilities included.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> [formula.name for formula in formulas_of(BlackScholes())]
        ['drift', 'diffusion', 'initial', 'exact', 'closed_form']
    """
    dim, several = family.domain.state_dim, outputs(family)

    def known(point: Point) -> Params:
        return timed(family, point.p, point.t)

    yield FamilyFormula("drift", lambda at, _: family.drift(at.x, known(at)), dim)
    yield FamilyFormula("diffusion", lambda at, w: family.diffusion(at.x, w, known(at)), dim, True)
    yield FamilyFormula("initial", lambda at, _: family.initial(at.x, known(at)), several)
    if isinstance(family, Discount):
        yield FamilyFormula("discount", lambda at, _: family.discount(at.x, known(at)), 1)
    if isinstance(family, Source):
        yield FamilyFormula("source", lambda at, _: family.source(at.x, known(at)), several)
    if isinstance(family, Absorbing):
        yield FamilyFormula("distance", lambda at, _: family.distance(at.x, known(at)), None)
    if isinstance(family, BoundaryValue):
        yield FamilyFormula(
            "boundary_value", lambda at, _: family.boundary_value(at.x, known(at)), several
        )
    if isinstance(family, ExactSampler):
        yield FamilyFormula("exact", lambda at, z: family.exact(at.x, at.t, at.p, z), dim, True)
    if isinstance(family, OwnSteps):
        yield FamilyFormula("step", lambda at, z: family.step(at.x, at.t, known(at), z), dim, True)
    if isinstance(family, ConditionalMean):
        yield FamilyFormula(
            "expected", lambda at, z: family.expected(*at, z.unsqueeze(0)), several, by_path=True
        )
    if isinstance(family, ControlVariate):
        yield FamilyFormula(
            "controlled", lambda at, z: family.controlled(*at, z.unsqueeze(0)), several, True
        )
    if isinstance(family, ClosedForm):
        yield FamilyFormula("closed_form", lambda at, _: family.closed_form(*at), several)
