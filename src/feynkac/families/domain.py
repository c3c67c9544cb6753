r"""The input region  D × [v,w]ᵈ × [0,T]  of the parametric solution map (paper, Section 2).

Its inputs are random, by default uniform: each variable has a measure (`measure.py`), and errors
are means under them.

An input λ = (x, t, γ) lives in two forms:

- flat, a tensor `(…, dim)` with all variables side by side, which is what a network reads;
- split, a `Point(x, t, p)` of views into it, which is what a family's formulas read.
"""

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.errors import InputError
from feynkac.families.exchange import check_exchange, exchangeable
from feynkac.families.measures.box import Box
from feynkac.families.measures.fixed import Fixed
from feynkac.families.measures.measure import ROUNDING as ROUNDING
from feynkac.families.measures.measure import Measure, vector
from feynkac.families.measures.sampled import Sampled
from feynkac.families.names import Place, find_place, labels, require_variable
from feynkac.families.point import Params, Point
from feynkac.families.portrait import domain_card
from feynkac.families.rejection import Rule, accept, require_allowed
from feynkac.families.replacement import replaced
from feynkac.families.values import At, as_variables, by_name, in_blocks, refuse, seen

JointSampler = Callable[[int, torch.Generator, torch.dtype], Tensor]
"""`sampler(count, generator, dtype)` → flat inputs `(count, dim)`."""


class Domain:
    """Named boxes, or other measures: the space variable `x`, the time `t` and any parameters.

    Args:
        x: box of shape `()` (one dimension) or `(d,)`.
        t: scalar box with lower bound ≥ 0.
        parameters: one box per parameter, of any shape.

    Each is the law of its variable, and the variables are independent, unless `drawn_by` says
    otherwise. A domain is not changed; its methods return others.

    Example:
        >>> domain = Domain(x=Box(9, 10), t=Box(0, 1), sigma=Box(0.1, 0.6), strike=Box(10, 12))
        >>> domain.dim, domain.volume
        (4, 1.0)
    """

    measures: Mapping[str, Measure]
    """The law of each variable, by name; their order is that of the flat input."""
    exchanged: tuple[str, ...]
    """Variables whose entries may change places, see `exchanging`."""
    sampler: JointSampler | None
    """Draws all variables together, see `drawn_by`; None: they are independent."""
    rule: Rule | None
    """Which inputs there are, see `where`; None: all of the box."""

    @torch.inference_mode(False)  # its bounds serve autograd later, wherever it is made
    def __init__(self, /, *, x: Measure, t: Measure, **parameters: Measure) -> None:
        self.measures = {"x": x, "t": t, **parameters}
        for name, measure in self.measures.items():
            require_variable(name, measure)
        measures = self.measures.values()
        self._low = vector([v for measure in measures for v in measure.low])
        self._high = vector([v for measure in measures for v in measure.high])
        self._mean = torch.cat([measure.mean for measure in measures])
        self._std = torch.cat([measure.std for measure in measures])
        self._sizes = [measure.size for measure in measures]
        where, even = self.slices(), Box | Fixed
        self._uneven = [(where[n], m) for n, m in self.measures.items() if not isinstance(m, even)]
        self.exchanged, self.sampler, self.rule = (), None, None

    def __repr__(self) -> str:
        written = ", ".join(f"{name}={measure}" for name, measure in self.measures.items())
        names = ", ".join(map(repr, self.exchanged))
        shown = f"Domain({written})" + (f".exchanging({names})" if names else "")
        return shown if self.sampler is None else f"{shown}.drawn_by({self.sampler})"

    def _repr_html_(self) -> str:
        return domain_card(self.measures).html()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[object, ...]:
        """What makes two domains the same: laws, the order of variables, which of them exchange.

        A rule is a family's formula, not the domain's.
        """
        return tuple(self.measures.items()), self.exchanged, self.sampler

    @property
    def dim(self) -> int:
        """Number of inputs of the network, dim_in(Φ)."""
        return len(self._low)

    @property
    def state_dim(self) -> int:
        """Dimension d of the space variable."""
        return self.measures["x"].size

    @property
    def mean(self) -> Tensor:
        """Mean of the flat input, `(dim,)`, float64."""
        return self._mean

    @property
    def std(self) -> Tensor:
        """Standard deviation of the flat input, `(dim,)`, float64."""
        return self._std

    @property
    def bounds(self) -> tuple[Tensor, Tensor]:
        """Lower and upper bounds of the flat input, `(dim,)` each, float64."""
        return self._low, self._high

    @property
    def entries(self) -> list[str]:
        """Names of all entries of the flat input.

        Example:
            >>> Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1)).entries
            ['x[0]', 'x[1]', 't']
        """
        return [entry for n, law in self.measures.items() for entry in labels(n, law.shape)]

    @property
    def varies(self) -> Tensor:
        """Which entries of the flat input are not fixed.  Shape: `(dim,)`, bool."""
        return self._low < self._high

    @property
    def free(self) -> list[str]:
        """What varies, by name: variables, or entries of those that are fixed in part.

        Example:
            >>> Domain(x=Box([0, 1], [0, 2]), t=Box(0, 1), sigma=Fixed(0.3)).free
            ['x[1]', 't']
        """
        return self.names_of(self.varies)

    def names_of(self, chosen: Tensor) -> list[str]:
        """Variables, or single entries of them, that a mask `(dim,)` chooses."""
        found: list[str] = []
        for name, where in self.slices().items():
            here = chosen[where].tolist()
            some = zip(self.entries[where], here, strict=True)
            found += [name] if all(here) else [entry for entry, wanted in some if wanted]
        return found

    @property
    def volume(self) -> float:
        """Volume of D × [v,w]ᵈ × [0,T], of what varies and whatever is allowed."""
        return math.prod(measure.volume for measure in self.measures.values())

    def sample(
        self, count: int, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """Independent inputs.  Shape: `(count, dim)`, on the generator's device."""
        if self.sampler is not None:
            return self.nearest(self.sampler(count, generator, dtype))
        if self.rule is not None:
            return accept(lambda n: self._draw(n, generator, dtype), self.allowed, count)
        return self._draw(count, generator, dtype)

    def _draw(self, count: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Inputs from the whole box."""
        device = generator.device
        uniform = torch.rand(count, self.dim, generator=generator, dtype=dtype, device=device)
        low, high = self._low.to(device, dtype), self._high.to(device, dtype)
        inputs = torch.addcmul(low, uniform, high - low)
        for where, measure in self._uneven:
            inputs[:, where] = measure.draw(uniform[:, where], generator)
        return inputs

    def slices(self) -> dict[str, slice]:
        """Where each variable stands in the flat input.

        Example:
            >>> Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1)).slices()
            {'x': slice(0, 2, None), 't': slice(2, 3, None)}
        """
        ends = [sum(self._sizes[: i + 1]) for i in range(len(self._sizes))]
        places = zip(self.measures, self._sizes, ends, strict=True)
        return {name: slice(end - size, end) for name, size, end in places}

    def place(self, name: str) -> Place:
        """Where a variable, or one entry of it, stands in the flat input.

        Example:
            >>> Domain(x=Box(0, 1, shape=(2,)), t=Box(0, 1)).place("x[1]").columns
            slice(1, 2, None)
        """
        return find_place(self.measures, name)

    def exchanging(self, *names: str) -> "Domain":
        """A copy that knows: u stays the same if the entries of these variables change places."""
        check_exchange(self.measures, names)
        found = copy.copy(self)
        found.exchanged = names
        return found

    def drawn_by(self, sampler: JointSampler) -> "Domain":
        """A copy whose inputs are drawn by `sampler`, all variables together.

        Args:
            sampler: `sampler(count, generator, dtype)` returns flat inputs `(count, dim)` and takes
                all its randomness from the generator. What lies outside the bounds is moved onto
                them. The network's inputs are normalised by the measures, as without it.

        Example:
            >>> domain = Domain(x=Box(0, 1), t=Box(0, 1))
            >>> def late(count, generator, dtype):
            ...     x = torch.rand(count, 1, generator=generator, dtype=dtype)
            ...     return torch.cat([x, x.sqrt()], dim=-1)
            >>> domain.drawn_by(late).sample(3, torch.Generator().manual_seed(0)).shape
            torch.Size([3, 2])
        """
        found = copy.copy(self)
        found.sampler = sampler
        return found

    def where(self, rule: Rule | None) -> "Domain":
        """A copy without the inputs that `rule` refuses, or with all of the box; see `Coupled`.

        Args:
            rule: `rule(x, t, p)` says which inputs are allowed, `(…, 1)`. Inputs are drawn until
                enough of them are; what a joint sampler draws is taken as it is. The network's
                inputs are normalised by the measures, as without it.

        Example:
            >>> box = Domain(x=Box(0, 1), t=Box(0, 1))
            >>> late = box.where(lambda x, t, p: t > x)
            >>> late.contains(torch.tensor([[0.2, 0.5], [0.5, 0.2]])).tolist()
            [True, False]
        """
        found = copy.copy(self)
        found.rule = rule
        return found

    def allowed(self, inputs: Tensor) -> Tensor:
        """Which inputs the rule allows.  Shape: `(…, dim)` → `(…,)`."""
        if self.rule is None:
            return torch.ones_like(inputs[..., 0], dtype=torch.bool)
        allowed = torch.as_tensor(self.rule(*self.split(inputs)), device=inputs.device)
        lead, found = tuple(inputs.shape[:-1]), tuple(allowed.shape)
        if allowed.ndim and (found[-1] != 1 or allowed.ndim > len(lead) + 1):
            raise InputError(
                f"allowed must return shape {(*lead, 1)}, got {found}; combine conditions by "
                ".all(-1, keepdim=True)."
            )
        return allowed.bool().expand(*inputs.shape[:-1], 1).squeeze(-1)

    def replacing(self, measures: At = None, /, **named: Any) -> "Domain":
        """A copy with other laws of some variables; all variables are then independent.

        Args:
            measures: by name, of a variable or of one entry. A value fixes it.
            named: the same as keywords.

        Example:
            >>> Domain(x=Box(9, 10), t=Box(0, 1)).replacing(x=Box(8, 12), t=0.5)
            Domain(x=Box(8, 12), t=Fixed(0.5))
        """
        found = Domain(**replaced(self.measures, by_name(measures, named)))
        if self.exchanged and exchangeable(found.measures, self.exchanged):
            found = found.exchanging(*self.exchanged)
        return found if self.rule is None else found.where(self.rule)

    @property
    def samplers(self) -> tuple[Callable[..., Tensor], ...]:
        """Functions of users that draw inputs: of all variables together, and of single ones."""
        single = (law.sample for law in self.measures.values() if isinstance(law, Sampled))
        return tuple(each for each in (self.sampler, *single) if each is not None)

    def record(self) -> dict[str, Any]:
        """As plain data; of a joint sampler it says that there is one.

        Example:
            >>> measures = Domain(x=Box(0, 1), t=Box(0, 1)).record()["measures"]
            >>> measures["x"]
            {'shape': [], 'low': [0.0], 'high': [1.0]}
        """
        laws = {name: measure.record() for name, measure in self.measures.items()}
        joint = {} if self.sampler is None else {"joint": True}
        plain: dict[str, Any] = json.loads(json.dumps({"measures": laws, **joint}))
        return plain | {"exchanged": list(self.exchanged)}

    def split(self, inputs: Tensor) -> Point:
        """Views of the flat input by variable.  Shape: `(…, dim)` → `Point`."""
        parts = torch.split(inputs, self._sizes, dim=-1)
        named = {
            name: part if len(law.shape) < 2 else part.reshape(*part.shape[:-1], *law.shape)
            for (name, law), part in zip(self.measures.items(), parts, strict=True)
        }
        return Point(named.pop("x"), named.pop("t"), Params(**named))

    def join(self, values: Mapping[str, Any], extrapolate: bool = False) -> Tensor:
        """The flat input from values by name, broadcast against each other like numpy's.

        A value of a variable with shape s has shape `(…, *s)`; a single number fills s. A value
        outside the domain by no more than rounding is moved onto its edge. Gradients, also those
        of `torch.func`, flow back to the values.

        Shape: `(…, dim)`, float64, so that no digit the caller typed is lost.

        Raises:
            InputError: an unknown or missing name, a wrong shape, a value that is not finite, or,
                unless `extrapolate`, one outside the domain.
        """
        return self.checked(self.side_by_side(*self.broadcast(values)), extrapolate)

    def blocks(
        self, values: Mapping[str, Any], extrapolate: bool, rows: int
    ) -> tuple[tuple[int, ...], Iterator[Tensor]]:
        """The leading axes of `join`, and its rows in order, in pieces `(≤ rows, dim)`."""
        lead, parts = self.broadcast(values)
        pieces = (
            self.checked(self.side_by_side(axes, part), extrapolate).reshape(-1, self.dim)
            for axes, part in in_blocks(lead, parts, rows)
        )
        return lead, pieces

    def changes(self, direction: Mapping[str, Any]) -> Tensor:
        """A change of each variable by name, 0 where none is given.  Shape: `(…, dim)`."""
        still = dict.fromkeys(self.measures, 0.0) | dict(direction)
        return self.side_by_side(*self.broadcast(still))

    def broadcast(self, values: Mapping[str, Any]) -> tuple[tuple[int, ...], list[Tensor]]:
        """The common leading axes, and every variable expanded to them."""
        tensors = as_variables(values, self.measures)
        leads = [v.shape[: v.ndim - len(self.measures[n].shape)] for n, v in tensors.items()]
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError as error:
            shapes = ", ".join(f"{n} {tuple(v.shape)}" for n, v in tensors.items())
            raise InputError(f"the shapes of the inputs do not broadcast: {shapes}.") from error
        return lead, [v.expand((*lead, *self.measures[n].shape)) for n, v in tensors.items()]

    def side_by_side(self, lead: tuple[int, ...], parts: list[Tensor]) -> Tensor:
        """Shape: `(*lead, dim)`, float64."""
        flat = [
            v.to(torch.float64).reshape((*lead, size))
            for v, size in zip(parts, self._sizes, strict=True)
        ]
        return torch.cat(flat, dim=-1)

    def checked(self, inputs: Tensor, extrapolate: bool = False) -> Tensor:
        """Flat inputs, if they are in the domain; rounding is undone.  Shape: `(…, dim)`."""
        self._check_values(inputs, extrapolate)
        if extrapolate:
            return inputs
        known = inputs.detach()
        return self.nearest(known) + (inputs - known)  # the slope of a clamped value would be 0

    def named(self, row: Tensor) -> dict[str, Any]:
        """One flat input as plain numbers by name.  Shape: `(dim,)`.

        Example:
            >>> from feynkac.families.measures.box import Box
            >>> Domain(x=Box(0.0, 1.0), t=Box(0.0, 1.0)).named(torch.tensor([0.5, 1.0]))
            {'x': 0.5, 't': 1.0}
        """
        return {
            name: row[columns].reshape(self.measures[name].shape).tolist()
            for name, columns in self.slices().items()
        }

    def nearest(self, inputs: Tensor) -> Tensor:
        """The nearest points of the domain.  Shape: `(…, dim)` → `(…, dim)`."""
        return inputs.clamp(self._low.to(inputs), self._high.to(inputs))

    def contains(self, inputs: Tensor) -> Tensor:
        """Which flat inputs lie in the domain (up to rounding).  Shape: `(…, dim)` → `(…,)`."""
        return self.inside(inputs).all(-1) & self.allowed(self.nearest(inputs))

    def inside(self, inputs: Tensor) -> Tensor:
        """Which entries lie in the box (up to rounding).  Shape: `(…, dim)` → `(…, dim)`."""
        low, high = self._low.to(inputs.device), self._high.to(inputs.device)
        slack, value = ROUNDING * torch.maximum(low.abs(), high.abs()), inputs.double()
        return (value >= low - slack) & (value <= high + slack)

    def _check_values(self, inputs: Tensor, extrapolate: bool) -> None:
        finite, inside = inputs.isfinite(), self.inside(inputs)
        good = finite & (inside | self.varies.to(inputs.device)) if extrapolate else finite & inside
        if not seen(good).all():
            refuse(inputs, good, self.entries, self.bounds)
        if self.rule is not None and not extrapolate:
            known = self.nearest(seen(inputs.detach()))
            require_allowed(known, self.allowed(known), self.split)
