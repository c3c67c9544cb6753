r"""Observations ((x_i, t_i), u_i) and the parameters that must explain them.

    r_i(θ) = (u(λ_i(θ)) − u_i) / s_i,    s_i² = noise_i² + n model_i²,

where θ collects the free variables, scaled to the unit cube. All other variables are known, with
one value for all observations or one value each. `model` is the error of u itself. It is smooth,
hence similar at neighbouring observations, and more of them do not average it out. The factor n is
the worst case over all correlations (the covariance M of n errors is at most n diag M).

Rows are evaluated in blocks, so memory is bounded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from feynkac.analysis.chunks import ROWS
from feynkac.analysis.partials import Map
from feynkac.analysis.rounding import number
from feynkac.cards import Card, Shown
from feynkac.errors import InputError
from feynkac.families.domain import Domain
from feynkac.families.names import parse_name
from feynkac.families.reach import Reach
from feynkac.sketches import bars

Array = NDArray[np.float64]
ALL = slice(None)


@dataclass(frozen=True, repr=False)
class Problem(Shown):
    """Which θ explains the values? `make_problem` builds it.

    Example:
        >>> import feynkac as fk
        >>> solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> problem = solution.observe(["sigma"], [1.9, 2.0], noise=0.1, x=9.5, t=0.5, strike=11.0)
        >>> problem.values.tolist()
        [1.9, 2.0]
    """

    u: Map
    domain: Domain
    free: tuple[str, ...]
    inputs: Tensor
    """Flat, `(n, dim)`, float64; the columns of the free variables are placeholders."""
    values: Array
    noise: Array | None
    """Standard deviation of each value, `(n,)`; None: unknown, and equal for all."""
    model: Array
    """Standard error of u at each observation, `(n,)`."""
    bounds: tuple[Array, Array]
    """Lower and upper bounds of the free variables, at the level of the observations."""
    relative: bool = False
    """Whether the noise is known up to a common factor only."""

    @property
    def noise_is_known(self) -> bool:
        """Not just up to a factor."""
        return self.noise is not None and not self.relative

    def card(self) -> Card:
        """What is observed and what is to be found."""
        size = None if self.noise is None else float(self.noise.mean())
        noise = "unknown noise" if size is None else f"noise {number(size)}"
        return Card(
            f"Problem: {', '.join(self.free)} from {len(self.values)} observations, {noise}",
            rows={"to find": ", ".join(self.free), "observations": str(len(self.values))},
            picture=bars(self.values[:60].tolist(), "observed values"),
        )

    @cached_property
    def columns(self) -> list[int]:
        """Of the free variables in the flat input; what is fixed is not among them."""
        return free_columns(self.domain, self.free)

    @cached_property
    def labels(self) -> list[str]:
        """One name per entry of θ, such as sigma or sigma[0, 1]."""
        return [self.domain.entries[column] for column in self.columns]

    @cached_property
    def scale(self) -> Array:
        """s; where the noise is unknown, 1 or what is known of it."""
        if self.noise is None:
            return np.ones(len(self.values))
        if self.relative:
            return self.noise
        return np.sqrt(self.noise**2 + len(self.values) * self.model**2)

    @cached_property
    def freedom(self) -> int:
        """n − p."""
        return len(self.values) - len(self.columns)

    def thinned(self, most: int) -> "Problem":
        """At most about `most` of the observations, evenly chosen."""
        step = -(-len(self.values) // most)
        noise = None if self.noise is None else self.noise[::step]
        return replace(
            self,
            inputs=self.inputs[::step],
            values=self.values[::step],
            noise=noise,
            model=self.model[::step],
        )

    def physical(self, theta: Array) -> Array:
        """From the unit cube to the variables' own units."""
        low, high = self.bounds
        return low + theta * (high - low)

    def unit(self, values: Array) -> Array:
        """From the variables' own units to the unit cube."""
        low, high = self.bounds
        return np.asarray((values - low) / (high - low))

    def by_law(self, uniform: Array) -> Array:
        """Points of the cube by the laws of the free variables.  Shape: `(m, p)` → `(m, p)`."""
        flat = torch.full((len(uniform), self.domain.dim), 0.5, dtype=torch.float64)
        flat[:, self.columns] = torch.as_tensor(uniform)
        generator = torch.Generator().manual_seed(0)
        for name, where in self.domain.slices().items():
            flat[:, where] = self.domain.measures[name].draw(flat[:, where], generator)
        return np.clip(self.unit(flat[:, self.columns].numpy()), 0.0, 1.0)

    def at(self, theta: Array, rows: slice = ALL) -> Tensor:
        """Flat inputs of some of the observations.  Shape: θ `(…, p)` → `(…, rows, dim)`."""
        known = self.inputs[rows]
        inputs = known.expand(*theta.shape[:-1], *known.shape).clone()
        inputs[..., self.columns] = torch.as_tensor(self.physical(theta)).unsqueeze(-2)
        return inputs

    def allowed(self, theta: Array) -> NDArray[np.bool_]:
        """Whether all inputs are, see `Coupled`.  Shape: θ `(m, p)` → `(m,)`, bool."""
        if self.domain.rule is None:
            return np.ones(len(theta), dtype=bool)
        blocks = (self.domain.allowed(self.at(each)).all() for each in theta)
        return np.array([bool(found) for found in blocks])

    def residuals(self, theta: Array) -> Array:
        """r.  Shape: θ `(…, p)` → `(…, n)`."""
        flat = theta.reshape(-1, theta.shape[-1])
        found = np.empty((len(flat), len(self.values)))
        for some, rows in self._blocks(len(flat)):
            found[some, rows] = self._residuals(flat[some], rows)
        return found.reshape(*theta.shape[:-1], -1)

    def misfit(self, theta: Array) -> Array:
        """Σ r².  Shape: θ `(m, p)` → `(m,)`."""
        found = np.zeros(len(theta))
        for some, rows in self._blocks(len(theta)):
            found[some] += (self._residuals(theta[some], rows) ** 2).sum(-1)
        return found

    def jacobian(self, theta: Array) -> Array:
        """∂r/∂θ.  Shape: `(p,)` → `(n, p)`."""
        return np.asarray(self.linearised(theta)[1] / self.scale[:, None])

    @torch.inference_mode(False)  # gradients are needed, whatever the caller does
    def linearised(self, theta: Array) -> tuple[Array, Array]:
        """u and ∂u/∂θ.  Shape: `(p,)` → `(n,)`, `(n, p)`."""
        values, slopes = np.empty(len(self.values)), np.empty((len(self.values), len(theta)))
        for _, rows in self._blocks(1):
            inputs = self.at(theta, rows).requires_grad_()
            with torch.enable_grad():
                u = self.u(inputs)
            pulled = torch.zeros_like(inputs)
            if u.requires_grad:  # it depends on its inputs here
                (pulled,) = torch.autograd.grad(u.sum(), inputs)
            values[rows] = u.detach().squeeze(-1).double().numpy()
            slopes[rows] = pulled[:, self.columns].double().numpy()
        low, high = self.bounds
        return values, slopes * (high - low)

    def _residuals(self, theta: Array, rows: slice) -> Array:
        with torch.no_grad():
            found = self.u(self.at(theta, rows)).squeeze(-1).double().numpy()
        return np.asarray((found - self.values[rows]) / self.scale[rows])

    def _blocks(self, count: int) -> Iterator[tuple[slice, slice]]:
        """Pieces of `count` parameters × all observations, of about `ROWS` rows each."""
        total = len(self.values)
        together = max(1, ROWS // total)
        for start in range(0, count, together):
            for row in range(0, total, ROWS):
                yield slice(start, start + together), slice(row, row + ROWS)


def make_problem(
    u: Map,
    where: Domain | Reach,
    free: Sequence[str],
    known: Mapping[str, Any],
    values: Any,
    noise: Any = None,
    model: Any = 0.0,
) -> Problem:
    """A checked problem.

    Args:
        u: the solution map.
        where: u is known; free variables stay inside.
        free: names of the variables to find, or of single entries such as x[1].
        known: all other variables, one value for all observations or one each.
        values: what was observed, `(n,)`.
        noise: its standard deviation, a number or `(n,)`.
        model: standard error of u itself, a number or `(n,)`.
    """
    if not free or len(set(free)) < len(free):
        raise InputError("name the variables to find, each once.")
    domain = where.domain if isinstance(where, Reach) else where
    columns = free_columns(domain, free)
    _require_unknown(domain, columns, known)
    observed = numbers("values", values)
    count = len(observed)
    inputs, bounds = _known_inputs(where, domain, columns, known)
    if inputs.ndim == 1:
        inputs = inputs.expand(count, -1)
    if inputs.ndim != 2 or len(inputs) != count:
        raise InputError(
            f"there are {count} values, but the inputs have shape {tuple(inputs.shape[:-1])}."
        )
    if count < len(columns):
        raise InputError(
            f"{count} observations cannot determine {len(columns)} numbers; give more, or free "
            "fewer."
        )
    spread = None if noise is None else _spread("noise", noise, count)
    if spread is not None and not (spread > 0).all():
        raise InputError("noise must be positive: it is a standard deviation.")
    error = _spread("model", model, count)
    if not (error >= 0).all():
        raise InputError("model must not be negative: it is a standard error.")
    return Problem(u, domain, tuple(free), inputs, observed, spread, error, bounds)


def _known_inputs(
    where: Domain | Reach, domain: Domain, columns: list[int], known: Mapping[str, Any]
) -> tuple[Tensor, tuple[Array, Array]]:
    """Flat inputs with free variables in the middle of their bounds, and these."""
    entries = [domain.entries[column] for column in columns]
    middles: dict[str, Any] = dict(zip(entries, domain.mean[columns].tolist(), strict=True))
    low, high = (side[columns] for side in domain.bounds)
    if isinstance(where, Reach):
        rows = domain.side_by_side(*domain.broadcast({**known, **middles}))
        sides = (side.expand_as(rows).reshape(-1, domain.dim) for side in where.bounds_at(rows))
        lows, highs = (side[:, columns] for side in sides)
        if not torch.equal(low.expand_as(lows), lows):  # at another level
            low, high = lows.amax(0), highs.amin(0)
            middles = dict(zip(entries, (0.5 * (low + high)).tolist(), strict=True))
    checked = replace(where, ruled=False) if isinstance(where, Reach) else domain.where(None)
    return checked.join({**known, **middles}), (low.numpy(), high.numpy())


def free_columns(domain: Domain, free: Sequence[str]) -> list[int]:
    """The columns of what is to be found, without fixed entries of a variable.

    Raises:
        InputError: a name is unknown or fixed, or says what another one says.

    Example:
        >>> from feynkac.families import Box, Domain
        >>> free_columns(Domain(x=Box([0, 1], [0, 2]), t=Box(0, 1)), ["t", "x[1]"])
        [2, 1]
    """
    places = [domain.place(name).columns for name in free]
    found = [[i for i in range(p.start, p.stop) if domain.varies[i]] for p in places]
    for name, columns in zip(free, found, strict=True):
        if not columns:
            raise InputError(
                f"{name} is fixed and cannot be found; there are: {', '.join(domain.free)}."
            )
    flat = [column for columns in found for column in columns]
    if len(set(flat)) < len(flat):
        raise InputError("name the variables to find, each once.")
    return flat


def _require_unknown(domain: Domain, columns: Sequence[int], known: Mapping[str, Any]) -> None:
    """Refuse a variable that is given and to be found."""
    for name in (name for name in known if parse_name(name)[0] in domain.measures):
        place = domain.place(name)
        both = [domain.entries[i] for i in columns if place.columns.start <= i < place.columns.stop]
        if not both:
            continue
        if place.size == len(both):
            raise InputError(f"{name} cannot be both given and free.")
        raise InputError(
            f"{name} cannot be given, since {both[0]} is free; give its other entries one by one, "
            f"by names like {both[0]}."
        )


def _spread(name: str, given: Any, count: int) -> Array:
    spread = numbers(name, given)
    if len(spread) not in (1, count):
        raise InputError(f"there are {count} values, but {len(spread)} numbers for their {name}.")
    return np.broadcast_to(spread, (count,))


def numbers(name: str, given: Any) -> Array:
    """A list of finite numbers.  Shape: `(n,)`."""
    try:
        array = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a list of numbers, got {given!r}.") from error
    if array.ndim != 1:
        raise InputError(f"{name} must be a list of numbers, got shape {array.shape}.")
    if bad := np.flatnonzero(~np.isfinite(array)).tolist():
        rows = ", ".join(str(i + 1) for i in bad[:5])
        raise InputError(f"{name} has no finite number in row {rows}.")
    return array
