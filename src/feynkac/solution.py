r"""The result: ū(γ, x, t) ≈ Φ(γ, x, t) for every parameter, point and time at once."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from feynkac.analysis.calibration import Calibration, calibrate
from feynkac.analysis.certificates import Certificate, Effort, certify
from feynkac.analysis.distributions import Inputs
from feynkac.analysis.error_map import ErrorMap, error_map
from feynkac.analysis.martingale import Control
from feynkac.analysis.metrics import Errors, measure_errors
from feynkac.analysis.observations import Problem, make_problem
from feynkac.analysis.partials import along, greek_value, hessian, partial
from feynkac.analysis.posterior import Posterior, Prior, sample_posterior
from feynkac.analysis.uncertainty import SobolIndices, Uncertainty, propagate, sobol_indices
from feynkac.errors import ArtifactError, InputError
from feynkac.families.catalogue import BUILT_IN, find_family
from feynkac.families.family import Family, NamedGreeks, outputs
from feynkac.networks.network import Network
from feynkac.sampling.noise import make_generator
from feynkac.sampling.scheme import Scheme
from feynkac.storage import (
    MANIFEST,
    Manifest,
    read_artifact,
    read_domain,
    record_domain,
    write_artifact,
)
from feynkac.training.run import differences, record_family, run_to_dict

CONTROL = "control"  # the folder of the companion


@dataclass(frozen=True)
class Solution:
    """A trained solution map. Call it with one keyword a variable; values broadcast like numpy's.

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
    """A companion that makes certificates sharp, see `add_control`."""

    def __call__(self, *, extrapolate: bool = False, **at: Any) -> Tensor:
        """u at the given inputs.

        Args:
            extrapolate: allow inputs outside the domain.
            at: one value a variable, of shape `(…, *shape of the variable)`.

        Shape: the broadcast leading axes, then one for the outputs if there are several.
        """
        with torch.no_grad():
            return self.network(self._join(at, extrapolate)).squeeze(-1)  # type: ignore[no-any-return]

    def output(self, index: int) -> Self:
        """One of the components of a vector-valued solution; it has derivatives and all else."""
        count = outputs(self.family)
        if not 0 <= index < count:
            raise InputError(f"there is no output {index}; there are {count}, from 0 on.")
        return self if count == 1 else replace(self, network=self.network.component(index))

    def grad(self, name: str, *, extrapolate: bool = False, **at: Any) -> Tensor:
        """∂u/∂name.  Shape: leading axes, then those of the variable.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.HeatParaboloid(dim=2), steps=2, batch_size=64)
            >>> solution.grad("sigma", x=[1.0, 1.0], t=0.5, sigma=[[1.0, 0.0], [0.0, 1.0]]).shape
            torch.Size([2, 2])
        """
        return partial(self.network, self.family.domain, name, self._join(at, extrapolate))

    def hessian(self, first: str, second: str, *, extrapolate: bool = False, **at: Any) -> Tensor:
        """∂²u/∂first∂second.  Shape: leading axes, then those of both variables.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
            >>> solution.hessian("x", "sigma", x=9.5, t=0.5, sigma=0.3, strike=11.0).shape
            torch.Size([])
        """
        inputs = self._join(at, extrapolate)
        return hessian(self.network, self.family.domain, first, second, inputs)

    def along(
        self, direction: Mapping[str, Any], *, extrapolate: bool = False, **at: Any
    ) -> Tensor:
        """The derivative of u along a direction, one change a variable.  Shape: leading axes."""
        inputs, domain = self._join(at, extrapolate), self.family.domain
        change = dict.fromkeys(domain.boxes, 0.0) | dict(direction)
        return along(self.network, inputs, domain.join(change, extrapolate=True).to(inputs))

    def greeks(self, *, extrapolate: bool = False, **at: Any) -> dict[str, Tensor]:
        """The derivatives the family has names for, such as delta; empty if it names none."""
        if not isinstance(self.family, NamedGreeks):
            return {}
        inputs, domain = self._join(at, extrapolate), self.family.domain
        named = self.family.greeks.items()
        return {name: greek_value(self.network, domain, g, inputs) for name, g in named}

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
        chosen = scheme or self.manifest.run.scheme
        return measure_errors(self.network, self.family, chosen, generator, inputs, paths, report)

    def certify(
        self,
        *,
        tolerance: float | None = None,
        effort: Effort = Effort(),  # noqa: B008  (frozen)
        seed: int = 2,
        report: Callable[[float], None] | None = None,
        **at: Any,
    ) -> Certificate:
        """Check the network at given inputs by an unbiased estimate; see `certificates.py`."""
        return self.certify_inputs(self._join(at, False), tolerance, effort, seed, report)

    def certify_inputs(
        self,
        inputs: Tensor,
        tolerance: float | None = None,
        effort: Effort = Effort(),  # noqa: B008  (frozen)
        seed: int = 2,
        report: Callable[[float], None] | None = None,
    ) -> Certificate:
        """The same at flat inputs `(…, dim)`."""
        if outputs(self.family) > 1:
            raise InputError("certificates are for solutions with one output; this has several.")
        run = self.manifest.run
        control = self.control or self.as_control()
        generator = make_generator(seed, "certificate", device=str(self.network.mean.device))
        return certify(
            self.network,
            self.family,
            run.scheme,
            run.noise,
            control,
            inputs.reshape(-1, inputs.shape[-1]),
            generator,
            tolerance,
            effort,
            report,
        )

    def error_map(
        self,
        inputs: int = 1024,
        *,
        effort: Effort = Effort(),  # noqa: B008  (frozen)
        seed: int = 3,
        report: Callable[[float], None] | None = None,
    ) -> ErrorMap:
        """The error over the domain, from certificates at random inputs."""
        generator = make_generator(seed, "map", device=str(self.network.mean.device))
        points = self.family.domain.sample(inputs, generator)
        found = self.certify_inputs(points, None, effort, seed, report)
        return error_map(self.family.domain, points, found)

    def value(self, *, corrected: bool = False, seed: int = 2, **at: Any) -> Tensor:
        """u at the given inputs; `corrected`: with the correction of a certificate."""
        if not corrected:
            return self(**at)
        inputs = self._join(at, False)
        return self.certify_inputs(inputs, seed=seed).value.reshape(inputs.shape[:-1])

    def as_control(self) -> Control:
        """This network as a control for certificates."""
        return Control(self.network, self.family.domain)

    def observe(
        self,
        free: Sequence[str],
        values: Any,
        *,
        noise: Any = None,
        model: float | None = None,
        **known: Any,
    ) -> Problem:
        """A calibration problem; see `observations.py`.

        Args:
            free: names of the variables to find.
            values: what was observed, `(n,)`.
            noise: standard deviation of the values, a number or `(n,)`.
            model: standard error of this solution; by default as measured in training.
            known: all other variables, once for all observations or for each.
        """
        error = self.model_error if model is None else model
        return make_problem(self.exactly, self.family.domain, free, known, values, noise, error)

    @property
    def model_error(self) -> float:
        """Standard error of a value: the last root mean square error, in the units of u."""
        last = self.manifest.history[-1] if self.manifest.history else {}
        typical = 1.0 + abs(float(self.network.shift))
        return float(last.get("l2") or 0.0) * typical

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
        """The law of u for random inputs; a variable that is not named has its measure."""
        return propagate(self.quickly, self._inputs(given, correlation), **settings)

    def sobol_indices(
        self, given: Mapping[str, Any] | None = None, **settings: Any
    ) -> SobolIndices:
        """Which input the variance of u comes from."""
        return sobol_indices(self.quickly, self._inputs(given, None), **settings)

    def quickly(self, inputs: Tensor) -> Tensor:
        """u at flat inputs of any dtype, in the network's own."""
        return self.network(inputs.to(self.network.mean))  # type: ignore[no-any-return]

    @functools.cached_property
    def exactly(self) -> Network:
        """The network in float64, for optimisers that look at the last digits."""
        return copy.deepcopy(self.network).cpu().double()

    def _inputs(self, given: Any, correlation: Any) -> Inputs:
        return Inputs(self.family.domain, given or {}, correlation or {})

    def save(self, folder: str | Path) -> None:
        """Write the artifact (see `storage`); an existing one is not overwritten."""
        weights = {k: v.cpu() for k, v in self.network.state_dict().items()}
        write_artifact(Path(folder), self.manifest, weights)

    @classmethod
    def load(cls, folder: str | Path, family: Family | None = None) -> Self:
        """Read an artifact.

        Args:
            folder: where `save` or `solve(out=…)` wrote it.
            family: needed if it is not built in; an artifact holds no code.
        """
        manifest, weights = read_artifact(Path(folder))
        chosen = family or _rebuild_family(manifest)
        _require_trained_for(chosen, manifest, folder)
        try:
            network = Network(manifest.run.architecture, chosen.domain, outputs(chosen))
            network.load_state_dict(weights)
        except RuntimeError as error:
            raise ArtifactError(f"the weights in {folder} do not fit its manifest.") from error
        return cls(chosen, network.eval().requires_grad_(False), manifest, _read_control(folder))

    def _join(self, at: dict[str, Any], extrapolate: bool) -> Tensor:
        return self.family.domain.join(at, extrapolate).to(self.network.mean)


def _read_control(folder: str | Path) -> Control | None:
    """The companion, if the run has a finished one."""
    path = Path(folder) / CONTROL
    if not (path / MANIFEST).exists():
        return None
    manifest, weights = read_artifact(path)
    domain = read_domain(manifest.domain, manifest.exchanged)
    try:
        network = Network(manifest.run.architecture, domain)
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ArtifactError(f"the weights in {path} do not fit its manifest.") from error
    return Control(network.eval().requires_grad_(False), domain)


def _rebuild_family(manifest: Manifest) -> Family:
    record = manifest.family
    if not record.built_in or record.name not in BUILT_IN:  # a path here must not be imported
        raise ArtifactError(
            f"the family {record.name!r} is not built in, and an artifact holds no code; "
            "give it: load(folder, family=…) or --family path/to/file.py:ClassName."
        )
    return find_family(record.name, dict(record.fields))


def _require_trained_for(family: Family, manifest: Manifest, folder: str | Path) -> None:
    given = replace(manifest.run, family=record_family(family))
    found = differences(run_to_dict(given), run_to_dict(manifest.run))
    # the order of the variables counts: it is that of the network's inputs
    if list(record_domain(family.domain).items()) != list(manifest.domain.items()):
        found.append(f"the domain is another, {family.domain} here")
    if family.domain.exchanged != manifest.exchanged:
        found.append(f"it was trained with {manifest.exchanged or 'no variables'} in order")
    if found:
        raise ArtifactError(
            f"{folder} was trained for another family ({found[0]}); "
            "give the family it was trained with."
        )
