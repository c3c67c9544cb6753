r"""A parametric family of Kolmogorov PDEs (paper, Eq. 1):

    ∂u/∂t = ½ Tr(σσ*∇²u) + ⟨μ, ∇u⟩,   u(x, 0) = φ(x),   with  dS = μ(S) dt + σ(S) dB.

A user writes the domain and three formulas. What more a family can do is said by further base
classes, found with `isinstance`: `ExactSampler` (S_t can be drawn directly), `ClosedForm` (u is
known), `ClosedPartials` (so are its derivatives), `NamedGreeks` (derivatives with names), `Jumps`
(the initial condition is not continuous).
"""

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.point import Params


class Family(ABC):
    """A family of PDEs indexed by γ. Subclass it as a frozen dataclass.

    Shape: x `(…, d)`, dw `(…, d)`, parameters as in `Params`; any leading axes.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A domain is asked for many times a step, so it is built once an instance."""
        super().__init_subclass__(**kwargs)
        written = cls.__dict__.get("domain")
        if isinstance(written, property) and written.fget is not None:
            once = functools.cached_property(written.fget)
            once.__set_name__(cls, "domain")
            cls.domain = once  # type: ignore[assignment]

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        if missing := getattr(cls, "__abstractmethods__", None):
            raise InputError(
                f"{cls.__name__} lacks {', '.join(sorted(missing))}: a family defines domain, "
                "drift(x, p), diffusion(x, dw, p) and initial(x, p)."
            )
        return super().__new__(cls)

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """Where x, t and the parameters live."""

    @abstractmethod
    def drift(self, x: Tensor, p: Params) -> Tensor:
        """μ(x).  Shape: `(…, d)` → `(…, d)`."""

    @abstractmethod
    def diffusion(self, x: Tensor, dw: Tensor, p: Params) -> Tensor:
        """σ(x) dw, the matrix applied to a vector.  Shape: `(…, d)` → `(…, d)`."""

    @abstractmethod
    def initial(self, x: Tensor, p: Params) -> Tensor:
        """φ(x).  Shape: `(…, d)` → `(…, 1)`."""

    @classmethod
    def name(cls) -> str:
        """The class name in kebab case: `BlackScholes` is `black-scholes`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


class ExactSampler(ABC):
    """Capability: S_t is a function of its start and one standard normal vector."""

    @abstractmethod
    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_t for S_0 = x and z ~ N(0, I).  Shape: x, z `(…, d)`, t `(…, 1)` → `(…, d)`."""


class Jumps:
    """Capability: the initial condition jumps, as a digital option's does.

    The derivative of a path's payoff is then not an unbiased derivative of u, so that the fast
    method fits values only.
    """


class ClosedForm(ABC):
    """Capability: the solution u is known. Used to measure errors, never to train."""

    @abstractmethod
    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """u(x, t) for parameters p.  Shape: x `(…, d)`, t `(…, 1)` → `(…, 1)`."""


class ClosedPartials(ClosedForm):
    """Capability: the first derivatives of u are known as well."""

    @abstractmethod
    def closed_partials(self, x: Tensor, t: Tensor, p: Params) -> dict[str, Tensor]:
        """∂u/∂(each variable), by name, shaped like the variable in `Point`."""


@dataclass(frozen=True)
class Greek:
    """A named derivative: `sign` times ∂u along `names`, as in Θ = −∂u/∂t.

    A second derivative along the same vector variable is its diagonal, one number an asset.
    """

    names: tuple[str, ...]
    sign: float = 1.0


class NamedGreeks(ABC):
    """Capability: some derivatives of u carry names that users know."""

    @property
    @abstractmethod
    def greeks(self) -> Mapping[str, Greek]:
        """The named derivatives."""
