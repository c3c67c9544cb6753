"""Families as users write them, with nothing wrong: `check` must find nothing in them."""

from dataclasses import dataclass

import torch

import feynkac as fk


@dataclass(frozen=True)
class Vasicek(fk.Family, fk.Discount):
    """A bond: the payoff is a number, the rate is the state."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.0, 0.08),
            t=fk.Box(0.0, 5.0),
            kappa=fk.Box(0.2, 1.0),
            sigma=fk.Box(0.005, 0.02),
        )

    def drift(self, x, p):
        return p.kappa * (0.04 - x)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def discount(self, x, p):
        return x

    def initial(self, x, p):
        return 1.0


@dataclass(frozen=True)
class ForeignExchange(fk.Family, fk.Discount):
    """Formulas return parameters: `p.rate` is the discount."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(0.8, 1.2),
            t=fk.Box(0.0, 1.0),
            sigma=fk.Box(0.05, 0.2),
            rate=fk.Box(0.0, 0.05),
            foreign=fk.Box(0.0, 0.05),
            strike=fk.Box(0.9, 1.1),
        )

    def drift(self, x, p):
        return (p.rate - p.foreign) * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def discount(self, x, p):
        return p.rate

    def initial(self, x, p):
        return (x - p.strike).clamp_min(0.0)


@dataclass(frozen=True)
class ConstantWind(fk.Family, fk.Source):
    """Drift and source are numbers of the domain, one for all coordinates."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(3,)), t=fk.Box(0.0, 1.0), wind=fk.Box(-1.0, 1.0)
        )

    def drift(self, x, p):
        return p.wind

    def diffusion(self, x, dw, p):
        return 0.5 * dw

    def source(self, x, p):
        return 0.1

    def initial(self, x, p):
        return (-x.square().sum(-1, keepdim=True)).exp()


@dataclass(frozen=True)
class RunningMaximum(fk.Family, fk.ExactSampler, fk.NoiseDimension):
    """(S, M) with S a Brownian motion with drift and M its running maximum, drawn exactly."""

    noise_dim = 2

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([-1.0, 0.0], [0.0, 1.0]), t=fk.Box(0.01, 1.0), sigma=fk.Box(0.1, 0.5)
        )

    def drift(self, x, p):
        return torch.zeros_like(x)

    def diffusion(self, x, dw, p):
        return torch.cat([p.sigma * dw[..., :1], 0.0 * dw[..., 1:]], dim=-1)

    def exact(self, x, t, p, z):
        v = p.sigma * t.sqrt()
        move, uniform = v * z[..., :1], 0.5 * torch.erfc(z[..., 1:] / 2.0**0.5)
        highest = 0.5 * (move + (move.square() - 2.0 * v.square() * uniform.log()).sqrt())
        s = x[..., :1] + move
        return torch.cat([s, torch.maximum(x[..., 1:], x[..., :1] + highest)], dim=-1)

    def initial(self, x, p):
        return x[..., 1:] - x[..., :1]


@dataclass(frozen=True)
class Mirror(fk.Family, fk.ExactSampler, fk.Reflected):
    """A Brownian motion reflected at zero, and says so."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.0, 1.0), t=fk.Box(0.0, 1.0), sigma=fk.Box(0.2, 0.6))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def exact(self, x, t, p, z):
        return (x + p.sigma * t.sqrt() * z).abs()

    def initial(self, x, p):
        return x


@dataclass(frozen=True)
class Cubic(fk.Family):
    """dX = −X³ dt + σ dW."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-1.5, 1.5), t=fk.Box(0.0, 1.0), sigma=fk.Box(0.3, 0.8))

    def drift(self, x, p):
        return -(x**3)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return x.square()


@dataclass(frozen=True)
class CoupledWells(fk.Family):
    """−∇V of coupled double wells in five dimensions, with multiplicative noise."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.5, 1.5, shape=(5,)), t=fk.Box(0.0, 0.5), coupling=fk.Box(0.0, 1.0)
        )

    def drift(self, x, p):
        return x - x**3 + p.coupling * (x.mean(-1, keepdim=True) - x)

    def diffusion(self, x, dw, p):
        return 0.3 * (1.0 + x.square()).sqrt() * dw

    def initial(self, x, p):
        return x.mean(-1, keepdim=True).tanh()


@dataclass(frozen=True)
class Valley(fk.Family):
    """−∇V of V = (1 − x)² + 5 (y − x²)², Rosenbrock's curved valley."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.0, 1.0, shape=(2,)), t=fk.Box(0.0, 0.3), sigma=fk.Box(0.2, 0.5)
        )

    def drift(self, x, p):
        a, b = x[..., :1], x[..., 1:]
        off = b - a.square()
        return torch.cat([2.0 * (1.0 - a) + 20.0 * a * off, -10.0 * off], dim=-1)

    def diffusion(self, x, dw, p):
        return p.sigma * dw

    def initial(self, x, p):
        return x.square().sum(-1, keepdim=True)


@dataclass(frozen=True)
class Oscillator(fk.Family, fk.NoiseDimension):
    """Van der Pol: a position without noise of its own, and a velocity."""

    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-2.0, 2.0, shape=(2,)), t=fk.Box(0.0, 1.0), damping=fk.Box(0.2, 1.0)
        )

    def drift(self, x, p):
        q, v = x[..., :1], x[..., 1:]
        return torch.cat([v, p.damping * (1.0 - q.square()) * v - q], dim=-1)

    def diffusion(self, x, dw, p):
        return torch.cat([0.0 * dw, 0.5 * dw], dim=-1)

    def initial(self, x, p):
        return x[..., :1].square()


@dataclass(frozen=True)
class Langevin(fk.Family, fk.NoiseDimension):
    """A particle with inertia in a double well: far out its energy moves from place to speed."""

    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-1.5, 1.5, shape=(2,)), t=fk.Box(0.0, 1.0), friction=fk.Box(0.1, 1.0)
        )

    def drift(self, x, p):
        q, v = x[..., :1], x[..., 1:]
        return torch.cat([v, q - q**3 - p.friction * v], dim=-1)

    def diffusion(self, x, dw, p):
        return torch.cat([0.0 * dw, (0.4 * p.friction).sqrt() * dw], dim=-1)

    def initial(self, x, p):
        return x[..., :1].tanh()


@dataclass(frozen=True)
class Neuron(fk.Family):
    """FitzHugh and Nagumo: a fast cubic voltage and a slow recovery."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(-2.0, 2.0, shape=(2,)), t=fk.Box(0.0, 1.0), I=fk.Box(0.0, 1.0))

    def drift(self, x, p):
        v, w = x[..., :1], x[..., 1:]
        return torch.cat([v - v**3 / 3.0 - w + p.I, 0.08 * (v + 0.7 - 0.8 * w)], dim=-1)

    def diffusion(self, x, dw, p):
        return 0.2 * dw

    def initial(self, x, p):
        return torch.sigmoid(x[..., :1])


@dataclass(frozen=True)
class PredatorPrey(fk.Family):
    """Lotka and Volterra, both with multiplicative noise."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.5, 1.5, shape=(2,)), t=fk.Box(0.0, 2.0), alpha=fk.Box(0.5, 1.0))

    def drift(self, x, p):
        prey, predator = x[..., :1], x[..., 1:]
        return torch.cat([prey * (p.alpha - predator), predator * (prey - 1.0)], dim=-1)

    def diffusion(self, x, dw, p):
        return 0.1 * x * dw

    def initial(self, x, p):
        return x[..., :1]


@dataclass(frozen=True)
class Logistic(fk.Family):
    """A population with a capacity: x(1 − x) with noise σx, which stays positive."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.1, 2.0), t=fk.Box(0.0, 2.0), sigma=fk.Box(0.1, 0.5))

    def drift(self, x, p):
        return x * (1.0 - x)

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def initial(self, x, p):
        return x


@dataclass(frozen=True)
class ThreeHalves(fk.Family):
    """The 3/2 variance: κ(θ − v)v, εv^{3/2}, with ε² < 2κ."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.1, 0.4), t=fk.Box(0.0, 0.5), epsilon=fk.Box(1.0, 1.9))

    def drift(self, x, p):
        return 2.0 * (0.3 - x) * x

    def diffusion(self, x, dw, p):
        return p.epsilon * x.clamp_min(0.0) * x.clamp_min(1e-8).sqrt() * dw

    def initial(self, x, p):
        return x


@dataclass(frozen=True)
class DoubleBarrier(fk.Family, fk.Absorbing, fk.Rate):
    """A knock-out call between two walls."""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(85.0, 115.0),
            t=fk.Box(0.0, 0.5),
            sigma=fk.Box(0.1, 0.3),
            rate=fk.Box(0.0, 0.05),
        )

    def drift(self, x, p):
        return p.rate * x

    def diffusion(self, x, dw, p):
        return p.sigma * x * dw

    def distance(self, x, p):
        y = x.clamp_min(1e-6).log()
        return torch.cat([y - 4.3820266, 4.7874917 - y], dim=-1)

    def initial(self, x, p):
        return (x - 100.0).clamp_min(0.0)


@dataclass(frozen=True)
class Season(fk.Family, fk.TimeDependent):
    """A volatility of calendar time: today's date is a parameter, the end is at `today + t`."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(50.0, 150.0), t=fk.Box(0.0, 1.0), end=fk.Box(1.0, 2.0))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        date = p.end - p.t
        return (0.2 + 0.1 * (2.0 * torch.pi * date).sin()) * x * dw

    def initial(self, x, p):
        return (x - 100.0).clamp_min(0.0)


@dataclass(frozen=True)
class Cooling(fk.Family, fk.BoundaryValue, fk.Source):
    """Heat in a rod that is held at 0 and 1, heated inside."""

    @property
    def domain(self):
        return fk.Domain(x=fk.Box(0.05, 0.95), t=fk.Box(0.0, 0.2), diffusivity=fk.Box(0.5, 1.5))

    def drift(self, x, p):
        return 0.0

    def diffusion(self, x, dw, p):
        return (2.0 * p.diffusivity).sqrt() * dw

    def distance(self, x, p):
        return torch.cat([x, 1.0 - x], dim=-1)

    def boundary_value(self, x, p):
        return x

    def source(self, x, p):
        return 1.0

    def initial(self, x, p):
        return (torch.pi * x).sin()


@dataclass(frozen=True)
class Asian(fk.Family, fk.NoiseDimension):
    """A price and its running integral, which has no noise."""

    noise_dim = 1

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box([90.0, 0.0], [110.0, 20.0]), t=fk.Box(0.1, 1.0), sigma=fk.Box(0.1, 0.4)
        )

    def drift(self, x, p):
        return torch.cat([0.0 * x[..., :1], x[..., :1]], dim=-1)

    def diffusion(self, x, dw, p):
        return torch.cat([p.sigma * x[..., :1] * dw, 0.0 * dw], dim=-1)

    def initial(self, x, p):
        return (x[..., 1:] - 50.0).clamp_min(0.0)


SOUND = [
    Vasicek,
    ForeignExchange,
    ConstantWind,
    RunningMaximum,
    Mirror,
    Cubic,
    CoupledWells,
    Valley,
    Oscillator,
    Langevin,
    Neuron,
    PredatorPrey,
    Logistic,
    ThreeHalves,
    DoubleBarrier,
    Season,
    Cooling,
    Asian,
]
