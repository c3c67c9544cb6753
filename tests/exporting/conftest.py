"""Networks of every kind, hardly trained: exports must agree with them, not be good."""

from dataclasses import dataclass, replace

import pytest
import torch

import feynkac as fk
from feynkac.networks.head import Bachelier, Black
from feynkac.networks.reduction import Unit
from feynkac.networks.subspaces import Subspace


@dataclass(frozen=True)
class TwoPowers(fk.Family, fk.VectorValued, fk.ExactSampler):
    """u = E X and E X² of a Brownian motion."""

    outputs = 2

    @property
    def domain(self) -> fk.Domain:
        return fk.Domain(
            x=fk.Box(-1, 1), t=fk.Box(0, 1), sigma=fk.LogUniform(0.1, 1), mu=fk.Fixed(0.5)
        )

    def drift(self, x, p):
        return 0.0 * x + p.mu

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.cat([x, x.square()], dim=-1)

    def exact(self, x, t, p, normal):
        return x + p.mu * t + p.sigma * t.sqrt() * normal


def adam(architecture):
    return fk.Paper(architecture=architecture)


SUBSPACE = Subspace("x", ((0.6, 0.6, 0.5),))
UNITS = fk.Smooth(
    width=8,
    depth=2,
    units=(Unit("t", (("sigma", -0.5), ("rate", -1.0), ("dividend", -1.0))),),
)
BLACK = Black(
    asset="x",
    strike="strike",
    growth=(("rate", 1.0), ("dividend", -1.0)),
    rates=(("rate", 1.0),),
    factor=1.1,
    powers=(("sigma", 1.0), ("x", -0.3), ("strike", 0.3)),
)
BACHELIER = Bachelier(
    asset="x", strike="strike", call=False, rates=(("rate", 1.0),), powers=(("sigma", 1.0),)
)
BS, RAINBOW = fk.BlackScholes(), fk.Rainbow(dim=3)
CASES = {
    "smooth": (BS, fk.Smooth(width=8, depth=2, products=3)),
    "waves": (BS, fk.Smooth(width=8, depth=3, frequencies=(1.0, 2.0, 3.0, 4.0), root_time=False)),
    "ordered": (RAINBOW, fk.Smooth(width=8, depth=2, products=2)),
    "subspace": (RAINBOW, fk.Smooth(width=8, depth=2, subspaces=(SUBSPACE,))),
    "multilevel": (BS, fk.Multilevel(levels=3, factor=2)),
    "no residual": (BS, fk.Multilevel(levels=2, factor=2, residual=False, activation="tanh")),
    "layer norm": (BS, fk.Multilevel(levels=2, factor=2, norm="layer", activation="gelu")),
    "feed-forward": (BS, fk.FeedForward(levels=2, factor=2, norm="none", activation="silu")),
    "in units": (fk.BlackScholesMerton(), UNITS),
    "black": (fk.BlackScholesMerton(), replace(UNITS, head=BLACK)),
    "bachelier": (fk.Bachelier(fk.Payoff("put")), fk.Smooth(width=8, depth=2, head=BACHELIER)),
    "positive": (fk.Vasicek(), fk.Smooth(width=8, depth=2, positive=True)),
    "radial": (fk.HeatGaussian(dim=3), fk.Smooth(width=8, depth=2, radial=True)),
    "two outputs": (TwoPowers(), fk.Smooth(width=8, depth=2, log_ranges=True)),
    "two outputs, multilevel": (TwoPowers(), fk.Multilevel(levels=2, factor=2)),
}
_made: dict[str, fk.Solution] = {}


def make(name: str) -> fk.Solution:
    """Each is trained once."""
    if name == "one of two":
        return make("two outputs").output(1)
    if name == "one of two, multilevel":
        return make("two outputs, multilevel").output(1)
    if name not in _made:
        family, architecture = CASES[name]
        _made[name] = fk.solve(family, adam(architecture), steps=2, batch_size=64, evaluations=1)
    return _made[name]


NAMES = [*CASES, "one of two", "one of two, multilevel"]


@pytest.fixture(params=NAMES)
def each(request) -> fk.Solution:
    return make(request.param)


@pytest.fixture
def made():
    return make


@pytest.fixture(scope="package")
def put() -> fk.Solution:
    return make("smooth")


@pytest.fixture
def rainbow() -> fk.Solution:
    return make("ordered")


def draw(solution: fk.Solution, count: int = 200) -> torch.Tensor:
    """Inputs, and some at the corners of the domain.  Shape: `(count + 2, dim)`, float64."""
    domain, generator = solution.family.domain, torch.Generator().manual_seed(1)
    inner = domain.sample(count, generator, torch.float64)
    return torch.cat([inner, torch.stack(domain.bounds)])


@pytest.fixture
def drawn():
    return draw
