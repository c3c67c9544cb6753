"""The visited region: where it reaches, and the law of (S_s, t − s, γ)."""

import copy
import dataclasses
import math
import pickle
from dataclasses import dataclass

import pytest
import torch
from scipy import stats

import feynkac as fk
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.normal import Normal
from feynkac.sampling.visited import TAIL, Visits, visited, visited_domain

CASES = [
    pytest.param(fk.BlackScholes(), fk.Exact(), id="black-scholes"),
    pytest.param(fk.BlackScholes(dim=3), fk.EulerMaruyama(steps=2), id="black-scholes, 3 assets"),
    pytest.param(fk.BasketPut(dim=2), fk.LogOde(steps=2), id="basket-put"),
    pytest.param(fk.HeatParaboloid(dim=2), fk.Exact(), id="heat-paraboloid"),
    pytest.param(fk.HeatGaussian(dim=3), fk.NinomiyaVictoir(steps=2), id="heat-gaussian"),
]


@dataclass(frozen=True)
class Drifting(fk.Family):
    """Almost no noise: paths leave the lower end of the box and never come back."""

    @property
    def domain(self) -> fk.Domain:
        return fk.Domain(x=fk.Box([0, 0], [1, 2]), t=fk.Box(0.5, 1), speed=fk.Box(1, 2))

    def drift(self, x, p):
        return p.speed + torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return 1e-3 * dw

    def initial(self, x, p):
        return x.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("family", "scheme"),
    [*CASES, pytest.param(Drifting(), fk.EulerMaruyama(steps=2), id="drifting")],
)
def test_the_region_contains_the_old_box_and_every_sample(family, scheme, generator):
    wide = visited_domain(family, scheme)
    for name, box in family.domain.measures.items():
        assert wide.measures[name].shape == box.shape
        assert all(a <= b for a, b in zip(wide.measures[name].low, box.low, strict=True))
        assert all(a >= b for a, b in zip(wide.measures[name].high, box.high, strict=True))
    samples = wide.sample(3000, generator)
    assert samples.shape == (3000, family.domain.dim)
    assert wide.contains(samples).all()
    assert (wide.nearest(samples) == samples).all()
    assert not family.domain.contains(samples).all()


@pytest.mark.parametrize(("family", "scheme"), CASES)
def test_only_x_grows_and_time_starts_at_zero(family, scheme):
    wide, old = visited_domain(family, scheme), family.domain
    for name in old.measures.keys() - {"x", "t"}:
        assert wide.measures[name] == old.measures[name]
    assert wide.measures["t"] == fk.Box(0.0, old.measures["t"].high[0])
    assert wide.measures["x"].volume > old.measures["x"].volume


def test_time_starts_at_zero_though_the_familys_does_not(generator):
    wide = visited_domain(Drifting(), fk.EulerMaruyama(steps=2))
    assert wide.measures["t"] == fk.Box(0.0, 1.0)
    time = wide.split(wide.sample(2000, generator)).t
    assert time.min() < 0.01


@dataclass(frozen=True)
class Uneven(Drifting):
    """The same with other measures than boxes."""

    @property
    def domain(self) -> fk.Domain:
        return fk.Domain(
            x=Normal(0.5, 0.2, low=[0, 0], high=1), t=Beta(2, 5), speed=LogUniform(0.5, 2)
        )


def test_parameters_keep_their_measures_and_x_and_t_get_boxes(generator):
    wide = visited_domain(Uneven(), fk.EulerMaruyama(steps=2))
    assert wide.measures["speed"] == LogUniform(0.5, 2)
    assert wide.measures["t"] == fk.Box(0.0, 1.0)
    assert isinstance(wide.measures["x"], fk.Box)
    assert wide.measures["x"].high[0] > 1.0
    x, t, p = wide.split(wide.sample(20_000, generator, torch.float64))
    assert stats.kstest(p.speed[:, 0].numpy(), stats.loguniform(0.5, 2).cdf).pvalue > 1e-3
    assert t.mean().item() == pytest.approx(1 / 7, abs=0.005)  # half of E t
    assert wide.contains(wide.sample(1000, generator)).all()
    assert x.shape == (20_000, 2)


def test_the_law_of_black_scholes_visits(generator):
    """S is a martingale, E ln S_s = E ln x − ½ E σ² E s, and t − s is (1 − U) t."""
    wide = visited_domain(fk.BlackScholes(), fk.Exact())
    x, t, p = wide.split(wide.sample(2**16, generator, torch.float64))
    log_start = 10 * math.log(10) - 9 * math.log(9) - 1
    variance_rate = (0.6**3 - 0.1**3) / 3 / 0.5
    expected = {
        "E S": (x, 9.5),
        "E ln S": (x.log(), log_start - 0.5 * variance_rate / 4),
        "E (t - s)": (t, 1 / 4),
        "E (t - s)²": (t.square(), 1 / 9),
        "E σ": (p.sigma, 0.35),
        "E K": (p.strike, 11.0),
    }
    for name, (samples, mean) in expected.items():
        error = (samples.mean() - mean) / (samples.std() / 2**8)
        assert abs(error) < 4.5, name


def test_few_visits_lie_on_the_edges(generator):
    wide = visited_domain(fk.BlackScholes(), fk.Exact())
    x = wide.split(wide.sample(2**16, generator, torch.float64)).x
    for edge in (*wide.measures["x"].low, *wide.measures["x"].high):
        assert (x == edge).double().mean().item() == pytest.approx(TAIL, rel=0.6)


def test_samples_depend_on_the_generator_alone():
    first, again = (visited_domain(fk.BlackScholes(), fk.Exact()) for _ in range(2))
    assert first == again
    seeded = torch.Generator().manual_seed
    assert torch.equal(first.sample(9, seeded(4)), again.sample(9, seeded(4)))
    assert not torch.equal(first.sample(9, seeded(4)), first.sample(9, seeded(5)))
    assert first.sample(9, seeded(4)).dtype == torch.float32


@pytest.mark.parametrize(("family", "scheme"), CASES)
def test_the_family_stays_as_it_was_and_keeps_its_capabilities(family, scheme):
    old = family.domain
    before = copy.deepcopy(old)
    wide = visited(family, scheme)
    assert family.domain is old
    assert old == before
    assert wide.domain.sampler == Visits(family, scheme)
    assert type(wide) is type(family)
    assert wide != family
    assert wide.on(family.domain) == family
    for capability in (fk.ExactSampler, fk.ClosedForm, fk.NamedGreeks):
        assert isinstance(wide, capability) == isinstance(family, capability)
    assert type(family)(dim=family.dim).domain == old


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f)), dataclasses.replace]
)
def test_a_family_on_visits_can_be_copied(twin):
    wide = visited(fk.BlackScholes(), fk.Exact())
    found = twin(wide)
    assert found == wide
    seeded = torch.Generator().manual_seed
    assert torch.equal(found.domain.sample(9, seeded(4)), wide.domain.sample(9, seeded(4)))


def test_the_closed_form_still_solves_the_wide_family(generator):
    family = fk.BlackScholes()
    wide = visited(family, fk.Exact())
    inputs = wide.domain.sample(100, generator, torch.float64)
    here = wide.closed_form(*wide.domain.split(inputs))
    assert torch.equal(here, family.closed_form(*family.domain.split(inputs)))
