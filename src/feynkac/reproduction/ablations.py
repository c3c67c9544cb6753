"""What the paper compares in its Tables 7 and 8, what it prints there, and how we scale it down."""

from dataclasses import dataclass

from feynkac.families.family import Family
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.networks.architecture import Norm
from feynkac.networks.feed_forward import FeedForward
from feynkac.networks.multilevel import Multilevel

NORMS: dict[str, Norm] = {"layer norm.": "layer", "none": "none", "batch norm.": "batch"}
FEED_FORWARD, PLAIN, RESIDUAL = "feed-forward", "multilevel χ=0", "multilevel χ=1"


@dataclass(frozen=True)
class Variant:
    """A network and what the paper prints about it."""

    name: str
    architecture: FeedForward | Multilevel
    seconds: tuple[float, float]
    """The paper's, mean and standard deviation."""
    l1: tuple[float, float]
    """The paper's best error, likewise."""
    parameters: int
    """The paper's number of them."""


@dataclass(frozen=True)
class Study:
    """What is compared, and how it is scaled down."""

    name: str
    title: str
    family: Family
    variants: tuple[Variant, ...]
    batch_divisor: int
    evaluations: int | None = None
    """Of a scaled run; None for the paper's number."""

    @property
    def slowest(self) -> Variant:
        """By the paper's seconds."""
        return max(self.variants, key=lambda variant: variant.seconds)


def _variant(
    network: str,
    factor: int,
    norm: str,
    seconds: tuple[float, float],
    l1: tuple[float, float],
    parameters: int,
) -> Variant:
    architecture = (
        FeedForward(factor=factor, norm=NORMS[norm])
        if network == FEED_FORWARD
        else Multilevel(factor=factor, residual=network == RESIDUAL, norm=NORMS[norm])
    )
    return Variant(f"{network}, {norm}", architecture, seconds, l1, parameters)


BLACK_SCHOLES = Study(
    "table-7",
    "Table 7: ablation for Black–Scholes",
    BlackScholes(),
    (
        _variant(FEED_FORWARD, 5, "layer norm.", (809, 9), (0.1476, 0.0772), 6741),
        _variant(FEED_FORWARD, 5, "none", (496, 26), (0.0526, 0.0002), 6101),
        _variant(FEED_FORWARD, 5, "batch norm.", (3755, 57), (0.0017, 0.0003), 6741),
        _variant(PLAIN, 5, "layer norm.", (867, 10), (0.0349, 0.0000), 5404),
        _variant(PLAIN, 5, "none", (570, 6), (0.0069, 0.0001), 4804),
        _variant(PLAIN, 5, "batch norm.", (3414, 18), (0.0012, 0.0000), 5404),
        _variant(RESIDUAL, 5, "layer norm.", (874, 13), (0.0348, 0.0001), 5404),
        _variant(RESIDUAL, 5, "none", (581, 10), (0.0069, 0.0000), 4804),
        _variant(RESIDUAL, 5, "batch norm.", (3453, 34), (0.0011, 0.0001), 5404),
    ),
    batch_divisor=32,
)
PARABOLOID = Study(
    "table-8",
    "Table 8: ablation for the heat equation with paraboloid",
    HeatParaboloid(),
    (
        _variant(FEED_FORWARD, 4, "batch norm.", (14764, 65), (0.0090, 0.0003), 3020977),
        _variant(PLAIN, 4, "batch norm.", (13892, 83), (0.0058, 0.0001), 2380732),
        _variant(RESIDUAL, 4, "batch norm.", (14049, 138), (0.0055, 0.0001), 2380732),
    ),
    batch_divisor=2048,  # a step of 2^12 inputs takes a second, an evaluation several
    evaluations=1,
)
