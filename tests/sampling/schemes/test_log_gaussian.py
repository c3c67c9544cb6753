"""States that are normal after logarithms: against closed forms, small steps, and look-alikes."""

from dataclasses import dataclass

import pytest
import torch

import feynkac as fk
from feynkac.errors import InputError
from feynkac.methods.fast.choose_scheme import suitable_scheme
from feynkac.sampling.labels import payoffs
from feynkac.sampling.schemes.log_gaussian import LogGaussian, logarithms


@dataclass(frozen=True)
class Gompertz(fk.Family):
    """dS = r S ln(K/S) dt + σ S^power dB, from a thousand to a million."""

    power: float = 1.0
    floor: float = 1e-30

    @property
    def domain(self):
        return fk.Domain(
            x=fk.LogUniform(1e3, 1e6),
            t=fk.Box(0.1, 3.0),
            r=fk.Box(0.2, 1.0),
            sigma=fk.Box(0.1, 0.5),
            cap=fk.LogUniform(1e4, 1e6),
        )

    def drift(self, x, p):
        return p.r * x * (p.cap / x.clamp_min(self.floor)).log()

    def diffusion(self, x, dw, p):
        return p.sigma * x**self.power * dw

    def initial(self, x, p):
        return x

    def truth(self, x, t, p):
        """E S_t: the logarithm is an Ornstein–Uhlenbeck process."""
        level, left = p.cap.log() - 0.5 * p.sigma.square() / p.r, (-p.r * t).exp()
        mean = level + left * (x.log() - level)
        return (mean + 0.25 * p.sigma.square() * (1.0 - left.square()) / p.r).exp()


@dataclass(frozen=True)
class GibsonSchwartz(fk.Family, fk.NoiseDimension):
    """A price and its convenience yield; three Brownian motions for two states."""

    noise_dim = 3

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box((50.0, -0.1), (150.0, 0.1)), t=fk.Box(0.1, 2.0), kappa=fk.Box(0.5, 2.0)
        )

    def drift(self, x, p):
        price, dividend = x[..., :1], x[..., 1:]
        return torch.cat([(0.03 - dividend) * price, p.kappa * (0.05 - dividend)], dim=-1)

    def diffusion(self, x, dw, p):
        price = 0.3 * x[..., :1] * dw[..., :1] + 0.1 * x[..., :1] * dw[..., 2:]
        return torch.cat([price, 0.2 * (0.6 * dw[..., :1] + 0.8 * dw[..., 1:2])], dim=-1)

    def initial(self, x, p):
        return (x[..., :1] - 100.0).clamp_min(0.0)


@dataclass(frozen=True)
class Seasons(Gompertz, fk.TimeDependent):
    """With a growth that varies with the time left."""

    def drift(self, x, p):
        return p.r * x * ((p.cap / x).log() + (2.0 * p.t).cos())


@dataclass(frozen=True)
class Heat(GibsonSchwartz):
    """The yield's noise depends on the price: nothing is normal."""

    def diffusion(self, x, dw, p):
        return super().diffusion(x, dw, p) * (1.0 + 0.001 * x[..., :1])


def drawn(family, scheme, inputs, paths, generator):
    z = torch.randn(
        scheme.draws, len(inputs), paths, noise_dim(family), generator=generator, dtype=inputs.dtype
    )
    return payoffs(family, scheme, inputs, z)


def noise_dim(family):
    return family.noise_dim if isinstance(family, fk.NoiseDimension) else family.domain.state_dim


def test_which_logarithms_are_normal():
    assert logarithms(Gompertz()) == (0,)
    assert logarithms(GibsonSchwartz()) == (0,)
    assert logarithms(Seasons()) == (0,)
    for other in (Gompertz(power=0.9), Gompertz(floor=1e4), Heat(), fk.Heston(), fk.Cev()):
        assert logarithms(other) == ()
    with pytest.raises(InputError, match="LogGaussian needs an affine drift"):
        LogGaussian().check(Heat())


def test_such_families_get_it_by_default():
    assert suitable_scheme(Gompertz()) == LogGaussian()
    assert suitable_scheme(GibsonSchwartz()) == LogGaussian()


def test_the_mean_is_the_closed_form(generator):
    family = Gompertz()
    inputs = family.domain.sample(8, generator, torch.float64)
    found = drawn(family, LogGaussian(), inputs, 2**15, generator)
    truth, error = family.truth(*family.domain.split(inputs)), found.std(1) / 2**7.5
    assert bool(((found.mean(1) - truth).abs() < 5.0 * error).all())
    assert bool((error < 0.01 * truth).all())


@pytest.mark.parametrize("family", [GibsonSchwartz(), Seasons()])
def test_the_law_is_that_of_small_steps(family, generator):
    inputs = family.domain.sample(4, generator, torch.float64)
    ours = drawn(family, LogGaussian(), inputs, 2**12, generator)
    steps = drawn(family, fk.NinomiyaVictoir(steps=24), inputs, 2**12, generator)
    error = (ours.var(1) + steps.var(1)).sqrt() / 2**6
    assert bool(((ours.mean(1) - steps.mean(1)).abs() < 5.0 * error).all())


@pytest.mark.parametrize(
    ("family", "size"), [(GibsonSchwartz(), 100.0), (Gompertz(), 1e5), (Seasons(), 1e5)]
)
def test_slopes_are_derivatives(family, size, generator):
    inputs = family.domain.sample(3, generator, torch.float64)
    z = torch.randn(1, 3, 1, noise_dim(family), generator=generator, dtype=torch.float64)

    def relative(values):
        return payoffs(family, LogGaussian(), values, z) / size

    assert torch.autograd.gradcheck(relative, inputs.requires_grad_(), rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-23, 1e20])
def test_extreme_units_lose_nothing_in_single_precision(unit):
    @dataclass(frozen=True)
    class Growth(fk.Family):
        @property
        def domain(self):
            return fk.Domain(x=fk.Box(unit, 2.0 * unit), t=fk.Box(0.1, 1.0))

        def drift(self, x, p):
            return x * (2.0 * unit / x).log()

        def diffusion(self, x, dw, p):
            return 0.2 * x * dw

        def initial(self, x, p):
            return x / unit

    family = Growth()
    inputs = family.domain.sample(8, torch.Generator().manual_seed(0), torch.float64)
    z = torch.zeros(1, 8, 1, 1, dtype=torch.float64)
    wide = payoffs(family, LogGaussian(), inputs, z)
    single = payoffs(family, LogGaussian(), inputs.float(), z.float())
    torch.testing.assert_close(single.double(), wide, rtol=1e-5, atol=0.0)


def test_what_paths_earn_on_their_way_is_refused():
    @dataclass(frozen=True)
    class Earning(fk.Family, fk.Source):
        @property
        def domain(self):
            return fk.Domain(x=fk.Box(1.0, 2.0), t=fk.Box(0.1, 1.0))

        def drift(self, x, p):
            return -x * x.log()

        def diffusion(self, x, dw, p):
            return 0.2 * x * dw

        def initial(self, x, p):
            return x

        def source(self, x, p):
            return x

    with pytest.raises(fk.InputError, match="LogGaussian draws only its end"):
        fk.solve(Earning(), fk.Fast(scheme=fk.LogGaussian()), steps=1)


def test_perfect_correlation_has_a_root():
    from feynkac.sampling.schemes.linear_law import root_of

    ones = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    deviations = torch.tensor([0.2, 0.3, 0.25], dtype=torch.float64)
    column = ones * deviations
    covariance = column[:, None] * column
    found = root_of(covariance.unsqueeze(0)).squeeze(0)
    torch.testing.assert_close(found @ found.mT, covariance, atol=1e-12, rtol=0.0)
