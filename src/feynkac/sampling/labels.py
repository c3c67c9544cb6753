r"""Training data:  λ random on the domain,  Y = φ(S_λ)  (paper, Section 2).

With `paths` > 1 the label is the mean over that many independent paths from the same input.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from feynkac.families.family import Family, noise_dim
from feynkac.sampling.noise.alignment import align
from feynkac.sampling.noise.noise import Draw, Noise, Shape, normals
from feynkac.sampling.path import earned, label_normals, quieted
from feynkac.sampling.schemes.scheme import Scheme


def payoffs(family: Family, scheme: Scheme, inputs: Tensor, z: Tensor) -> Tensor:
    """What each path earns.  Shape: inputs `(N, dim)`, z `(draws, N, K, m)` → `(N, K, outputs)`."""
    x, t, p = family.domain.split(inputs.unsqueeze(-2))
    return earned(family, scheme, x, t, p, z)


def labels(
    family: Family, scheme: Scheme, inputs: Tensor, generator: torch.Generator, paths: int = 1
) -> Tensor:
    """Unbiased labels of u (up to the scheme's error).  Shape: `(N, dim)` → `(N, outputs)`."""
    lead = (len(inputs), paths)
    z = normals(scheme.draws, lead, noise_dim(family), generator, inputs.dtype)
    return payoffs(family, scheme, inputs, z).mean(-2)


def draw_paths(
    family: Family,
    scheme: Scheme,
    noise: Noise,
    inputs: Tensor,
    paths: int,
    generator: torch.Generator,
) -> Draw:
    """Normals for about `paths` paths from each of `inputs`, turned where that helps.

    Where a part of the noise is integrated, only the rest is drawn; that and controlled noise is
    not turned.
    """
    dim = label_normals(family, scheme)
    shape = Shape(len(inputs), paths, scheme.draws, dim, scheme.increments)
    draw = noise.draw(shape, generator, inputs.dtype)
    turned = noise.aligned and not quieted(family, scheme)
    return align(family, inputs, draw) if turned else draw


def differential_labels(
    family: Family, scheme: Scheme, inputs: Tensor, draw: Draw, mix: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Labels of u and of ∇u, pathwise: one reverse sweep through the simulator.

    Needs a payoff that is Lipschitz; across a jump the pathwise derivative is wrong. Where u has
    several components, the slopes are those of Σ_j mix_j u_j.

    Shape: `(N, dim)`, mix `(N, outputs)` → `(N, outputs)`, `(N, dim)`.
    """
    with torch.enable_grad():
        leaf = inputs.detach().requires_grad_()
        values = (payoffs(family, scheme, leaf, draw.z) * draw.weights).sum(-2)
        if not values.requires_grad:  # a payoff that depends on nothing
            return values, torch.zeros_like(leaf)
        total = values.sum() if mix is None else (values * mix).sum()
        (gradients,) = torch.autograd.grad(total, leaf)
    return values.detach(), gradients


def batches(
    family: Family, scheme: Scheme, batch_size: int, generator: torch.Generator, paths: int = 1
) -> Iterator[tuple[Tensor, Tensor]]:
    """An endless stream of fresh (λ, Y).  Shape: `(batch_size, dim)`, `(batch_size, 1)`."""
    domain = family.domain
    while True:
        inputs = domain.sample(batch_size, generator)
        yield inputs, labels(family, scheme, inputs, generator, paths)
