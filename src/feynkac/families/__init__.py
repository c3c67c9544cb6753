"""What to solve: measures and domains, the family's base class and capabilities, models."""

from feynkac.families.affine_linear import AffineLinear
from feynkac.families.bachelier import Bachelier
from feynkac.families.barrier import Barrier
from feynkac.families.basket_put import BasketPut
from feynkac.families.beta import Beta
from feynkac.families.black_scholes import BlackScholes
from feynkac.families.black_scholes_merton import BlackScholesMerton
from feynkac.families.box import Box
from feynkac.families.cev import Cev
from feynkac.families.channel import Channel
from feynkac.families.digital import Digital
from feynkac.families.domain import Domain
from feynkac.families.double_well import DoubleWell
from feynkac.families.family import (
    Absorbing,
    BoundaryValue,
    ClosedForm,
    ClosedPartials,
    Discount,
    ExactSampler,
    Family,
    Greek,
    Jumps,
    NamedGreeks,
    NoiseDimension,
    OwnSteps,
    Pays,
    Source,
    TimeDependent,
    VectorValued,
)
from feynkac.families.geometric_basket import GeometricBasket
from feynkac.families.heat_gaussian import HeatGaussian
from feynkac.families.heat_paraboloid import HeatParaboloid
from feynkac.families.heston import Heston
from feynkac.families.log_uniform import LogUniform
from feynkac.families.measure import Measure
from feynkac.families.multi_asset import MultiAsset
from feynkac.families.normal import Normal
from feynkac.families.ornstein_uhlenbeck import OrnsteinUhlenbeck
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params, Point
from feynkac.families.sabr import Sabr
from feynkac.families.sampled import Sampled

__all__ = [
    "Absorbing",
    "AffineLinear",
    "Bachelier",
    "Barrier",
    "BasketPut",
    "Beta",
    "BlackScholes",
    "BlackScholesMerton",
    "BoundaryValue",
    "Box",
    "Cev",
    "Channel",
    "ClosedForm",
    "ClosedPartials",
    "Digital",
    "Discount",
    "Domain",
    "DoubleWell",
    "ExactSampler",
    "Family",
    "GeometricBasket",
    "Greek",
    "HeatGaussian",
    "HeatParaboloid",
    "Heston",
    "Jumps",
    "LogUniform",
    "Measure",
    "MultiAsset",
    "NamedGreeks",
    "NoiseDimension",
    "Normal",
    "OrnsteinUhlenbeck",
    "OwnSteps",
    "Params",
    "Payoff",
    "Pays",
    "Point",
    "Sabr",
    "Sampled",
    "Source",
    "TimeDependent",
    "VectorValued",
]
