r"""Affine-linear coefficients (paper, Section 2.1):

    σ(x) = [γ_{σ,1} x | … | γ_{σ,d} x] + γ_{σ,d+1},     μ(x) = γ_{μ,1} x + γ_{μ,2}.

`sigma` has shape (d, d, d+1): `sigma[..., j]` is the matrix γ_{σ,j+1}, the last one constant.
`mu` has shape (d, d+1): `mu[:, :d]` is γ_{μ,1}, the last column γ_{μ,2}.
"""

from torch import Tensor

from feynkac.families.family import Family
from feynkac.families.point import Params


class AffineLinear(Family):
    """Base of families with parameters `sigma` (d, d, d+1) and `mu` (d, d+1).

    A subclass adds the domain and the initial condition.

    Example:
        >>> from feynkac.families.models.basket_put import BasketPut
        >>> isinstance(BasketPut(), AffineLinear)
        True
    """

    def drift(self, x: Tensor, p: Params) -> Tensor:
        """γ_{μ,1} x + γ_{μ,2}.  Shape: `(…, d)` → `(…, d)`."""
        return (p.mu[..., :-1] * x[..., None, :]).sum(-1) + p.mu[..., -1]

    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """Σⱼ γ_{σ,j} x dwⱼ + γ_{σ,d+1} dw.  Shape: `(…, d)` → `(…, d)`.

        Contracts dw with the stack of matrices first: d³ products, all of them fusible.
        """
        along = (p.sigma[..., :-1] * dw[..., None, None, :]).sum(-1)
        return (along * x[..., None, :] + p.sigma[..., -1] * dw[..., None, :]).sum(-1)


def is_affine(family: Family) -> bool:
    """Whether the coefficients are those of `AffineLinear`, and no subclass has changed them.

    Example:
        >>> from feynkac.families.models.basket_put import BasketPut
        >>> is_affine(BasketPut())
        True
    """
    cls = type(family)
    return (
        isinstance(family, AffineLinear)
        and cls.drift is AffineLinear.drift
        and cls.diffusion is AffineLinear.diffusion
    )
