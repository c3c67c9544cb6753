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

_HOMES = {
    "Absorbing": "families",
    "AdamW": "training.optimisers.optimiser",
    "AffineLinear": "families",
    "Antithetic": "sampling.noise.noise",
    "ArtifactError": "errors",
    "Bachelier": "families",
    "Barrier": "families",
    "BasketPut": "families",
    "Beta": "families",
    "BlackScholes": "families",
    "BlackScholesMerton": "families",
    "BoundaryValue": "families",
    "Box": "families",
    "Calibration": "analysis.calibration",
    "Certificate": "analysis.certificates",
    "Cev": "families",
    "Channel": "families",
    "Checkup": "checks.checkup",
    "ClosedForm": "families",
    "ClosedPartials": "families",
    "Conditional": "families",
    "Digital": "families",
    "Discount": "families",
    "Domain": "families",
    "DoubleWell": "families",
    "Effort": "analysis.certificates",
    "ErrorMap": "analysis.error_map",
    "Errors": "analysis.metrics",
    "Estimate": "sampling.reference",
    "EulerMaruyama": "sampling.schemes.euler_maruyama",
    "Exact": "sampling.schemes.exact",
    "ExactSampler": "families",
    "Family": "families",
    "FamilySteps": "sampling.schemes.family_steps",
    "FeedForward": "networks.feed_forward",
    "FeynkacError": "errors",
    "FeynkacWarning": "errors",
    "GaussNewton": "training.optimisers.gauss_newton",
    "GeometricBasket": "families",
    "Greek": "families",
    "HeatGaussian": "families",
    "HeatParaboloid": "families",
    "Heston": "families",
    "Independent": "sampling.noise.noise",
    "InputError": "errors",
    "Interrupted": "errors",
    "Jumps": "families",
    "LinearDecay": "training.schedules",
    "LogOde": "sampling.schemes.log_ode",
    "LogUniform": "families",
    "Measure": "families",
    "Milstein": "sampling.schemes.milstein",
    "MultiAsset": "families",
    "Multilevel": "networks.multilevel",
    "Muon": "training.optimisers.muon",
    "NamedGreeks": "families",
    "NinomiyaVictoir": "sampling.schemes.ninomiya_victoir",
    "NoiseDimension": "families",
    "NonFiniteError": "errors",
    "Normal": "families",
    "OrnsteinUhlenbeck": "families",
    "OwnSteps": "families",
    "Params": "families",
    "Payoff": "families",
    "Pays": "families",
    "Posterior": "analysis.posterior",
    "Problem": "analysis.observations",
    "Progress": "training.loop",
    "SGD": "training.optimisers.optimiser",
    "Rainbow": "families",
    "Rate": "families",
    "Sabr": "families",
    "Sampled": "families",
    "Smooth": "networks.smooth",
    "Sobol": "sampling.noise.sobol",
    "SobolIndices": "analysis.uncertainty",
    "Solution": "solution",
    "Source": "families",
    "SphericalRadial": "sampling.noise.spherical",
    "Spread": "families",
    "StepDecay": "training.schedules",
    "TimeDependent": "families",
    "Training": "training.settings",
    "Trapezoid": "sampling.noise.trapezoid",
    "Uncertainty": "analysis.uncertainty",
    "VectorValued": "families",
    "add_control": "control",
    "check": "checks.checkup",
    "monte_carlo": "sampling.reference",
    "solve": "solver",
}

__all__ = [
    "SGD",
    "Absorbing",
    "AdamW",
    "AffineLinear",
    "Antithetic",
    "ArtifactError",
    "Bachelier",
    "Barrier",
    "BasketPut",
    "Beta",
    "BlackScholes",
    "BlackScholesMerton",
    "BoundaryValue",
    "Box",
    "Calibration",
    "Certificate",
    "Cev",
    "Channel",
    "Checkup",
    "ClosedForm",
    "ClosedPartials",
    "Conditional",
    "Digital",
    "Discount",
    "Domain",
    "DoubleWell",
    "Effort",
    "ErrorMap",
    "Errors",
    "Estimate",
    "EulerMaruyama",
    "Exact",
    "ExactSampler",
    "Family",
    "FamilySteps",
    "FeedForward",
    "FeynkacError",
    "FeynkacWarning",
    "GaussNewton",
    "GeometricBasket",
    "Greek",
    "HeatGaussian",
    "HeatParaboloid",
    "Heston",
    "Independent",
    "InputError",
    "Interrupted",
    "Jumps",
    "LinearDecay",
    "LogOde",
    "LogUniform",
    "Measure",
    "Milstein",
    "MultiAsset",
    "Multilevel",
    "Muon",
    "NamedGreeks",
    "NinomiyaVictoir",
    "NoiseDimension",
    "NonFiniteError",
    "Normal",
    "OrnsteinUhlenbeck",
    "OwnSteps",
    "Params",
    "Payoff",
    "Pays",
    "Posterior",
    "Problem",
    "Progress",
    "Rainbow",
    "Rate",
    "Sabr",
    "Sampled",
    "Smooth",
    "Sobol",
    "SobolIndices",
    "Solution",
    "Source",
    "SphericalRadial",
    "Spread",
    "StepDecay",
    "TimeDependent",
    "Training",
    "Trapezoid",
    "Uncertainty",
    "VectorValued",
    "add_control",
    "check",
    "load",
    "monte_carlo",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        return import_module("feynkac.solution").Solution.load
    if name not in _HOMES:
        raise AttributeError(f"module 'feynkac' has no attribute {name!r}")
    return getattr(import_module(f"feynkac.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:
    from feynkac.analysis.calibration import Calibration
    from feynkac.analysis.certificates import Certificate, Effort
    from feynkac.analysis.error_map import ErrorMap
    from feynkac.analysis.metrics import Errors
    from feynkac.analysis.observations import Problem
    from feynkac.analysis.posterior import Posterior
    from feynkac.analysis.uncertainty import SobolIndices, Uncertainty
    from feynkac.checks.checkup import Checkup, check
    from feynkac.control import add_control
    from feynkac.errors import (
        ArtifactError,
        FeynkacError,
        FeynkacWarning,
        InputError,
        Interrupted,
        NonFiniteError,
    )
    from feynkac.families import (
        Absorbing,
        AffineLinear,
        Bachelier,
        Barrier,
        BasketPut,
        Beta,
        BlackScholes,
        BlackScholesMerton,
        BoundaryValue,
        Box,
        Cev,
        Channel,
        ClosedForm,
        ClosedPartials,
        Conditional,
        Digital,
        Discount,
        Domain,
        DoubleWell,
        ExactSampler,
        Family,
        GeometricBasket,
        Greek,
        HeatGaussian,
        HeatParaboloid,
        Heston,
        Jumps,
        LogUniform,
        Measure,
        MultiAsset,
        NamedGreeks,
        NoiseDimension,
        Normal,
        OrnsteinUhlenbeck,
        OwnSteps,
        Params,
        Payoff,
        Pays,
        Rainbow,
        Rate,
        Sabr,
        Sampled,
        Source,
        Spread,
        TimeDependent,
        VectorValued,
    )
    from feynkac.networks.feed_forward import FeedForward
    from feynkac.networks.multilevel import Multilevel
    from feynkac.networks.smooth import Smooth
    from feynkac.sampling.noise.noise import Antithetic, Independent
    from feynkac.sampling.noise.sobol import Sobol
    from feynkac.sampling.noise.spherical import SphericalRadial
    from feynkac.sampling.noise.trapezoid import Trapezoid
    from feynkac.sampling.reference import Estimate, monte_carlo
    from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
    from feynkac.sampling.schemes.exact import Exact
    from feynkac.sampling.schemes.family_steps import FamilySteps
    from feynkac.sampling.schemes.log_ode import LogOde
    from feynkac.sampling.schemes.milstein import Milstein
    from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
    from feynkac.solution import Solution
    from feynkac.solver import solve
    from feynkac.training.loop import Progress
    from feynkac.training.optimisers.gauss_newton import GaussNewton
    from feynkac.training.optimisers.muon import Muon
    from feynkac.training.optimisers.optimiser import SGD, AdamW
    from feynkac.training.schedules import LinearDecay, StepDecay
    from feynkac.training.settings import Training

    load = Solution.load
