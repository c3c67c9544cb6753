r"""The paper's method: AdamW on one independent path per input, with the settings of Table 5.

Families the paper does not know get the learning rate, decay and number of steps that its three
larger problems share, with the width and batch size of Black–Scholes. A search varies what Table 6
varies:   (L, q) ∈ {3, 4} × {4, 5, 6},   AdamW or SGD,   batch size ∈ {2^14, …, 2^17},
log η ~ U(log 1e-5, log 1e-1),   decay ~ U(0.2, 0.6).
"""

from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Self

from pydantic.dataclasses import dataclass

from feynkac.clock import Allowance
from feynkac.families.capabilities import ExactSampler, OwnSteps, Reflected
from feynkac.families.family import Family
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.grids.table import Table
from feynkac.methods.dimension import Choice, Dimension, Interval
from feynkac.methods.method import Method
from feynkac.methods.space import Space, Values
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.network import Network
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.family_steps import FamilySteps
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.suggestions import KnownKeywords
from feynkac.training.objective import MeanSquare
from feynkac.training.optimisers.optimiser import SGD, AdamW
from feynkac.training.schedules import StepDecay
from feynkac.training.settings import Training


@plain_dataclass(frozen=True)
class Column:
    """One column of Table 5."""

    factor: int
    batch_size: int
    learning_rate: float
    decay: float
    steps: int

    @property
    def architecture(self) -> Multilevel:
        """L = 4, χ = 1, ReLU, batch normalisation."""
        return Multilevel(levels=4, factor=self.factor)

    @property
    def optimiser(self) -> AdamW:
        """AdamW with weight decay 0.01."""
        return AdamW(learning_rate=self.learning_rate, weight_decay=0.01)

    @property
    def schedule(self) -> StepDecay:
        """Decay every 4000 steps, minimal rate 1e-8."""
        return StepDecay(decay=self.decay, patience=4000, minimal=1e-8)


TABLE_5: dict[type[Family], Column] = {
    BlackScholes: Column(5, 2**16, 1e-2, 0.25, 24_000),
    BasketPut: Column(5, 2**17, 1e-3, 0.4, 28_000),
    HeatParaboloid: Column(4, 2**17, 1e-3, 0.4, 28_000),
    HeatGaussian: Column(4, 2**17, 1e-3, 0.4, 28_000),
}
GENERAL = Column(5, 2**16, 1e-3, 0.4, 28_000)


def column(family: Family) -> Column:
    """The column of Table 5 for `family`.

    Example:
        >>> column(BlackScholes()).batch_size
        65536
    """
    return TABLE_5.get(type(family), GENERAL)


OPTIMISERS: dict[str, AdamW | SGD] = {"adamw": AdamW(), "sgd": SGD(weight_decay=0.01)}
"""Their learning rates are drawn."""
TABLE_6: dict[str, Dimension] = {
    "levels": Choice((3, 4)),
    "factor": Choice((4, 5, 6)),
    "optimiser": Choice(tuple(OPTIMISERS)),
    "batch_size": Choice((2**14, 2**15, 2**16, 2**17)),
    "learning_rate": Interval(1e-5, 1e-1, log=True),
    "decay": Interval(0.2, 0.6),
}


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class Paper(KnownKeywords, Method):
    """The method of Berner, Dablander and Grohs (2020).

    Example:
        >>> Paper(batch_size=64).resolve(BlackScholes()).architecture.kind
        'multilevel'
    """

    def resolve(
        self,
        family: Family,
        allowance: Allowance = Allowance(),  # noqa: B008  (whole)
        device: str = "cpu",
    ) -> Self:
        """What is open, as in Table 5; there are no pilots."""
        proposed = column(family)
        scheme: Scheme = Exact() if isinstance(family, ExactSampler) else EulerMaruyama(steps=25)
        if isinstance(family, Reflected) and isinstance(family, OwnSteps):
            scheme = FamilySteps(steps=25)
        return replace(
            self,
            architecture=self.architecture or proposed.architecture,
            scheme=self.scheme or scheme,
            noise=self.noise or Independent(),
            optimiser=self.optimiser or proposed.optimiser,
            schedule=self.schedule or proposed.schedule,
            batch_size=self.batch_size or proposed.batch_size,
            paths=self.paths or 1,
        )

    def objective(
        self, family: Family, network: Network, training: Training, table: Table | None = None
    ) -> MeanSquare:
        """Least squares on simulated values."""
        return MeanSquare(family, self.scheme, training.per_worker(self.batch_size), self.paths)

    def length(self, family: Family) -> int:
        """As in Table 5."""
        return column(family).steps

    def space(self, family: Family) -> Space:
        """Table 6; the learning rate falls as often as in Table 5."""
        proposed = column(family)

        def at(values: Values) -> Paper:
            chosen = OPTIMISERS[values["optimiser"]]
            return replace(
                self,
                architecture=Multilevel(levels=values["levels"], factor=values["factor"]),
                optimiser=replace(chosen, learning_rate=values["learning_rate"]),
                schedule=replace(proposed.schedule, decay=values["decay"]),
                batch_size=values["batch_size"],
            )

        default = {
            "levels": 4,
            "factor": proposed.factor,
            "optimiser": "adamw",
            "batch_size": proposed.batch_size,
            "learning_rate": proposed.learning_rate,
            "decay": proposed.decay,
        }
        return Space(TABLE_6, default, at)
