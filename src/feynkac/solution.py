r"""The result: ū(γ, x, t) ≈ Φ(γ, x, t) for every parameter, point and time at once."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.calibration import Calibration, calibrate
from feynkac.analysis.certificates import Certificate, Effort, certify
from feynkac.analysis.chunks import over_rows, over_values
from feynkac.analysis.distributions import Inputs
from feynkac.analysis.error_map import ErrorMap, error_map
from feynkac.analysis.martingale import Control
from feynkac.analysis.metrics import Errors, measure_errors
from feynkac.analysis.observations import Array, Problem, make_problem, numbers
from feynkac.analysis.partials import along, greek_value, hessian, partial, traced
from feynkac.analysis.posterior import Posterior, Prior, sample_posterior
from feynkac.analysis.sweep import Sweep, make_grid, scalars
from feynkac.analysis.uncertainty import SobolIndices, Uncertainty, propagate, sobol_indices
from feynkac.analysis.warnings import derivative_warnings
from feynkac.errors import InputError
from feynkac.families.capabilities import Greek, NamedGreeks
from feynkac.families.family import Family, outputs
from feynkac.families.values import At, by_name
from feynkac.loading import make_control, read_solution
from feynkac.networks.network import Network
from feynkac.runs.artifact import (
    Manifest,
    write_artifact,
)
from feynkac.sampling.noise.noise import make_generator
from feynkac.sampling.schemes.scheme import Scheme

COARSEST = 1e-3  # certificates of a bad network need not be as bad
MAP_SECONDS = 0.02  # for each of many inputs


@dataclass(frozen=True)
class Solution:
    """A trained solution map. Call it with one keyword per variable, or with one mapping by name.

    Values broadcast like numpy's. The mapping serves names that are also options, such as `noise`.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> solution(x=[9.2, 9.7], t=0.5, sigma=0.3, strike=11.0).shape
        torch.Size([2])
    """

    family: Family
    network: Network
    manifest: Manifest
    control: Control | None = None
    """A companion for certificates where plain paths are too noisy, see `add_control`."""
    component: int | None = None
    """Which of several outputs this is, see `output`."""

    def __call__(self, at: At = None, /, *, extrapolate: bool = False, **named: Any) -> Tensor:
        """u at the given inputs.

        Args:
            at: values by name, each of shape `(…, *shape of the variable)`.
            extrapolate: allow inputs outside the domain.
            named: the same as keywords.

        Gradients flow back to inputs that require them, and transforms of `torch.func` work.
        Millions of rows are computed in blocks.

        Shape: the broadcast leading axes, then one for the outputs if there are several.
        """
        return self._ask(self._value, by_name(at, named), extrapolate)

    def output(self, index: int) -> Self:
        """One of the components of a vector-valued solution; it has derivatives and all else."""
        count = outputs(self.family)
        if not 0 <= index < count:
            raise InputError(f"there is no output {index}; there are {count}, from 0 on.")
        if count == 1:
            return self
        if self.component is not None:
            raise InputError(f"this is output {self.component} alone; choose from the whole.")
        return replace(self, network=self.network.component(index), component=index)

    def grad(
        self, name: str, at: At = None, /, *, extrapolate: bool = False, **named: Any
    ) -> Tensor:
        """∂u/∂name.  Shape: leading axes, then those of the variable.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.HeatParaboloid(dim=2), steps=2, batch_size=64)
            >>> solution.grad("sigma", x=[1.0, 1.0], t=0.5, sigma=[[1.0, 0.0], [0.0, 1.0]]).shape
            torch.Size([2, 2])
        """
        domain, where = self.family.domain, by_name(at, named)
        return self._ask(lambda v: partial(self.network, domain, name, v), where, extrapolate)

    def hessian(
        self, first: str, second: str, at: At = None, /, *, extrapolate: bool = False, **named: Any
    ) -> Tensor:
        """∂²u/∂first∂second.  Shape: leading axes, then those of both variables.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
            >>> solution.hessian("x", "sigma", x=9.5, t=0.5, sigma=0.3, strike=11.0).shape
            torch.Size([])
        """
        u, domain, where = self.network, self.family.domain, by_name(at, named)
        return self._ask(lambda v: hessian(u, domain, first, second, v), where, extrapolate)

    def along(
        self,
        direction: Mapping[str, Any],
        at: At = None,
        /,
        *,
        extrapolate: bool = False,
        **named: Any,
    ) -> Tensor:
        """The derivative of u along a direction, one change per variable.  Shape: leading axes."""
        inputs = self._join(by_name(at, named), extrapolate)
        domain = self.family.domain
        change = dict.fromkeys(domain.measures, 0.0) | dict(direction)
        changes = domain.join(change, extrapolate=True).to(inputs)
        both = torch.cat(torch.broadcast_tensors(inputs, changes), -1)  # type: ignore[no-untyped-call]
        return over_rows(lambda pair: along(self.network, *pair.chunk(2, -1)), both)

    def greeks(
        self, at: At = None, /, *, extrapolate: bool = False, **named: Any
    ) -> dict[str, Tensor]:
        """The derivatives the family has names for, such as delta; empty if it names none."""
        if not isinstance(self.family, NamedGreeks):
            return {}
        where = by_name(at, named)
        return {name: self._greek(g, where, extrapolate) for name, g in self.family.greeks.items()}

    def _greek(self, greek: Greek, at: dict[str, Any], extrapolate: bool) -> Tensor:
        u, domain = self.network, self.family.domain
        return self._ask(lambda v: greek_value(u, domain, greek, v), at, extrapolate)

    def sweep(
        self, over: str | Sequence[str], at: At = None, /, *, points: int = 41, **named: Any
    ) -> Sweep:
        """Value and Greeks (or first derivatives) along one or two scalar variables.

        Args:
            over: which, each through its range.
            at: the other variables by name, one value each.
            points: along each.
            named: other variables as keywords.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
            >>> found = solution.sweep(["x", "t"], points=5, sigma=0.3, strike=11.0)
            >>> found.values["delta"].shape
            torch.Size([5, 5])
        """
        names = [over] if isinstance(over, str) else list(over)
        domain, others = self.family.domain, by_name(at, named)
        axes, where = make_grid(domain, names, points, others)
        value = self(where)
        slopes = self.greeks(where) or {
            f"∂u/∂{name}": self.grad(name, where) for name in scalars(domain)
        }
        tables = {
            name: table.reshape(value.shape)
            for name, table in {"value": value, **slopes}.items()
            if table.numel() == value.numel()
        }
        held = {name: given for name, given in others.items() if name not in names}
        return Sweep(axes, held, tables, self.warnings)

    @property
    def warnings(self) -> list[str]:
        """What speaks against this solution and its derivatives, one sentence each."""
        return [*self.manifest.warnings, *derivative_warnings(self.family, self.network)]

    @torch.inference_mode(False)  # simulated references differentiate
    def error(
        self,
        inputs: int | None = None,
        *,
        paths: int = 2**14,
        seed: int = 1,
        scheme: Scheme | None = None,
        report: Callable[[float], None] | None = None,
    ) -> Errors:
        """L1 error with its interval on fresh inputs, and its baselines.

        Args:
            inputs: how many; by default 2^16 with a closed form, else 512, or fewer if a path has
                many normals.
            paths: per input, if the reference is simulated.
            seed: of the inputs and paths.
            scheme: of the simulated reference; by default the one trained with.
            report: called with the fraction done.
        """
        generator = make_generator(seed, "error", device=str(self.network.mean.device))
        chosen = scheme or self.manifest.run.method.scheme
        return measure_errors(self.network, self.family, chosen, generator, inputs, paths, report)

    @torch.inference_mode(False)  # controls are differentiated
    def certify(
        self,
        at: At | Tensor = None,
        /,
        *,
        tolerance: float | None = None,
        effort: Effort = Effort(),  # noqa: B008  (frozen)
        seed: int = 2,
        report: Callable[[float], None] | None = None,
        **named: Any,
    ) -> Certificate:
        """Check the network at given inputs by simulation; see `certificates.py`.

        Args:
            at: values by name, or flat inputs `(…, dim)`; in float64 no digit of them is lost.
            tolerance: stop when it is clear whether the network is within it, relative to 1 + |u|.
            effort: how long to simulate, and how sharp the interval must be.
            seed: of the paths.
            report: called with the fraction done.
            named: the values as keywords.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
            >>> found = solution.certify(x=9.5, t=0.5, sigma=0.35, strike=11.0)
            >>> bool(abs(found.value - 1.930283) < found.half_width + 1e-6)
            True
        """
        if outputs(self.family) > 1 and self.component is None:
            raise InputError(
                "certificates are for one output; choose it: solution.output(0).certify(…)."
            )
        method, device = self.manifest.run.method, self.network.mean.device
        values = at if isinstance(at, Tensor) else self.family.domain.join(by_name(at, named))
        inputs = values.detach().clone().to(device)
        generator = make_generator(seed, "certificate", device=str(device))
        return certify(
            self.quickly,
            self.family,
            method.scheme,
            method.noise,
            self.control,
            inputs.reshape(-1, inputs.shape[-1]),
            generator,
            tolerance,
            effort if effort.aim is not None else replace(effort, aim=self.aim),
            report,
            self.component or 0,
        )

    @property
    def aim(self) -> float:
        """Half width of a certificate relative to 1 + |u|: a third of the L1 error, or less."""
        last = self.manifest.history[-1] if self.manifest.history else {}
        return min(COARSEST, float(last.get("l1") or COARSEST) / 3.0)

    def error_map(
        self,
        inputs: int = 1024,
        *,
        effort: Effort = Effort(seconds=MAP_SECONDS),  # noqa: B008  (frozen)
        seed: int = 3,
        report: Callable[[float], None] | None = None,
    ) -> ErrorMap:
        """The error over the domain, from certificates at random inputs."""
        generator = make_generator(seed, "map", device=str(self.network.mean.device))
        points = self.family.domain.sample(inputs, generator)
        found = self.certify(points, effort=effort, seed=seed, report=report)
        return error_map(self.family.domain, points, found)

    def as_control(self) -> Control:
        """This network as a control for certificates."""
        return make_control(self.network, self.family.domain, self.manifest)

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
        """
        error = self.model_error(values) if model is None else model
        others = by_name(known, named)
        return make_problem(self.exactly, self.family.domain, free, others, values, noise, error)

    @property
    def relative_error(self) -> float:
        """Root mean square of |Φ − u|/(1 + |u|) over the domain, as last measured in training."""
        last = self.manifest.history[-1] if self.manifest.history else {}
        return float(last.get("l2") or 0.0)

    def model_error(self, values: Any) -> Array:
        """Standard error of this solution where u is about `values`, in the units of u."""
        return self.relative_error * (1.0 + np.abs(numbers("values", values)))

    def calibrate(self, problem: Problem, **settings: Any) -> Calibration:
        """The parameters that explain observations best; see `calibration.py`."""
        return calibrate(problem, **settings)

    def posterior(
        self, problem: Problem, start: Calibration, prior: Prior | None = None, **settings: Any
    ) -> Posterior:
        """Samples of the parameters given observations; see `posterior.py`."""
        return sample_posterior(problem, start, prior, **settings)

    def uncertainty(
        self,
        given: Mapping[str, Any] | None = None,
        correlation: Mapping[tuple[str, str], float] | None = None,
        **settings: Any,
    ) -> Uncertainty:
        """The law of u for random inputs; a variable that is not named has its measure.

        Errors count this solution's own, `relative_error`; give `error=` to replace it.
        """
        settings = {"error": self.relative_error} | settings
        return propagate(self.quickly, self._inputs(given, correlation), **settings)

    def sobol_indices(
        self, given: Mapping[str, Any] | None = None, **settings: Any
    ) -> SobolIndices:
        """Which input the variance of u comes from."""
        settings = {"error": self.relative_error} | settings
        return sobol_indices(self.quickly, self._inputs(given, None), **settings)

    def quickly(self, inputs: Tensor) -> Tensor:
        """u at flat inputs of any dtype, in the network's own, block by block."""
        return over_rows(lambda block: self.network(block.to(self.network.mean)), inputs)

    @functools.cached_property
    @torch.inference_mode(False)  # what is kept serves autograd later
    def exactly(self) -> Network:
        """The network in float64, for optimisers that look at the last digits."""
        return copy.deepcopy(self.network).cpu().double()

    def _inputs(self, given: Any, correlation: Any) -> Inputs:
        return Inputs(self.family.domain, given or {}, correlation or {})

    def save(self, folder: str | Path) -> None:
        """Write the artifact (see `storage`); an existing one is not overwritten.

        A control is not part of it: `add_control(…, folder=…)` writes one beside a run.
        """
        weights = {k: v.cpu() for k, v in self.network.state_dict().items()}
        write_artifact(Path(folder), self.manifest, weights)

    @classmethod
    @torch.inference_mode(False)  # its weights serve autograd later
    def load(cls, folder: str | Path, family: Family | None = None) -> Self:
        """Read an artifact.

        Args:
            folder: where `save` or `solve(out=…)` wrote it.
            family: needed if it is not built in; an artifact holds no code.
        """
        return cls(*read_solution(Path(folder), family))

    def _ask(self, f: Callable[[Tensor], Tensor], at: dict[str, Any], extrapolate: bool) -> Tensor:
        """f at the given inputs in the network's dtype, block by block."""
        like = self.network.mean
        return over_values(lambda block: f(block.to(like)), self.family.domain, at, extrapolate)

    def _value(self, inputs: Tensor) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and traced(inputs)):
            return self.network(inputs).squeeze(-1)  # type: ignore[no-any-return]

    def _join(self, at: dict[str, Any], extrapolate: bool) -> Tensor:
        return self.family.domain.join(at, extrapolate).to(self.network.mean)
