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
    "AdamW": "training.optimisers",
    "AffineLinear": "families",
    "Antithetic": "sampling.noise",
    "Architecture": "networks",
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
    "Checkup": "analysis.checkup.checkup",
    "Choice": "methods.dimension",
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
    "EulerMaruyama": "sampling.schemes",
    "Exact": "sampling.schemes",
    "ExactSampler": "families",
    "Family": "families",
    "FamilySteps": "sampling.schemes",
    "Fast": "methods",
    "FeedForward": "networks",
    "FeynkacError": "errors",
    "FeynkacWarning": "errors",
    "GaussNewton": "training.optimisers",
    "GeometricBasket": "families",
    "Greek": "families",
    "HeatGaussian": "families",
    "HeatParaboloid": "families",
    "Heston": "families",
    "Independent": "sampling.noise",
    "InputError": "errors",
    "Interrupted": "errors",
    "Interval": "methods.dimension",
    "Jumps": "families",
    "LinearDecay": "training.schedules",
    "LogOde": "sampling.schemes",
    "LogUniform": "families",
    "MeanSquare": "training.objective",
    "Measure": "families",
    "Method": "methods",
    "Milstein": "sampling.schemes",
    "MultiAsset": "families",
    "Multilevel": "networks",
    "Muon": "training.optimisers",
    "NamedGreeks": "families",
    "NinomiyaVictoir": "sampling.schemes",
    "Noise": "sampling.noise",
    "NoiseDimension": "families",
    "NonFiniteError": "errors",
    "Normal": "families",
    "Objective": "training.objective",
    "Optimiser": "training.optimisers",
    "OrnsteinUhlenbeck": "families",
    "OwnSteps": "families",
    "Paper": "methods",
    "Params": "families",
    "Payoff": "families",
    "Pays": "families",
    "Posterior": "analysis.posterior",
    "Problem": "analysis.observations",
    "Progress": "training.loop",
    "Rainbow": "families",
    "Rate": "families",
    "SGD": "training.optimisers",
    "Sabr": "families",
    "Sampled": "families",
    "Schedule": "training.schedules",
    "Scheme": "sampling.schemes",
    "Smooth": "networks",
    "Sobol": "sampling.noise",
    "SobolIndices": "analysis.uncertainty",
    "Solution": "solution",
    "Source": "families",
    "Space": "methods.space",
    "SphericalRadial": "sampling.noise",
    "Spread": "families",
    "StepDecay": "training.schedules",
    "TimeDependent": "families",
    "Training": "training.settings",
    "Trapezoid": "sampling.noise",
    "Uncertainty": "analysis.uncertainty",
    "VectorValued": "families",
    "add_control": "control",
    "examine": "analysis.checkup.checkup",
    "monte_carlo": "sampling.reference",
    "solve": "solver",
}

__all__ = [
    "SGD",
    "Absorbing",
    "AdamW",
    "AffineLinear",
    "Antithetic",
    "Architecture",
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
    "Choice",
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
    "Fast",
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
    "Interval",
    "Jumps",
    "LinearDecay",
    "LogOde",
    "LogUniform",
    "MeanSquare",
    "Measure",
    "Method",
    "Milstein",
    "MultiAsset",
    "Multilevel",
    "Muon",
    "NamedGreeks",
    "NinomiyaVictoir",
    "Noise",
    "NoiseDimension",
    "NonFiniteError",
    "Normal",
    "Objective",
    "Optimiser",
    "OrnsteinUhlenbeck",
    "OwnSteps",
    "Paper",
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
    "Schedule",
    "Scheme",
    "Smooth",
    "Sobol",
    "SobolIndices",
    "Solution",
    "Source",
    "Space",
    "SphericalRadial",
    "Spread",
    "StepDecay",
    "TimeDependent",
    "Training",
    "Trapezoid",
    "Uncertainty",
    "VectorValued",
    "add_control",
    "examine",
    "load",
    "monte_carlo",
    "plot",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        return import_module("feynkac.solution").Solution.load
    if name == "plot":
        return import_module("feynkac.plotting")
    if name not in _HOMES:
        raise AttributeError(f"module 'feynkac' has no attribute {name!r}")
    return getattr(import_module(f"feynkac.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:
    from feynkac.analysis.calibration import Calibration
    from feynkac.analysis.certificates import Certificate, Effort
    from feynkac.analysis.checkup.checkup import Checkup, examine
    from feynkac.analysis.error_map import ErrorMap
    from feynkac.analysis.metrics import Errors
    from feynkac.analysis.observations import Problem
    from feynkac.analysis.posterior import Posterior
    from feynkac.analysis.uncertainty import SobolIndices, Uncertainty
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
    from feynkac.methods import Fast, Method, Paper
    from feynkac.methods.dimension import Choice, Interval
    from feynkac.methods.space import Space
    from feynkac.networks import Architecture, FeedForward, Multilevel, Smooth
    from feynkac.sampling.noise import (
        Antithetic,
        Independent,
        Noise,
        Sobol,
        SphericalRadial,
        Trapezoid,
    )
    from feynkac.sampling.reference import Estimate, monte_carlo
    from feynkac.sampling.schemes import (
        EulerMaruyama,
        Exact,
        FamilySteps,
        LogOde,
        Milstein,
        NinomiyaVictoir,
        Scheme,
    )
    from feynkac.solution import Solution
    from feynkac.solver import solve
    from feynkac.training.loop import Progress
    from feynkac.training.objective import MeanSquare, Objective
    from feynkac.training.optimisers import SGD, AdamW, GaussNewton, Muon, Optimiser
    from feynkac.training.schedules import LinearDecay, Schedule, StepDecay
    from feynkac.training.settings import Training

    load = Solution.load
    import feynkac.plotting as plot
