"""What to solve: measures and domains, the family's base class and capabilities, models."""

from feynkac.families.affine_linear import AffineLinear
from feynkac.families.capabilities import (
    Absorbing,
    AdditiveNoise,
    BoundaryValue,
    ClosedForm,
    ClosedPartials,
    CommutingNoise,
    ConditionalMean,
    ConstantDiscount,
    ControlVariate,
    Coupled,
    DiagonalNoise,
    Discount,
    ExactSampler,
    ExactSteps,
    Greek,
    Jumps,
    NamedGreeks,
    NoiseDimension,
    OwnSteps,
    Pays,
    Rate,
    Reflected,
    Source,
    TimeDependent,
    VectorValued,
)
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.formulas.safe_root import safe_root
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Measure
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled
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
from feynkac.families.point import Params, Point
from feynkac.families.quoted import Quote, Quoted
from feynkac.families.shapes import Bounded, Calendar, Convex, Monotone, Shape, Shaped

__all__ = [
    "Absorbing",
    "AdditiveNoise",
    "AffineLinear",
    "Bachelier",
    "Barrier",
    "BasketPut",
    "Beta",
    "BlackScholes",
    "BlackScholesMerton",
    "BoundaryValue",
    "Bounded",
    "Box",
    "Calendar",
    "Cev",
    "Channel",
    "Cir",
    "ClosedForm",
    "ClosedPartials",
    "CommutingNoise",
    "ConditionalMean",
    "ConstantDiscount",
    "ControlVariate",
    "Convex",
    "Coupled",
    "DiagonalNoise",
    "Digital",
    "Discount",
    "Domain",
    "DoubleWell",
    "ExactSampler",
    "ExactSteps",
    "Family",
    "Fixed",
    "GeometricBasket",
    "Greek",
    "HeatGaussian",
    "HeatParaboloid",
    "Heston",
    "Jumps",
    "LogUniform",
    "Measure",
    "Monotone",
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
    "Quote",
    "Quoted",
    "Rainbow",
    "Rate",
    "Reflected",
    "Sabr",
    "Sampled",
    "Shape",
    "Shaped",
    "Source",
    "Spread",
    "TimeDependent",
    "Vasicek",
    "VectorValued",
    "safe_root",
]
