"""From a folder back to the parts of a solution."""

import math
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from feynkac.analysis.martingale import Control
from feynkac.errors import ArtifactError
from feynkac.families.catalogue import BUILT_IN, find_family
from feynkac.families.domain import Domain
from feynkac.families.family import Family, outputs
from feynkac.networks.network import Network
from feynkac.runs.artifact import (
    MANIFEST,
    Manifest,
    as_trained,
    read_artifact,
    read_domain,
    record_domain,
)
from feynkac.runs.folder import CONTROL
from feynkac.runs.run import differences, record_family, settings_of

HARMLESS = 1000
"""A dimension whose domain is made at once."""


def read_solution(
    folder: Path, family: Family | None = None
) -> tuple[Family, Network, Manifest, Control | None]:
    """Family, network, manifest and companion, each checked against the others.

    Raises:
        ArtifactError: they do not fit, or the family is needed and was not given.
    """
    manifest, weights = read_artifact(folder)
    require_dimension(manifest)
    chosen = as_trained(family or _rebuild_family(manifest), manifest.family.domain)
    _require_trained_for(chosen, manifest, folder)
    network = _network(manifest, weights, chosen.domain, outputs(chosen), folder)
    return chosen, network, manifest, _read_control(folder / CONTROL, chosen.domain)


def require_dimension(manifest: Manifest) -> None:
    """Refuse a `dim` that cannot belong to the recorded inputs, before a domain is made of it.

    Raises:
        ArtifactError: it is larger than all inputs together.
    """
    dim = manifest.family.fields.get("dim", 1)
    inputs = sum(len(law.low) for law in manifest.domain.values())
    if isinstance(dim, int) and dim > max(inputs, HARMLESS):
        raise ArtifactError(
            f"its family has dim={dim}, but its domain only {inputs} inputs; copy the folder again."
        )


def _require_size(manifest: Manifest, weights: dict[str, Tensor], folder: Path) -> None:
    """Refuse sizes of a network that its weights cannot have, before memory for it is taken."""
    architecture = manifest.run.method.architecture
    most = max([len(weights), *(n for tensor in weights.values() for n in tensor.shape)])
    sizes = [v for v in vars(architecture).values() if type(v) is int]
    if type(architecture).__module__.startswith("feynkac.") and max(sizes, default=0) > most:
        raise ArtifactError(f"the weights in {folder} do not fit its manifest.")


def _network(
    manifest: Manifest, weights: dict[str, Tensor], domain: Domain, count: int, folder: Path
) -> Network:
    _require_size(manifest, weights, folder)
    try:
        network = Network(manifest.run.method.architecture, domain, count)
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ArtifactError(f"the weights in {folder} do not fit its manifest.") from error
    return network.eval().requires_grad_(False)


def _read_control(path: Path, known: Domain) -> Control | None:
    """The companion, if the run has a finished one; samplers are those of the `known` domain."""
    if path.is_symlink():
        raise ArtifactError(f"{path} is a link, and a run is one folder; remove the link.")
    if not (path / MANIFEST).exists():
        return None
    manifest, weights = read_artifact(path)
    domain = read_domain(manifest.domain, manifest.exchanged, known.measures)
    return make_control(_network(manifest, weights, domain, 1, path), domain, manifest)


def make_control(network: Network, domain: Domain, manifest: Manifest) -> Control:
    """A trained network as a control; after a single step it is not one."""
    last = manifest.history[-1] if manifest.history else {}
    error, linear = (last.get(key) for key in ("l1", "linear_baseline"))
    known = error is not None and linear and manifest.steps > 1
    ratio = float(error) / float(linear) if known else math.inf  # type: ignore[arg-type]
    return Control(network, domain, manifest.run.training.budget, ratio)


def _rebuild_family(manifest: Manifest) -> Family:
    record = manifest.family
    if not record.built_in or record.name not in BUILT_IN:  # a path here must not be imported
        raise ArtifactError(
            f"the family {record.name!r} is not built in, and an artifact holds no code; "
            "give it: load(folder, family=…)."
        )
    return find_family(record.name, dict(record.fields))


def _require_trained_for(family: Family, manifest: Manifest, folder: str | Path) -> None:
    given, source = record_family(family), manifest.family.source
    # whoever drew the inputs, the network answers the same
    known = replace(given, source=source, samplers=manifest.family.samplers)
    same = replace(manifest.run, family=known)
    found = differences(settings_of(same), settings_of(manifest.run))
    # the order of the variables counts: it is that of the network's inputs
    if list(record_domain(family.domain).items()) != list(manifest.domain.items()):
        found.append(f"the domain is another, {family.domain} here")
    if family.domain.exchanged != manifest.exchanged:
        found.append(f"it was trained with {manifest.exchanged or 'no variables'} in order")
    if source not in (None, given.source):  # an older artifact does not say from which formulas
        found.append("its formulas have changed since")
    if found:
        raise ArtifactError(
            f"{folder} was trained for another family ({found[0]}); "
            "give the family it was trained with."
        )
