r"""An option on several assets (see `correlated_assets.py`), any `Payoff` of them:

    a call, put or digital on their mean (basket), the largest (best of) or smallest (worst of),
    their geometric mean, or the spread x₁ − x₂.

No closed form is known but for the geometric mean (`geometric_basket.py`) and for some payoffs of
two assets.
"""

from dataclasses import dataclass

from feynkac.errors import InputError
from feynkac.families.models.correlated_assets import CorrelatedAssets
from feynkac.families.payoff import Payoff


@dataclass(frozen=True)
class MultiAsset(CorrelatedAssets):
    """European option on `dim` correlated assets.

    Example:
        >>> MultiAsset(dim=2, payoff=Payoff("put", on="max")).domain.dim
        8
    """

    dim: int = 5
    payoff: Payoff = Payoff("call", on="mean")

    def __post_init__(self) -> None:
        if self.payoff.on == "spread" and self.dim < 2:
            raise InputError(f"a spread needs two assets, got dim={self.dim}; set dim=2.")
