r"""A parametric family of Kolmogorov PDEs (paper, Eq. 1), with all that Feynman and Kac allow:

    ∂u/∂t = ½ Tr(σσ*∇²u) + ⟨μ, ∇u⟩ − c u + f,   u(x, 0) = φ(x),   u = g on the boundary,

and with  dS = μ(S) dt + σ(S) dB  and τ the time at which S meets the boundary (or t),

    u(x, t) = E[ e^{−∫c} φ(S_t) 1{τ = t} + e^{−∫c} g(S_τ) 1{τ < t} + ∫ e^{−∫c} f(S_s) ds ].

A user writes the domain and three formulas: μ, σ and φ. What more a family has is said by further
base classes, found with `isinstance`:

- of the equation: `Discount` (c), `ConstantDiscount` (c does not depend on x) or `Rate` (c is the
  parameter `rate`), `Source` (f), `Absorbing` and `BoundaryValue` (boundary, g), `TimeDependent`
  (coefficients that vary with t), `NoiseDimension` (more or fewer Brownian motions than
  dimensions), `VectorValued` (several φ at once), `Pays` (φ is a payoff object), `Jumps` (φ is not
  continuous), `CommutingNoise`, `DiagonalNoise` or `AdditiveNoise` (how the columns of σ behave;
  where it is not declared, schemes find out by evaluating σ);
- of its paths: `ExactSampler` (S_t can be drawn directly), `OwnSteps` (a better step than ours),
  `ExactSteps` (that step is the exact sampler), `ConditionalMean` (part of their noise is
  integrated in closed form), `ControlVariate` (a control with a known mean is subtracted);
- of its solution: `ClosedForm` (u is known), `ClosedPartials` (so are its derivatives),
  `NamedGreeks` (derivatives with names).
"""

import dataclasses
import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.measures.measure import Measure
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params, at_time


@dataclass(frozen=True, eq=False, repr=False)
class Family(ABC):
    """A family of PDEs indexed by γ. Subclass it as a frozen dataclass.

    Shape: x `(…, d)`, dw `(…, d)`, parameters as in `Params`; any leading axes.
    """

    other_domain: Domain | None = field(default=None, kw_only=True, repr=False)
    """Where to solve it, if not on the domain that its class says; see `on`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """The domain is `other_domain`, or as written and then built once per instance."""
        super().__init_subclass__(**kwargs)
        written = cls.__dict__.get("domain")
        if isinstance(written, property) and written.fget is not None:
            once = functools.cached_property(_chosen_domain(written.fget))
            once.__set_name__(cls, "domain")
            cls.domain = once  # type: ignore[assignment]

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        if missing := getattr(cls, "__abstractmethods__", None):
            raise InputError(
                f"{cls.__name__} lacks {', '.join(sorted(missing))}: a family defines domain, "
                "drift(x, p), diffusion(x, dw, p) and initial(x, p)."
            )
        _require_steps(cls)
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

    def on(self, domain: Domain | None = None, /, **measures: Measure) -> Self:
        """The same equation on another domain, or with other laws of some of its variables.

        Args:
            domain: with the same variables, each of the same shape; by default the family's.
            measures: laws that replace those of the domain.

        Example:
            >>> from feynkac.families.measures.box import Box
            >>> from feynkac.families.models.black_scholes import BlackScholes
            >>> BlackScholes().on(x=Box(8.0, 12.0)).domain.measures["x"]
            Box(8, 12)
        """
        own: Self = dataclasses.replace(self, other_domain=None)
        chosen = self.domain if domain is None else domain
        chosen = chosen.replacing(**measures) if measures else chosen
        _require_same_variables(own, chosen)
        if chosen == own.domain:
            return own
        return dataclasses.replace(own, other_domain=chosen)

    @classmethod
    def name(cls) -> str:
        """The class name in kebab case: `BlackScholes` is `black-scholes`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


def _require_steps(cls: type) -> None:
    """Labels of a family's own are those of paths of its own steps."""
    if issubclass(cls, ConditionalMean | ControlVariate) and not issubclass(cls, OwnSteps):
        raise InputError(
            f"{cls.__name__} has labels of its own (ConditionalMean, ControlVariate), but no steps "
            "that they belong to; make it OwnSteps too, or ExactSteps."
        )


def _chosen_domain(written: Callable[[Any], Domain]) -> Callable[[Any], Domain]:
    """The getter of a family's domain, from the one that its author wrote."""

    @functools.wraps(written)
    def chosen(family: Family) -> Domain:
        return written(family) if family.other_domain is None else family.other_domain

    return chosen


def _require_same_variables(family: Family, domain: Domain) -> None:
    expected, found = (
        {name: measure.shape for name, measure in one.measures.items()}
        for one in (family.domain, domain)
    )
    if expected != found:
        raise InputError(
            f"{type(family).__name__} has the variables {expected} (name and shape), but the other "
            f"domain has {found}; give the same ones."
        )


class Discount(ABC):
    """Capability: a potential c, such as an interest rate or a rate of decay."""

    @abstractmethod
    def discount(self, x: Tensor, p: Params) -> Tensor:
        """c(x).  Shape: `(…, d)` → `(…, 1)`."""


class ConstantDiscount(Discount):
    """Capability: the discount c does not depend on x, so that e^{−ct} has no discretisation error.

    Example:
        >>> import torch
        >>> class Decaying(ConstantDiscount):
        ...     def discount_rate(self, p):
        ...         return p.decay
        >>> Decaying().discount(torch.zeros(3, 2), Params(decay=torch.tensor([0.5]))).shape
        torch.Size([3, 1])
    """

    @abstractmethod
    def discount_rate(self, p: Params) -> Tensor:
        """c.  Shape: `(…, 1)`."""

    def discount(self, x: Tensor, p: Params) -> Tensor:
        """c, the same for all x.  Shape: `(…, d)` → `(…, 1)`."""
        return self.discount_rate(p).expand_as(x[..., :1])


class Rate(ConstantDiscount):
    """Capability: the discount is the parameter `rate`."""

    def discount_rate(self, p: Params) -> Tensor:
        """r.  Shape: `(…, 1)`."""
        return p.rate


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


class CommutingNoise:
    """Capability: with V_j the columns of σ, (DV_j) V_k = (DV_k) V_j for all j and k."""


class DiagonalNoise(CommutingNoise):
    """Capability: (DV_j) V_k = 0 for j ≠ k, as where each coordinate has its own noise."""


class AdditiveNoise(DiagonalNoise):
    """Capability: σ does not depend on x."""


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


class ExactSteps(ExactSampler, OwnSteps):
    """Capability: the family's own step is its exact sampler; it has no discretisation error."""

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_h, exactly.  Shape: as `exact`."""
        return self.exact(x, h, p, z)


class ConditionalMean(ABC):
    """Capability: what a path earns has a known mean given a part of its normals.

    Labels then have the noise of that part alone. For families with `OwnSteps` or `ExactSteps`, of
    whose paths it is the mean.
    """

    kept: ClassVar[int] = 1
    """How many of a step's normals are not integrated; they are its first ones."""

    @abstractmethod
    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """The mean of what paths of `step` earn, given the first `kept` normals of each step.

        Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, kept or m)` → `(…, 1)`.
        """


class ControlVariate(ABC):
    """Capability: what a path earns is compared with a control, a number whose mean is known.

    For families with `OwnSteps` or `ExactSteps`, whose paths it controls.
    """

    @abstractmethod
    def controlled(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """What the path of `step` with these normals earns, minus a control, plus its mean.

        Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, m)` → `(…, 1)`.
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

    A second derivative along the same vector variable is its diagonal, one number per asset.
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
