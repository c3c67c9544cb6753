r"""Basket put in the general affine-linear model (paper, Section 3.2):  φ(x) = max(K − mean(x), 0).

No closed form. The paper simulates it with 25 Euler–Maruyama steps, whose own error against the
PDE is about 0.04 in the paper's metric: with coefficients this large that scheme is not converged.
"""

from dataclasses import dataclass

from torch import Tensor

from feynkac.families.affine_linear import AffineLinear
from feynkac.families.domain import Domain
from feynkac.families.measures.box import Box
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params
from feynkac.families.shapes import Shape, Shaped, strike_shapes


@dataclass(frozen=True)
class BasketPut(AffineLinear, Shaped):
    """European put on the mean of `dim` assets; inputs x, t, sigma, mu, strike.

    Example:
        >>> BasketPut().domain.dim
        53
    """

    dim: int = 3

    @property
    def domain(self) -> Domain:
        """The paper's region, Table 5."""
        d = self.dim
        return Domain(
            x=Box(9.0, 10.0, shape=(d,)),
            t=Box(0.0, 1.0),
            sigma=Box(0.1, 0.6, shape=(d, d, d + 1)),
            mu=Box(0.1, 0.6, shape=(d, d + 1)),
            strike=Box(10.0, 12.0),
        )

    def initial(self, x: Tensor, p: Params) -> Tensor:
        """max(K − mean(x), 0).  Shape: `(…, d)` → `(…, 1)`."""
        return (p.strike - x.mean(-1, keepdim=True)).clamp_min(0.0)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Along the strike, and u ≥ 0."""
        return strike_shapes(Payoff("put"))
