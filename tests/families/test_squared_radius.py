"""The squared radius of a family that is the same in all directions."""

from dataclasses import dataclass

import torch

import feynkac as fk
from feynkac.families.squared_radius import squared_radius
from feynkac.families.symmetry import is_radial


@dataclass(frozen=True)
class Ball(fk.Family, fk.BoundaryValue, fk.Discount, fk.Source):
    """All that a family may have, with one formula that may know a direction."""

    dim: int = 4
    lopsided: str = ""

    @property
    def domain(self):
        return fk.Domain(
            x=fk.Box(-0.5, 0.5, shape=(self.dim,)), t=fk.Box(0, 1), pull=fk.Box(0.5, 2.0)
        )

    def _off(self, name, x):
        return 0.1 * x[..., :1] if self.lopsided == name else 0.0

    def drift(self, x, p):
        return -p.pull * x + self._off("drift", x)

    def diffusion(self, x, dw, p):
        return (1.0 + x.square().sum(-1, keepdim=True) + self._off("diffusion", x)) * dw

    def initial(self, x, p):
        return x.norm(dim=-1, keepdim=True) + self._off("initial", x)

    def distance(self, x, p):
        return 2.0 - x.norm(dim=-1, keepdim=True) + self._off("distance", x)

    def boundary_value(self, x, p):
        return 2.0 + self._off("boundary_value", x)

    def discount(self, x, p):
        return x.square().sum(-1, keepdim=True) + self._off("discount", x)

    def source(self, x, p):
        return p.pull + self._off("source", x)


def test_every_formula_must_be_the_same_in_all_directions():
    assert is_radial(Ball())
    names = ["drift", "diffusion", "initial", "distance", "boundary_value", "discount", "source"]
    assert [name for name in names if is_radial(Ball(lopsided=name))] == []


def test_it_has_the_terms_of_the_family(generator):
    family = Ball()
    radius = squared_radius(family)
    inputs = family.domain.sample(16, generator, torch.float64)
    x, _, p = family.domain.split(inputs)
    s = x.square().sum(-1, keepdim=True)
    for name in ("initial", "distance", "boundary_value", "discount", "source"):
        torch.testing.assert_close(getattr(radius, name)(s, p), getattr(family, name)(x, p))


def test_its_generator_is_that_of_the_family(generator):
    """On v(|x|²): L v = ½ Tr(σσ*∇²) + ⟨μ, ∇⟩ by autograd, against ½ a v″ + b v′."""
    family = Ball()
    radius = squared_radius(family)
    x, _, p = family.domain.split(family.domain.sample(8, generator, torch.float64))

    def v(s):
        return (1.3 * s).sin()

    hessian = torch.func.vmap(torch.func.hessian(lambda x: v(x.square().sum())))(x)
    gradient = torch.func.vmap(torch.func.grad(lambda x: v(x.square().sum())))(x)
    noise = (1.0 + x.square().sum(-1)) ** 2
    full = 0.5 * noise * hessian.diagonal(dim1=-2, dim2=-1).sum(-1)
    full = full + (family.drift(x, p) * gradient).sum(-1)
    s = x.square().sum(-1)
    first, second = 1.3 * (1.3 * s).cos(), -1.69 * (1.3 * s).sin()
    drift = radius.drift(s[:, None], p)[:, 0]
    spread = radius.diffusion(s[:, None], torch.ones_like(s)[:, None], p)[:, 0]
    torch.testing.assert_close(0.5 * spread**2 * second + drift * first, full)


@dataclass(frozen=True)
class Swirling(Ball):
    """σ is not a multiple of the identity: more noise along x than across."""

    def diffusion(self, x, dw, p):
        along = (x * dw).sum(-1, keepdim=True)
        return dw + 0.5 * along * x


def test_noise_that_differs_along_and_across_is_seen(generator):
    """|σ*x|² = s (1 + s/2)² and Tr σσ* = d + s + s²/4."""
    assert is_radial(Swirling())
    radius = squared_radius(Swirling())
    s = torch.rand(8, 1, generator=generator, dtype=torch.float64)
    p = fk.Params(pull=torch.ones(8, 1, dtype=torch.float64))
    one = torch.ones_like(s)
    torch.testing.assert_close(radius.diffusion(s, one, p), 2.0 * s.sqrt() * (1.0 + 0.5 * s))
    torch.testing.assert_close(radius.drift(s, p), -2.0 * s + 4.0 + s + 0.25 * s.square())
