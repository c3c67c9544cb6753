r"""What a family may have beside its domain, μ, σ and φ: base classes, found with `isinstance`.

- of the equation: `Discount` (c), `ConstantDiscount` (c does not depend on x) or `Rate` (c is the
  parameter `rate`), `Source` (f), `Absorbing` and `BoundaryValue` (boundary, g), `TimeDependent`
  (coefficients that vary with t), `NoiseDimension` (more or fewer Brownian motions than
  dimensions), `VectorValued` (several φ at once), `Pays` (φ is a payoff object), `Jumps` (φ is not
  continuous), `CommutingNoise`, `DiagonalNoise` or `AdditiveNoise` (how the columns of σ behave;
  where it is not declared, schemes find out by evaluating σ);
- of its inputs: `Coupled` (not every point of the box is one);
- of its paths: `ExactSampler` (S_t can be drawn directly), `OwnSteps` (a better step than ours),
  `ExactSteps` (that step is the exact sampler), `ConditionalMean` (part of their noise is
  integrated in closed form), `ControlVariate` (a control with a known mean is subtracted),
  `Reflected` (they are pushed back at a boundary, which μ and σ do not say);
- of its solution: `ClosedForm` (u is known), `ClosedPartials` (so are its derivatives),
  `NamedGreeks` (derivatives with names); `Quoted` (`quoted.py`), `Shaped` (`shapes.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from feynkac.families.greek import Greek as Greek
from feynkac.families.payoff import Payoff
from feynkac.families.point import Params


class Discount(ABC):
    """Capability: a potential c, such as an interest rate or a rate of decay.

    Example:
        >>> class Decay(Discount):
        ...     def discount(self, x, p):
        ...         return 0.5 * x.square()
        >>> Decay().discount(Tensor([[2.0]]), None).item()
        2.0
    """

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
        rate = torch.as_tensor(self.discount_rate(p), dtype=x.dtype, device=x.device)
        return rate.expand_as(x[..., :1])


class Rate(ConstantDiscount):
    """Capability: the discount is the parameter `rate`.

    Example:
        >>> from feynkac.families.models.black_scholes_merton import BlackScholesMerton
        >>> isinstance(BlackScholesMerton(), Rate)
        True
    """

    def discount_rate(self, p: Params) -> Tensor:
        """r.  Shape: `(…, 1)`."""
        return p.rate


class Source(ABC):
    """Capability: a source f, paid continuously along the path.

    Example:
        >>> class Heated(Source):
        ...     def source(self, x, p):
        ...         return x.square().sum(-1, keepdim=True)
        >>> Heated().source(Tensor([[1.0, 2.0]]), None).item()
        5.0
    """

    @abstractmethod
    def source(self, x: Tensor, p: Params) -> Tensor:
        """f(x).  Shape: `(…, d)` → `(…, 1)`, or `(…, outputs)`."""


class TimeDependent:
    """Capability: the formulas read `p.t`  `(…, 1)`, the time t of the PDE.

    On a path that started with t to run it is what is left of it.

    Example:
        >>> class Fading(TimeDependent):
        ...     def drift(self, x, p):
        ...         return -p.t * x
        >>> Fading().drift(Tensor([[2.0]]), Params(t=Tensor([[0.5]]))).item()
        -1.0
    """


class Coupled(ABC):
    """Capability: only a part of the box holds inputs, such as x < barrier or ν² ≤ 2κθ.

    Training and all checks draw from this part, and other inputs are refused.

    Example:
        >>> class BelowBarrier(Coupled):
        ...     def allowed(self, x, t, p):
        ...         return x < p.barrier
        >>> p = Params(barrier=Tensor([[2.0], [2.0]]))
        >>> BelowBarrier().allowed(Tensor([[1.0], [3.0]]), None, p).flatten().tolist()
        [True, False]
    """

    @abstractmethod
    def allowed(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """Whether (x, t, p) is an input.  Shape: x `(…, d)`, t `(…, 1)` → `(…, 1)`, bool."""


class Reflected:
    """Capability: paths are pushed back at a boundary, which drift and diffusion do not say.

    For families with `ExactSampler` or `OwnSteps`, whose paths know it. A running maximum M of S is
    of this kind: the pair is pushed along M wherever S = M.

    Example:
        >>> class Mirror(Reflected, ExactSampler):
        ...     def exact(self, x, t, p, z):
        ...         return (x + t.sqrt() * z).abs()
        >>> Mirror().exact(Tensor([[1.0]]), Tensor([[4.0]]), None, Tensor([[-1.0]])).item()
        1.0
    """


class Absorbing(ABC):
    """Capability: paths stop at a boundary, where u = 0 (or see `BoundaryValue`).

    Between two steps a path is taken for a Brownian bridge in each distance. Choose a distance in
    which it nearly is one: the logarithm of x/B for a geometric Brownian motion.

    Example:
        >>> class Strip(Absorbing):
        ...     def distance(self, x, p):
        ...         return 1.0 - x.abs()
        >>> Strip().distance(Tensor([[0.25]]), None).item()
        0.75
    """

    @abstractmethod
    def distance(self, x: Tensor, p: Params) -> Tensor:
        """Distance to each of m walls, positive inside.  Shape: `(…, d)` → `(…, m)`."""


class BoundaryValue(Absorbing):
    """Capability: the value on the boundary is not zero.

    Example:
        >>> class Rebate(BoundaryValue):
        ...     def distance(self, x, p):
        ...         return x - p.barrier
        ...     def boundary_value(self, x, p):
        ...         return p.rebate
        >>> Rebate().boundary_value(None, Params(rebate=Tensor([2.0])))
        tensor([2.])
    """

    @abstractmethod
    def boundary_value(self, x: Tensor, p: Params) -> Tensor:
        """g on the boundary.  Shape: `(…, d)` → `(…, 1)`, or `(…, outputs)`."""


class NoiseDimension(ABC):
    """Capability: the number of Brownian motions is not the dimension d.

    Example:
        >>> from feynkac.families.family import noise_dim
        >>> from feynkac.families.models.basket_put import BasketPut
        >>> isinstance(BasketPut(), NoiseDimension), noise_dim(BasketPut())
        (False, 3)
    """

    @property
    @abstractmethod
    def noise_dim(self) -> int:
        """Length of `dw` in `diffusion(x, dw, p)`."""


class CommutingNoise:
    """Capability: with V_j the columns of σ, (DV_j) V_k = (DV_k) V_j for all j and k.

    Example:
        >>> class Declared(CommutingNoise):
        ...     pass
        >>> isinstance(Declared(), DiagonalNoise)
        False
    """


class DiagonalNoise(CommutingNoise):
    """Capability: (DV_j) V_k = 0 for j ≠ k, as where each coordinate has its own noise.

    Example:
        >>> issubclass(DiagonalNoise, CommutingNoise)
        True
    """


class AdditiveNoise(DiagonalNoise):
    """Capability: σ does not depend on x.

    Example:
        >>> issubclass(AdditiveNoise, DiagonalNoise)
        True
    """


class VectorValued(ABC):
    """Capability: several initial conditions at once, such as a strip of strikes.

    Example:
        >>> class Strikes(VectorValued):
        ...     outputs = 5
        >>> Strikes().outputs
        5
    """

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Length of what `initial` returns: `(…, outputs)`."""


class Jumps:
    """Capability: the initial condition jumps, as a digital option's does.

    The derivative of a path's payoff is then not an unbiased derivative of u. The fast method fits
    slopes only where it can average over lines on which comparisons (`x > p.strike`) tell jumps.

    Example:
        >>> from feynkac.families.family import jumps
        >>> from feynkac.families.models.digital import Digital
        >>> jumps(Digital())
        True
    """


class Pays(ABC):
    """Capability: the initial condition is a payoff of asset prices, an object of its own.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> Heston().payoff.style
        'call'
    """

    @property
    @abstractmethod
    def payoff(self) -> Payoff:
        """Usually a field of the dataclass."""


class ExactSampler(ABC):
    """Capability: S_t is a function of its start and one standard normal vector.

    Example:
        >>> class Brownian(ExactSampler):
        ...     def exact(self, x, t, p, z):
        ...         return x + t.sqrt() * z
        >>> Brownian().exact(Tensor([[1.0]]), Tensor([[4.0]]), None, Tensor([[0.5]])).item()
        2.0
    """

    @abstractmethod
    def exact(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_t for S_0 = x and z ~ N(0, I).  Shape: x `(…, d)`, z as `dw`, t `(…, 1)` → `(…, d)`."""


class OwnSteps(ABC):
    """Capability: a step of a scheme made for this family, of weak order 2.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> isinstance(Heston(), OwnSteps), isinstance(Heston(), ExactSampler)
        (True, False)
    """

    @abstractmethod
    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_h for S_0 = x and z ~ N(0, I).  Shape: x `(…, d)`, z as `dw`, h `(…, 1)` → `(…, d)`."""


class ExactSteps(ExactSampler, OwnSteps):
    """Capability: the family's own step is its exact sampler; it has no discretisation error.

    Example:
        >>> from feynkac.families.models.rainbow import Rainbow
        >>> isinstance(Rainbow(), ExactSteps)
        True
    """

    def step(self, x: Tensor, h: Tensor, p: Params, z: Tensor) -> Tensor:
        """S_h, exactly.  Shape: as `exact`."""
        return self.exact(x, h, p, z)


class ConditionalMean(ABC):
    """Capability: what a path earns has a known mean given a part of its normals.

    Labels then have the noise of that part alone. For families with `OwnSteps` or `ExactSteps`, of
    whose paths it is the mean.

    Example:
        >>> from feynkac.families.models.heston import Heston
        >>> isinstance(Heston(), ConditionalMean), Heston.kept
        (True, 1)
    """

    kept: ClassVar[int] = 1
    """How many of a step's normals are not integrated; they are its first ones."""

    @abstractmethod
    def expected(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """The mean of what paths of `step` earn, given the first `kept` normals of each step.

        Or a mean that is nearer to the right one, of the same weak order.

        Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, kept or m)` → `(…, 1)`.
        """


class ControlVariate(ABC):
    """Capability: what a path earns is compared with a control, a number whose mean is known.

    For families with `OwnSteps` or `ExactSteps`, whose paths it controls.

    Example:
        >>> from feynkac.families.models.sabr import Sabr
        >>> isinstance(Sabr(), ControlVariate)
        True
    """

    @abstractmethod
    def controlled(self, x: Tensor, t: Tensor, p: Params, z: Tensor) -> Tensor:
        """What the path of `step` with these normals earns, minus a control, plus its mean.

        Shape: x `(…, d)`, t `(…, 1)`, z `(steps, …, m)` → `(…, 1)`.
        """


class ClosedForm(ABC):
    """Capability: the solution u is known. Used to measure errors, never to train.

    Example:
        >>> from feynkac.families.models.heat_paraboloid import HeatParaboloid
        >>> family = HeatParaboloid(dim=1)
        >>> at = family.domain.split(family.domain.join({"x": 1.0, "t": 0.5, "sigma": 0.5}))
        >>> family.closed_form(*at).item()
        1.125
    """

    @abstractmethod
    def closed_form(self, x: Tensor, t: Tensor, p: Params) -> Tensor:
        """u(x, t) for parameters p.  Shape: x `(…, d)`, t `(…, 1)` → `(…, 1)`."""


class ClosedPartials(ClosedForm):
    """Capability: the first derivatives of u are known as well.

    Example:
        >>> from feynkac.families.models.heat_paraboloid import HeatParaboloid
        >>> family = HeatParaboloid(dim=1)
        >>> at = family.domain.split(family.domain.join({"x": 1.0, "t": 0.5, "sigma": 0.5}))
        >>> family.closed_partials(*at)["x"].item()
        2.0
    """

    @abstractmethod
    def closed_partials(self, x: Tensor, t: Tensor, p: Params) -> dict[str, Tensor]:
        """∂u/∂(each variable), by name, shaped like the variable in `Point`."""


class NamedGreeks(ABC):
    """Capability: some derivatives of u carry names that users know.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> "delta" in BlackScholes().greeks
        True
    """

    @property
    @abstractmethod
    def greeks(self) -> Mapping[str, Greek]:
        """The named derivatives."""
