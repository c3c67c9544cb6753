r"""A smooth network, linearised in its parameters at a batch of inputs, without automatic
differentiation.

Each row of the batch is a value f(x) or a slope  ∂_v f(x) = ⟨∇f(x), v⟩. With several outputs, f is
a combination of them, one per input. With tangents ḣ = ∂_v h, adjoints δ_l = ∂f/∂z_l and their
tangents δ̇_l = ∂_v δ_l, the derivatives in the layer W_l, b_l are

    ∂f/∂W_l = δ_l ⊗ h_{l−1},     ∂(∂_v f)/∂W_l = δ̇_l ⊗ h_{l−1} + δ_l ⊗ ḣ_{l−1},

a rank-one and a rank-two matrix. The factors of p ⊙ q are layers of the same form, with adjoints
δ ⊙ q and δ ⊙ p. A formula u = B(f) behind the network is one more layer, from which the adjoints
start: δ = B′(f), δ̇ = ∂_v B′(f). Multiplication by the Jacobian J of all rows, by its transpose,
and the Gram matrix J Jᵀ (the empirical tangent kernel) follow from these factors: J itself, rows
times parameters, is never formed.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from feynkac.networks.smooth import SmoothNetwork


class Layer(NamedTuple):
    """Factors of one layer: h `(N, i)`, ḣ `(N, k, i)`, δ `(N, o)`, δ̇ `(N, k, o)`."""

    h: Tensor
    dh: Tensor
    a: Tensor
    da: Tensor


class Linearisation(NamedTuple):
    """Values f `(N,)`, slopes `(N, k)`, and the factors of every layer."""

    value: Tensor
    slope: Tensor
    layers: list[Layer]


class End(NamedTuple):
    """Where the sweep forward ends and that back starts: values `(N,)`, slopes `(N, k)`, adjoints
    of the outputs `(N, m)` and their tangents `(N, k, m)`."""

    value: Tensor
    slope: Tensor
    a: Tensor
    da: Tensor


Step = list[tuple[Tensor, Tensor]]
"""A change of the parameters: (ΔW, Δb) for each layer."""
Top = Callable[[Tensor, Tensor], End]
"""What is made of the outputs `(N, m)` and their tangents `(N, k, m)`."""


@torch.no_grad()
def linearise(
    network: SmoothNetwork,
    x: Tensor,
    v: Tensor,
    mix: Tensor | None = None,
    top: Top | None = None,
) -> Linearisation:
    """One sweep forward, one back.  Shape: x `(N, p)`, directions v `(N, k, p)`, mix `(N, m)`.

    f = Σ_j mix_j f_j, or what `top` makes of the outputs; by default it is the only one.
    """
    factors, inner, (last, last_bias) = network.layers()
    made = [(torch.addmm(bias, x, weight.mT), v @ weight.mT) for weight, bias in factors]
    h, dh = _with_products(x, v, made)
    hidden, jets = [], []
    for number, (weight, bias) in enumerate(inner):
        hidden.append((h, dh))
        dz = dh @ weight.mT
        h, first, second = network.jet(number, torch.addmm(bias, h, weight.mT))
        dh = first.unsqueeze(1) * dz
        jets.append((first, second.unsqueeze(1) * dz))
    hidden.append((h, dh))
    mix = torch.ones_like(h[:, :1]) if mix is None else mix
    value, slope, a, da = (top or _mixed(mix))(h @ last.mT + last_bias, dh @ last.mT)
    adjoints = [(a, da)]
    for weight, (first, second) in zip(reversed(network.weights), reversed(jets), strict=False):
        back = a @ weight
        a, da = first * back, second * back.unsqueeze(1) + first.unsqueeze(1) * (da @ weight)
        adjoints.append((a, da))
    layers = [Layer(*f, *b) for f, b in zip(hidden, reversed(adjoints), strict=True)]
    back, tangent = (adjoint @ inner[0][0][:, x.shape[-1] :] for adjoint in (a, da))
    for other, d_other in made:  # p first: it is the adjoint of B, and B's layer stands last
        b, db = back * other, tangent * other.unsqueeze(1) + back.unsqueeze(1) * d_other
        layers.insert(0, Layer(x, v, b, db))
    return Linearisation(value, slope, layers)


def _mixed(mix: Tensor) -> Top:
    """Σ_j mix_j f_j."""

    def end(outputs: Tensor, tangents: Tensor) -> End:
        slope = (tangents * mix.unsqueeze(1)).sum(-1)
        return End((outputs * mix).sum(-1), slope, mix, torch.zeros_like(tangents))

    return end


def _with_products(
    x: Tensor, v: Tensor, made: list[tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor]:
    """(x, p ⊙ q) and its tangent, or x and v as they are."""
    if not made:
        return x, v
    (p, dp), (q, dq) = made
    tangent = dp * q.unsqueeze(1) + p.unsqueeze(1) * dq
    return torch.cat([x, p * q], dim=-1), torch.cat([v, tangent], dim=-1)


@torch.no_grad()
def value_and_gradient(
    network: SmoothNetwork, x: Tensor, mix: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """f and ∇f.  Shape: `(N, p)`, mix `(N, m)` → `(N,)`, `(N, p)`."""
    factors, inner, (last, last_bias) = network.layers()
    values = [torch.addmm(bias, x, weight.mT) for weight, bias in factors]
    h, slopes = x, []
    if factors:
        h = torch.cat([x, values[0] * values[1]], dim=-1)
    for number, (weight, bias) in enumerate(inner):
        h, first, _ = network.jet(number, torch.addmm(bias, h, weight.mT))
        slopes.append(first)
    a = torch.ones_like(h[:, :1]) if mix is None else mix
    value = ((h @ last.mT + last_bias) * a).sum(-1)
    a = a @ last
    for (weight, _), first in zip(reversed(inner), reversed(slopes), strict=True):
        a = (first * a) @ weight
    if factors:
        a, b = a.tensor_split([x.shape[-1]], dim=-1)
        for (weight, _), other in zip(factors, reversed(values), strict=True):
            a = a + (b * other) @ weight
    return value, a


def pull_back(lin: Linearisation, value: Tensor, slope: Tensor) -> Step:
    """Jᵀc for weights c on the values `(N,)` and slopes `(N, k)`."""
    step = []
    for h, dh, a, da in lin.layers:
        weighted = a * value.unsqueeze(-1) + (da * slope.unsqueeze(-1)).sum(1)
        tangent = (dh * slope.unsqueeze(-1)).sum(1)
        step.append((weighted.mT @ h + a.mT @ tangent, weighted.sum(0)))
    return step


def push_forward(lin: Linearisation, step: Step) -> tuple[Tensor, Tensor]:
    """J·step: the change of values `(N,)` and slopes `(N, k)` to first order."""
    value, slope = torch.zeros_like(lin.value), torch.zeros_like(lin.slope)
    for (h, dh, a, da), (weight, bias) in zip(lin.layers, step, strict=True):
        change = h @ weight.mT + bias
        value += (a * change).sum(-1)
        slope += (da * change.unsqueeze(1)).sum(-1)
        slope += (a.unsqueeze(1) * (dh @ weight.mT)).sum(-1)
    return value, slope


def gram(lin: Linearisation) -> Tensor:
    """J Jᵀ, values first, then slopes.  Shape: `(R, R)` with R = N (1 + k)."""
    n, k = lin.slope.shape
    slopes = (n, k, n * k)  # rows apart by input and direction, so that what is n × n broadcasts
    values, edge = (lin.value.new_zeros(n, size) for size in (n, n * k))
    corner, cross = (lin.value.new_zeros(slopes) for _ in range(2))
    for h, dh, a, da in lin.layers:
        dh, da = dh.flatten(0, 1), da.flatten(0, 1)
        hh, aa = h @ h.mT + 1.0, a @ a.mT  # the 1 is the bias
        h_dh, da_a = h @ dh.mT, da @ a.mT
        wide_hh, wide_aa, wide_da_a = (m.repeat_interleave(k, 1) for m in (hh, aa, da_a))
        values.addcmul_(aa, hh)
        edge.addcmul_(da_a.mT, wide_hh).addcmul_(wide_aa, h_dh)
        corner.addcmul_((da @ da.mT).view(slopes), wide_hh.unsqueeze(1))
        corner.addcmul_((dh @ dh.mT).view(slopes), wide_aa.unsqueeze(1))
        cross.addcmul_(wide_da_a.view(slopes), h_dh.unsqueeze(1))
    half = cross.flatten(0, 1)
    lower = torch.cat([edge.mT, corner.flatten(0, 1) + half + half.mT], dim=1)
    return torch.cat([torch.cat([values, edge], dim=1), lower])
