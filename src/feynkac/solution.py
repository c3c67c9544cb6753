r"""The result: ū(γ, x, t) ≈ Φ(γ, x, t) for every parameter, point and time at once."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.certificates import Certificate, Effort, certify
from feynkac.analysis.error_map import ErrorMap, error_map
from feynkac.analysis.martingale import Control
from feynkac.analysis.metrics import Errors, make_yardstick
from feynkac.analysis.observations import Array
from feynkac.analysis.partials import Map
from feynkac.analysis.shape import TOLERANCE, ShapeReport, check_parity, check_shape
from feynkac.analysis.warnings import derivative_warnings
from feynkac.cards import Card, Shown
from feynkac.display import showing
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family, outputs
from feynkac.families.values import At
from feynkac.loading import make_control, read_solution
from feynkac.phases import enter
from feynkac.runs.artifact import Manifest, write_artifact
from feynkac.sampling.generators import make_generator
from feynkac.sampling.noise.lines import Lines
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.solution_card import solution_card
from feynkac.solution_inference import SolutionInference

if TYPE_CHECKING:
    from feynkac.plotting.plots import Plots

ERROR_PATHS = 2**14  # per input of a simulated reference
COARSEST = 1e-3  # certificates of a bad network need not be as bad
MAP_SECONDS = 0.02  # for each of many inputs
SHAPE_INPUTS = 2**13


@dataclass(frozen=True, repr=False)
class Solution(SolutionInference, Shown):
    """A trained solution map. Call it with one keyword per variable, or with one mapping by name.

    Values broadcast like numpy's. The mapping serves names that are also options, such as `noise`.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> solution(x=[9.2, 9.7], t=0.5, sigma=0.3, strike=11.0).shape
        torch.Size([2])
    """

    manifest: Manifest
    control: Control | None = None
    """A companion for noisy certificates, see `add_control`."""
    component: int | None = None  # which of several outputs this is, see `output`

    def card(self) -> Card:
        """Its error, its domain, how it was made, and u along the first variable.

        Example:
            >>> solution.card().lines[0]
            'x 9 … 10; t 0 … 1; sigma 0.1 … 0.6; strike 10 … 12'
        """
        return solution_card(self.family, self.quickly, self.manifest, self.component)

    def output(self, index: int) -> Self:
        """One of the components of a vector-valued solution; it has derivatives and all else.

        Example:
            >>> solution.output(0) is solution  # it has but one
            True
        """
        count = outputs(self.family)
        if not 0 <= index < count:
            raise InputError(f"there is no output {index}; there are {count}, from 0 on.")
        if count == 1:
            return self
        if self.component is not None:
            raise InputError(f"this is output {self.component} alone; choose from the whole.")
        return replace(self, network=self.network.component(index), component=index)

    @property
    def warnings(self) -> list[str]:
        """What speaks against this solution and its derivatives, one sentence each.

        Example:
            >>> len(solution.warnings)  # after two steps it is a poor one
            1
        """
        method = self.manifest.run.method
        sloped = method.grid is not None or isinstance(method.noise, Lines)
        return [*self.manifest.warnings, *derivative_warnings(self.family, self.network, sloped)]

    @property
    def plot(self) -> "Plots":
        """Pictures of this solution: `curve`, `surface`, `smile`, `error_map` and `history`.

        Needs matplotlib, the extra `plot`.

        Example:
            >>> len(solution.plot.history().axes)
            1
        """
        from feynkac.plotting.plots import Plots

        records = self.manifest.history
        return Plots(self, records, self.error_map, self.component or 0)

    @torch.inference_mode(False)  # simulated references differentiate
    def error(
        self,
        inputs: int | None = None,
        *,
        paths: int | None = None,
        seed: int = 1,
        scheme: Scheme | None = None,
        report: Callable[[float], None] | None = None,
        progress: bool | None = None,
    ) -> Errors:
        """L1 error with its interval on fresh inputs, and its baselines.

        Args:
            inputs: how many; by default 2^16 with a closed form (fewer if an input has more than
                256 numbers), 1024 with a grid (fewer if it is large), else 512, or fewer if a path
                has many normals.
            paths: per input, if the reference is simulated; by default 2^14.
            seed: of the inputs and paths.
            scheme: of the simulated reference; by default the one trained with. Trained with a
                grid, u on a finer one is the reference, unless a scheme or paths are given.
            report: called with the fraction done.
            progress: whether to show what is going on; by default on terminals and in notebooks.

        Example:
            >>> solution.error(1000).l1 > 0
            True
        """
        generator = make_generator(seed, "error", device=str(self.network.mean.device))
        method = self.manifest.run.method
        grid = method.grid if scheme is None and paths is None else None
        paths = None if grid else paths or ERROR_PATHS
        with showing(progress):
            told = enter("measuring the error", report)
            setting = (self.family, scheme or method.scheme, generator, inputs, paths, told)
            yardstick = make_yardstick(*setting, grid=grid)
            if self.component is not None and outputs(self.family) > 1:
                yardstick = yardstick.of_output(self.component)
            return replace(yardstick, family=self.family).measure(self.network)

    def shape(
        self,
        inputs: int = SHAPE_INPUTS,
        *,
        partner: "Solution | None" = None,
        tolerance: float = TOLERANCE,
        seed: int = 4,
    ) -> ShapeReport:
        """Whether u is monotone, convex and bounded as its family declares; see `shape.py`.

        Args:
            inputs: how many to check.
            partner: the put if this is the call, or the call: checks put–call parity too.
            tolerance: what counts as a violation, relative to 1 + |u|.
            seed: of the inputs.

        Example:
            >>> solution.shape(500).rows[0].sentence
            'is within the bounds of arbitrage'
        """
        if not isinstance(inputs, int) or inputs < 1:
            raise InputError(f"shape checks at least one input, got inputs={inputs!r}.")
        points = self.family.domain.sample(inputs, make_generator(seed, "shape"), torch.float64)
        report = check_shape(self.exactly, self.family, points, tolerance)
        if partner is None:
            return report
        pair = self.exactly, self.family, partner.exactly, partner.family
        return replace(report, rows=(*report.rows, check_parity(*pair, points, tolerance)))

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
        progress: bool | None = None,
        **named: Any,
    ) -> Certificate:
        """Check the network at given inputs by simulation; see `certificates.py`.

        Args:
            at: values by name, or flat inputs `(…, dim)`; in float64 no digit of them is lost.
            tolerance: stop when it is clear whether the network is within it, in units of u.
            effort: how long to simulate, and how sharp the interval must be.
            seed: of the paths.
            report: called with the fraction done.
            progress: whether to show what is going on; by default on terminals and in notebooks.
            named: the values as keywords.

        Example:
            >>> found = solution.certify(x=9.5, t=0.5, sigma=0.35, strike=11.0)
            >>> bool(abs(found.value - 1.930283) < found.half_width + 1e-6)
            True
        """
        if outputs(self.family) > 1 and self.component is None:
            raise InputError(
                "certificates are for one output; choose it: solution.output(0).certify(…)."
            )
        method, device = self.manifest.run.method, self.network.mean.device
        values = at if isinstance(at, Tensor) else self.reach.join(self._where(at, named))
        inputs, unit = self.reach.moved(values.detach().clone())
        generator = make_generator(seed, "certificate", device=str(device))
        with showing(progress):
            return certify(
                self.quickly,
                self.family,
                method.scheme,
                method.noise,
                self.control,
                inputs.reshape(-1, inputs.shape[-1]).to(device),
                generator,
                tolerance,
                effort if effort.aim is not None else replace(effort, aim=self.aim),
                enter("certifying", report),
                self.component or 0,
                unit.flatten(),
            )

    @property
    def aim(self) -> float:
        """Half width of a certificate relative to 1 + |u|: a third of the L1 error, or less.

        Example:
            >>> 0 < solution.aim <= 1e-3
            True
        """
        last = self.manifest.history[-1] if self.manifest.history else {}
        return min(COARSEST, float(last.get("l1") or COARSEST) / 3.0)

    def error_map(
        self,
        inputs: int = 1024,
        *,
        effort: Effort = Effort(seconds=MAP_SECONDS),  # noqa: B008  (frozen)
        seed: int = 3,
        report: Callable[[float], None] | None = None,
        progress: bool | None = None,
    ) -> ErrorMap:
        """The error over the domain, from certificates at random inputs.

        Example:
            >>> solution.error_map(16).inputs
            16
        """
        device = str(self.network.mean.device)
        points = self.family.domain.sample(inputs, make_generator(seed, "map", device=device))
        found = self.certify(points, effort=effort, seed=seed, report=report, progress=progress)
        return error_map(self.family.domain, points, found)

    def as_control(self) -> Control:
        """This network as a control for certificates.

        Example:
            >>> solution.as_control().error > 0
            True
        """
        return make_control(self.network, self.family.domain, self.manifest)

    @property
    def relative_error(self) -> float:
        """Root mean square of |Φ − u|/(1 + |u|) over the domain, as last measured in training.

        Example:
            >>> solution.relative_error > 0
            True
        """
        last = self.manifest.history[-1] if self.manifest.history else {}
        found = float(last.get("l2") or 0.0)
        if not last.get("l1_low"):  # noise may explain all that was seen
            found = max(found, float(last.get("l1_high") or 0.0))
        whole = 1 if self.component is None else outputs(self.family)
        return found * math.sqrt(whole)  # of one output, at most: its square is a mean over all

    def _reference(self, inputs: Tensor) -> tuple[str, Array, Array]:
        """u at flat inputs without the network, with half widths; see `Checker`."""
        if (formula := self._formula) is not None:
            value = formula(inputs).squeeze(-1).numpy()
            return "the closed form", value, np.zeros(len(value))
        found = self.certify(inputs, effort=Effort(seconds=MAP_SECONDS))
        value, width = (v.double().cpu().numpy() for v in (found.value, found.half_width))
        return "Monte Carlo", value, width

    @property
    def _formula(self) -> Map | None:
        """The closed form of u on flat inputs, if the family has one."""
        family, output = self.family, self.component or 0
        if not isinstance(family, ClosedForm):
            return None
        formula = family.closed_form
        return lambda inputs: formula(*family.domain.split(inputs))[..., output : output + 1]

    def to(self, *place: Any, **keywords: Any) -> Self:
        """The same solution on another device, or in another dtype, as of `torch.nn.Module.to`.

        Example:
            >>> solution.to(torch.float64)(x=9.5, t=0.5, sigma=0.3, strike=11.0).dtype
            torch.float64
        """
        with torch.inference_mode(False):  # its weights serve autograd later
            return replace(self, network=copy.deepcopy(self.network).to(*place, **keywords))

    def double(self) -> Self:
        """In float64: rounding is gone, the error of the fit is not.

        Example:
            >>> solution.double().network.mean.dtype
            torch.float64
        """
        return self.to(torch.float64)

    def save(self, folder: str | Path) -> None:
        """Write the artifact (see `runs/artifact.py`); an existing one is not overwritten.

        A control is not part of it: `add_control(…, folder=…)` writes one beside a run.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     solution.save(folder)
            ...     fk.load(folder).manifest.steps
            2
        """
        if self.component is not None and outputs(self.family) > 1:
            raise InputError(
                "this is one output alone; save the whole solution, and choose the output of what "
                "you load: load(folder).output(0)."
            )
        weights = {k: v.cpu() for k, v in self.network.state_dict().items()}
        write_artifact(Path(folder), self.manifest, weights)

    @classmethod
    @torch.inference_mode(False)  # its weights serve autograd later
    def load(cls, folder: str | Path, family: Family | None = None) -> Self:
        """Read an artifact.

        Args:
            folder: where `save` or `solve(out=…)` wrote it.
            family: needed if it is not built in; an artifact holds no code.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     solution.save(folder)
            ...     Solution.load(folder).family
            BlackScholes(dim=1)
        """
        return cls(*read_solution(Path(folder), family))
