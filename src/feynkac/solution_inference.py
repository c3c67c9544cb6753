r"""A solution map that meets data: observations and quotes to explain, inputs that are random."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from torch import Tensor

from feynkac.analysis.calibration import Calibration, calibrate
from feynkac.analysis.distributions import Inputs
from feynkac.analysis.observations import Array, Problem, make_problem, numbers
from feynkac.analysis.partials import Map
from feynkac.analysis.posterior import Posterior, Prior, sample_posterior
from feynkac.analysis.uncertainty import SobolIndices, Uncertainty, propagate, sobol_indices
from feynkac.display import showing
from feynkac.errors import InputError
from feynkac.families.values import At
from feynkac.market.fitting import fit_quotes
from feynkac.market.market_fit import MarketFit
from feynkac.market.quotes import Quotes
from feynkac.market.weighting import make_market
from feynkac.phases import enter
from feynkac.solution_map import SolutionMap


@dataclass(frozen=True, repr=False)
class SolutionInference(SolutionMap):
    """Calibration, posteriors and uncertainty; how far u is right is said by a `Solution`."""

    @property
    @abstractmethod
    def relative_error(self) -> float:
        """Root mean square of |Φ − u|/(1 + |u|) over the domain."""

    @abstractmethod
    def _reference(self, inputs: Tensor) -> tuple[str, Array, Array]:
        """u at flat inputs without the network, with half widths; see `Checker`."""

    @property
    @abstractmethod
    def _formula(self) -> Map | None:
        """The closed form of u on flat inputs, if the family has one."""

    def observe(
        self,
        free: Sequence[str],
        values: Any,
        known: At = None,
        /,
        *,
        noise: Any = None,
        model: Any = None,
        **named: Any,
    ) -> Problem:
        """A calibration problem; see `observations.py`.

        Args:
            free: names of the variables to find.
            values: what was observed, `(n,)`.
            known: all other variables by name, once for all observations or for each.
            noise: standard deviation of the values, a number or `(n,)`.
            model: standard error of this solution, a number or `(n,)`; by default `model_error`.
            named: other variables as keywords.

        Example:
            >>> solution.observe(["sigma"], [1.9], noise=0.1, x=9.5, t=0.5, strike=11.0).labels
            ['sigma']
        """
        self._require_one_output()
        others, given = self._where(known, named), 0.0 if model is None else model
        problem = make_problem(self.u_exactly, self.reach, free, others, values, noise, given)
        if model is not None:
            return problem
        unit = self.reach.moved(problem.inputs)[1].squeeze(-1).numpy()
        return replace(problem, model=unit * self.model_error(problem.values / unit))

    def model_error(self, values: Any) -> Array:
        """Standard error of this solution where u is about `values`, inside its domain.

        Example:
            >>> solution.model_error([1.0, 3.0]).shape
            (2,)
        """
        return self.relative_error * (1.0 + np.abs(numbers("values", values)))

    @overload
    def calibrate(self, observed: Problem, **settings: Any) -> Calibration: ...

    @overload
    def calibrate(self, observed: Quotes, **settings: Any) -> MarketFit: ...

    def calibrate(
        self, observed: Problem | Quotes, *, progress: bool | None = None, **settings: Any
    ) -> Calibration | MarketFit:
        """The parameters that explain observations or quotes best.

        Args:
            observed: from `observe` (see `calibration.py`) or `read_quotes` (see `fitting.py`).
            progress: whether to show it; by default where someone looks.
            settings: of `calibrate`, or the fields of `Market`: free, given, residuals, weights,
                confidence, seed, polish.

        Example:
            >>> problem = solution.observe(["sigma"], [1.9], noise=0.1, x=9.5, t=0.5, strike=11.0)
            >>> solution.calibrate(problem).labels
            ['sigma']
        """
        with showing(progress):
            enter("calibrating")
            if isinstance(observed, Problem):
                return calibrate(observed, **settings)
            market = make_market(**settings)
            return fit_quotes(
                *(self.exactly, self.family, observed, market, self._reference, False),
                self._formula,
            )

    def posterior(
        self,
        problem: Problem,
        start: Calibration,
        prior: Prior | None = None,
        *,
        report: Callable[[float], None] | None = None,
        progress: bool | None = None,
        **settings: Any,
    ) -> Posterior:
        """Samples of the parameters given observations; see `posterior.py`.

        Example:
            >>> problem = solution.observe(["sigma"], [1.9], noise=0.1, x=9.5, t=0.5, strike=11.0)
            >>> solution.posterior(problem, solution.calibrate(problem), steps=100).samples.shape[1]
            1
        """
        with showing(progress):
            settings |= {"report": enter("sampling the posterior", report)}
            return sample_posterior(problem, start, prior, **settings)

    def uncertainty(
        self,
        given: Mapping[str, Any] | None = None,
        correlation: Mapping[tuple[str, str], float] | None = None,
        *,
        report: Callable[[float], None] | None = None,
        progress: bool | None = None,
        **settings: Any,
    ) -> Uncertainty:
        """The law of u for random inputs; a variable that is not named has its measure.

        Errors count this solution's own, `relative_error`; give `error=` to replace it.

        Example:
            >>> solution.uncertainty({"t": 0.5}, samples=1000).mean.error > 0
            True
        """
        self._require_one_output()
        settings = {"error": self.relative_error} | settings
        with showing(progress):
            settings |= {"report": enter("evaluating", report)}
            return propagate(self.quickly, self._inputs(given, correlation), **settings)

    def sobol_indices(
        self,
        given: Mapping[str, Any] | None = None,
        *,
        progress: bool | None = None,
        **settings: Any,
    ) -> SobolIndices:
        """Which input the variance of u comes from.

        Example:
            >>> solution.sobol_indices(base=64).total["x"].value >= 0
            True
        """
        self._require_one_output()
        settings = {"error": self.relative_error} | settings
        with showing(progress):
            enter("evaluating")
            return sobol_indices(self.quickly, self._inputs(given, None), **settings)

    def _require_one_output(self) -> None:
        if (count := self.network.shift.numel()) > 1:
            raise InputError(f"u has {count} components; choose one: solution.output(0).")

    def _inputs(self, given: Any, correlation: Any) -> Inputs:
        return Inputs(self.family.domain, given or {}, correlation or {})
