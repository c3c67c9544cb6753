"""The saved artifact: a folder with `weights.safetensors` and `manifest.json`, data and no code.

The manifest carries the family, the domain, all settings, versions, the training history, and the
SHA-256 of the weights and of itself. It is written last and atomically, so a folder with a manifest
is whole. Older formats are still read (`older_formats.py`); the oldest have no checksum.
"""

import datetime
import functools
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import safetensors.torch
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from safetensors import SafetensorError
from torch import Tensor

from feynkac.errors import ArtifactError
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.measures.beta import Beta
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.measures.measure import Measure
from feynkac.families.measures.normal import Normal
from feynkac.families.measures.sampled import Sampled
from feynkac.files import (
    make_folder,
    parse_object,
    read_regular,
    seal,
    sha256,
    unseal,
    write_atomically,
)
from feynkac.parts import UnknownPartError
from feynkac.runs.older_formats import FORMAT, upgraded
from feynkac.runs.run import FamilyRecord, Run
from feynkac.training.settings import one_sentence
from feynkac.training.state import Record

MANIFEST = "manifest.json"
RUN = "run.json"
WEIGHTS = "weights.safetensors"
PER_PARAMETER, BESIDES = 64, 2**28  # bytes of weights at most, with buffers and a header


class MeasureRecord(BaseModel):
    """Bounds of one variable, flattened, and its law if it is not uniform."""

    model_config = ConfigDict(extra="forbid")

    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    kind: str | None = None
    """None: uniform, as in manifests that know nothing else."""
    parameters: dict[str, tuple[float, ...]] = {}

    @model_serializer(mode="wrap")
    def _plain(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A box is written as it always was."""
        law = {"kind", "parameters"} if self.kind is None else set()
        return {name: value for name, value in whole(self).items() if name not in law}

    @model_validator(mode="after")
    def _readable(self) -> Self:
        read_measure(self)
        return self


class Discretisation(BaseModel):
    """Estimated discretisation error of a scheme, mean |E Y − u| / (1 + |u|) over inputs."""

    l1: float
    se: float
    """Mean statistical error of the estimate at an input; it inflates `l1`."""


class Manifest(BaseModel):
    """What stands in `manifest.json`."""

    model_config = ConfigDict(extra="forbid")

    format: Literal[3] = FORMAT
    created: str
    versions: dict[str, str]
    run: Run
    domain: dict[str, MeasureRecord]
    exchanged: Annotated[tuple[str, ...], Field(exclude_if=lambda names: not names)] = ()
    """Variables that the network sees in order, see `Domain.exchanging`."""
    steps: Annotated[int, Field(ge=0)]
    segments: Annotated[list[tuple[int, int]], Field(exclude_if=lambda found: not found)] = []
    """Of a run with a budget: when it expected which length, see `training/pace.py`."""
    seconds: float
    """Wall clock of the whole run; in format 1, of its steps."""
    training_seconds: float | None = None
    """Of its steps."""
    threads: Annotated[int | None, Field(ge=1, exclude_if=lambda found: found is None)] = None
    """Of torch during training; older manifests do not say."""
    discretisation: Discretisation | None = None
    """Of the scheme the network was trained with; None if it has no such error."""
    parameters: Annotated[int, Field(ge=0)]
    history: list[Record]
    warnings: Annotated[list[str], Field(exclude_if=lambda found: not found)] = []
    """What is wrong with the result, one sentence each."""
    files: dict[str, str] = Field(default_factory=dict)

    def __repr__(self) -> str:
        method = self.run.method.kind
        return (
            f"Manifest of {self.family.name}, method {method}, {self.steps} steps, {self.created}"
        )

    @property
    def family(self) -> FamilyRecord:
        """The family's name and fields."""
        return self.run.family


def make_manifest(run: Run, domain: Domain, **outcome: Any) -> Manifest:
    """The manifest of a run that ends now on this machine; `outcome` are its further fields."""
    return Manifest(
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions={
            "feynkac": version("feynkac"),
            "torch": version("torch"),
            "python": platform.python_version(),
        },
        run=run,
        domain=record_domain(domain),
        exchanged=domain.exchanged,
        **outcome,
    )


def record_domain(domain: Domain) -> dict[str, MeasureRecord]:
    """The domain's measures by variable."""
    return {name: MeasureRecord(**box.record()) for name, box in domain.measures.items()}


def read_domain(
    record: dict[str, MeasureRecord],
    exchanged: Sequence[str] = (),
    known: Mapping[str, Measure] | None = None,
) -> Domain:
    """The domain with these measures; one that is sampled is the `known` one, if that is equal."""
    measures = {name: read_measure(entry) for name, entry in record.items()}
    same = {n: law for n, law in (known or {}).items() if law == measures.get(n)}
    domain = Domain(**measures | same)
    return domain.exchanging(*exchanged) if exchanged else domain


def as_trained(family: Family, domain: dict[str, Any] | None) -> Family:
    """`family` on the domain that it was trained on, as recorded, where that is not its own.

    Raises:
        ArtifactError: all variables were drawn together, by code that an artifact does not hold.
    """
    if domain is None or family.other_domain is not None:
        return family
    if domain.get("joint"):
        raise ArtifactError(
            "it was trained on inputs drawn by a sampler, and an artifact holds no code; give the "
            "family on that domain: load(folder, family=….on(…))."
        )
    laws = {name: MeasureRecord(**law) for name, law in domain["measures"].items()}
    return family.on(read_domain(laws, domain["exchanged"]))


def read_measure(record: MeasureRecord) -> Measure:
    """The measure; one that is sampled comes without its sampler.

    Raises:
        ArtifactError: there is no such measure.
    """
    numbers = {"low": record.low, "high": record.high, **record.parameters}
    try:
        shaped = {name: np.reshape(v, record.shape) for name, v in numbers.items()}
        return MEASURES[record.kind](**shaped, shape=record.shape)
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"there is no measure with {record}.") from error


def _no_sampler(*_: Any) -> Tensor:
    raise ArtifactError("an artifact holds no code, so this variable's sampler is not known.")


def _fixed(low: Any, high: Any, shape: tuple[int, ...]) -> Fixed:
    if not np.array_equal(low, high):
        raise ValueError("a fixed variable has one value")
    return Fixed(low, shape=shape)


MEASURES: dict[str | None, Callable[..., Measure]] = {
    Box.kind: Box,
    LogUniform.kind: LogUniform,
    Normal.kind: Normal,
    Beta.kind: Beta,
    Fixed.kind: _fixed,
    Sampled.kind: functools.partial(Sampled, _no_sampler),
}


def write_artifact(folder: Path, manifest: Manifest, weights: dict[str, Tensor]) -> None:
    """Write the two files, the manifest last.

    Raises:
        ArtifactError: there is an artifact in `folder` already.
    """
    if (folder / MANIFEST).exists():
        raise ArtifactError(f"{folder} already holds a solution; choose another folder.")
    make_folder(folder)
    content = safetensors.torch.save({k: v.contiguous() for k, v in weights.items()})
    whole = manifest.model_copy(update={"files": {WEIGHTS: sha256(content)}})
    write_atomically(folder / WEIGHTS, content)
    write_atomically(folder / MANIFEST, seal(whole.model_dump(mode="json")))


def read_artifact(folder: Path) -> tuple[Manifest, dict[str, Tensor]]:
    """Manifest and weights, checked against their SHA-256.

    Raises:
        ArtifactError: not an artifact, unreadable, or altered since it was written.
    """
    manifest = _read_manifest(folder)
    if set(manifest.files) != {WEIGHTS}:
        raise ArtifactError(f"{folder / MANIFEST} must list exactly {WEIGHTS}; it was altered.")
    path = folder / WEIGHTS
    try:
        content = read_regular(path, PER_PARAMETER * manifest.parameters + BESIDES)
    except OSError as error:
        raise ArtifactError(
            f"cannot read {path}: {error.strerror}; copy the folder again."
        ) from error
    if sha256(content) != manifest.files[WEIGHTS]:
        raise ArtifactError(
            f"{path} was truncated or altered (its SHA-256 is not the manifest's); copy it again."
        )
    try:
        return manifest, safetensors.torch.load(content)
    except SafetensorError as error:
        raise ArtifactError(
            f"{path} is not a safetensors file ({error}); copy it again."
        ) from error


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.exists():
        what = "a run that has not finished" if (folder / RUN).exists() else "no solution"
        raise ArtifactError(f"{folder} holds {what}: there is no {MANIFEST} in it.")
    try:
        content = read_regular(path)
        data = parse_object(content)
        return Manifest.model_validate(
            upgraded(data if data.get("format") == 1 else unseal(content))
        )
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}.") from error
    except ValidationError as error:
        causes = [found.get("ctx", {}).get("error") for found in error.errors()]
        if missing := [cause for cause in causes if isinstance(cause, UnknownPartError)]:
            raise ArtifactError(f"{path} cannot be read: {missing[0]}") from error
        raise ArtifactError(
            f"{path} is damaged or of another version: {one_sentence(error)}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{path} is damaged: {error}; copy the folder again.") from error
