"""feynkac: one network for a whole family of Kolmogorov PDEs.

Every public name, no logic. Names are looked up on first use, so that `import feynkac` and the
command line's `--help` do not wait for torch.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Threads of torch that wait for each other must give way to other work. As OpenMP starts them, they
# spin for milliseconds, and a step takes several times as long on a busy machine.
os.environ.setdefault("GOMP_SPINCOUNT", "3000")

__version__ = "0.1.0"

_NAMES = {
    "analysis.calibration": "Calibration",
    "analysis.certificates": "Certificate Effort",
    "analysis.error_map": "ErrorMap",
    "analysis.implied_volatility": "black_price black_vega implied_volatility why_no_volatility",
    "analysis.metrics": "Errors",
    "analysis.normal_volatility": "normal_volatility",
    "analysis.observations": "Problem",
    "analysis.posterior": "Posterior",
    "analysis.shape": "ShapeReport",
    "analysis.uncertainty": "SobolIndices Uncertainty",
    "checks.checkup": "Checkup check",
    "control": "add_control",
    "errors": "ArtifactError FeynkacError FeynkacWarning InputError Interrupted NonFiniteError",
    "exporting.export": "export",
    "families": """
        Absorbing AdditiveNoise AffineLinear Bachelier Barrier BasketPut Beta BlackScholes
        BlackScholesMerton BoundaryValue Bounded Box Calendar Cev Channel Cir ClosedForm
        ClosedPartials CommutingNoise ConditionalMean ConstantDiscount ControlVariate
        Convex Coupled DiagonalNoise Digital Discount Domain DoubleWell ExactSampler
        ExactSteps Family Fixed GeometricBasket Greek HeatGaussian HeatParaboloid Heston
        Jumps LogUniform Measure Monotone MultiAsset NamedGreeks NoiseDimension Normal
        OrnsteinUhlenbeck OwnSteps Params Payoff Pays Quote Quoted Rainbow Rate Reflected
        Sabr Sampled Shape Shaped Source Spread TimeDependent Vasicek VectorValued
        safe_root
    """,
    "grids.grid": "Grid",
    "library.pretrained": "pretrained",
    "market.fitting": "calibrate_formula",
    "market.market_fit": "MarketFit",
    "market.quotes": "BondQuotes OptionQuotes Quotes",
    "market.reading": "read_quotes",
    "methods": "Fast Method Paper",
    "methods.dimension": "Choice Interval",
    "methods.space": "Space",
    "networks": "Architecture FeedForward Multilevel Smooth",
    "phases": "Phase listening",
    "runs.tracking": "CsvTracker TensorBoardTracker Tracker",
    "sampling.noise": """
        Antithetic Independent Noise ParallelLines Rays Sobol SphericalRadial
        Stretched Trapezoid""",
    "sampling.reference": "Estimate monte_carlo",
    "sampling.schemes": """
        EulerMaruyama Exact ExtrapolatedEuler ExtrapolatedFlows FamilySteps Gaussian Geometric
        LogGaussian LogOde Milstein NinomiyaVictoir Scheme
    """,
    "solution": "Solution",
    "solver": "solve",
    "training.loop": "Progress",
    "training.objective": "MeanSquare Objective",
    "training.optimisers": "AdamW GaussNewton Muon Optimiser SGD",
    "training.schedules": "LinearDecay Schedule StepDecay",
    "training.settings": "Training",
}
"""Public names by the module they come from."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = [*sorted(_HOMES), "load", "plot"]


def __getattr__(name: str) -> Any:
    if name == "load":
        return import_module("feynkac.solution").Solution.load
    if name == "plot":
        return import_module("feynkac.plotting")
    if name not in _HOMES:
        from feynkac.suggestions import did_you_mean

        hint = "" if name.startswith("_") else did_you_mean(name, __all__)
        raise AttributeError(f"module 'feynkac' has no attribute {name!r}.{hint}")
    return getattr(import_module(f"feynkac.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:
    import feynkac.plotting as plot
    from feynkac.analysis.calibration import Calibration as Calibration
    from feynkac.analysis.certificates import Certificate as Certificate
    from feynkac.analysis.certificates import Effort as Effort
    from feynkac.analysis.error_map import ErrorMap as ErrorMap
    from feynkac.analysis.implied_volatility import black_price as black_price
    from feynkac.analysis.implied_volatility import black_vega as black_vega
    from feynkac.analysis.implied_volatility import implied_volatility as implied_volatility
    from feynkac.analysis.implied_volatility import why_no_volatility as why_no_volatility
    from feynkac.analysis.metrics import Errors as Errors
    from feynkac.analysis.normal_volatility import normal_volatility as normal_volatility
    from feynkac.analysis.observations import Problem as Problem
    from feynkac.analysis.posterior import Posterior as Posterior
    from feynkac.analysis.shape import ShapeReport as ShapeReport
    from feynkac.analysis.uncertainty import SobolIndices as SobolIndices
    from feynkac.analysis.uncertainty import Uncertainty as Uncertainty
    from feynkac.checks.checkup import Checkup as Checkup
    from feynkac.checks.checkup import check as check
    from feynkac.control import add_control as add_control
    from feynkac.errors import ArtifactError as ArtifactError
    from feynkac.errors import FeynkacError as FeynkacError
    from feynkac.errors import FeynkacWarning as FeynkacWarning
    from feynkac.errors import InputError as InputError
    from feynkac.errors import Interrupted as Interrupted
    from feynkac.errors import NonFiniteError as NonFiniteError
    from feynkac.exporting.export import export as export
    from feynkac.families import Absorbing as Absorbing
    from feynkac.families import AdditiveNoise as AdditiveNoise
    from feynkac.families import AffineLinear as AffineLinear
    from feynkac.families import Bachelier as Bachelier
    from feynkac.families import Barrier as Barrier
    from feynkac.families import BasketPut as BasketPut
    from feynkac.families import Beta as Beta
    from feynkac.families import BlackScholes as BlackScholes
    from feynkac.families import BlackScholesMerton as BlackScholesMerton
    from feynkac.families import BoundaryValue as BoundaryValue
    from feynkac.families import Bounded as Bounded
    from feynkac.families import Box as Box
    from feynkac.families import Calendar as Calendar
    from feynkac.families import Cev as Cev
    from feynkac.families import Channel as Channel
    from feynkac.families import Cir as Cir
    from feynkac.families import ClosedForm as ClosedForm
    from feynkac.families import ClosedPartials as ClosedPartials
    from feynkac.families import CommutingNoise as CommutingNoise
    from feynkac.families import ConditionalMean as ConditionalMean
    from feynkac.families import ConstantDiscount as ConstantDiscount
    from feynkac.families import ControlVariate as ControlVariate
    from feynkac.families import Convex as Convex
    from feynkac.families import Coupled as Coupled
    from feynkac.families import DiagonalNoise as DiagonalNoise
    from feynkac.families import Digital as Digital
    from feynkac.families import Discount as Discount
    from feynkac.families import Domain as Domain
    from feynkac.families import DoubleWell as DoubleWell
    from feynkac.families import ExactSampler as ExactSampler
    from feynkac.families import ExactSteps as ExactSteps
    from feynkac.families import Family as Family
    from feynkac.families import Fixed as Fixed
    from feynkac.families import GeometricBasket as GeometricBasket
    from feynkac.families import Greek as Greek
    from feynkac.families import HeatGaussian as HeatGaussian
    from feynkac.families import HeatParaboloid as HeatParaboloid
    from feynkac.families import Heston as Heston
    from feynkac.families import Jumps as Jumps
    from feynkac.families import LogUniform as LogUniform
    from feynkac.families import Measure as Measure
    from feynkac.families import Monotone as Monotone
    from feynkac.families import MultiAsset as MultiAsset
    from feynkac.families import NamedGreeks as NamedGreeks
    from feynkac.families import NoiseDimension as NoiseDimension
    from feynkac.families import Normal as Normal
    from feynkac.families import OrnsteinUhlenbeck as OrnsteinUhlenbeck
    from feynkac.families import OwnSteps as OwnSteps
    from feynkac.families import Params as Params
    from feynkac.families import Payoff as Payoff
    from feynkac.families import Pays as Pays
    from feynkac.families import Quote as Quote
    from feynkac.families import Quoted as Quoted
    from feynkac.families import Rainbow as Rainbow
    from feynkac.families import Rate as Rate
    from feynkac.families import Reflected as Reflected
    from feynkac.families import Sabr as Sabr
    from feynkac.families import Sampled as Sampled
    from feynkac.families import Shape as Shape
    from feynkac.families import Shaped as Shaped
    from feynkac.families import Source as Source
    from feynkac.families import Spread as Spread
    from feynkac.families import TimeDependent as TimeDependent
    from feynkac.families import Vasicek as Vasicek
    from feynkac.families import VectorValued as VectorValued
    from feynkac.families import safe_root as safe_root
    from feynkac.grids.grid import Grid as Grid
    from feynkac.library.pretrained import pretrained as pretrained
    from feynkac.market.fitting import calibrate_formula as calibrate_formula
    from feynkac.market.market_fit import MarketFit as MarketFit
    from feynkac.market.quotes import BondQuotes as BondQuotes
    from feynkac.market.quotes import OptionQuotes as OptionQuotes
    from feynkac.market.quotes import Quotes as Quotes
    from feynkac.market.reading import read_quotes as read_quotes
    from feynkac.methods import Fast as Fast
    from feynkac.methods import Method as Method
    from feynkac.methods import Paper as Paper
    from feynkac.methods.dimension import Choice as Choice
    from feynkac.methods.dimension import Interval as Interval
    from feynkac.methods.space import Space as Space
    from feynkac.networks import Architecture as Architecture
    from feynkac.networks import FeedForward as FeedForward
    from feynkac.networks import Multilevel as Multilevel
    from feynkac.networks import Smooth as Smooth
    from feynkac.phases import Phase as Phase
    from feynkac.phases import listening as listening
    from feynkac.runs.tracking import CsvTracker as CsvTracker
    from feynkac.runs.tracking import TensorBoardTracker as TensorBoardTracker
    from feynkac.runs.tracking import Tracker as Tracker
    from feynkac.sampling.noise import Antithetic as Antithetic
    from feynkac.sampling.noise import Independent as Independent
    from feynkac.sampling.noise import Noise as Noise
    from feynkac.sampling.noise import ParallelLines as ParallelLines
    from feynkac.sampling.noise import Rays as Rays
    from feynkac.sampling.noise import Sobol as Sobol
    from feynkac.sampling.noise import SphericalRadial as SphericalRadial
    from feynkac.sampling.noise import Stretched as Stretched
    from feynkac.sampling.noise import Trapezoid as Trapezoid
    from feynkac.sampling.reference import Estimate as Estimate
    from feynkac.sampling.reference import monte_carlo as monte_carlo
    from feynkac.sampling.schemes import EulerMaruyama as EulerMaruyama
    from feynkac.sampling.schemes import Exact as Exact
    from feynkac.sampling.schemes import ExtrapolatedEuler as ExtrapolatedEuler
    from feynkac.sampling.schemes import ExtrapolatedFlows as ExtrapolatedFlows
    from feynkac.sampling.schemes import FamilySteps as FamilySteps
    from feynkac.sampling.schemes import Gaussian as Gaussian
    from feynkac.sampling.schemes import Geometric as Geometric
    from feynkac.sampling.schemes import LogGaussian as LogGaussian
    from feynkac.sampling.schemes import LogOde as LogOde
    from feynkac.sampling.schemes import Milstein as Milstein
    from feynkac.sampling.schemes import NinomiyaVictoir as NinomiyaVictoir
    from feynkac.sampling.schemes import Scheme as Scheme
    from feynkac.solution import Solution as Solution
    from feynkac.solver import solve as solve
    from feynkac.training.loop import Progress as Progress
    from feynkac.training.objective import MeanSquare as MeanSquare
    from feynkac.training.objective import Objective as Objective
    from feynkac.training.optimisers import SGD as SGD
    from feynkac.training.optimisers import AdamW as AdamW
    from feynkac.training.optimisers import GaussNewton as GaussNewton
    from feynkac.training.optimisers import Muon as Muon
    from feynkac.training.optimisers import Optimiser as Optimiser
    from feynkac.training.schedules import LinearDecay as LinearDecay
    from feynkac.training.schedules import Schedule as Schedule
    from feynkac.training.schedules import StepDecay as StepDecay
    from feynkac.training.settings import Training as Training

    load = Solution.load
