r"""A parametric family of Kolmogorov PDEs (paper, Eq. 1), with all that Feynman and Kac allow:

    ∂u/∂t = ½ Tr(σσ*∇²u) + ⟨μ, ∇u⟩ − c u + f,   u(x, 0) = φ(x),   u = g on the boundary,

and with  dS = μ(S) dt + σ(S) dB  and τ the time at which S meets the boundary (or t),

    u(x, t) = E[ e^{−∫c} φ(S_t) 1{τ = t} + e^{−∫c} g(S_τ) 1{τ < t} + ∫ e^{−∫c} f(S_s) ds ].

A user writes the domain and three formulas: μ, σ and φ. What more a family has, its further base
classes say (`capabilities.py`).
"""

import dataclasses
import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.broadcasting import broadcast_formulas
from feynkac.families.broadcasting import outputs as outputs
from feynkac.families.capabilities import (
    ClosedForm,
    ConditionalMean,
    ControlVariate,
    Coupled,
    ExactSampler,
    Jumps,
    NoiseDimension,
    OwnSteps,
    Pays,
    Reflected,
    TimeDependent,
)
from feynkac.families.domain import Domain
from feynkac.families.measures.sampled import Sampled
from feynkac.families.point import Params, at_time
from feynkac.families.portrait import family_card, picture_along
from feynkac.suggestions import KnownKeywords


@dataclass(frozen=True, eq=False, repr=False)
class Family(KnownKeywords, ABC):
    """A family of PDEs indexed by γ. Subclass it as a frozen dataclass.

    Shape: x `(…, d)`, dw `(…, d)`, parameters as in `Params`; any leading axes. A formula may
    return whatever broadcasts to its shape: a number, or `p.rate`.

    Example:
        >>> from feynkac.families.measures.box import Box
        >>> @dataclass(frozen=True)
        ... class Heat(Family):
        ...     @property
        ...     def domain(self):
        ...         return Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0), sigma=Box(0.1, 0.5))
        ...
        ...     def drift(self, x, p):
        ...         return 0.0
        ...
        ...     def diffusion(self, x, dw, p):
        ...         return p.sigma * dw
        ...
        ...     def initial(self, x, p):
        ...         return x.cos()
        >>> Heat().domain.dim
        3
    """

    other_domain: Domain | None = field(default=None, kw_only=True, repr=False)
    """Where to solve it, if not on the domain that its class says; see `on`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """The domain is `other_domain`, or as written and then built once per instance.

        Formulas may return what broadcasts to their shapes, see `broadcasting.py`.
        """
        super().__init_subclass__(**kwargs)
        broadcast_formulas(cls)
        written = cls.__dict__.get("domain")
        if isinstance(written, property) and written.fget is not None:
            once = functools.cached_property(_chosen_domain(written.fget))
            once.__set_name__(cls, "domain")
            cls.domain = once  # type: ignore[assignment]

    def __new__(cls, *args: Any, **named: Any) -> Self:
        if missing := getattr(cls, "__abstractmethods__", None):
            raise InputError(
                f"{cls.__name__} lacks {', '.join(sorted(missing))}: a family defines domain, "
                "drift(x, p), diffusion(x, dw, p) and initial(x, p)."
            )
        _require_steps(cls)
        return super().__new__(cls, *args, **named)

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

    def on(self, domain: Domain | None = None, /, **measures: Any) -> Self:
        """The same equation on another domain, or with other laws of some of its variables.

        Args:
            domain: with the same variables, each of the same shape; by default the family's.
            measures: laws that replace those of the domain; a value fixes its variable. One entry
                is named like `**{"x[1]": 0.5}`.

        Example:
            >>> from feynkac.families.measures.box import Box
            >>> from feynkac.families.models.black_scholes import BlackScholes
            >>> BlackScholes().on(x=Box(8.0, 12.0)).domain.measures["x"]
            Box(8, 12)
            >>> BlackScholes().on(sigma=0.3).domain.free
            ['x', 't', 'strike']
        """
        own: Self = dataclasses.replace(self, other_domain=None)
        chosen = self.domain if domain is None else domain
        chosen = chosen.replacing(measures) if measures else chosen
        _require_same_variables(own, chosen)
        resampled = any(isinstance(law, Sampled) for law in measures.values())
        if chosen == own.domain and not resampled:  # samplers are not compared
            return own
        found = dataclasses.replace(own, other_domain=chosen)
        if found.domain is not chosen and found.domain != chosen:
            raise InputError(f"{type(self).__name__}.domain must be a property to be replaced.")
        return found

    def _repr_html_(self) -> str:
        measures, split = self.domain.measures, self.domain.split

        def start(inputs: Tensor) -> Tensor:
            x, _, p = split(inputs)
            return self.initial(x, p)

        picture = picture_along(start, measures, "u at t = 0, over {}")
        known = {
            "closed form": isinstance(self, ClosedForm),
            "exact sampler": isinstance(self, ExactSampler),
        }
        return family_card(repr(self), measures, known, picture).html()

    @classmethod
    def name(cls) -> str:
        """The class name in kebab case: `BlackScholes` is `black-scholes`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


def require_family(asked: str, given: object) -> None:
    """Refuse what is none.

    Raises:
        InputError: `asked`, which expects a family, got something else.
    """
    if isinstance(given, Family):
        return
    if isinstance(given, type):
        name = given.__name__
        raise InputError(f"{asked} expects a Family, got the class {name}; give {name}().")
    raise InputError(f"{asked} expects a Family, got {type(given).__name__}.")


def _require_steps(cls: type) -> None:
    """Labels of a family's own are those of paths of its own steps."""
    if issubclass(cls, ConditionalMean | ControlVariate) and not issubclass(cls, OwnSteps):
        raise InputError(
            f"{cls.__name__} has labels of its own (ConditionalMean, ControlVariate), but no steps "
            "that they belong to; make it OwnSteps too, or ExactSteps."
        )
    if issubclass(cls, Reflected) and not issubclass(cls, OwnSteps | ExactSampler):
        raise InputError(
            f"{cls.__name__} is Reflected, which drift and diffusion do not say; make it OwnSteps "
            "or ExactSampler too, with paths that are pushed back."
        )


def _chosen_domain(written: Callable[[Any], Domain]) -> Callable[[Any], Domain]:
    """The getter of a family's domain, from the one that its author wrote."""

    @functools.wraps(written)
    def chosen(family: Family) -> Domain:
        found = written(family) if family.other_domain is None else family.other_domain
        if isinstance(family, Coupled) and isinstance(found, Domain):
            return found.where(family.allowed)
        return found

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


def description(family: Family) -> str:
    """What it is, in a few words: the beginning of the class's docstring, or its name.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> description(BlackScholes())
        'European put without interest'
    """
    cls = type(family)
    written = (vars(cls).get("__doc__") or "").strip()
    if not written or written.startswith(f"{cls.__name__}("):  # a dataclass without a docstring
        return cls.name()
    return written.partition("\n")[0].partition(";")[0].strip().removesuffix(".")


def noise_dim(family: Family) -> int:
    """Number of Brownian motions."""
    return family.noise_dim if isinstance(family, NoiseDimension) else family.domain.state_dim


def timed(family: Family, p: Params, t: Tensor) -> Params:
    """Parameters as the formulas of `family` read them at time t of the PDE."""
    return at_time(p, t) if isinstance(family, TimeDependent) else p


def on_the_way(family: Family, p: Params, t: Tensor) -> Params:
    """As `timed`, at a time between t and 0, another for each row and the same in each call.

    What must hold all along a path is not to be looked for at its start alone.
    """
    if not isinstance(family, TimeDependent):
        return p
    share = torch.rand(t.shape, generator=torch.Generator().manual_seed(0), dtype=t.dtype)
    return at_time(p, share * t)


def jumps(family: Family) -> bool:
    """Whether the initial condition is not continuous."""
    return isinstance(family, Jumps) or (isinstance(family, Pays) and family.payoff.jumps)
