"""feynkac: one network for a whole family of Kolmogorov PDEs.

Every public name, no logic. Names are looked up on first use, so that `import feynkac` and the
command line's `--help` do not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AdamW": "training.optimisers",
    "AffineLinear": "families",
    "Antithetic": "sampling.noise",
    "ArtifactError": "errors",
    "BasketPut": "families",
    "BlackScholes": "families",
    "Box": "families",
    "Calibration": "analysis.calibration",
    "Certificate": "analysis.certificates",
    "ClosedForm": "families",
    "ClosedPartials": "families",
    "Domain": "families",
    "Effort": "analysis.certificates",
    "ErrorMap": "analysis.error_map",
    "Errors": "analysis.metrics",
    "Estimate": "sampling.reference",
    "EulerMaruyama": "sampling.euler_maruyama",
    "Exact": "sampling.exact",
    "ExactSampler": "families",
    "Family": "families",
    "FeedForward": "networks.feed_forward",
    "FeynkacError": "errors",
    "GaussNewton": "training.gauss_newton",
    "Greek": "families",
    "HeatGaussian": "families",
    "HeatParaboloid": "families",
    "Independent": "sampling.noise",
    "InputError": "errors",
    "Interrupted": "errors",
    "Jumps": "families",
    "LinearDecay": "training.schedules",
    "LogOde": "sampling.log_ode",
    "Milstein": "sampling.milstein",
    "Multilevel": "networks.multilevel",
    "Muon": "training.muon",
    "NamedGreeks": "families",
    "NinomiyaVictoir": "sampling.ninomiya_victoir",
    "NonFiniteError": "errors",
    "Params": "families",
    "Posterior": "analysis.posterior",
    "Problem": "analysis.observations",
    "Progress": "training.loop",
    "SGD": "training.optimisers",
    "Smooth": "networks.smooth",
    "Sobol": "sampling.sobol",
    "SobolIndices": "analysis.uncertainty",
    "Solution": "solution",
    "SphericalRadial": "sampling.spherical",
    "StepDecay": "training.schedules",
    "Training": "training.settings",
    "Uncertainty": "analysis.uncertainty",
    "add_control": "control",
    "monte_carlo": "sampling.reference",
    "solve": "solver",
}

__all__ = [
    "SGD",
    "AdamW",
    "AffineLinear",
    "Antithetic",
    "ArtifactError",
    "BasketPut",
    "BlackScholes",
    "Box",
    "Calibration",
    "Certificate",
    "ClosedForm",
    "ClosedPartials",
    "Domain",
    "Effort",
    "ErrorMap",
    "Errors",
    "Estimate",
    "EulerMaruyama",
    "Exact",
    "ExactSampler",
    "Family",
    "FeedForward",
    "FeynkacError",
    "GaussNewton",
    "Greek",
    "HeatGaussian",
    "HeatParaboloid",
    "Independent",
    "InputError",
    "Interrupted",
    "Jumps",
    "LinearDecay",
    "LogOde",
    "Milstein",
    "Multilevel",
    "Muon",
    "NamedGreeks",
    "NinomiyaVictoir",
    "NonFiniteError",
    "Params",
    "Posterior",
    "Problem",
    "Progress",
    "Smooth",
    "Sobol",
    "SobolIndices",
    "Solution",
    "SphericalRadial",
    "StepDecay",
    "Training",
    "Uncertainty",
    "add_control",
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
    from feynkac.control import add_control
    from feynkac.errors import (
        ArtifactError,
        FeynkacError,
        InputError,
        Interrupted,
        NonFiniteError,
    )
    from feynkac.families import (
        AffineLinear,
        BasketPut,
        BlackScholes,
        Box,
        ClosedForm,
        ClosedPartials,
        Domain,
        ExactSampler,
        Family,
        Greek,
        HeatGaussian,
        HeatParaboloid,
        Jumps,
        NamedGreeks,
        Params,
    )
    from feynkac.networks.feed_forward import FeedForward
    from feynkac.networks.multilevel import Multilevel
    from feynkac.networks.smooth import Smooth
    from feynkac.sampling.euler_maruyama import EulerMaruyama
    from feynkac.sampling.exact import Exact
    from feynkac.sampling.log_ode import LogOde
    from feynkac.sampling.milstein import Milstein
    from feynkac.sampling.ninomiya_victoir import NinomiyaVictoir
    from feynkac.sampling.noise import Antithetic, Independent
    from feynkac.sampling.reference import Estimate, monte_carlo
    from feynkac.sampling.sobol import Sobol
    from feynkac.sampling.spherical import SphericalRadial
    from feynkac.solution import Solution
    from feynkac.solver import solve
    from feynkac.training.gauss_newton import GaussNewton
    from feynkac.training.loop import Progress
    from feynkac.training.muon import Muon
    from feynkac.training.optimisers import SGD, AdamW
    from feynkac.training.schedules import LinearDecay, StepDecay
    from feynkac.training.settings import Training

    load = Solution.load
