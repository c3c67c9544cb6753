"""The weak error of Euler–Maruyama: against QuantLib where one or two steps have a formula."""

import math

import numpy as np
import pytest
import QuantLib as ql  # noqa: N813
import torch
from scipy.integrate import quad
from scipy.stats import norm

from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.reproduction.euler_supremum import line_of_black_scholes
from feynkac.reproduction.weak_error import (
    FINE,
    Case,
    block_errors,
    jackknife,
    largest,
    nearest_corners,
    reference_error,
    slope,
    summarise,
    time_block,
)
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.reference import replicated
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.log_ode import LogOde

PUT = Case("put", BlackScholes(), Exact(), inputs=6, paths=2048, finest=4)
BASKET = Case("basket", BasketPut(), LogOde(steps=4), inputs=4, paths=512, finest=4)


def inputs_of(case, block=0):
    """The first thing a block draws."""
    generator = make_generator(0, "theorem-2", case.title, block)
    return case.family.domain.sample(case.inputs, generator)


def bachelier(strike, forward, deviation):
    return ql.bachelierBlackFormula(ql.Option.Put, strike, forward, deviation)


def one_step(x, t, sigma, strike):
    """E (K − x − σx√t Z)⁺."""
    return bachelier(strike, x, abs(x) * sigma * math.sqrt(t))


def two_steps(x, t, sigma, strike):
    """The same from where a first step of half the time leads."""
    move = sigma * math.sqrt(t / 2)
    value, _ = quad(
        lambda z: norm.pdf(z) * one_step(x * (1 + move * z), t / 2, sigma, strike), -8, 8, limit=200
    )
    return value


def test_one_and_two_steps_are_off_by_what_quantlib_says():
    found = block_errors(PUT, 0, 0)
    assert found.shape == (6, 4, 3)
    error = (found.var(1) / 4).mean(0).sqrt()
    for i, (x, t, sigma, strike) in enumerate(inputs_of(PUT).double().tolist()):
        truth = ql.blackFormula(ql.Option.Put, strike, x, sigma * math.sqrt(t))
        for k, scheme in enumerate((one_step, two_steps)):
            bias = scheme(x, t, sigma, strike) - truth
            tolerance = 6 * error[k].item() + 1e-6
            assert found[i, :, k].mean().item() == pytest.approx(bias, abs=tolerance)


def test_one_step_of_the_basket_is_normal():
    """mean(S) is normal after one step, so QuantLib's Bachelier formula prices it."""
    points = inputs_of(BASKET).double()
    x, t, p = BASKET.family.domain.split(points)
    generator = make_generator(1, "truth")
    truth = replicated(BASKET.family, LogOde(steps=8), Sobol(), points, 512, generator, 4)
    forward = (x + t * BASKET.family.drift(x, p)).mean(-1)
    units = torch.eye(3, dtype=torch.float64)[:, None].expand(3, 4, 3)
    loads = torch.stack([BASKET.family.diffusion(x, unit, p).mean(-1) for unit in units])
    deviation = (loads.square().sum(0) * t[:, 0]).sqrt()
    arguments = zip(p.strike[:, 0].tolist(), forward.tolist(), deviation.tolist(), strict=True)
    prices = torch.tensor([bachelier(*each) for each in arguments], dtype=torch.float64)
    found = block_errors(BASKET, 0, 0)[..., 0]
    tolerance = 6 * (truth.error[:, 0] + found.std(1)) + 2e-3
    assert ((found.mean(1) - (prices - truth.value[:, 0])).abs() <= tolerance).all()
    assert (found.mean(1).abs() > 2 * tolerance).any()


def test_blocks_and_seeds_have_inputs_and_paths_of_their_own():
    first, again = block_errors(PUT, 0, 0), block_errors(PUT, 0, 0)
    assert torch.equal(first, again)
    assert not torch.equal(first, block_errors(PUT, 0, 1))
    assert not torch.equal(first, block_errors(PUT, 1, 0))


def test_the_reference_of_a_closed_form_has_its_mean():
    found = reference_error(PUT, 0, inputs=8)
    assert abs(found["reference_error"]) < 5 * found["reference_error_se"] + 1e-6
    assert found["reference_error_se"] < 1e-3


def test_the_reference_without_a_closed_form_is_nearly_right():
    found = reference_error(BASKET, 0, inputs=4)
    assert abs(found["reference_error"]) < 0.01


def test_the_jackknife_of_a_mean_is_the_textbook_error(generator):
    items = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    value, error = jackknife(items, lambda mean: 2 * mean)
    torch.testing.assert_close(value, 2 * items.mean(0))
    torch.testing.assert_close(error, 2 * items.std(0) / 50**0.5)


def test_the_slope_is_that_of_least_squares(generator):
    steps = [1, 2, 4, 8, 16]
    errors = torch.rand(6, 5, generator=generator, dtype=torch.float64)
    fits = [np.polyfit(np.log(steps[-FINE:]), np.log(e[-FINE:]), 1)[0] for e in errors.numpy()]
    torch.testing.assert_close(slope(errors, steps), torch.tensor(fits, dtype=torch.float64))


def test_the_norm_leaves_out_the_noise(generator):
    steps = [1, 2, 4, 8]
    sizes = torch.randn(4000, 1, 1, generator=generator, dtype=torch.float64)
    noise = 0.3 * torch.randn(4000, 4, 4, generator=generator, dtype=torch.float64)
    found = summarise(sizes / torch.tensor(steps) + noise, steps)
    for value, error, m in zip(found["l2"], found["l2_se"], steps, strict=True):
        assert value == pytest.approx(1 / m, abs=5 * error)
        assert error < 0.05
    assert found["l2_slope"] == pytest.approx(-1.0, abs=5 * found["l2_slope_se"])
    assert found["inputs"] == 4000


def test_the_norm_multiplies_different_replicates():
    differences = torch.tensor([[[0.2], [0.4]], [[-0.5], [-0.9]]]).double().repeat(1, 1, 3)
    found = summarise(differences[:, [0, 1, 0, 1]], [1, 2, 4])
    squares = [(1.2**2 - 0.4) / 12, (2.8**2 - 2.12) / 12]
    assert found["l2"] == pytest.approx([(sum(squares) / 2) ** 0.5] * 3)


def test_the_largest_is_chosen_by_one_half_and_measured_by_the_other():
    differences = torch.tensor([[1.0, 1.0, 0.5, 0.7], [0.9, 0.9, 3.0, 3.0]]).double()
    found = largest(differences.unsqueeze(-1))
    assert found["largest"] == pytest.approx([0.6])
    assert found["largest_se"] == pytest.approx([0.1])


def test_the_largest_of_pure_noise_is_not_biased(generator):
    noise = torch.randn(200, 4, 300, generator=generator, dtype=torch.float64)
    found = torch.tensor(largest(1.0 + noise)["largest"])
    assert noise[:, :2].mean(1).abs().amax(0).mean() > 1.5  # what choosing alone would show
    signed = (1.0 + noise)[:, 2:].mean(1).abs().mean()
    assert found.mean().item() == pytest.approx(signed.item(), abs=0.15)


def test_corners_are_at_the_ends_of_the_intervals():
    inputs = inputs_of(PUT)
    corners = nearest_corners(PUT.family.domain, inputs)
    assert set(corners[:, 0].tolist()) <= {9.0, 10.0}
    assert (corners[:, 1] == 1.0).all()
    assert ((corners[:, 3] == 10.0) == (inputs[:, 3] < 11.0)).all()
    assert not torch.equal(block_errors(PUT, 0, 0), block_errors(PUT, 0, 0, corners=True))


def test_simulated_errors_are_those_of_the_law():
    found = block_errors(PUT, 0, 0)
    error = found.std(1) / 2
    line = line_of_black_scholes(BlackScholes())
    for i, (x, t, sigma, strike) in enumerate(inputs_of(PUT).double().tolist()):
        (exact,) = line.errors(4, t, sigma, 0.0, np.array([[x, strike]]))
        tolerance = 8 * error[i, -1].item() + 1e-6
        assert found[i, :, -1].mean().item() == pytest.approx(exact, abs=tolerance)


def test_pure_noise_gives_finite_numbers():
    """Replicates of opposite signs: the square is negative."""
    differences = torch.tensor([[[1.0], [-1.0]] * 2] * 3).double().repeat(1, 1, 3)
    found = summarise(differences, [1, 2, 4])
    assert all(math.isfinite(v) for v in [*found["l2"], found["l2_slope"], *found["largest"]])


def test_a_block_takes_time():
    assert 0.0 < time_block(PUT) < 60.0
