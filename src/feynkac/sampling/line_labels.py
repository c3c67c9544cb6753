r"""Labels of payoffs that jump: means over lines in the space of the normals (`noise/lines.py`).

On a line the payoff jumps by J_c at s_c (`crossings.py`). With s_k and w_k the nodes and weights of
a quadrature rule for the law of s, F and f its distribution function and density,

    ∫ φ f ds ≈ Σ_k w_k φ(s_k) + Σ_c J_c (1 − F(s_c) − Σ_{s_k > s_c} w_k),

without any error where φ is constant between jumps. It is a smooth function of the input λ, and

    ∂_λ ∫ φ f ds = ∫ ∂_λφ f ds + Σ_c J_c f(s_c) ∂_λρ / ∂_sρ,    ρ the level that is 0 at s_c.
"""

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.family import Family, jumps, noise_dim, timed
from feynkac.families.levels import has_levels, jump_across, with_levels
from feynkac.sampling.crossings import Bundle, Table, as_numbers, find_crossings
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.lines import Line, Lines, ParallelLines
from feynkac.sampling.noise.noise import Noise, Shape, of_fewer_steps
from feynkac.sampling.path import discount_factor, ends_only, path_end, quieted
from feynkac.sampling.schemes.extrapolated import Extrapolated
from feynkac.sampling.schemes.ninomiya_victoir import NinomiyaVictoir
from feynkac.sampling.schemes.scheme import Scheme

FEWEST_LINES = 4
GRADIENT_POINTS = 8  # paths on which levels are differentiated, to find the lines
TRIAL_INPUTS, VISIBLE_JUMP = 16, 0.01  # of the range of what is paid
FAINTEST = 1e-3  # weight of gradients far from a jump
GRAZING = 0.01  # sine of the angle of line and level below which slopes are damped


class Rule(NamedTuple):
    """Nodes s and weights of the quadrature, `(N, 1, n)`: first and last are the ends."""

    nodes: Tensor
    weights: Tensor


def slopes_hold(family: Family, noise: Noise) -> bool:
    """Whether slopes of labels are slopes of u: φ does not jump, or means over lines are taken."""
    return not jumps(family) or isinstance(noise, Lines)


def suits_lines(family: Family, scheme: Scheme) -> bool:
    """Whether labels can be means over lines: φ jumps by comparisons, and paths are as drawn.

    Coins of a scheme belong to places in a batch, and must not be moved.
    """
    coins = isinstance(scheme, NinomiyaVictoir) and scheme.noise == "general"
    return not coins and not quieted(family, scheme) and has_levels(family)


def found_to_jump(family: Family, scheme: Scheme) -> bool:
    """Whether φ is seen to jump, as far as its comparisons tell."""
    return suits_lines(family, scheme) and seen_to_jump(family, scheme)


def seen_to_jump(family: Family, scheme: Scheme) -> bool:
    """Whether φ jumps where paths of some inputs go."""
    generator, noise = make_generator(0, "jumps"), ParallelLines()
    inputs = family.domain.sample(TRIAL_INPUTS, generator)
    scheme = scheme.halves[0] if isinstance(scheme, Extrapolated) else scheme
    shape, line = _lines(family, scheme, noise, inputs, 0, generator)
    nodes, bundle = _rule(noise, shape, generator, inputs).nodes, Bundle(family, scheme, line)
    with torch.no_grad():
        paid, levels = _at_nodes(bundle, inputs, nodes)
        table = find_crossings(bundle, inputs, nodes, paid, levels)
        if table is None:
            return False
        end, _ = bundle.level(inputs, table, bundle.normals(table, table.cells.place))
        jump = jump_across(family, end.state, end.p, table.cells.level.unsqueeze(-1))
        largest = jump[table.used].abs().amax()
        return bool(largest > VISIBLE_JUMP * (paid.amax() - paid.amin()))


def line_labels(
    family: Family,
    scheme: Scheme,
    noise: Lines,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
    mix: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Labels of u and of the slopes of Σ_j mix_j u_j, with about `paths` paths per input.

    Shape: `(N, dim)`, mix `(N, outputs)` → `(N, outputs)`, `(N, dim)`.
    """
    if not suits_lines(family, scheme):
        raise InputError(
            f"labels of {type(family).__name__} cannot be means over lines: its initial condition "
            "must jump by comparisons (x > p.strike) and nothing else, and paths must be those of "
            "a scheme without coins or conditional means; use noise=Sobol()."
        )
    shape, line = _lines(family, scheme, noise, inputs, paths, generator)
    rule = _rule(noise, shape, generator, inputs)
    mean = functools.partial(_mean, noise=noise, inputs=inputs, rule=rule, mix=mix)
    if not isinstance(scheme, Extrapolated):
        return mean(Bundle(family, scheme, line))
    fine, coarse = scheme.halves
    fewer = Line(*(of_fewer_steps(y, coarse.steps) for y in line))
    value, slopes = mean(Bundle(family, fine, line))
    rough, rough_slopes = mean(Bundle(family, coarse, fewer))
    return scheme.extrapolate(value, rough), scheme.extrapolate(slopes, rough_slopes)


def _lines(
    family: Family,
    scheme: Scheme,
    noise: Lines,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
) -> tuple[Shape, Line]:
    """Drawn afresh, and how many: with one normal, a line and its mirror image are all."""
    dim = noise_dim(family)
    count = 2 if scheme.draws * dim == 1 else max(FEWEST_LINES, paths // noise.nodes)
    shape = Shape(len(inputs), count, scheme.draws, dim, scheme.increments)
    z = noise.draw(shape, generator, inputs.dtype).z
    return shape, noise.through(z, level_gradients(family, scheme, inputs))


def level_gradients(family: Family, scheme: Scheme, inputs: Tensor) -> Tensor:
    """∇_z of the nearest level at a few z: long where φ jumps there and the level is near.

    Shape: `(N, dim)` → `(N, P, increments, m)`.
    """
    half = _points(scheme.draws, noise_dim(family)).to(inputs)
    x, t, p = family.domain.split(inputs.detach().unsqueeze(-2))
    with torch.enable_grad():
        z = torch.cat([half, -half], dim=2).expand(-1, len(inputs), -1, -1).clone()
        end = path_end(family, scheme, x, t, p, z.requires_grad_())
        levels = with_levels(family, end.state, end.p)[1]
        size = levels.detach().std(1, keepdim=True) + torch.finfo(levels.dtype).tiny
        nearest = (levels.detach() / size).abs().argmin(-1, keepdim=True)
        level = levels.gather(-1, nearest)
        (gradient,) = torch.autograd.grad(level.sum(), z)
    with torch.no_grad():
        jump = jump_across(family, end.state, end.p, nearest).sum(-1, keepdim=True)
        gradient = gradient[: scheme.increments].nan_to_num(0.0, 0.0, 0.0).movedim(0, 2)
        length = gradient.flatten(2).norm(dim=-1, keepdim=True) + torch.finfo(z.dtype).tiny
        near = FAINTEST + (-0.5 * (level / length).square()).exp()
        scale = (jump.sign() + FAINTEST) * near / length
        return torch.mul(gradient, scale.unsqueeze(-1))


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept serves autograd later
def _points(draws: int, dim: int) -> Tensor:
    """Normals, always the same.  Shape: `(draws, 1, P/2, m)`."""
    generator = torch.Generator().manual_seed(0)
    size = (draws, 1, GRADIENT_POINTS // 2, dim)
    return torch.randn(size, generator=generator, dtype=torch.float32)


def _rule(noise: Lines, shape: Shape, generator: torch.Generator, like: Tensor) -> Rule:
    """A trapezoidal rule, shifted at random; what it lacks of 1 is the weight of the first end."""
    low, high = noise.span(shape.dim)
    width = (high - low) / noise.nodes
    size, device = (shape.inputs, 1, 1), generator.device
    shift = torch.rand(size, generator=generator, dtype=like.dtype, device=device)
    inner = low + width * (torch.arange(noise.nodes, dtype=like.dtype, device=device) + shift)
    weights = width * noise.density(inner, shape.dim)
    first, last = torch.full_like(shift, low), torch.full_like(shift, high)
    rest = 1.0 - weights.sum(-1, keepdim=True)
    return Rule(
        torch.cat([first, inner, last], dim=-1),
        torch.cat([rest, weights, torch.zeros_like(rest)], dim=-1),
    )


def _mean(
    bundle: Bundle, noise: Lines, inputs: Tensor, rule: Rule, mix: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Over all lines: what the nodes say, corrected by the jumps."""
    lines = bundle.line.base.shape[2]
    with torch.enable_grad():
        leaf = inputs.detach().requires_grad_()
        paid, levels = _at_nodes(bundle, leaf, rule.nodes)
        values = (rule.weights.unsqueeze(-1) * paid).sum(2).mean(1)
        moving = values
        if table := find_crossings(bundle, inputs, rule.nodes, paid.detach(), levels):
            gain, shift = _jumps(bundle, noise, leaf, rule, table)
            values = values + gain / lines
            moving = values + shift / lines
        total = moving.sum() if mix is None else (moving * mix).sum()
        if not total.requires_grad:
            return values.detach(), torch.zeros_like(inputs)
        (slopes,) = torch.autograd.grad(total, leaf)
    return values.detach(), slopes


def _at_nodes(bundle: Bundle, leaf: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """What paths earn, and the levels: `(N, K, n, outputs)`, `(N, K, n, L)`.

    Paths are not differentiated where φ is constant between jumps.
    """
    family, (base, way) = bundle.family, bundle.line
    z = torch.addcmul(base.unsqueeze(3), way.unsqueeze(3), nodes.unsqueeze(-1))
    x, t, p = family.domain.split(leaf.unsqueeze(-2))
    flat = ends_only(family) and not _has_slopes(family)
    with torch.set_grad_enabled(not flat):
        end = path_end(family, bundle.scheme, x, t, p, z.flatten(2, 3))
        value, levels = with_levels(family, end.state, end.p)
    weight = discount_factor(family, t, p) if flat else end.weight
    paid = weight * value + end.gained
    grid = (*base.shape[1:3], nodes.shape[-1], -1)
    return paid.reshape(grid), as_numbers(levels.detach()).reshape(grid)


def _has_slopes(family: Family) -> bool:
    """Whether φ depends on x or on parameters otherwise than by comparisons."""
    with torch.enable_grad():
        leaf = family.domain.mean.unsqueeze(0).clone().requires_grad_()
        x, t, p = family.domain.split(leaf)
        value: Tensor = family.initial(x, timed(family, p, t))
        return value.requires_grad


def _jumps(
    bundle: Bundle, noise: Lines, leaf: Tensor, rule: Rule, table: Table
) -> tuple[Tensor, Tensor]:
    """Σ_c J_c times its tail, and a zero with the derivative of −Σ J_c F(s_c).

    Shape: `(N, outputs)` each.
    """
    cells, dim = table.cells, bundle.line.way.shape[-1]
    z = bundle.normals(table, cells.place).requires_grad_()
    end, rho = bundle.level(leaf, table, z)
    (gradient,) = torch.autograd.grad(rho.sum(), z, retain_graph=True)
    steep = _steepness(bundle, table, gradient)
    s = torch.clamp(cells.place - rho.detach() / steep, cells.low, cells.high)
    up = jump_across(bundle.family, end.state, end.p, cells.level.unsqueeze(-1))
    sign = torch.where(cells.at_high > 0.0, 1.0, -1.0) * table.used
    jump = end.weight * up * sign.unsqueeze(-1)
    nodes_beyond = (rule.weights * (rule.nodes > s.unsqueeze(-1))).sum(-1)
    beyond = 1.0 - noise.probability(s, dim) - nodes_beyond
    move = noise.density(s, dim) / steep * (rho - rho.detach())
    gain = (jump * beyond.unsqueeze(-1)).sum(1)
    return gain, (jump.detach() * move.unsqueeze(-1)).sum(1)


def _steepness(bundle: Bundle, table: Table, gradient: Tensor) -> Tensor:
    """∂_sρ from ∇_zρ, but not nearly 0, as where a line grazes a level.  Shape: `(N, C)`.

    Infinite where a path explodes: nothing is known there.
    """
    rows = torch.arange(gradient.shape[1], device=gradient.device).unsqueeze(-1)
    steep = (gradient * bundle.line.way[:, rows, table.cells.line]).sum((0, 3))
    least = GRAZING * gradient.square().sum((0, 3)).sqrt() + torch.finfo(gradient.dtype).tiny
    found = torch.where(steep.abs() < least, least.copysign(steep), steep)
    return torch.where(found.isfinite(), found, torch.inf)
