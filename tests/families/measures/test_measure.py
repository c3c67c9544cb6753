"""What every measure promises: the law SciPy knows, exact moments, and a value like any other."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import stats

import feynkac as fk
from feynkac.analysis.metrics import make_yardstick
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.box import Box
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Quantiles
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled

LAWS = [
    (Box(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    (LogUniform(0.05, 0.8), stats.loguniform(0.05, 0.8)),
    (LogUniform(1e-6, 1e6), stats.loguniform(1e-6, 1e6)),
    (Normal(1.0, 0.2, low=0.5, high=1.5), stats.truncnorm(-2.5, 2.5, 1.0, 0.2)),
    (Normal(-3.0, 2.0, low=0.0, high=9.0), stats.truncnorm(1.5, 6.0, -3.0, 2.0)),
    (Normal(0.0, 1.0, low=-20.0, high=30.0), stats.truncnorm(-20.0, 30.0)),
    (Beta(2.0, 5.0, low=0.0, high=1.0), stats.beta(2.0, 5.0)),
    (Beta(0.5, 0.5, low=-1.0, high=1.0), stats.beta(0.5, 0.5, -1.0, 2.0)),
    (Beta(4.0, 0.3, low=2.0, high=3.0), stats.beta(4.0, 0.3, 2.0, 1.0)),
]
every_law = pytest.mark.parametrize(("measure", "law"), LAWS, ids=[repr(m) for m, _ in LAWS])
every_kind = pytest.mark.parametrize("kind", [Box, LogUniform, Normal, Beta])


def make(kind, low, high, **more):
    """One of its kind that fits most bounds."""
    first = {Normal: {"mean": 1.0, "std": 1.0}, Beta: {"a": 2.0, "b": 3.0}}.get(kind, {})
    return kind(**first, low=low, high=high, **more)


def tolerance(measure):
    return 1e-6 * (measure.high[0] - measure.low[0]) if isinstance(measure, Beta) else 1e-12


def probabilities():
    tail = np.logspace(-9, -1, 300)
    return np.concatenate([tail, np.linspace(0.1, 0.9, 2001), 1.0 - tail])


# The law


@every_law
def test_quantiles_are_those_of_scipy(measure, law):
    u = probabilities()
    found = measure.quantile(torch.tensor(u).unsqueeze(-1)).squeeze(-1).numpy()
    np.testing.assert_allclose(found, law.ppf(u), rtol=1e-11, atol=tolerance(measure))


@every_law
def test_mean_and_standard_deviation_are_exact(measure, law):
    assert measure.mean.dtype == measure.std.dtype == torch.float64
    assert measure.mean.shape == measure.std.shape == (1,)
    assert measure.mean.item() == pytest.approx(law.mean(), rel=1e-10, abs=1e-12)
    assert measure.std.item() == pytest.approx(law.std(), rel=1e-10)


@every_law
def test_moments_of_a_function_are_those_of_scipy(measure, law):
    mean, std = measure.moments(torch.square)
    second, fourth = law.moment(2), law.moment(4)
    assert mean.item() == pytest.approx(second, rel=1e-6)
    assert std.item() == pytest.approx((fourth - second**2) ** 0.5, rel=1e-6)


@every_law
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_samples_of_a_domain_follow_the_law(measure, law, dtype, generator):
    domain = Domain(x=Box(0, 1), t=Box(0, 1), a=measure)
    drawn = domain.sample(20_000, generator, dtype)
    assert drawn.dtype == dtype
    assert domain.contains(drawn).all()
    assert stats.kstest(drawn[:, 2].double().numpy(), law.cdf).pvalue > 1e-3
    assert stats.kstest(drawn[:, 0].double().numpy(), stats.uniform().cdf).pvalue > 1e-3


@every_law
def test_quantiles_grow_from_bound_to_bound(measure, law):
    u = torch.linspace(0.0, 1.0, 10_001, dtype=torch.float64).unsqueeze(-1)
    x = measure.quantile(u)
    assert (x.diff(dim=0) >= 0.0).all()
    assert x[0].item() == pytest.approx(measure.low[0], rel=1e-15, abs=1e-15)
    assert law.sf(x[-1].item()) < 1e-15
    assert x[-1].item() <= measure.high[0]


@every_law
@pytest.mark.parametrize("lead", [(), (3,), (3, 2), (0,)])
def test_quantiles_keep_leading_axes_and_dtype(measure, law, lead, generator):
    u = torch.rand(*lead, 1, generator=generator)
    x = measure.quantile(u)
    assert x.shape == u.shape
    assert x.dtype == torch.float32
    one_by_one = [measure.quantile(v).item() for v in u.reshape(-1, 1)]
    assert x.flatten().tolist() == one_by_one


@pytest.mark.parametrize(
    ("measure", "laws"),
    [
        (LogUniform([0.1, 1.0], 2.0), [stats.loguniform(0.1, 2.0), stats.loguniform(1.0, 2.0)]),
        (
            Normal([0.0, 9.0], [1.0, 2.0], low=[-1.0, 2.0], high=[2.0, 5.0]),
            [stats.truncnorm(-1.0, 2.0), stats.truncnorm(-3.5, -2.0, 9.0, 2.0)],
        ),
        (Beta([2.0, 0.7], [5.0, 40.0]), [stats.beta(2.0, 5.0), stats.beta(0.7, 40.0)]),
    ],
    ids=["log-uniform", "normal", "beta"],
)
def test_each_coordinate_has_a_law_of_its_own(measure, laws):
    u = probabilities()
    found = measure.quantile(torch.tensor(u).reshape(-1, 1, 1).expand(-1, 1, 2))
    for i, law in enumerate(laws):
        np.testing.assert_allclose(found[:, 0, i], law.ppf(u), rtol=1e-10, atol=1e-6)
    assert measure.mean.tolist() == pytest.approx([law.mean() for law in laws], rel=1e-10)
    assert measure.std.tolist() == pytest.approx([law.std() for law in laws], rel=1e-10)


# A value


@every_kind
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_numbers_fill_the_shape(kind, shape):
    measure = make(kind, 0.5, 2.5, shape=shape)
    assert measure.shape == shape
    assert measure.low == (0.5,) * math.prod(shape)
    assert measure.size == len(measure.high) == math.prod(shape)
    assert measure.volume == 2.0 ** math.prod(shape)
    assert measure.mean.shape == measure.std.shape == (measure.size,)
    assert all(len(v) == measure.size for v in measure.parameters.values())


@pytest.mark.parametrize(
    "text",
    [
        "LogUniform(0.05, 0.8)",
        "LogUniform(0.05, 0.8, shape=(3,))",
        "LogUniform([0.1, 0.2], [0.3, 0.4])",
        "Normal(mean=1, std=0.2, low=0.5, high=1.5)",
        "Normal(mean=[1.0, 2.0], std=[0.2, 0.2], low=[0.5, 0.5], high=[1.5, 3.0])",
        "Beta(a=2, b=5, low=0, high=1, shape=(2, 2))",
    ],
)
def test_a_measure_is_shown_as_it_is_written(text):
    assert repr(eval(text)) == text


@every_law
def test_a_measure_is_frozen_and_compared_by_value(measure, law):
    same = eval(repr(measure))
    assert same == measure
    assert hash(same) == hash(measure)
    with pytest.raises(AttributeError, match="cannot assign"):
        measure.low = (5.0,)


def test_measures_on_the_same_bounds_differ():
    measures = [make(kind, 0.5, 2.5) for kind in (Box, LogUniform, Normal, Beta)]
    assert len(set(measures)) == 4
    assert Normal(1, 1, 0, 2) != Normal(1, 2, 0, 2)
    assert Beta(1, 2) != Beta(2, 1)


def test_a_record_is_plain_data():
    found = json.loads(json.dumps(Normal(1.0, 0.2, low=[0.5, 0.6], high=1.5).record()))
    assert found == {
        "shape": [2],
        "low": [0.5, 0.6],
        "high": [1.5, 1.5],
        "kind": "normal",
        "parameters": {"mean": [1.0, 1.0], "std": [0.2, 0.2]},
    }
    assert Box(0, 1).record() == {"shape": (), "low": (0.0,), "high": (1.0,)}


def test_the_measures_with_quantiles_say_so():
    assert all(isinstance(measure, Quantiles) for measure, _ in LAWS)


# Refusals


@every_kind
@pytest.mark.parametrize(("low", "high"), [(2, 1), (1, 1), ([1, 3], [2, 2])], ids=str)
def test_lower_must_be_below_upper(kind, low, high):
    rule = "needs lower < upper in every coordinate, but coordinate . has lower=.*, upper=.*; swap"
    with pytest.raises(InputError, match=f"{kind.__name__} {rule}"):
        make(kind, low, high)


@every_kind
@pytest.mark.parametrize("bad", [math.nan, math.inf, [1.0, math.inf]], ids=str)
def test_bounds_must_be_finite(kind, bad):
    with pytest.raises(InputError, match=f"{kind.__name__} upper bound must be finite, got "):
        make(kind, 0.5, bad)


@every_kind
@pytest.mark.parametrize("bad", ["a", None, 1j], ids=str)
def test_bounds_must_be_numbers(kind, bad):
    with pytest.raises(InputError, match=f"{kind.__name__} lower bound must be numbers, got "):
        make(kind, bad, 2.0)


@every_kind
@pytest.mark.parametrize("shape", [(), (3,), (0,), 3, (2.5,)], ids=str)
def test_numbers_must_fit_the_shape(kind, shape):
    message = rf"{kind.__name__} (bounds|numbers) of shapes .* and \(2,\) do not fit shape="
    with pytest.raises(InputError, match=message):
        make(kind, 0.5, [1.0, 2.0], shape=shape)


# Solved


def corner(count, generator, dtype):
    return torch.rand(count, generator=generator, dtype=dtype).square()


@dataclass(frozen=True)
class Heat(fk.Family, fk.ExactSampler, fk.ClosedForm):
    """u = x² + σ² t + a, every variable with another measure."""

    @property
    def domain(self):
        return Domain(
            x=Normal(0.0, 1.0, low=-2.0, high=1.0),
            t=Beta(2.0, 5.0),
            sigma=LogUniform(0.05, 0.8),
            a=Sampled(corner, 0.0, 1.0),
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return x.square() + p.a

    def exact(self, x, t, p, z):
        return x + p.sigma * t.sqrt() * z

    def closed_form(self, x, t, p):
        return x.square() + p.sigma.square() * t + p.a


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "heat"


@pytest.fixture(scope="module")
def solution(folder):
    return fk.solve(Heat(), steps=60, batch_size=64, paths=8, evaluations=1, out=folder)


def test_a_solution_is_saved_and_loaded_with_its_measures(solution, folder, generator):
    loaded = fk.load(folder, family=Heat())
    inputs = Heat().domain.sample(100, generator)
    assert torch.equal(loaded.network(inputs), solution.network(inputs))
    assert loaded.error(1000) == solution.error(1000)
    recorded = json.loads((folder / "manifest.json").read_bytes())["domain"]
    kinds = [entry["kind"] for entry in recorded.values()]
    assert kinds == ["normal", "beta", "log-uniform", "sampled"]


def test_it_is_not_loaded_for_other_measures(folder):
    other = Heat()
    vars(other)["domain"] = Domain(**{**other.domain.measures, "sigma": Box(0.05, 0.8)})
    with pytest.raises(fk.ArtifactError, match=r"the domain is another, .*sigma=Box\(0.05, 0.8\)"):
        fk.load(folder, family=other)


def test_it_is_a_good_solution(solution):
    found = solution.error()
    assert found.l1 < 0.2 * found.linear_baseline


def test_errors_are_means_under_the_measures():
    """Of the map 0, with u = σ: E σ/(1 + σ) = ln((1 + b)/(1 + a)) / ln(b/a)."""

    class Still(Heat):
        def initial(self, x, p):
            return p.sigma + 0.0 * x

        def closed_form(self, x, t, p):
            return p.sigma + 0.0 * x

    generator = torch.Generator().manual_seed(5)
    yardstick = make_yardstick(Still(), fk.Exact(), generator)
    found = yardstick.measure(lambda inputs: torch.zeros(len(inputs), 1))
    expected = math.log(1.8 / 1.05) / math.log(0.8 / 0.05)
    assert abs(found.l1 - expected) < 4.5 * found.l1_se < 0.01


def test_the_error_map_agrees_with_the_error(solution):
    found = solution.error_map(64, effort=fk.Effort(seconds=0.02))
    measured = solution.error(2**13)
    low, high = found.interval
    assert low - 3 * measured.l1_se < measured.l1 < high + 3 * measured.l1_se
    assert found.profiles["sigma"].edges[0] == 0.05


def test_the_law_of_u_is_under_the_measures(solution):
    """E u = E x² + E σ² E t + E a."""
    squares = stats.truncnorm(-2.0, 1.0).moment(2), stats.loguniform(0.05, 0.8).moment(2)
    expected = squares[0] + squares[1] * 2 / 7 + 1 / 3
    found = solution.uncertainty(samples=20_000)
    assert abs(found.mean.value - expected) < 4.5 * found.mean.se + 0.01


def test_a_free_variable_is_bounded_by_its_measure(solution):
    problem = solution.observe(["sigma", "a"], [1.0, 1.1, 1.2], x=-1.0, t=0.5)
    assert [v.tolist() for v in problem.bounds] == [[0.05, 0.0], [0.8, 1.0]]


def test_a_control_keeps_the_measures_of_the_parameters(solution, folder):
    accompanied = fk.add_control(solution, "1s", folder)
    loaded = fk.load(folder, family=Heat()).control
    assert loaded.domain.measures == accompanied.control.domain.measures
    assert loaded.domain.measures["sigma"] == LogUniform(0.05, 0.8)
    inputs = torch.tensor([[-1.0, 0.5, 0.3, 0.2], [0.5, 0.1, 0.7, 0.9]])
    assert torch.equal(loaded.map(inputs), accompanied.control.map(inputs))
