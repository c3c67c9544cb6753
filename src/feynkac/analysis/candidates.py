"""Which estimators a certificate may choose from; `pilot.py` chooses."""

from dataclasses import replace

from feynkac.analysis.controlled import Controlled
from feynkac.analysis.estimators import Estimator, Simulated
from feynkac.analysis.martingale import Control
from feynkac.analysis.planar import Planar, turns_with_noise
from feynkac.families.affine_linear import is_affine
from feynkac.families.capabilities import ExactSampler, OwnSteps
from feynkac.families.family import Family, outputs
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.noise.spherical import SphericalRadial
from feynkac.sampling.noise.stretched import Stretched
from feynkac.sampling.path import weak_order
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.extrapolated import Extrapolated
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.gaussian import Gaussian
from feynkac.sampling.schemes.log_gaussian import LogGaussian
from feynkac.sampling.schemes.log_ode import LogOde
from feynkac.sampling.schemes.scheme import Scheme

FIRST_STEPS = {None: 1, 1: 2, 2: 4}  # by weak order; on fewer the gap does not tell the error yet
MOST_CUBATURE = 512  # normals of a path for which a random basis is affordable


def candidates(
    family: Family, scheme: Scheme, noise: Noise, control: Control | None, steps: int, output: int
) -> list[list[Estimator]]:
    """Candidates in order of preference; a group holds rules that differ only in their noise."""
    plain = Simulated(family, _scheme(family, scheme), Stretched(), output)
    cubature = isinstance(noise, SphericalRadial) and plain.normals <= MOST_CUBATURE
    kinds: list[Noise] = [*[noise] * cubature, Stretched(), Stretched(far=0.0)]
    rules: list[Estimator] = [replace(plain, noise=kind) for kind in kinds]
    if turns_with_noise(family, plain.scheme):
        rules = [Planar(family, plain.scheme, Stretched(), output)]
    found = [rules]
    useful = control is not None and control.error < 1.0 and outputs(family) == 1
    if useful and not isinstance(
        scheme, Gaussian | LogGaussian
    ):  # of one step: there is no path to follow
        path = scheme.halves[0] if isinstance(scheme, Extrapolated) else scheme
        exact = weak_order(family, path) is None
        count = max(steps, path.steps)
        fine = path.with_steps(count if exact else max(1, -(-count // 2)))
        found.append([Controlled(family, fine, Stretched(far=0.0), output, control)])
    return found


def _scheme(family: Family, scheme: Scheme) -> Scheme:
    """The family's exact sampler or its own steps if it has them, otherwise the best scheme known.

    Exact paths come before labels that integrate a part of the noise: such labels may use
    quadrature, as those of `Rainbow` do, and replicates do not show its error.
    """
    if isinstance(family, ExactSampler) and weak_order(family, Exact()) is None:
        return Exact()
    if isinstance(family, OwnSteps):
        return FamilySteps(steps=FIRST_STEPS[weak_order(family, FamilySteps())])
    if is_affine(family) and scheme.order == 1:
        return LogOde(steps=2)
    if isinstance(scheme, Extrapolated):  # of an even number
        return scheme.with_steps(max(2, 2 * (scheme.steps // 4)))
    return scheme.with_steps(max(1, scheme.steps // 2))
