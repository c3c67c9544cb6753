r"""The result: ū(γ, x, t) ≈ Φ(γ, x, t) for every parameter, point and time at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from feynkac.analysis.metrics import Errors, measure_errors
from feynkac.analysis.partials import greek_value, partial
from feynkac.errors import ArtifactError
from feynkac.families.catalogue import BUILT_IN, find_family
from feynkac.families.family import Family, NamedGreeks
from feynkac.networks.network import Network
from feynkac.sampling.noise import make_generator
from feynkac.sampling.scheme import Scheme
from feynkac.storage import Manifest, read_artifact, record_domain, write_artifact
from feynkac.training.run import differences, record_family, run_to_dict


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

    def __call__(self, *, extrapolate: bool = False, **at: Any) -> Tensor:
        """u at the given inputs.

        Args:
            extrapolate: allow inputs outside the domain.
            at: one value a variable, of shape `(…, *shape of the variable)`.

        Shape: the broadcast leading axes.
        """
        with torch.no_grad():
            return self.network(self._join(at, extrapolate)).squeeze(-1)  # type: ignore[no-any-return]

    def grad(self, name: str, *, extrapolate: bool = False, **at: Any) -> Tensor:
        """∂u/∂name.  Shape: leading axes, then those of the variable.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.HeatParaboloid(dim=2), steps=2, batch_size=64)
            >>> solution.grad("sigma", x=[1.0, 1.0], t=0.5, sigma=[[1.0, 0.0], [0.0, 1.0]]).shape
            torch.Size([2, 2])
        """
        return partial(self.network, self.family.domain, name, self._join(at, extrapolate))

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
        """L1 error ± standard error on fresh inputs, with its baselines.

        Args:
            inputs: how many; by default 2^16 with a closed form, else 128.
            paths: per input, if the reference is simulated.
            seed: of the inputs and paths.
            scheme: of the simulated reference; by default the one trained with.
            report: called with the fraction done.
        """
        generator = make_generator(seed, "error", device=str(self.network.mean.device))
        chosen = scheme or self.manifest.run.scheme
        noise = self.manifest.run.noise
        return measure_errors(
            self.network, self.family, chosen, generator, inputs, paths, report, noise
        )

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
            network = Network(manifest.run.architecture, chosen.domain)
            network.load_state_dict(weights)
        except RuntimeError as error:
            raise ArtifactError(f"the weights in {folder} do not fit its manifest.") from error
        return cls(chosen, network.eval().requires_grad_(False), manifest)

    def _join(self, at: dict[str, Any], extrapolate: bool) -> Tensor:
        return self.family.domain.join(at, extrapolate).to(self.network.mean)


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
    if found:
        raise ArtifactError(
            f"{folder} was trained for another family ({found[0]}); "
            "give the family it was trained with."
        )
