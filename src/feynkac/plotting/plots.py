"""`solution.plot`: pictures of one solution."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from feynkac.analysis.error_map import ErrorMap
from feynkac.analysis.sweep import Sweep
from feynkac.families.capabilities import ClosedForm
from feynkac.families.values import At
from feynkac.plotting.history import history
from feynkac.plotting.pictures import error_map
from feynkac.plotting.smile import smile
from feynkac.plotting.sweeps import curve, surface
from feynkac.solution_map import SolutionMap
from feynkac.training.state import Record


@dataclass(frozen=True)
class Plots:
    """Pictures of one solution; each method returns a matplotlib figure.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> figure = solution.plot.curve("x", t=0.5, sigma=0.3, strike=11.0)
        >>> figure.axes[1].get_title()
        'delta'
    """

    solution: SolutionMap
    records: Sequence[Record]
    """Its history."""
    measure: Callable[[int], ErrorMap]
    """Maps its error, from certificates at this many inputs."""
    component: int = 0
    """Which output of the family's closed form it is."""

    def curve(
        self,
        over: str,
        at: At = None,
        /,
        *,
        only: str | Sequence[str] = (),
        points: int = 101,
        **named: Any,
    ) -> Figure:
        """Value and Greeks along one variable, the value on top of the closed form if there is one.

        Args:
            over: the variable, or one entry such as `x[0]`, through its range.
            at: the other variables by name, one value each.
            only: which quantities, such as `"value"` or `["value", "delta"]`; by default all.
            points: along the variable.
            named: other variables as keywords.

        Example:
            >>> figure = solution.plot.curve("t", only="delta", x=9.5, sigma=0.3, strike=11.0)
            >>> len(figure.axes)
            1
        """
        found = self.solution.sweep(over, at, points=points, **named)
        return curve(found, only, self._exact(found))

    def surface(
        self,
        first: str,
        second: str,
        at: At = None,
        /,
        *,
        only: str | Sequence[str] = (),
        points: int = 41,
        **named: Any,
    ) -> Figure:
        """Value and Greeks over two variables as maps; the arguments are those of `curve`.

        Example:
            >>> figure = solution.plot.surface("x", "t", only="value", sigma=0.3, strike=11.0)
            >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
            ('$x$', 'time $t$')
        """
        return surface(self.solution.sweep([first, second], at, points=points, **named), only)

    def smile(
        self,
        at: At = None,
        /,
        *,
        over: str = "strike",
        maturities: Sequence[float] | None = None,
        **named: Any,
    ) -> Figure:
        """Implied volatility along the strike, one line per maturity; for families with quotes.

        Args:
            at: the other variables by name, one value each.
            over: the variable of the horizontal axis.
            maturities: values of t; by default five.
            named: other variables as keywords.

        Example:
            >>> figure = solution.plot.smile(x=9.5, sigma=0.3, maturities=[0.5, 1.0])
            >>> len(figure.axes[0].lines)
            2
        """
        return smile(self.solution, at, over=over, maturities=maturities, **named)

    def error_map(self, inputs: int = 1024) -> Figure:
        """Mean certified error along each scalar variable.

        Example:
            >>> solution.plot.error_map(16).axes[0].get_xlabel()
            '$x$'
        """
        return error_map(self.measure(inputs))

    def history(self) -> Figure:
        """The error against the seconds of training.

        Example:
            >>> solution.plot.history().axes[0].get_xlabel()
            'seconds of training'
        """
        return history(self.records)

    def _exact(self, found: Sweep) -> dict[str, Tensor]:
        """The closed form along a curve, if there is one."""
        family = self.solution.family
        if not isinstance(family, ClosedForm):
            return {}
        domain = family.domain
        inputs = domain.side_by_side(*domain.broadcast({**found.at, **found.over}))
        with torch.no_grad():
            values = family.closed_form(*family.domain.split(inputs))
        return {"value": values[..., self.component]}
