r"""What the library holds: each solution's family on its box, and how long it is trained.

Boxes of one asset are wide: moneyness 0.4 to 2.5, a week to five years, volatility 3 % to 150 %,
interest −1 % to 10 %. Where a price is homogeneous, one level is trained (strike 1, or barrier 1),
and all others follow (`families/reach.py`). CEV and SABR are not: their volatility is that at a
price of 100. Lengths are in steps, never in time, so that every training can be repeated.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.models.bachelier import Bachelier
from feynkac.families.models.barrier import Barrier
from feynkac.families.models.basket_put import BasketPut
from feynkac.families.models.black_scholes import BlackScholes
from feynkac.families.models.black_scholes_merton import BlackScholesMerton
from feynkac.families.models.cev import Cev
from feynkac.families.models.channel import Channel
from feynkac.families.models.cir import Cir
from feynkac.families.models.digital import Digital
from feynkac.families.models.double_well import DoubleWell
from feynkac.families.models.heat_gaussian import HeatGaussian
from feynkac.families.models.heat_paraboloid import HeatParaboloid
from feynkac.families.models.heston import Heston
from feynkac.families.models.multi_asset import MultiAsset
from feynkac.families.models.ornstein_uhlenbeck import OrnsteinUhlenbeck
from feynkac.families.models.rainbow import Rainbow
from feynkac.families.models.sabr import Sabr
from feynkac.families.models.spread import Spread
from feynkac.families.models.vasicek import Vasicek
from feynkac.families.payoff import Payoff
from feynkac.grids.grid import Grid
from feynkac.methods import Fast, Method

WEEK = 7.0 / 365.0
MONEYNESS, TIME, SIGMA = LogUniform(0.4, 2.5), LogUniform(WEEK, 5.0), LogUniform(0.03, 1.5)
RATE, DIVIDEND, LEVEL = Box(-0.01, 0.1), Box(0.0, 0.1), Fixed(1.0)
ASSET = {"x": MONEYNESS, "t": TIME, "sigma": SIGMA, "rate": RATE, "strike": LEVEL}
"""One asset with a constant volatility, in units of the strike."""
PAIR = {
    "t": TIME,
    "sigma": LogUniform(0.05, 1.0, shape=(2,)),
    "rate": RATE,
}
"""Two assets."""


@dataclass(frozen=True)
class Entry:
    """One solution of the library.

    Example:
        >>> find_entries(["heston"])[0].family.domain.free[0]
        'x'
    """

    name: str
    about: str
    """What it values, in a few words."""
    family: Family
    steps: int
    """Number of updates."""
    method: Method = field(default_factory=Fast)
    seed: int = 0


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "black-scholes-merton",
        "European call with interest and dividends",
        BlackScholesMerton().on(**ASSET, dividend=DIVIDEND),
        steps=1_500,
    ),
    Entry(
        "black-scholes-merton-put",
        "European put with interest and dividends",
        BlackScholesMerton(Payoff("put")).on(**ASSET, dividend=DIVIDEND),
        steps=1_500,
    ),
    Entry(
        "digital",
        "pays 1 if the asset ends above the strike",
        Digital().on(**ASSET, dividend=DIVIDEND),
        steps=1_500,
    ),
    Entry(
        "barrier-down",
        "call that is lost below a barrier",
        Barrier("down").on(
            x=LogUniform(1.01, 3.0),
            t=TIME,
            sigma=LogUniform(0.1, 1.0),
            rate=RATE,
            dividend=Box(0.0, 0.05),
            strike=LogUniform(1.0, 3.0),
            barrier=LEVEL,
        ),
        steps=1_500,
    ),
    Entry(
        "barrier-up",
        "call that is lost above a barrier",
        Barrier("up").on(
            x=LogUniform(0.33, 0.99),
            t=TIME,
            sigma=LogUniform(0.1, 1.0),
            rate=RATE,
            dividend=Box(0.0, 0.05),
            strike=LogUniform(0.33, 0.99),
            barrier=LEVEL,
        ),
        steps=1_500,
    ),
    Entry(
        "bachelier",
        "call on a forward with normal volatility",
        Bachelier().on(
            x=Box(0.0, 2.5), t=TIME, sigma=LogUniform(0.005, 1.5), rate=RATE, strike=LEVEL
        ),
        steps=1_500,
    ),
    Entry(
        "cev",
        "call on a forward, constant elasticity of variance",
        Cev().on(
            x=LogUniform(40.0, 250.0),
            t=TIME,
            sigma=LogUniform(0.03, 1.0),
            beta=Box(0.2, 0.95),
            rate=RATE,
            strike=100.0,
        ),
        steps=1_500,
    ),
    Entry(
        "heston",
        "call with stochastic volatility",
        Heston().on(
            x=LogUniform([0.4, 0.001], [2.5, 1.0]),
            t=TIME,
            kappa=LogUniform(0.1, 25.0),
            theta=LogUniform(0.005, 0.7),
            nu=LogUniform(0.05, 4.0),
            rho=Box(-0.95, 0.5),
            rate=RATE,
            strike=LEVEL,
        ),
        steps=8_000,
        method=Fast(formula=True, width=160, batch_size=128),
    ),
    Entry(
        "sabr",
        "call on a forward with stochastic volatility",
        Sabr().on(
            x=LogUniform([40.0, 0.03], [250.0, 1.0]),
            t=TIME,
            beta=Box(0.2, 0.95),
            nu=LogUniform(0.05, 1.5),
            rho=Box(-0.8, 0.5),
            strike=100.0,
        ),
        steps=6_000,
        method=Fast(grid=Grid((145, 73), 36, sets=2048, points=64), width=112),
    ),
    Entry(
        "spread",
        "call on the difference of two assets",
        Spread().on(
            x=Box([0.4, 1.0], [2.5, 1.0]), strike=Box(0.0, 0.5), rho=Box(-0.9, 0.95), **PAIR
        ),
        steps=1_500,
    ),
    Entry(
        "best-of-two",
        "call on the larger of two assets",
        Rainbow(dim=2).on(
            x=LogUniform(0.4, 2.5, shape=(2,)), rho=Box(0.0, 0.95), strike=LEVEL, **PAIR
        ),
        steps=1_500,
    ),
    Entry(
        "basket-of-two",
        "call on the mean of two assets",
        MultiAsset(dim=2).on(
            x=LogUniform(0.4, 2.5, shape=(2,)), rho=Box(0.0, 0.95), strike=LEVEL, **PAIR
        ),
        steps=1_500,
    ),
    Entry(
        "vasicek",
        "zero-coupon bond, normal short rate",
        Vasicek().on(
            x=Box(-0.02, 0.12),
            t=LogUniform(WEEK, 30.0),
            kappa=LogUniform(0.05, 2.0),
            theta=Box(-0.02, 0.12),
            sigma=LogUniform(0.001, 0.02),
        ),
        steps=1_500,
    ),
    Entry(
        "cir",
        "zero-coupon bond, square-root short rate",
        Cir().on(
            x=LogUniform(0.0005, 0.15),
            t=LogUniform(WEEK, 30.0),
            kappa=LogUniform(0.02, 2.0),
            theta=LogUniform(0.005, 0.15),
            sigma=LogUniform(0.01, 0.3),
        ),
        steps=1_500,
    ),
    Entry("black-scholes", "the paper's put, Section 3.1", BlackScholes(), steps=1_500),
    Entry("basket-put", "the paper's basket, Section 3.2", BasketPut(), steps=1_500),
    Entry(
        "heat-paraboloid", "the paper's heat equation, Section 3.3", HeatParaboloid(), steps=1_500
    ),
    Entry(
        "heat-gaussian",
        "the paper's heat equation in 150 dimensions, Section 3.4",
        HeatGaussian(),
        steps=150,
    ),
    Entry(
        "ornstein-uhlenbeck",
        "call on a mean-reverting number",
        OrnsteinUhlenbeck(dim=1).on(
            x=Box(-2.0, 2.0, shape=(1,)),
            t=LogUniform(0.01, 5.0),
            kappa=LogUniform(0.1, 10.0),
            theta=Box(-1.0, 1.0),
            sigma=LogUniform(0.05, 2.0),
            strike=Box(-1.0, 1.0),
        ),
        steps=1_500,
    ),
    Entry("channel", "what is left of a drop in a channel", Channel(), steps=1_500),
    Entry("double-well", "a particle that may cross a barrier", DoubleWell(), steps=1_500),
)
"""In the order of the table."""


def find_entries(names: Sequence[str], entries: Sequence[Entry] = ENTRIES) -> tuple[Entry, ...]:
    """The entries of these names; all of them for no name.

    Raises:
        InputError: there is no such entry.

    Example:
        >>> [entry.name for entry in find_entries(["channel", "sabr"])]
        ['channel', 'sabr']
    """
    known = {entry.name: entry for entry in entries}
    for name in names:
        if name not in known:
            raise InputError(f"the library has no {name!r}; {suggestion(name, list(known))}")
    return tuple(known[name] for name in names) if names else tuple(entries)


def suggestion(name: str, known: Sequence[str]) -> str:
    """What was meant, perhaps, and all that there is.

    Example:
        >>> suggestion("hestn", ["heston", "cev"])
        "did you mean 'heston'? There are: heston, cev."
    """
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? There" if close else "there"
    return f"{hint} are: {', '.join(known) or 'none'}."
