"""The search ranges are those of the paper's Table 6, and candidates are drawn from all of them."""

from collections import Counter

import pytest
import torch
from scipy import stats

import feynkac as fk
from feynkac.solver import plan_run
from feynkac.training.search import SearchSpace

LEVEL = 1e-3  # of every test below; the draws are always the same


@pytest.fixture(scope="module")
def drawn():
    generator = torch.Generator().manual_seed(6)
    return [SearchSpace().draw(generator) for _ in range(2000)]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("levels", {3, 4}),
        ("factor", {4, 5, 6}),
        ("batch_size", {16384, 32768, 65536, 131072}),
        ("optimiser", {"AdamW", "SGD"}),
    ],
)
def test_choices_are_the_paper_s_and_equally_likely(drawn, field, expected):
    values = [getattr(each, field) for each in drawn]
    counts = Counter(type(v).__name__ if field == "optimiser" else v for v in values)
    assert set(counts) == expected
    assert stats.chisquare(list(counts.values())).pvalue > LEVEL


def test_the_learning_rate_is_log_uniform(drawn):
    rates = [each.optimiser.learning_rate for each in drawn]
    assert stats.kstest(rates, stats.loguniform(1e-5, 1e-1).cdf).pvalue > LEVEL


def test_the_decay_is_uniform(drawn):
    decays = [each.decay for each in drawn]
    assert stats.kstest(decays, stats.uniform(0.2, 0.4).cdf).pvalue > LEVEL


def test_the_parts_are_independent(drawn):
    def correlation(one, other):
        return stats.spearmanr([one(c) for c in drawn], [other(c) for c in drawn]).pvalue

    assert correlation(lambda c: c.optimiser.learning_rate, lambda c: c.decay) > LEVEL
    assert correlation(lambda c: c.levels, lambda c: c.factor) > LEVEL
    assert correlation(lambda c: c.batch_size, lambda c: c.decay) > LEVEL


def test_sgd_has_momentum_and_weight_decay(drawn):
    found = {c.optimiser for c in drawn if isinstance(c.optimiser, fk.SGD)}
    assert all(each.momentum > 0 and each.weight_decay > 0 for each in found)


def test_the_generator_decides():
    first, again, other = (
        SearchSpace().draw(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_candidate_is_what_a_run_is_planned_with(drawn):
    for candidate in drawn[:4]:
        training = {"steps": 300, **candidate.training(patience=50)}
        run = plan_run(fk.BlackScholes(), "paper", candidate.architecture, None, training)
        assert run.architecture == fk.Multilevel(candidate.levels, candidate.factor)
        assert run.training.optimiser == candidate.optimiser
        assert run.training.batch_size == candidate.batch_size
        assert run.training.schedule.rate(1.0, step=100, steps=300) == pytest.approx(
            candidate.decay**2
        )
