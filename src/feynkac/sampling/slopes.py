r"""Which slopes of labels can be fitted? With s_j a slope, r its ratio of noise to signal,

    r_j² = E Var(s_j | λ) / E (E[s_j | λ])²,      trust_j = (1 + r_j⁴)^{−½},

estimated from a few independent labels at each of some inputs. Where a path runs through a square
root near zero, its pathwise slope has a variance that may be infinite, or is NaN: the slope counts
less then, or is not fitted at all (trust 0 in place of less than 0.3), and the value is.
"""

import torch
from torch import Tensor

LEAST_TRUST = 0.3  # less is none: such slopes cost time and tell nothing


def trust(slopes: Tensor) -> Tensor:
    """Between 0 (noise) and 1, from R independent slopes at each of N inputs, NaN where there is
    none.  Shape: `(N, R, dim)` → `(dim,)`.

    Example:
        >>> signal = torch.tensor([1.0, -2.0, 3.0])[:, None, None].expand(3, 4, 1)
        >>> trust(torch.cat([signal, torch.nan * signal], dim=-1))
        tensor([1., 0.])
    """
    known = slopes.isfinite().all(1)
    slopes = torch.where(known.unsqueeze(1), slopes, 0.0)
    count = known.sum(0)
    noise = slopes.var(1).sum(0) / count
    signal = slopes.mean(1).square().sum(0) / count - noise / slopes.shape[1]
    trusted = signal.clamp_min(0.0) / torch.hypot(noise, signal.clamp_min(0.0))
    still = (count > 0) & (noise == 0.0)  # nothing to fit, and no noise in it
    trusted = torch.where(trusted >= LEAST_TRUST, trusted, 0.0)  # NaN counts as less
    return torch.where(still, 1.0, trusted)


def without_outliers(slopes: Tensor, weights: Tensor, most: float) -> tuple[Tensor, Tensor]:
    """Slopes and weights, both 0 where a slope is not finite or `most` times its scale 1/weight.

    Shape: slopes `(N, dim)`, weights `(dim,)` → `(N, dim)` each.

    Example:
        >>> slopes = torch.tensor([[1.0, 500.0], [torch.nan, 2.0]])
        >>> without_outliers(slopes, torch.tensor([1.0, 1.0]), most=50.0)
        (tensor([[1., 0.],
                [0., 2.]]), tensor([[1., 0.],
                [0., 1.]]))
    """
    kept = (slopes * weights).abs() <= most  # false for NaN
    return torch.where(kept, slopes, 0.0), torch.where(kept, weights, 0.0)
