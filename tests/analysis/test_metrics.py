"""Errors of known maps, the standard error's coverage, and baselines against brute force."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import feynkac as fk
from feynkac.analysis import metrics
from feynkac.analysis.metrics import compare, make_yardstick
from feynkac.families import (
    BasketPut,
    BlackScholes,
    Box,
    ClosedForm,
    Domain,
    ExactSampler,
    Family,
    Heston,
)
from feynkac.sampling import reference_size
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import Estimate, closed_form_values, replicated
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.log_ode import LogOde

FAMILY = BlackScholes()


def measure_errors(u, *setting, **options):
    return make_yardstick(*setting, **options).measure(u)


@pytest.fixture(autouse=True)
def sizes_of_users(monkeypatch):
    monkeypatch.setattr(metrics, "KNOWN_INPUTS", 2**16)
    monkeypatch.setattr(reference_size, "NORMALS", 2**27)


@dataclass(frozen=True)
class Plane(Family, ClosedForm):
    """dS = dt + dB,  φ(x) = 3x₁ − x₂ + shift:  u = φ(x) + 2t, linear in all inputs."""

    dim: int = 2

    @property
    def domain(self):
        return Domain(x=Box(-1.0, 2.0, shape=(self.dim,)), t=Box(0.0, 1.0), shift=Box(0.0, 5.0))

    def drift(self, x, p):
        return torch.ones_like(x)

    def diffusion(self, x, dw, p):
        return dw

    def initial(self, x, p):
        return 3 * x[..., :1] - x[..., 1:] + p.shift

    def closed_form(self, x, t, p):
        return self.initial(x, p) + 2 * t


def true_map(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs.double()))


def off_by(relative_error):
    """A map whose error relative to 1 + |ū| is the given function of the inputs."""
    return lambda v: true_map(v) + relative_error(v.double()) * (1 + true_map(v).abs())


def column(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)[:, None]


def test_errors_of_two_known_values():
    """|2 − 1|/2 = ½ and |1 − (−3)|/4 = 1, the mean of the truth being −1."""
    reference = Estimate(column(1.0, -3.0), column(2e-4, 8e-4))
    points = FAMILY.domain.sample(2, torch.Generator())
    errors = compare(column(2.0, 1.0), reference, points, FAMILY.domain)
    assert errors.l1 == pytest.approx(0.75)
    assert errors.l1_se == pytest.approx(0.25)  # s = ½/√2, s/√2
    assert errors.l2 == pytest.approx(math.sqrt((0.25 + 1) / 2))
    assert errors.max == pytest.approx(1.0)
    assert errors.mean_baseline == pytest.approx((2 / 2 + 2 / 4) / 2)
    assert errors.reference_se == pytest.approx((1e-4 + 2e-4) / 2)
    assert errors.inputs == 2
    assert errors.absolute == pytest.approx((1 + 4) / 2)
    assert errors.relative == pytest.approx(2.5 / math.sqrt(8))  # deviation of 1 and −3


def test_the_solution_itself_has_no_error(generator):
    errors = measure_errors(true_map, FAMILY, Exact(), generator)
    assert errors.l1 == errors.l1_se == errors.l2 == errors.max == errors.reference_se == 0.0
    assert errors.mean_baseline > errors.linear_baseline > 0


def test_a_constant_relative_error_is_found_in_every_norm(generator):
    errors = measure_errors(off_by(lambda _: -0.03), FAMILY, Exact(), generator, inputs=1000)
    assert [errors.l1, errors.l2, errors.max] == pytest.approx([0.03] * 3, rel=1e-12)
    assert errors.l1_se == pytest.approx(0, abs=1e-12)


def test_a_uniform_relative_error_has_its_known_norms(generator):
    """Error x − 9 with x uniform on [9, 10]: mean ½, second moment ⅓, largest 1."""
    errors = measure_errors(off_by(lambda v: v[:, :1] - 9), FAMILY, Exact(), generator)
    assert errors.inputs == 2**16
    assert abs(errors.l1 - 0.5) < 4.5 * errors.l1_se
    assert errors.l1_se == pytest.approx(1 / math.sqrt(12 * 2**16), rel=0.02)
    assert errors.l2 == pytest.approx(math.sqrt(1 / 3), rel=0.01)
    assert errors.max == pytest.approx(1.0, abs=1e-3)


def test_the_standard_error_covers_as_often_as_it_should():
    u, repeats = off_by(lambda v: (v[:, :1] - 9) ** 2), 500
    covered = 0
    for seed in range(repeats):
        generator = torch.Generator().manual_seed(seed)
        errors = measure_errors(u, FAMILY, Exact(), generator, inputs=256)
        covered += abs(errors.l1 - 1 / 3) < 1.96 * errors.l1_se
    assert abs(covered / repeats - 0.95) < 4.5 * math.sqrt(0.95 * 0.05 / repeats)


@pytest.mark.parametrize("family", [BlackScholes(), BasketPut(1)])
def test_left_out_residuals_equal_those_of_refits_without_each_point(family, generator):
    points = family.domain.sample(40, generator, torch.float64)
    truth = torch.randn(40, 1, generator=generator, dtype=torch.float64)
    X = np.column_stack([points.numpy(), np.ones(40)])
    refits = []
    for i in range(40):
        kept = np.arange(40) != i
        coefficients, *_ = np.linalg.lstsq(X[kept], truth.numpy()[kept], rcond=None)
        refits.append(truth.numpy()[i] - X[i] @ coefficients)
    residual = metrics._linear_residual(points, truth, family.domain)
    np.testing.assert_allclose(residual.numpy(), np.array(refits), rtol=1e-9)


def test_the_linear_baseline_of_a_linear_solution_is_zero(generator):
    errors = measure_errors(lambda v: v[:, :1], Plane(), Exact(), generator, inputs=500)
    assert errors.linear_baseline < 1e-12
    assert errors.mean_baseline > 0.1


def test_a_linear_fit_through_too_few_points_is_not_a_number(generator):
    few = measure_errors(true_map, FAMILY, Exact(), generator, inputs=5)
    enough = measure_errors(true_map, FAMILY, Exact(), generator, inputs=6)
    assert math.isnan(few.linear_baseline)
    assert math.isfinite(enough.linear_baseline)


def test_the_mean_baseline_is_the_error_of_the_constant_map(generator):
    state = generator.get_state()
    baseline = measure_errors(true_map, FAMILY, Exact(), generator, inputs=500).mean_baseline
    points = FAMILY.domain.sample(500, generator.set_state(state))
    mean = true_map(points).mean().expand(500, 1)
    constant = compare(mean, Estimate(true_map(points), mean * 0), points, FAMILY.domain)
    assert constant.l1 == pytest.approx(baseline, rel=1e-12)


def test_without_closed_form_the_reference_is_simulated_with_its_error(generator):
    few, many = (
        measure_errors(zero, BasketPut(), EulerMaruyama(3), generator, None, paths, None, noise)
        for paths, noise in ((64, Independent()), (64 * 16, Independent()))
    )
    assert few.inputs == many.inputs == 512
    assert few.reference_se / many.reference_se == pytest.approx(4, rel=0.15)
    assert 0 < many.reference_se < 0.05


def zero(inputs):
    return torch.zeros(len(inputs), 1)


def test_a_reference_of_sobol_points_is_sharper_and_agrees():
    plain, sobol = (
        make_yardstick(
            BasketPut(), LogOde(2), torch.Generator().manual_seed(3), paths=2**10, noise=noise
        ).measure(zero)
        for noise in (Independent(), Sobol())
    )
    assert sobol.reference_se < plain.reference_se / 3
    assert sobol.inputs == plain.inputs == 512
    assert abs(sobol.l1 - plain.l1) < 4.5 * plain.reference_se / 512**0.5


def test_a_yardstick_is_made_once_and_measures_the_same_again():
    family, u = BasketPut(), zero
    settings = {"inputs": 64, "paths": 128, "noise": Sobol()}
    generator = torch.Generator().manual_seed(0)
    yardstick = make_yardstick(family, LogOde(2), generator, **settings)
    drawn = generator.get_state()
    first, again = yardstick.measure(u), yardstick.measure(u)
    direct = measure_errors(u, family, LogOde(2), torch.Generator().manual_seed(0), **settings)
    assert first == again == direct
    assert torch.equal(generator.get_state(), drawn)
    assert yardstick.measure(lambda v: zero(v) + 0.5) != first


def test_the_map_sees_all_inputs_in_bounded_blocks(monkeypatch, generator):
    monkeypatch.setattr(metrics, "ROWS_AT_ONCE", 100)
    sizes = []

    def u(inputs):
        sizes.append(len(inputs))
        return true_map(inputs)

    measure_errors(u, FAMILY, Exact(), generator, inputs=250)
    assert sizes == [100, 100, 50]


def test_the_error_is_reproducible_and_fresh_for_another_seed():
    u = off_by(lambda v: v[:, :1] - 9)
    first, again, other = (
        measure_errors(u, FAMILY, Exact(), torch.Generator().manual_seed(s), inputs=100).l1
        for s in (0, 0, 1)
    )
    assert first == again != other


def test_a_record_holds_every_figure_by_name(generator):
    errors = measure_errors(true_map, FAMILY, Exact(), generator, inputs=100)
    names = "l1 l1_se l2 max mean_baseline linear_baseline reference_se inputs"
    more = "l1_low l1_high max_se absolute relative"
    assert list(errors.record()) == [*names.split(), *more.split()]
    assert errors.record()["inputs"] == 100


def test_what_is_not_finite_is_none_in_a_record(generator):
    record = measure_errors(true_map, FAMILY, Exact(), generator, inputs=5).record()
    assert record["linear_baseline"] is None
    assert record["l1"] == 0.0


def test_with_a_closed_form_the_figures_are_plain_means(generator):
    """Nothing is debiased where there is no noise, to the last bit."""
    points = FAMILY.domain.sample(1000, generator)
    truth = true_map(points)
    values = truth + 0.01 * torch.randn(1000, 1, generator=generator, dtype=torch.float64)
    found = compare(values, Estimate(truth, 0 * truth), points, FAMILY.domain)
    error = (values - truth).abs() / (1 + truth.abs())
    assert found.l1 == error.mean().item()
    assert found.l1_se == (error.std() / 1000**0.5).item()
    assert found.l2 == error.square().mean().sqrt().item()
    assert found.l1_low < found.l1 < found.l1_high
    assert found.max_se == 0.0


def test_the_worst_input_is_named(generator):
    u = off_by(lambda v: (v[:, :1] - 9) ** 2)
    points = FAMILY.domain.sample(100, generator)
    errors = compare(u(points), Estimate(true_map(points), 0 * u(points)), points, FAMILY.domain)
    assert list(errors.worst) == list(FAMILY.domain.measures)
    assert errors.worst["x"] == points[:, 0].max().item()


class Hidden(Family, ExactSampler):
    """Black–Scholes without its closed form."""

    @property
    def domain(self):
        return FAMILY.domain

    def drift(self, x, p):
        return FAMILY.drift(x, p)

    def diffusion(self, x, dw, p):
        return FAMILY.diffusion(x, dw, p)

    def initial(self, x, p):
        return FAMILY.initial(x, p)

    def exact(self, x, t, p, z):
        return FAMILY.exact(x, t, p, z)


def measured(noise, paths, wave=1e-3):
    """Errors of a wavy map against simulated values, and what they are without noise."""
    u = off_by(lambda v: wave * torch.sin(9 * v[:, :1] + 5 * v[:, 3:]))
    generator = torch.Generator().manual_seed(8)
    yardstick = make_yardstick(Hidden(), Exact(), generator, 512, paths, None, noise)
    points, reference = yardstick.points, yardstick.reference
    naive = ((u(points) - reference.value).abs() / (1 + reference.value.abs())).mean().item()
    truth = compare(u(points), closed_form_values(FAMILY, points), points, FAMILY.domain).l1
    return yardstick.measure(u), truth, naive


def test_the_noise_of_a_reference_is_taken_out():
    """Where it is 5 times the error, and the plain mean is 4 times too large."""
    errors, truth, naive = measured(Independent(), 2**14)
    assert naive > 4 * truth
    assert errors.l1_low <= truth <= errors.l1_high
    assert abs(errors.l1 - truth) < 0.35 * (naive - truth)
    assert errors.l1 <= errors.l2


@pytest.mark.slow
def test_the_error_of_a_trained_network_is_found_through_noise():
    """Against a reference as noisy as those of evaluations once were."""
    network = fk.solve(FAMILY, steps=60, evaluations=1, seed=0).network
    truth = measure_errors(network, FAMILY, Exact(), torch.Generator().manual_seed(1)).l1
    generator = torch.Generator().manual_seed(2)
    yardstick = make_yardstick(Hidden(), Exact(), generator, 512, 2**12, noise=Independent())
    value, error = yardstick.reference
    naive = replace(yardstick, reference=Estimate(value, 0 * error)).measure(network)
    errors = yardstick.measure(network)
    assert naive.l1 > 4 * truth
    assert errors.l1_low <= truth <= errors.l1_high < naive.l1
    quiet = measure_errors(network, Hidden(), Exact(), torch.Generator().manual_seed(2), 4096)
    assert quiet.l1_low <= truth <= quiet.l1_high < 1.5 * truth


def test_a_quiet_reference_needs_no_correction():
    errors, truth, naive = measured(None, None)
    assert errors.reference_se < 0.05 * truth
    assert errors.l1 == pytest.approx(truth, rel=0.02)
    assert naive == pytest.approx(truth, rel=0.02)
    assert errors.l1_low < truth < errors.l1_high


def test_where_noise_explains_all_the_interval_reaches_down_to_zero():
    errors, truth, naive = measured(Independent(), 2**10, wave=1e-5)
    assert truth < 1e-5
    assert errors.l1_low == 0.0
    assert truth < errors.l1_high < 0.75 * naive
    assert any("between 0 and" in sentence for sentence in errors.warnings)


def test_the_reference_of_the_basket_is_far_quieter_than_independent_paths():
    """In place of 0.012 with 4,096 independent paths, which take as long as half of these."""
    family, scheme = BasketPut(), EulerMaruyama(steps=25)
    quiet = make_yardstick(family, scheme, torch.Generator().manual_seed(0)).measure(zero)
    assert quiet.inputs == 128
    assert quiet.reference_se < 0.0021  # 0.0018 was measured


def test_the_noise_of_a_run_does_not_choose_that_of_its_reference(generator):
    """A conditional label of one normal has no noise to speak of."""
    errors = make_yardstick(Heston(), FamilySteps(1), generator, inputs=16, paths=2**8)
    assert (errors.reference.error / (1 + errors.reference.value.abs())).median() < 1e-4


@pytest.mark.parametrize("seconds", [0.02, 0.5])
def test_a_yardstick_in_seconds_is_made_and_measures_in_about_that_time(seconds):
    slow = 2.0**-14  # seconds of an input: all 2^16 of them take 4 s

    def u(inputs):
        time.sleep(slow * len(inputs))
        return true_map(inputs)

    start = time.perf_counter()
    yardstick = make_yardstick(FAMILY, Exact(), torch.Generator().manual_seed(0), seconds=seconds)
    errors = yardstick.measure(u)
    assert time.perf_counter() - start < 4.0
    assert 2**10 <= errors.inputs <= max(2**10, seconds / slow)
    assert errors.inputs & (errors.inputs - 1) == 0
    assert errors.l1 == 0.0


def test_a_simulated_yardstick_in_seconds_has_at_least_an_interval(generator, monkeypatch):
    clock = SteadyClock()
    monkeypatch.setattr(metrics, "time", clock)
    monkeypatch.setattr(reference_size, "time", clock)
    monkeypatch.setattr(reference_size, "replicated", clock.replicated)
    tiny = make_yardstick(Hidden(), Exact(), generator, seconds=1e-6).measure(true_map)
    some = make_yardstick(Hidden(), Exact(), generator, seconds=1.0).measure(true_map)
    assert tiny.inputs == 32
    assert some.inputs > tiny.inputs
    assert some.reference_se < tiny.reference_se
    assert 0 <= tiny.l1_low <= tiny.l1_high < 0.05


class SteadyClock:
    """Time passes only while paths are tried: a microsecond per path, on every machine."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def replicated(self, family, scheme, noise, points, paths, generator, replicates):
        self.now += 1e-6 * len(points) * paths * replicates
        return replicated(family, scheme, noise, points, paths, generator, replicates)


def test_a_bad_corner_is_flagged(generator):
    """A value of 1.4 too much at a few of 65,536 inputs, where the mean error is 0.0004."""
    u = off_by(lambda v: 1.4 * (v[:, :1] > 9.9995).double() + 3e-4)
    errors = measure_errors(u, FAMILY, Exact(), generator)
    assert errors.l1 < 2e-3
    assert errors.worst["x"] > 9.9995
    assert errors.warnings[0].startswith("the largest error, 1.40, is ")
    assert measure_errors(off_by(lambda _: 3e-4), FAMILY, Exact(), generator).warnings == []


def test_each_of_several_outputs_has_its_own_mean_and_deviation(generator):
    large = 100.0 + torch.randn(1000, 1, generator=generator, dtype=torch.float64)
    small = 0.1 + 0.01 * torch.randn(1000, 1, generator=generator, dtype=torch.float64)
    truth = torch.cat([large, small], dim=-1)
    zero = torch.zeros_like(truth)
    points = FAMILY.domain.sample(1000, generator)
    errors = compare(truth.mean(0).expand_as(truth), Estimate(truth, zero), points, FAMILY.domain)
    assert errors.mean_baseline == pytest.approx(errors.l1)
    assert errors.relative == pytest.approx(math.sqrt(2.0 / math.pi), rel=0.05)


@pytest.mark.parametrize(
    ("grid", "inputs"),
    [(fk.Grid((65,), 24), 1024), (fk.Grid((97, 49), 24), 1024), (fk.Grid((145, 73), 36), 256)],
)
def test_large_grids_give_fewer_reference_values(grid, inputs, monkeypatch):
    """The work is bounded; nothing is solved here, only what would be is counted."""
    asked = []

    def noted(family, grid, points):
        asked.append(len(points))
        return Estimate(torch.ones(len(points), 1), torch.zeros(len(points), 1))

    monkeypatch.setattr(metrics, "grid_reference", noted)
    make_yardstick(fk.DoubleWell(), Exact(), torch.Generator().manual_seed(0), grid=grid)
    assert asked == [inputs]
