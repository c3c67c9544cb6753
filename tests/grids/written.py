"""Families as users write them, with what is known of their solutions."""

from dataclasses import dataclass

import torch

import feynkac as fk
from feynkac.grids.grid import read_grid
from feynkac.grids.table import grouped_inputs


@dataclass(frozen=True)
class Vasicek(fk.Family, fk.Discount):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.02, 0.1),
            t=fk.Box(0.0, 5.0),
            kappa=fk.Box(0.2, 1.0),
            sigma=fk.Box(0.01, 0.03),
        )

    def drift(self, x, p):
        return p.kappa * (0.04 - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def discount(self, x, p):
        return x

    def initial(self, x, p):
        return torch.ones_like(x)

    def truth(self, x, t, p):
        b = -(-p.kappa * t).expm1() / p.kappa
        limit = 0.04 - 0.5 * (p.sigma / p.kappa) ** 2
        return (limit * (b - t) - (p.sigma * b) ** 2 / (4 * p.kappa) - b * x).exp()


@dataclass(frozen=True)
class Cir(fk.Family, fk.Discount):
    """Its root as users write it, and ν² > 2κθ in most of the box: the rate comes to zero."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 0.1),
            t=fk.Box(0.0, 10.0),
            kappa=fk.Box(0.1, 2.0),
            theta=fk.Box(0.01, 0.08),
            sigma=fk.Box(0.05, 0.3),
        )

    def drift(self, x, p):
        return p.kappa * (p.theta - x)

    def diffusion(self, x, dw, p):
        return p.sigma * x.clamp_min(0).sqrt() * dw

    def discount(self, x, p):
        return x

    def initial(self, x, p):
        return torch.ones_like(x)

    def truth(self, x, t, p):
        g = (p.kappa**2 + 2 * p.sigma**2).sqrt()
        e = (g * t).expm1()
        below = (g + p.kappa) * e + 2 * g
        power = 2 * p.kappa * p.theta / p.sigma**2
        return (2 * g * ((p.kappa + g) * t / 2).exp() / below) ** power * (-2 * e / below * x).exp()


@dataclass(frozen=True)
class TruncatedHeston(fk.Family, fk.Rate):
    @property
    def domain(self):
        return fk.Heston().domain.replacing(nu=fk.Box(0.1, 1.0))

    def drift(self, x, p):
        price, v = x[..., :1], x[..., 1:].clamp_min(0)
        return torch.cat([p.rate * price, p.kappa * (p.theta - v)], -1)

    def diffusion(self, x, dw, p):
        price, root = x[..., :1], x[..., 1:].clamp_min(0).sqrt()
        other = p.rho * dw[..., :1] + (1 - p.rho**2).sqrt() * dw[..., 1:]
        return torch.cat([root * price * other, p.nu * root * dw[..., :1]], -1)

    def initial(self, x, p):
        return (x[..., :1] - p.strike).clamp_min(0)

    def truth(self, x, t, p):
        return fk.Heston().closed_form(x, t, p)


@dataclass(frozen=True)
class Digital(fk.Family, fk.Jumps):
    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0), t=fk.Box(0.1, 2.0), sigma=fk.Box(0.3, 1.0), level=fk.Box(-0.5, 0.5)
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return (x > p.level).to(x.dtype)

    def truth(self, x, t, p):
        return torch.special.ndtr((x - p.level) / (p.sigma * t.sqrt()))


@dataclass(frozen=True)
class Exit(fk.Family, fk.Absorbing, fk.Source):
    """Mean time spent in a strip until t, at most; as t grows, (1 − x²)/σ²."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-0.9, 0.9), t=fk.Box(8.0, 10.0), sigma=fk.Box(1.0, 2.0))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def distance(self, x, p):
        return torch.cat([1 - x, 1 + x], -1)

    def source(self, x, p):
        return torch.ones_like(x)

    def initial(self, x, p):
        return torch.zeros_like(x)

    def truth(self, x, t, p):
        return (1 - x**2) / p.sigma**2


@dataclass(frozen=True)
class Fading(fk.Family, fk.TimeDependent):
    """Noise σ e^{−t/2}, so that the variance until t is σ²(1 − e^{−t})."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0), t=fk.Box(0.0, 2.0), sigma=fk.Box(0.3, 1.0))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * (-0.5 * p.t).exp() * dw

    def initial(self, x, p):
        return x.sin()

    def truth(self, x, t, p):
        return (0.5 * p.sigma**2 * (-t).expm1()).exp() * x.sin()


@dataclass(frozen=True)
class Average(fk.Family, fk.NoiseDimension):
    """The second coordinate has no noise: it is the integral of the first."""

    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([-1.0, -0.5], [1.0, 0.5]), t=fk.Box(0.2, 1.0), sigma=fk.Box(0.5, 1.0)
        )

    def drift(self, x, p):
        return torch.cat([torch.zeros_like(x[..., :1]), x[..., :1]], -1)

    def diffusion(self, x, dw, p):
        return torch.cat([p.sigma * dw, torch.zeros_like(dw)], -1)

    def initial(self, x, p):
        return x[..., 1:].clamp_min(0)

    def truth(self, x, t, p):
        mean = x[..., 1:] + t * x[..., :1]
        deviation = p.sigma * (t**3 / 3).sqrt()
        z = mean / deviation
        density = (-0.5 * z**2).exp() / (2 * torch.pi) ** 0.5
        return mean * torch.special.ndtr(z) + deviation * density


@dataclass(frozen=True)
class Strip(fk.Family, fk.VectorValued):
    """Two outputs; both known."""

    outputs = 2

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.0, 1.0), t=fk.Box(0.0, 1.0), sigma=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.cat([x**2, x.cos()], -1)

    def truth(self, x, t, p):
        return torch.cat([x**2 + p.sigma**2 * t, x.cos() * (-0.5 * p.sigma**2 * t).exp()], -1)


@dataclass(frozen=True)
class Leaky(fk.Family, fk.BoundaryValue):
    """The chance that a Brownian motion has met a level, which may lie below its start."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0), t=fk.Box(0.2, 1.0), sigma=fk.Box(0.5, 1.0), level=fk.Box(-0.5, 0.9)
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return torch.zeros_like(x)

    def distance(self, x, p):
        return p.level - x

    def boundary_value(self, x, p):
        return torch.ones_like(x)

    def truth(self, x, t, p):
        chance = 2 * torch.special.ndtr((x - p.level) / (p.sigma * t.sqrt()))
        return torch.where(x < p.level, chance, 1.0)


@dataclass(frozen=True)
class Gompertz(fk.Family):
    """A population between a thousand and a million."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.LogUniform(1e3, 1e6),
            t=fk.Box(0.0, 2.0),
            rate=fk.Box(0.2, 1.5),
            capacity=fk.LogUniform(3e5, 3e6),
            sigma=fk.Box(0.1, 0.6),
        )

    def drift(self, x, p):
        return p.rate * x * (p.capacity / x).log()

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x

    def truth(self, x, t, p):
        decay = (-p.rate * t).exp()
        limit = p.capacity.log() - p.sigma.square() / (2.0 * p.rate)
        variance = p.sigma.square() * (1.0 - decay.square()) / (2.0 * p.rate)
        return (decay * x.log() + (1.0 - decay) * limit + 0.5 * variance).exp()


def inputs_of(family, sets=16, points=16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return grouped_inputs(family.domain, sets, points, generator)


def truth(family, inputs):
    u = family.truth if hasattr(family, "truth") else family.closed_form
    return u(*family.domain.split(inputs))


def mean_error(family, grid, **sizes):
    inputs = inputs_of(family, **sizes)
    u = truth(family, inputs)
    return ((read_grid(family, grid, inputs).value - u) / (1 + u.abs())).abs().mean().item()
