"""What several tests of families ask: the residual of the PDE, and QuantLib's market."""

import QuantLib as ql  # noqa: N813
import torch
from torch.func import grad, hessian, vmap

from feynkac.families.capabilities import Discount
from feynkac.families.point import Params

TODAY = ql.Date(1, 7, 2020)
DAYS = ql.Actual365Fixed()


def residuals(family, inputs):
    """∂u/∂t − ½ Tr(σσ*∇²u) − ⟨μ, ∇u⟩ + c u of the closed form, one number an input."""
    x, t, p = family.domain.split(inputs)
    basis = torch.eye(x.shape[-1], dtype=inputs.dtype)

    def residual(x, t, values):
        p = Params(**values)

        def u(x, t):
            return family.closed_form(x, t, p).squeeze(-1)

        columns = torch.stack([family.diffusion(x, e, p) for e in basis])
        trace = torch.einsum("ij,jk,ik->", columns, hessian(u)(x, t), columns)
        growth = trace / 2 + grad(u)(x, t) @ family.drift(x, p)
        if isinstance(family, Discount):
            growth = growth - family.discount(x, p).squeeze(-1) * u(x, t)
        return grad(u, argnums=1)(x, t).squeeze(-1) - growth

    return vmap(residual)(x, t, {name: getattr(p, name) for name in p})


def interior(family, count, generator, least=0.05):
    """Random inputs with t ≥ `least`, in float64.  Shape: (count, dim)."""
    inputs = family.domain.sample(count, generator, torch.float64)
    inputs[:, family.domain.slices()["t"]].clamp_(min=least)
    return inputs


def dated(family, count, generator):
    """Random scalar inputs by name whose t is a whole number of days."""
    rows = family.domain.sample(count, generator, torch.float64).tolist()
    points = [dict(zip(family.domain.measures, row, strict=True)) for row in rows]
    return [at | {"t": max(1, round(365 * at["t"])) / 365} for at in points]


def value(family, **at):
    """The closed form at scalar inputs by name, inside the domain or not."""
    inputs = family.domain.join(at, extrapolate=True)
    return family.closed_form(*family.domain.split(inputs)).item()


def market(at):
    """QuantLib's process for x, sigma, rate and dividend."""
    ql.Settings.instance().evaluationDate = TODAY
    spot = ql.QuoteHandle(ql.SimpleQuote(at["x"]))
    dividend, rate = (
        ql.YieldTermStructureHandle(ql.FlatForward(TODAY, at[name], DAYS))
        for name in ("dividend", "rate")
    )
    sigma = ql.BlackConstantVol(TODAY, ql.NullCalendar(), at["sigma"], DAYS)
    return ql.BlackScholesMertonProcess(spot, dividend, rate, ql.BlackVolTermStructureHandle(sigma))


def maturity(at):
    """Exercise after t years of 365 days."""
    return ql.EuropeanExercise(TODAY + round(365 * at["t"]))


def quantlib_european(payoff, at):
    """An option of QuantLib with its analytic engine."""
    option = ql.EuropeanOption(payoff, maturity(at))
    option.setPricingEngine(ql.AnalyticEuropeanEngine(market(at)))
    return option
