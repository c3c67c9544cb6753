r"""A parametric family of Kolmogorov PDEs (paper, Eq. 1), with all that Feynman and Kac allow:

    ∂u/∂t = ½ Tr(σσ*∇²u) + ⟨μ, ∇u⟩ − c u + f,   u(x, 0) = φ(x),   u = g on the boundary,

and with  dS = μ(S) dt + σ(S) dB  and τ the time at which S meets the boundary (or t),

    u(x, t) = E[ e^{−∫c} φ(S_t) 1{τ = t} + e^{−∫c} g(S_τ) 1{τ < t} + ∫ e^{−∫c} f(S_s) ds ].

A user writes the domain and three formulas: μ, σ and φ. What more a family has is said by further
base classes, found with `isinstance`:

- of the equation: `Discount` (c) or `Rate` (c is a parameter), `Source` (f), `Absorbing` and
  `BoundaryValue` (boundary, g), `TimeDependent` (coefficients that vary with t), `NoiseDimension`
  (more or fewer Brownian motions than dimensions), `VectorValued` (several φ at once), `Pays` (φ is
  a payoff object), `Jumps` (φ is not continuous);
- of its paths: `ExactSampler` (S_t can be drawn directly), `OwnSteps` (a better step than ours),
  `Conditional` (part of their noise is integrated in closed form, or controlled);
- of its solution: `ClosedForm` (u is known), `ClosedPartials` (so are its derivatives),
  `NamedGreeks` (derivatives with names).
"""

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params, at_time


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


class Discount(ABC):
    """Capability: a potential c, such as an interest rate or a rate of decay."""

    @abstractmethod
    def discount(self, x: Tensor, p: Params) -> Tensor:
        """c(x).  Shape: `(…, d)` → `(…, 1)`."""


class Rate(Discount):
    """Capability: the discount is the parameter `rate`, whatever x is."""

    def discount(self, x: Tensor, p: Params) -> Tensor:
        """r.  Shape: `(…, d)` → `(…, 1)`."""
        return p.rate.expand_as(x[..., :1])


class Source(ABC):
    """Capability: a source f, paid continuously along the path."""

    @abstractmethod
    def source(self, x: Tensor, p: Params) -> Tensor:
        """f(x).  Shape: `(…, d)` → `(…, 1)`, or `(…, outputs)`."""


class TimeDependent:
    """Capability: the formulas read `p.t`  `(…, 1)`, the time t of the PDE.

    On a path that started with t to run it is what is left of it.
    """


class Absorbing(ABC):
    """Capability: paths stop at a boundary, where u = 0 (or see `BoundaryValue`).

    Between two steps a path is taken for a Brownian bridge in each distance. Choose a distance in
    which it nearly is one: the logarithm of x/B for a geometric Brownian motion.
    """

    @abstractmethod
    def distance(self, x: Tensor, p: Params) -> Tensor:
        """Distance to each of m walls, positive inside.  Shape: `(…, d)` → `(…, m)`."""


class BoundaryValue(Absorbing):
    """Capability: the value on the boundary is not zero."""

    @abstractmethod
    def boundary_value(self, x: Tensor, p: Params) -> Tensor:
        """g near the boundary.  Shape: `(…, d)` → `(…, 1)`, or `(…, outputs)`."""


class NoiseDimension(ABC):
    """Capability: the number of Brownian motions is not the dimension d."""

    @property
    @abstractmethod
    def noise_dim(self) -> int:
        """Length of `dw` in `diffusion(x, dw, p)`."""


class VectorValued(ABC):
    """Capability: several initial conditions at once, such as a strip of strikes."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Length of what `initial` returns: `(…, outputs)`."""


class Jumps:
    """Capability: the initial condition jumps, as a digital option's does.

    The derivative of a path's payoff is then not an unbiased derivative of u, so that the fast
    method fits values only.
    """


class Pays(ABC):
    """Capability: the initial condition is a payoff of asset prices, an object of its own."""

    @property
    @abstractmethod
    def payoff(self) -> Payoff:
        """Usually a field of the dataclass."""


class ExactSampler(ABC):
    """Capability: S_t is a function of its start and one standard normal vector."""

    @abstractmethod
    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_t for S_0 = x and z ~ N(0, I).  Shape: x `(…, d)`, z as `dw`, t `(…, 1)` → `(…, d)`."""


class OwnSteps(ABC):
    """Capability: a step of a scheme made for this family, of weak order 2."""

    @abstractmethod
    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_h for S_0 = x and z ~ N(0, I).  Shape: x `(…, d)`, z as `dw`, h `(…, 1)` → `(…, d)`."""


class Conditional(OwnSteps):
    """Capability: what a path earns, with less noise.

    A part of it is integrated in closed form, or a control variate added.
    """

    kept: ClassVar[int] = 1
    """How many of a step's normals are not integrated; they are its first ones."""

    @abstractmethod
    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """The same mean as what paths of `step` earn, from the first `kept` normals of each step.

        Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, kept or m)` → `(…, 1)`.
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


def noise_dim(family: Family) -> int:
    """Number of Brownian motions."""
    return family.noise_dim if isinstance(family, NoiseDimension) else family.domain.state_dim


def timed(family: Family, p: Params, t: Tensor) -> Params:
    """Parameters as the formulas of `family` read them at time t of the PDE."""
    return at_time(p, t) if isinstance(family, TimeDependent) else p


def outputs(family: Family) -> int:
    """Number of components of u."""
    return family.outputs if isinstance(family, VectorValued) else 1


def jumps(family: Family) -> bool:
    """Whether the initial condition is not continuous."""
    return isinstance(family, Jumps) or (isinstance(family, Pays) and family.payoff.jumps)
