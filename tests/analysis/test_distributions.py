"""Random inputs: marginals by Kolmogorov and Smirnov, ranks by the copula, and what is refused."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import stats

from feynkac.analysis.distributions import Inputs
from feynkac.analysis.uncertainty import propagate, sobol_indices
from feynkac.errors import InputError
from feynkac.families import Box, Domain
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled

COUNT = 20_000
DOMAIN = Domain(
    x=Box([-1.0, 2.0], [1.0, 5.0]),
    t=Box(0.0, 1.0),
    a=Box(0.0, 2.0),
    b=Box(-3.0, 3.0),
    m=Box(0.0, 4.0, shape=(2, 2)),
)


def draws(generator, given=None, correlation=None) -> dict[str, np.ndarray]:
    """Samples by name, `(COUNT, size)`, all of them inside the domain."""
    flat = Inputs(DOMAIN, given or {}, correlation or {}).sample(COUNT, generator)
    assert flat.shape == (COUNT, DOMAIN.dim)
    assert flat.dtype == torch.float64
    assert DOMAIN.contains(flat).all()
    return {name: flat[:, where].numpy() for name, where in DOMAIN.slices().items()}


def follows(sample, law) -> bool:
    return stats.kstest(sample, law.cdf).pvalue > 1e-3


def rank_correlation(r: float) -> float:
    """Spearman's, of a Gaussian copula."""
    return 6.0 / math.pi * math.asin(r / 2.0)


# Marginals


def test_what_is_not_named_is_uniform_on_its_box(generator):
    drawn = draws(generator)
    for name, box in DOMAIN.measures.items():
        for column, low, high in zip(drawn[name].T, box.low, box.high, strict=True):
            assert follows(column, stats.uniform(low, high - low))


def test_blanks_around_a_name_do_no_harm(generator):
    law = stats.norm(1.0, 0.5)
    spaced, plain = Inputs(DOMAIN, {" a ": law}), Inputs(DOMAIN, {"a": law})
    assert spaced.warnings == [text.replace("of a ", "of  a  ") for text in plain.warnings] != []


def triangle(count, generator, dtype):
    return torch.rand(count, 2, generator=generator, dtype=dtype).sum(-1)


UNEVEN = Domain(
    x=Beta([2.0, 0.5], [5.0, 0.5]),
    t=LogUniform(0.01, 1.0),
    a=Normal(0.0, 1.0, low=-1.0, high=2.0),
    b=Sampled(triangle, 0.0, 2.0, mean=1.0, std=6**-0.5),
)
UNEVEN_LAWS = {
    "x": [stats.beta(2.0, 5.0), stats.beta(0.5, 0.5)],
    "t": [stats.loguniform(0.01, 1.0)],
    "a": [stats.truncnorm(-1.0, 2.0)],
    "b": [stats.triang(0.5, 0.0, 2.0)],
}


def test_what_is_not_named_follows_its_measure(generator):
    drawn = Inputs(UNEVEN, {"a": stats.norm(1.0, 0.1)}).sample(COUNT, generator)
    assert drawn.dtype == torch.float64
    assert UNEVEN.contains(drawn).all()
    laws = UNEVEN_LAWS | {"a": [stats.norm(1.0, 0.1)]}
    for column, law in zip(drawn.T.numpy(), itertools.chain(*laws.values()), strict=True):
        assert follows(column, law)


def test_the_law_of_u_is_that_under_the_measures():
    for i, law in enumerate(itertools.chain(*UNEVEN_LAWS.values())):
        found = propagate(lambda inputs, i=i: inputs[:, i, None], Inputs(UNEVEN), samples=COUNT)
        assert abs(found.mean.value - law.mean()) < 4.5 * found.mean.se
        assert abs(found.variance.value - law.var()) < 4.5 * found.variance.se


def test_the_variance_is_shared_out_under_the_measures():
    """That of a sum is shared in proportion to the variances."""
    inputs = Inputs(UNEVEN, {"b": 1.0})
    found = sobol_indices(lambda flat: flat[:, 2:4].sum(-1, keepdim=True), inputs, base=2**12)
    shares = [UNEVEN_LAWS[name][0].var() for name in ("t", "a")]
    for name, share in zip(("t", "a"), shares, strict=True):
        assert found.first[name].value == pytest.approx(share / sum(shares), abs=0.01)


def test_a_sampler_has_no_quantiles_and_no_ranks():
    with pytest.raises(InputError, match="b is given by a sampler; indices need a distribution"):
        sobol_indices(lambda flat: flat[:, :1], Inputs(UNEVEN))
    with pytest.raises(InputError, match="b has no distribution, so it cannot be correlated"):
        Inputs(UNEVEN, correlation={("a", "b"): 0.5})


def test_measures_are_correlated_by_their_ranks(generator):
    drawn = Inputs(UNEVEN, correlation={("t", "a"): 0.7}).sample(COUNT, generator).numpy()
    found = stats.spearmanr(drawn[:, 2], drawn[:, 3]).statistic
    assert abs(found - rank_correlation(0.7)) < 4.5 / math.sqrt(COUNT)
    assert follows(drawn[:, 2], stats.loguniform(0.01, 1.0))


@pytest.mark.parametrize(
    ("name", "law", "cut"),
    [
        ("b", stats.norm(1.0, 2.0), stats.truncnorm(-2.0, 1.0, 1.0, 2.0)),
        ("b", stats.norm(-2.9, 1.0), stats.truncnorm(-0.1, 5.9, -2.9, 1.0)),
        ("a", stats.expon(), stats.truncexpon(2.0)),
        ("a", stats.beta(2.0, 5.0), stats.beta(2.0, 5.0)),
        ("t", stats.uniform(0.25, 1.0), stats.uniform(0.25, 0.75)),
    ],
    ids=["both sides", "nearly half", "one side", "inside", "uniform"],
)
def test_a_law_is_cut_to_the_box(name, law, cut, generator):
    drawn = draws(generator, {name: law})
    assert follows(drawn[name][:, 0], cut)
    others = [n for n in ("t", "a", "b") if n != name]
    for other in others:
        box = DOMAIN.measures[other]
        assert follows(drawn[other][:, 0], stats.uniform(box.low[0], box.high[0] - box.low[0]))


def test_one_law_for_all_entries_or_one_for_each(generator):
    means = np.array([[1.0, 1.5], [2.0, 3.0]])
    drawn = draws(generator, {"m": stats.norm(means, 0.1), "x": stats.norm([0.0, 3.0], 0.1)})
    for column, mean in zip(drawn["m"].T, means.flat, strict=True):
        assert follows(column, stats.norm(mean, 0.1))
    assert follows(drawn["x"][:, 1], stats.norm(3.0, 0.1))
    drawn = draws(generator, {"m": stats.norm(2.0, 0.1)})
    for column in drawn["m"].T:
        assert follows(column, stats.norm(2.0, 0.1))


@pytest.mark.parametrize(
    ("name", "value", "entries"),
    [
        ("a", 1.5, [1.5]),
        ("a", torch.tensor(2.0), [2.0]),
        ("x", [0.5, 4.0], [0.5, 4.0]),
        ("m", 3.0, [3.0, 3.0, 3.0, 3.0]),
        ("m", [[0.0, 1.0], [2.0, 3.0]], [0.0, 1.0, 2.0, 3.0]),
    ],
)
def test_what_is_fixed_does_not_vary(name, value, entries, generator):
    assert (draws(generator, {name: value})[name] == entries).all()
    others = [entry for entry in DOMAIN.entries if entry.partition("[")[0] != name]
    assert list(Inputs(DOMAIN, {name: value}).columns) == others


def test_samples_are_drawn_with_equal_chances(generator):
    values = [0.1, 0.2, 0.7, 1.9]
    drawn, counts = np.unique(draws(generator, {"a": values})["a"], return_counts=True)
    assert drawn.tolist() == values
    assert stats.chisquare(counts).pvalue > 1e-3


def test_samples_of_several_variables_stay_together(generator):
    rows = torch.rand(50, 4, generator=generator, dtype=torch.float64).numpy()
    drawn = draws(generator, {"a": rows[:, 0], "b": 2 * rows[:, 0], "m": rows.reshape(50, 2, 2)})
    assert (drawn["b"] == 2 * drawn["a"]).all()
    assert (drawn["m"][:, :1] == drawn["a"]).all()
    assert {tuple(row) for row in drawn["m"]} == {tuple(row) for row in rows}


def test_the_generator_alone_determines_the_draws():
    inputs = Inputs(DOMAIN, {"a": [0.1, 0.2, 0.3], "b": stats.norm()}, {("t", "b"): 0.5})
    first, again, other = (
        inputs.sample(100, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


# Correlation


@pytest.mark.parametrize("r", [-0.95, -0.3, 0.5, 0.9])
@pytest.mark.parametrize("given", [{}, {"a": stats.expon(), "b": stats.norm(1.0, 2.0)}], ids=len)
def test_correlation_couples_the_ranks_and_leaves_the_marginals(r, given, generator):
    drawn = draws(generator, given, {("a", "b"): r})
    found = stats.spearmanr(drawn["a"], drawn["b"]).statistic
    assert abs(found - rank_correlation(r)) < 4.5 / math.sqrt(COUNT)
    laws = [stats.truncexpon(2.0), stats.truncnorm(-2.0, 1.0, 1.0, 2.0)]
    uniform = [stats.uniform(0.0, 2.0), stats.uniform(-3.0, 6.0)]
    for name, law in zip("ab", laws if given else uniform, strict=True):
        assert follows(drawn[name][:, 0], law)


def test_three_correlations_at_once_and_none_elsewhere(generator):
    pairs = {("t", "a"): 0.6, ("a", "b"): -0.5, ("b", "t"): 0.1}
    drawn = draws(generator, correlation=pairs)
    drawn["x"] = drawn["x"][:, :1]
    for a, b in itertools.combinations("xtab", 2):
        r = pairs.get((a, b), pairs.get((b, a), 0.0))
        found = stats.spearmanr(drawn[a], drawn[b]).statistic
        assert abs(found - rank_correlation(r)) < 4.5 / math.sqrt(COUNT)


# Warnings


def test_what_is_cut_off_is_said():
    given = {"a": stats.beta(2.0, 2.0), "b": stats.norm(1.0, 1.0), "t": 0.5}
    assert Inputs(DOMAIN, given).warnings == [
        "2.28% of b would lie outside Box(-3, 3); its distribution is cut there."
    ]


def test_the_worst_entry_of_a_vector_counts():
    given = {"m": stats.norm([[2.0, 2.0], [2.0, 4.0]], 0.1)}
    (warning,) = Inputs(DOMAIN, given).warnings
    assert warning.startswith("50.00% of m would lie outside")


# Refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rho": 0.5}, r"there is no variable 'rho'; there are: x, t, a, b, m\."),
        ({"b": stats.norm(4.0, 1.0)}, r"the distribution of b lies 84% outside Box\(-3, 3\)"),
        ({"x": stats.norm(0.0, 0.1)}, "the distribution of x lies 100% outside"),
        ({"b": stats.norm(math.nan, 1.0)}, "the distribution of b lies nan% outside"),
        ({"a": stats.norm([0.5, 1.0], 0.1)}, r"distribution of a does not fit its shape \(\)"),
        ({"m": stats.norm([1, 2, 3], 0.1)}, r"distribution of m does not fit its shape \(2, 2\)"),
        ({"a": 2.5}, r"a = 2.5 lies outside \[0, 2\], where the solution was trained"),
        ({"a": [0.5, 2.5]}, r"a = 2.5 lies outside \[0, 2\]"),
        ({"m": [[1, 1], [1, 5]]}, r"m\[1, 1\] = 5 lies outside \[0, 4\]"),
        ({"a": [0.5, math.nan]}, "a = nan is not a finite number"),
        ({"a": "high"}, "a must be a frozen distribution of SciPy, numbers or samples, got 'high'"),
        ({"x": stats.multivariate_normal([0, 3])}, "x must be a frozen distribution of SciPy"),
        ({"x": [1.0, 3.0, 3.0]}, r"x must have shape \(…, 2\), got \(3,\)"),
        ({"a": []}, "a has no samples"),
        ({"a": [[0.5, 1.0]]}, "samples are a list of values: one axis more"),
        ({"a": [0.5, 1.0], "b": [0.1, 0.2, 0.3]}, r"do not broadcast: .*a \(2,\), b \(3,\)"),
    ],
)
def test_inputs_that_make_no_sense_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        Inputs(DOMAIN, given)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({("a", "rho"): 0.5}, "there is no variable 'rho'; there are: x, t, a"),
        ({("a", "x"): 0.5}, "correlation needs scalar variables, got 'x'"),
        ({("a", "t"): 0.5}, "t has no distribution, so it cannot be correlated"),
        ({("b", "a"): 0.5}, "b has no distribution, so it cannot be correlated"),
        ({("a", "a"): 0.5}, "a, a: give a correlation of two different variables, once"),
        ({("a", "c"): 0.5, ("c", "a"): 0.1}, "give a correlation of two different variables, once"),
        ({("a", "c"): 1.5}, "a correlation lies between -1 and 1, got 1.5 of a, c"),
        ({("a", "c"): -1.0}, "a correlation lies between -1 and 1, got -1.0 of a, c"),
        ({("a", "c"): math.nan}, "a correlation lies between -1 and 1, got nan of a, c"),
        (
            {("a", "c"): 0.9, ("c", "d"): 0.9, ("a", "d"): -0.9},
            "the correlations are not those of any random variables",
        ),
    ],
    ids=str,
)
def test_correlations_that_cannot_be_are_refused(pairs, message):
    boxes = {name: Box(0.0, 1.0) for name in "abcd"}
    domain = Domain(x=Box(0.0, 1.0, shape=(2,)), t=Box(0.0, 1.0), **boxes)
    with pytest.raises(InputError, match=message):
        Inputs(domain, {"t": 0.5, "b": [0.1, 0.2]}, pairs)


def test_samples_have_no_quantiles():
    inputs = Inputs(DOMAIN, {"a": [0.5, 1.0]})
    with pytest.raises(InputError, match="a is given by samples; indices need a distribution"):
        inputs.transform(np.full((3, DOMAIN.dim), 0.5))


def test_inputs_that_are_drawn_together_stay_together():
    def twice(count, generator, dtype):
        return torch.rand(count, 1, generator=generator, dtype=dtype).expand(-1, 2)

    domain = Domain(x=Box(0, 1), t=Box(0, 1)).drawn_by(twice)
    rows = Inputs(domain).sample(50, torch.Generator().manual_seed(0))
    assert torch.equal(rows[:, 0], rows[:, 1])
    with pytest.raises(InputError, match="drawn together"):
        Inputs(domain, {"t": 0.5}).sample(50, torch.Generator())
    with pytest.raises(InputError, match="draws them together"):
        sobol_indices(lambda v: v[:, :1], Inputs(domain), 16)
