"""The channel: its closed form against mpmath and SciPy, its PDE, its walls and its paths."""

import mpmath
import numpy as np
import pytest
import torch
from scipy import sparse
from torch.func import grad, hessian, vmap

from feynkac.checks.checkup import require_sound
from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.models.channel import Channel
from feynkac.families.point import Params
from feynkac.sampling.generators import make_generator
from feynkac.sampling.labels import differential_labels, payoffs
from feynkac.sampling.noise.noise import Independent, Shape
from feynkac.sampling.reference import monte_carlo
from feynkac.sampling.schemes.family_steps import FamilySteps

FAMILY = Channel()
AT = {"x": [-0.5, 0.3], "t": 0.7, "velocity": 1.2, "diffusivity": 0.15, "decay": 0.4}


def join(**at):
    return FAMILY.domain.join(AT | at, extrapolate=True)


def u(inputs):
    return FAMILY.closed_form(*FAMILY.domain.split(inputs))


def eigenfunctions(x, t, velocity, diffusivity, decay):
    """e^{−kt} ∫ φ dN(x + Ut, 2Dt) Σ_n 32 (−1)ⁿ/(2n+1)³π³ e^{−Dtλ²} cos λy, λ = (n + ½)π."""
    (x, y), rest = x, (t, velocity, diffusivity, decay)
    with mpmath.workdps(30):
        x, y, t, U, D, k = map(mpmath.mpf, (x, y, *rest))
        deviation, term, n = mpmath.sqrt(2 * D * t), mpmath.mpf(1), 0
        along = mpmath.quad(
            lambda z: mpmath.exp(-2 * (x + U * t + deviation * z) ** 2) * mpmath.npdf(z),
            [-12, -4, 0, 4, 12],
        )
        across = mpmath.mpf(0)
        while abs(term) > 1e-22:
            rate = (2 * n + 1) * mpmath.pi / 2
            term = 4 * mpmath.exp(-D * t * rate**2) / rate**3
            across += (-1) ** n * term * mpmath.cos(rate * y)
            n += 1
        return float(mpmath.exp(-k * t) * along * across)


def test_the_domain():
    assert FAMILY.domain == Domain(
        x=Box([-1, -0.9], [1, 0.9]),
        t=Box(0, 1),
        velocity=Box(0, 2),
        diffusivity=Box(0.02, 0.2),
        decay=Box(0, 1),
    )
    require_sound(FAMILY)


def test_the_closed_form_agrees_with_the_series_of_eigenfunctions(generator):
    names = FAMILY.domain.measures
    for row in FAMILY.domain.sample(20, generator, torch.float64):
        point = dict(zip(names, ([row[0].item(), row[1].item()], *row[2:].tolist()), strict=True))
        assert u(row).item() == pytest.approx(eigenfunctions(**point), abs=1e-14)


@pytest.mark.parametrize("t", [1e-5, 1e-3, 1.0])
@pytest.mark.parametrize("y", [-0.99, 0.0, 0.9, 0.9999])
def test_small_times_and_the_neighbourhood_of_walls(y, t):
    at = AT | {"x": [0.1, y], "t": t, "diffusivity": 0.2}
    assert u(join(**at)).item() == pytest.approx(eigenfunctions(**at), abs=1e-14)


@pytest.mark.parametrize("diffusivity", [0.4, 1.0])
def test_twice_the_diffusivity_of_the_domain_is_still_exact_and_five_times_nearly(diffusivity):
    at = AT | {"x": [-1.0, 0.9], "t": 1.0, "velocity": 1.0, "diffusivity": diffusivity}
    tolerance = 1e-14 if diffusivity == 0.4 else 1e-7
    assert u(join(**at)).item() == pytest.approx(eigenfunctions(**at), abs=tolerance)


def second_difference(count, h):
    return sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(count, count)) / h**2


def finite_differences(cells):
    """u on [−4, 4] × [−1, 1] by lines, with no use made of the separation."""
    h = 2.0 / cells
    x, y = np.linspace(-4, 4, 4 * cells + 1)[1:-1], np.linspace(-1, 1, cells + 1)[1:-1]
    first = sparse.diags([-1.0, 1.0], [-1, 1], shape=(len(x), len(x))) / (2 * h)
    along = AT["diffusivity"] * second_difference(len(x), h) + AT["velocity"] * first
    across = AT["diffusivity"] * second_difference(len(y), h)
    generator = sparse.kronsum(across, along) - AT["decay"] * sparse.identity(len(x) * len(y))
    start = np.exp(-2.0 * x[:, None] ** 2) * (1.0 - y**2)
    end = sparse.linalg.expm_multiply(AT["t"] * generator.tocsr(), start.ravel())
    coarse = (slice(cells // 10 - 1, None, cells // 10),) * 2  # nodes of a grid of width 0.2
    points = np.stack(np.meshgrid(x[coarse[0]], y[coarse[1]], indexing="ij"), -1)
    return points, end.reshape(start.shape)[coarse]


def test_finite_differences_of_the_pde_converge_to_the_closed_form():
    points, coarse = finite_differences(20)
    _, fine = finite_differences(40)
    exact = u(join(x=points)).squeeze(-1).numpy()
    errors = [abs(value - exact).max() for value in (coarse, fine, (4 * fine - coarse) / 3)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[2] < 3e-5


def residuals(inputs, decay=None):
    """∂u/∂t − ½ Tr(σσ*∇²u) − ⟨μ, ∇u⟩ + c u, from the family's own coefficients."""
    x, t, p = FAMILY.domain.split(inputs)

    def residual(x, t, values):
        p = Params(**values)

        def value(x, t):
            return FAMILY.closed_form(x, t, p).squeeze(-1)

        columns = torch.stack([FAMILY.diffusion(x, e, p) for e in torch.eye(2).to(x)])
        trace = torch.einsum("ij,jk,ik->", columns, hessian(value)(x, t), columns)
        flow = trace / 2 + grad(value)(x, t) @ FAMILY.drift(x, p)
        rate = FAMILY.discount(x, p).squeeze(-1) if decay is None else decay
        return grad(value, argnums=1)(x, t).squeeze(-1) - flow + rate * value(x, t)

    return vmap(residual)(x, t, {name: getattr(p, name) for name in p})


def test_the_closed_form_solves_the_pde(generator):
    inputs = FAMILY.domain.sample(200, generator, torch.float64)
    assert residuals(inputs).abs().max() < 1e-12
    assert residuals(inputs, decay=1.0).abs().max() > 0.1


def test_it_solves_the_pde_at_time_zero_too(generator):
    """So ∂u/∂t there is the limit from above, and second derivatives are finite."""
    inputs = FAMILY.domain.sample(50, generator, torch.float64)
    inputs[:, 2] = 0.0
    assert residuals(inputs).abs().max() < 1e-12


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_u_vanishes_at_the_walls(y):
    values = u(join(x=[0.0, y], t=[1e-6, 1e-2, 0.5, 1.0]))
    assert values.abs().max() < 1e-14


def test_distances_are_those_to_the_walls():
    x, _, p = FAMILY.domain.split(join(x=[[0.3, 0.5], [0.3, -1.25]]))
    expected = torch.tensor([[0.5, 1.5], [2.25, -0.25]], dtype=torch.float64)
    torch.testing.assert_close(FAMILY.distance(x, p), expected)


def quadrature(inputs, steps):
    """Exact mean of the payoffs of one or two steps: no noise hides a bias."""
    nodes = torch.linspace(-8, 8, 257 if steps == 1 else 129, dtype=torch.float64)
    weights = (-0.5 * nodes.square()).exp()
    across = torch.cartesian_prod(*[nodes] * steps).reshape(-1, steps)
    weight = torch.cartesian_prod(*[weights] * steps).reshape(-1, steps).prod(-1)
    along = torch.tensor(np.polynomial.hermite_e.hermegauss(30)[0])
    share = torch.tensor(np.polynomial.hermite_e.hermegauss(30)[1])
    z = torch.zeros(steps, len(along), len(weight), 2, dtype=torch.float64)
    z[..., 0] = along[:, None] / steps**0.5  # only the sum counts
    z[..., 1] = across.T[:, None, :]
    total = torch.einsum("k,m,km->", share, weight, value_of(inputs, steps, z))
    return (total / share.sum() / weight.sum()).item()


def value_of(inputs, steps, z):
    flat = payoffs(FAMILY, FamilySteps(steps), inputs[None], z.reshape(steps, 1, -1, 2))
    return flat.reshape(z.shape[1:3])


@pytest.mark.parametrize("y", [0.0, 0.5, 0.9])
def test_two_walls_bias_one_step_by_little_and_two_by_less(y):
    """A step that may meet both walls is the only error; at Dt = 0.2 it is the largest."""
    at = join(x=[-0.5, y], t=1.0, diffusivity=0.2)
    one, two = (abs(quadrature(at, steps) - u(at).item()) for steps in (1, 2))
    assert one < 5e-4
    assert two < 2e-5


def test_simulated_paths_agree_with_the_closed_form():
    generator = make_generator(0, "channel")
    inputs = FAMILY.domain.sample(8, generator, torch.float64)
    found = monte_carlo(FAMILY, FamilySteps(4), inputs, 40_000, generator)
    assert ((found.value - u(inputs)).abs() < 4 * found.error).all()
    assert found.error.max() < 3e-3


def test_pathwise_slopes_agree_with_the_closed_form():
    generator, count = make_generator(0, "slopes"), 40_000
    inputs = join().expand(count, -1)
    draw = Independent().draw(Shape(count, 1, 4, 2), generator, torch.float64)
    _, slopes = differential_labels(FAMILY, FamilySteps(4), inputs, draw)
    leaf = join().requires_grad_()
    (expected,) = torch.autograd.grad(u(leaf).sum(), leaf)
    error = slopes.std(0) / count**0.5
    assert ((slopes.mean(0) - expected).abs() < 4 * error).all()
    assert (error < 0.02).all()
