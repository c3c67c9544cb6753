"""How S_t is drawn: the schemes, and the vector fields and flows they are made of."""

from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.extrapolated_euler import ExtrapolatedEuler
from feynkac.sampling.schemes.extrapolated_flows import ExtrapolatedFlows
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.gaussian import Gaussian
from feynkac.sampling.schemes.geometric import Geometric
from feynkac.sampling.schemes.log_gaussian import LogGaussian
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.milstein import Milstein
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.sampling.schemes.scheme import Scheme

__all__ = [
    "EulerMaruyama",
    "Exact",
    "ExtrapolatedEuler",
    "ExtrapolatedFlows",
    "FamilySteps",
    "Gaussian",
    "Geometric",
    "LogGaussian",
    "LogOde",
    "Milstein",
    "NinomiyaVictoir",
    "Scheme",
]
