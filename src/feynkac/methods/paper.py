"""The paper's settings, Table 5 ("Training setup"), family by family.

Families the paper does not know get the learning rate, decay and number of steps that its three
larger problems share, with the width and batch size of Black–Scholes.
"""

from dataclasses import dataclass

from feynkac.clock import Allowance
from feynkac.families.family import ExactSampler, Family
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.methods.setup import Setup
from feynkac.networks.multilevel import Multilevel
from feynkac.sampling.noise.noise import Independent
from feynkac.sampling.schemes.euler_maruyama import EulerMaruyama
from feynkac.sampling.schemes.exact import Exact
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.training.optimisers.optimiser import AdamW
from feynkac.training.schedules import StepDecay


@dataclass(frozen=True)
class PaperSetup:
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


SETUPS: dict[type[Family], PaperSetup] = {
    BlackScholes: PaperSetup(5, 2**16, 1e-2, 0.25, 24_000),
    BasketPut: PaperSetup(5, 2**17, 1e-3, 0.4, 28_000),
    HeatParaboloid: PaperSetup(4, 2**17, 1e-3, 0.4, 28_000),
    HeatGaussian: PaperSetup(4, 2**17, 1e-3, 0.4, 28_000),
}
GENERAL = PaperSetup(5, 2**16, 1e-3, 0.4, 28_000)


def paper_setup(family: Family) -> PaperSetup:
    """The column of Table 5 for `family`.

    Example:
        >>> paper_setup(BlackScholes()).batch_size
        65536
    """
    return SETUPS.get(type(family), GENERAL)


def complete_paper_setup(
    family: Family,
    scheme: Scheme | None = None,
    allowance: Allowance = Allowance(),  # noqa: B008  (not used: there are no pilots)
) -> Setup:
    """All of the paper's choices for `family`: one independent path per input."""
    column = paper_setup(family)
    return Setup(
        architecture=column.architecture,
        scheme=scheme or paper_scheme(family),
        noise=Independent(),
        optimiser=column.optimiser,
        schedule=column.schedule,
        batch_size=column.batch_size,
        paths=1,
        steps=column.steps,
    )


def paper_scheme(family: Family) -> Exact | EulerMaruyama:
    """Exact sampling where the family has it, else 25 Euler–Maruyama steps."""
    return Exact() if isinstance(family, ExactSampler) else EulerMaruyama(steps=25)
