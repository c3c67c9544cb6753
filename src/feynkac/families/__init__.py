"""What to solve: boxes and domains, the family's base class and capabilities, built-in models."""

from feynkac.families.affine_linear import AffineLinear
from feynkac.families.basket_put import BasketPut
from feynkac.families.black_scholes import BlackScholes
from feynkac.families.box import Box
from feynkac.families.domain import Domain
from feynkac.families.family import (
    ClosedForm,
    ClosedPartials,
    ExactSampler,
    Family,
    Greek,
    Jumps,
    NamedGreeks,
)
from feynkac.families.heat_gaussian import HeatGaussian
from feynkac.families.heat_paraboloid import HeatParaboloid
from feynkac.families.point import Params, Point

__all__ = [
    "AffineLinear",
    "BasketPut",
    "BlackScholes",
    "Box",
    "ClosedForm",
    "ClosedPartials",
    "Domain",
    "ExactSampler",
    "Family",
    "Greek",
    "HeatGaussian",
    "HeatParaboloid",
    "Jumps",
    "NamedGreeks",
    "Params",
    "Point",
]
