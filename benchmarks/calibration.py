"""Calibrates Heston to the DAX surface of 5 July 2002, with QuantLib and with feynkac.

Both minimise Σ (fitted − quoted volatility)², in percentage points, over the same 104 quotes. The
objective of a network's parameters is measured with QuantLib's prices.

    python benchmarks/calibration.py                      # the closed form
    python benchmarks/calibration.py --run runs/heston    # a network of your own
    python benchmarks/calibration.py --pretrained         # the library's network
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import QuantLib as ql  # noqa: N813

import feynkac as fk

SHEET = Path(__file__).parents[1] / "examples" / "dax_2002.csv"
NAMES = ("theta", "kappa", "nu", "rho", "x[1]")  # QuantLib's order
SPOT, ROUNDS = 4468.17, 3


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", help="folder of a Heston solution")
    parser.add_argument("--pretrained", action="store_true", help="the library's Heston")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the fastest counts")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    quotes = fk.read_quotes(SHEET)
    market = Market(quotes)
    rows = {"QuantLib": fastest(market.calibrate, arguments.rounds)}
    if arguments.run or arguments.pretrained:
        solution = fk.load(arguments.run) if arguments.run else fk.pretrained("heston")
        rows["network"] = fastest(lambda: ours(solution.calibrate(quotes)), arguments.rounds)
    else:
        family = wide()
        fit = fastest(lambda: ours(fk.calibrate_formula(family, quotes)), arguments.rounds)
        rows["closed form"] = fit
    for row in rows.values():
        row["objective"] = market.objective(row["parameters"])
    if arguments.json:
        return print(json.dumps({"quotes": len(quotes), "rows": rows}))
    for name, row in rows.items():
        said = ", ".join(f"{key} {value:.4f}" for key, value in row["parameters"].items())
        print(f"{name:12} objective {row['objective']:9.4f}  {row['seconds']:7.3f} s  {said}")
    return None


def wide() -> fk.Heston:
    """A box with room for parameters that markets show."""
    return fk.Heston().on(
        x=fk.LogUniform([50.0, 0.001], [200.0, 1.0]),
        kappa=fk.LogUniform(0.1, 25.0),
        theta=fk.LogUniform(0.005, 0.7),
        nu=fk.LogUniform(0.05, 4.0),
        rho=fk.Box(-0.95, 0.5),
    )


def ours(fit: fk.MarketFit) -> dict:
    """The point estimate and its time, that of the closed form's last steps included."""
    found = fit.calibration
    parameters = dict(zip(found.labels, found.estimate.tolist(), strict=True))
    return {"parameters": parameters, "seconds": fit.seconds}


def fastest(run, rounds: int) -> dict:
    """The result of the quickest of several rounds."""
    return min((run() for _ in range(rounds)), key=lambda row: row["seconds"])


class Market:
    """QuantLib's model and helpers for the same quotes."""

    def __init__(self, quotes: fk.Quotes) -> None:
        today, counter = ql.Date(5, 7, 2002), ql.Actual365Fixed()
        ql.Settings.instance().evaluationDate = today
        days = np.round(365 * quotes.t).astype(int).tolist()
        rates = (-np.log(quotes.discount) / quotes.t).tolist()
        curve = dict(sorted(zip(days, rates, strict=True)))
        dates = [today, *(today + day for day in curve)]
        zero = ql.ZeroCurve(dates, [curve[min(days)], *curve.values()], counter)
        self.rate = ql.YieldTermStructureHandle(zero)
        self.none = ql.YieldTermStructureHandle(ql.FlatForward(today, 0.0, counter))
        self.spot = ql.QuoteHandle(ql.SimpleQuote(SPOT))
        rows = zip(days, quotes.strike.tolist(), quotes.volatility.tolist(), strict=True)
        self.helpers = [self._helper(*row) for row in rows]

    def _helper(self, day: int, strike: float, volatility: float) -> ql.HestonModelHelper:
        quote = ql.QuoteHandle(ql.SimpleQuote(volatility))
        return ql.HestonModelHelper(
            *(ql.Period(day, ql.Days), ql.NullCalendar(), SPOT, strike, quote),
            *(self.rate, self.none, ql.BlackCalibrationHelper.ImpliedVolError),
        )

    def _model(self, theta, kappa, nu, rho, v0) -> ql.HestonModel:
        process = ql.HestonProcess(self.rate, self.none, self.spot, v0, kappa, theta, nu, rho)
        model = ql.HestonModel(process)
        engine = ql.AnalyticHestonEngine(model, 64)
        for helper in self.helpers:
            helper.setPricingEngine(engine)
        return model

    def calibrate(self) -> dict:
        """As QuantLib's own test does, from its starting values."""
        model = self._model(0.1, 1.0, 0.5, -0.5, 0.1)
        end = ql.EndCriteria(400, 40, 1e-8, 1e-8, 1e-8)
        start = time.perf_counter()
        model.calibrate(self.helpers, ql.LevenbergMarquardt(1e-8, 1e-8, 1e-8), end)
        seconds = time.perf_counter() - start
        return {"parameters": dict(zip(NAMES, model.params(), strict=True)), "seconds": seconds}

    def objective(self, parameters: dict) -> float:
        """Σ (100 Δσ)², with QuantLib's prices."""
        self._model(*(parameters[name] for name in NAMES))
        return sum((100 * helper.calibrationError()) ** 2 for helper in self.helpers)


if __name__ == "__main__":
    main()
