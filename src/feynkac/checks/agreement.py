r"""Do two ways to compute the same thing agree? Within 4 standard errors and the estimated bias.

A sampler of S_t is compared with Euler–Maruyama steps of the family's μ and σ on the same Brownian
path, in the mean and the mean square of a few coordinates and in the mean payoff. Coarse steps
extrapolate the error of the fine ones away; half of what that changes is allowed as bias.

A coordinate that μ and σ leave alone and that the sampler moves one way only, such as a running
maximum, records the past of a path; the others are compared.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from feynkac.checks.finding import Finding, Subject
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family, noise_dim, outputs
from feynkac.families.point import describe
from feynkac.sampling.discretisation import coarsened, estimate_bias
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.noise import normals
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.path import PathState, path_states
from feynkac.sampling.reference import monte_carlo
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.scheme import Scheme

STANDARD_ERRORS = 4.0
RARE_PATHS = 10.0  # a mean over fewer of them has no standard error worth its name
ROUNDING = 1e-12
FINE_STEPS = 64  # of Euler–Maruyama
OWN_STEPS = 16
SAMPLER_INPUTS, CLOSED_FORM_INPUTS = 8, 16
MOST_NORMALS = 2**22  # drawn in one comparison
BIAS_PATHS = 128
FEW_COORDINATES = 4  # are looked at one by one
CORRECT_SAMPLER = (
    "correct the one that is wrong, or add Reflected to the base classes if paths are pushed back "
    "at a boundary"
)


@dataclass(frozen=True)
class Agreement:
    """Two values of each of several quantities, and how far apart they may be.

    Shape: `(N, quantities)`.
    """

    quantities: tuple[str, ...]
    places: tuple[str, ...]
    """The N inputs in words."""
    ours: Tensor
    theirs: Tensor
    error: Tensor
    """Standard error of the difference."""
    bias: Tensor

    paths: int
    """Behind each value of theirs."""
    recorded: tuple[int, ...] = ()
    """Coordinates that record the past and were not compared."""

    @property
    def excess(self) -> Tensor:
        """Difference in units of what is allowed; above 1 they disagree.

        What happens on one path in `paths` may not have been seen at all.
        """
        unseen = RARE_PATHS / self.paths * self.theirs.abs().amax(0) + ROUNDING
        allowed = STANDARD_ERRORS * self.error + self.bias + unseen
        return (self.ours - self.theirs).abs() / allowed

    @property
    def worst(self) -> tuple[int, int]:
        """Row and column of the largest excess."""
        row, column = divmod(int(self.excess.argmax()), self.excess.shape[1])
        return row, column


def exact_sampler(subject: Subject) -> Finding:
    """Exact draws must have the law that μ and σ give."""
    found = compare_sampler(subject.family, Exact())
    return _judge("exact", "steps of drift and diffusion", found, CORRECT_SAMPLER)


def own_steps(subject: Subject) -> Finding:
    """So must the family's own steps."""
    found = compare_sampler(subject.family, FamilySteps(steps=OWN_STEPS))
    return _judge("step", "steps of drift and diffusion", found, CORRECT_SAMPLER)


def expectation(subject: Subject) -> Finding:
    """The closed form must be the mean over paths."""
    found = compare_closed_form(subject.family, subject.scheme)
    return _judge("the closed form", "simulated paths", found, "correct the one that is wrong")


def _judge(one: str, other: str, found: Agreement, advice: str) -> Finding:
    row, column = found.worst
    ours, theirs = (part[row, column].item() for part in (found.ours, found.theirs))
    excess, error = found.excess[row, column].item(), found.error[row, column].item()
    figures = {"excess": excess, "value": ours, "other": theirs, "standard error": error}
    if not math.isfinite(theirs):
        sentence = f"{other} are not finite, so that {one} could not be compared with them"
        return Finding("note", sentence, figures)
    if excess <= 1.0:
        sentence = f"{one} agrees with {other}, at {100 * excess:.2g} % of the allowed difference"
        if found.recorded:
            which = ", ".join(f"x[{i}]" for i in found.recorded)
            sentence += f"; {which} moves one way only, as a running maximum does, and is left out"
        return Finding("ok", sentence, figures)
    sentence = (
        f"{one} disagrees with {other}: {found.quantities[column]} is {ours:.6g}, "
        f"not {theirs:.6g} ± {error:.2g}, at {found.places[row]}; {advice}"
    )
    return Finding("fail", sentence, figures)


def compare_sampler(family: Family, scheme: Scheme) -> Agreement:
    """States drawn by `scheme` beside Euler–Maruyama steps of μ and σ."""
    generator = make_generator(0, "agreement")
    inputs = family.domain.sample(SAMPLER_INPUTS, generator, torch.float64)
    paths = _affordable(SAMPLER_INPUTS * FINE_STEPS * noise_dim(family))
    z = normals(FINE_STEPS, (SAMPLER_INPUTS, paths), noise_dim(family), generator, torch.float64)
    euler = EulerMaruyama(steps=FINE_STEPS)
    with torch.no_grad():
        recorded = _recorded(family, scheme, inputs, z)
        drawn, fine = (_features(family, s, inputs, z, recorded) for s in (scheme, euler))
        rough = _features(family, euler.with_steps(FINE_STEPS // 2), inputs, z, recorded)
        bias = 0.5 * (fine - rough).mean(1).abs()
        if scheme.order is not None:
            halved = _features(family, scheme.with_steps(scheme.steps // 2), inputs, z, recorded)
            bias = bias + 2.0 * (drawn - halved).mean(1).abs() / (2**scheme.order - 1)
    stepped = 2.0 * fine - rough
    return Agreement(
        quantities=_quantities(family),
        places=_places(family, inputs),
        ours=drawn.mean(1),
        theirs=stepped.mean(1),
        error=(drawn - stepped).std(1) / paths**0.5,
        bias=bias,
        paths=paths,
        recorded=tuple(recorded.nonzero().flatten().tolist()),
    )


def compare_closed_form(family: Family, scheme: Scheme) -> Agreement:
    """The closed form beside Monte Carlo with `scheme`."""
    assert isinstance(family, ClosedForm)
    generator = make_generator(0, "closed form")
    inputs = family.domain.sample(CLOSED_FORM_INPUTS, generator, torch.float64)
    paths = _affordable(2 * len(inputs) * scheme.draws * noise_dim(family))
    with torch.no_grad():
        simulated = monte_carlo(family, scheme, inputs, paths, generator)
        bias = estimate_bias(family, scheme, Sobol(), inputs, BIAS_PATHS, generator, 4)
        value = family.closed_form(*family.domain.split(inputs))
    return Agreement(
        quantities=tuple(_numbered("u", outputs(family))),
        places=_places(family, inputs),
        ours=value,
        theirs=simulated.value,
        error=simulated.error,
        bias=bias.value.abs() + 2.0 * bias.error,
        paths=paths,
    )


def _places(family: Family, inputs: Tensor) -> tuple[str, ...]:
    return tuple(describe(family.domain.split(row)) for row in inputs)


def _affordable(normals: int) -> int:
    """Paths per input, if one path from each of the inputs takes `normals` normals."""
    return max(256, min(2**14, MOST_NORMALS // normals))


def _features(
    family: Family, scheme: Scheme, inputs: Tensor, z: Tensor, recorded: Tensor
) -> Tensor:
    """What is compared, for each path; coordinates that record the past stay at their start.

    Shape: inputs `(N, dim)`, z `(FINE_STEPS, N, K, m)`, recorded `(d,)` → `(N, K, quantities)`.
    """
    x, last = _end(family, scheme, inputs, z)
    state = torch.where(recorded, x, last.state)
    moved = _some(state - x)
    return torch.cat([moved, moved.square(), family.initial(state, last.p)], dim=-1)


def _end(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor) -> tuple[Tensor, PathState]:
    """Where paths start and end."""
    while len(z) > scheme.steps:
        z = coarsened(z, len(z))
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    *_, last = path_states(family, scheme, x, t, p, z)
    return x, last


def _recorded(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor) -> Tensor:
    """Coordinates without μ and σ that only grow, or only fall.  Shape: `(d,)`, bool."""
    x, last = _end(family, scheme, inputs, z)
    moved = last.state - x
    one_way = (moved >= 0.0).all((0, 1)) | (moved <= 0.0).all((0, 1))
    if not (one_way & (moved != 0.0).any(1).any(0)).any():
        return torch.zeros_like(one_way)
    stepped = _end(family, EulerMaruyama(steps=FINE_STEPS), inputs, z)[1].state - x
    return one_way & (stepped == 0.0).all((0, 1))


def _some(moved: Tensor) -> Tensor:
    """A few coordinates, the first of them the mean if there are many."""
    if moved.shape[-1] <= FEW_COORDINATES:
        return moved
    return torch.cat([moved.mean(-1, keepdim=True), moved[..., : FEW_COORDINATES - 1]], dim=-1)


def _quantities(family: Family) -> tuple[str, ...]:
    dim = family.domain.state_dim
    names = _numbered("S − x", dim) if dim <= FEW_COORDINATES else ["the mean of S − x"]
    names += _numbered("S − x", dim)[: FEW_COORDINATES - 1] if dim > FEW_COORDINATES else []
    squares = [f"the square of {name}" for name in names]
    return (*names, *squares, *_numbered("φ(S)", outputs(family)))


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"component {k} of {name}" for k in range(count)]
