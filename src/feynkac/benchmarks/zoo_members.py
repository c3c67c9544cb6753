r"""The families of the zoo: files of `benchmarks/zoo`, each a family as its user would write it.

Beside its family, a file has `reference(x, t, p)`, which is independent of this program: float64
arrays in, x `(N, d)` and t `(N, 1)`, and values `(N, 1)` out, or values with their standard errors.
A slow reference says so, `INPUTS = 128`: its values at that many inputs are kept in `values/`.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.stats
import torch
from torch import Tensor

from feynkac.benchmarks.version import hash_sources
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.family import Family
from feynkac.families.measures.measure import Quantiles
from feynkac.families.point import Params
from feynkac.files import make_folder, write_atomically
from feynkac.sampling.reference import Estimate
from feynkac.user_files import import_file

FOLDER = Path(__file__).parents[3] / "benchmarks" / "zoo"
VALUES = "values"
INPUTS, SEED = 1024, 20_260_101  # of the inputs at which errors are measured


@dataclass(frozen=True)
class Member:
    """One family of the zoo, by its file."""

    path: Path

    @property
    def name(self) -> str:
        """As in `--only`, such as `cir-bond`."""
        return self.path.stem.replace("_", "-")

    @functools.cached_property
    def module(self) -> ModuleType:
        """The imported file."""
        return import_file(str(self.path))

    @property
    def family(self) -> Family:
        """The one that the file defines."""
        own = [c for c in vars(self.module).values() if self._is_own_family(c)]
        if len(own) != 1:
            raise InputError(f"{self.path} must define one family, it has {len(own)}.")
        found: Family = own[0]()
        return found

    def _is_own_family(self, value: Any) -> bool:
        is_family = isinstance(value, type) and issubclass(value, Family)
        return is_family and value.__module__ == self.module.__name__

    @property
    def area(self) -> str:
        """Rates, equity, physics, …"""
        return str(self.module.AREA)

    @property
    def method(self) -> str:
        """How the reference is found, such as `closed form`."""
        return str(self.module.METHOD)

    @property
    def slow(self) -> bool:
        """Whether the values of the reference are kept in a file."""
        return hasattr(self.module, "INPUTS")

    @property
    def inputs(self) -> Tensor:
        """Where errors are measured, the same in every run.  Shape: `(N, dim)`, float64."""
        return sobol_inputs(self.family.domain, getattr(self.module, "INPUTS", INPUTS))

    @property
    def version(self) -> str:
        """A hash of the file and of those of the zoo that it uses."""
        modules = [m for m in vars(self.module).values() if isinstance(m, ModuleType)]
        files = [Path(str(m.__file__)) for m in modules]
        used = sorted(path for path in files if self.path.parent in path.parents)
        return hash_sources(path.read_text() for path in [self.path, *used])

    def reference(self, inputs: Tensor) -> Estimate:
        """u by the file's own means, with its standard error (0 if it is not simulated)."""
        point = self.family.domain.split(inputs.double())
        p = Params(**{name: value.numpy() for name, value in vars(point.p).items()})
        found = self.module.reference(point.x.numpy(), point.t.numpy(), p)
        value, error = found if isinstance(found, tuple) else (found, np.zeros_like(found))
        return Estimate(torch.as_tensor(value), torch.as_tensor(error))

    def known(self) -> Estimate:
        """The reference at `inputs`; a slow one is computed once and kept."""
        if not self.slow:
            return self.reference(self.inputs)
        path, made_of = self.path.parent / VALUES / f"{self.path.stem}.json", self._made_of()
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept.get("made_of") != made_of:
            found = self.reference(self.inputs)
            value, error = (part.flatten().tolist() for part in found)
            kept = {"made_of": made_of, "value": value, "error": error}
            make_folder(path.parent)
            write_atomically(path, (json.dumps(kept) + "\n").encode())
        shape = (len(self.inputs), -1)
        columns = (torch.tensor(kept[name], dtype=torch.float64) for name in ("value", "error"))
        return Estimate(*(column.reshape(shape) for column in columns))

    def _made_of(self) -> str:
        """What the values depend on: formulas and inputs."""
        return f"{self.version}, inputs {self.inputs.float().sum().item():.6g}"


def sobol_inputs(domain: Domain, count: int) -> Tensor:
    """Inputs that fill the domain, exactly representable in float32.  Shape: `(count, dim)`."""
    engine = scipy.stats.qmc.Sobol(domain.dim, rng=np.random.default_rng(SEED))
    uniform = torch.from_numpy(engine.random(count))
    for name, where in domain.slices().items():
        law = domain.measures[name]
        assert isinstance(law, Quantiles)
        uniform[:, where] = law.quantile(uniform[:, where])
    return domain.nearest(uniform.float()).double()


def choose_members(names: list[str], folder: Path = FOLDER) -> list[Member]:
    """The named members; all of them for no name.

    Raises:
        InputError: there is no such member, or no zoo.
    """
    if not folder.is_dir():
        raise InputError(
            f"the zoo is not part of the installed package, there is no folder {folder}: run this "
            "in a checkout of the repository, installed by `make install`."
        )
    members = [Member(path) for path in sorted(folder.glob("*.py"))]
    known = [member.name for member in members]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{unknown[0]!r} is not in the zoo; there are: {', '.join(known)}.")
    return [member for member in members if not names or member.name in names]
