r"""The map Φ(γ, x, t) ≈ ū(γ, x, t) of a trained network, called by names, and its derivatives."""

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.chunks import over_rows, over_values
from feynkac.analysis.partials import along, greek_value, has_slope, hessian, partial, traced
from feynkac.analysis.quoted_errors import price_volatility, read_quote
from feynkac.analysis.sweep import Sweep, make_grid, scalars
from feynkac.errors import InputError
from feynkac.families.capabilities import Greek, NamedGreeks
from feynkac.families.columns import Numbers
from feynkac.families.family import Family
from feynkac.families.frames import Frame
from feynkac.families.names import label
from feynkac.families.reach import Reach
from feynkac.families.values import At, by_name
from feynkac.networks.network import Network

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@dataclass(frozen=True, repr=False)
class SolutionMap(ABC):
    """Values and derivatives; what they are worth is said by a `Solution`."""

    family: Family
    network: Network

    @property
    @abstractmethod
    def warnings(self) -> list[str]:
        """What speaks against the values and derivatives, one sentence each."""

    @overload
    def __call__(self, at: At = None, /, *, extrapolate: bool = ..., **named: Any) -> Tensor: ...

    @overload
    def __call__(self, at: "IntoDataFrame", /, *, extrapolate: bool = ..., **named: Any) -> Any: ...

    def __call__(self, at: Any = None, /, *, extrapolate: bool = False, **named: Any) -> Any:
        """u at the given inputs.

        Args:
            at: values by name, each of shape `(…, *shape of the variable)`, or a data frame with a
                column per variable or entry (`x[0]`); other columns are ignored.
            extrapolate: allow inputs outside the domain.
            named: the same as keywords.

        Gradients flow back to inputs that require them, and transforms of `torch.func` work.
        Millions of rows are computed in blocks.

        Shape: the broadcast leading axes, then one for the outputs if there are several. A data
        frame gets a series of its own library and index, or a frame with a column per output.
        """
        frame = Frame.of(at)
        if frame is None:
            return self._ask(self._value, by_name(at, named), extrapolate)
        columns = self._value_columns(frame, named, extrapolate)
        return frame.only(columns) if len(columns) > 1 else frame.series(*columns.popitem())

    def table(
        self,
        frame: "IntoDataFrame",
        /,
        *,
        greeks: bool = False,
        extrapolate: bool = False,
        **named: Any,
    ) -> Any:
        """The data frame with u as a further column `value`, and Greeks on request.

        Args:
            frame: with a column per variable or entry, as in `solution(frame)`.
            greeks: whether to add the Greeks, or all first derivatives if the family names none;
                of a vector, one column per entry, such as `delta[0]`.
            extrapolate: allow inputs outside the domain.
            named: values of variables for all rows.

        Example:
            >>> import pandas
            >>> frame = pandas.DataFrame({"x": [9.2, 9.7], "strike": 11.0}, index=["a", "b"])
            >>> found = solution.table(frame, greeks=True, t=0.5, sigma=0.3)
            >>> list(found.columns)[:4], list(found.index)
            (['x', 'strike', 'value', 'delta'], ['a', 'b'])
        """
        rows = Frame.of(frame)
        if rows is None:
            raise InputError("table expects a data frame; for values by name, call the solution.")
        columns = self._value_columns(rows, named, extrapolate)
        if greeks:
            where = rows.values(self.family.domain, named)
            slopes = self.greeks(where, extrapolate=extrapolate) or {
                f"∂u/∂{name}": self.grad(name, where, extrapolate=extrapolate)
                for name in self.family.domain.free
            }
            for name, slope in slopes.items():
                columns |= _columns(name, slope, len(rows))
        return rows.extended(columns)

    def _value_columns(
        self, frame: Frame, named: Mapping[str, Any], extrapolate: bool
    ) -> dict[str, Numbers]:
        where = frame.values(self.family.domain, named)
        try:
            values = self._ask(self._value, where, extrapolate)
        except InputError:
            self._require_rows_inside(frame, where)
            raise
        return _columns("value", values, len(frame))

    def _require_rows_inside(self, frame: Frame, where: Mapping[str, Any]) -> None:
        """Name the first row that no symmetry moves into the domain."""
        domain = self.family.domain
        rows = domain.side_by_side(*domain.broadcast(where))
        outside = ~domain.contains(self.reach.moved(rows)[0])
        if outside.any():
            row = int(outside.int().argmax())
            try:
                self.reach.join(dict(zip(domain.entries, rows[row].tolist(), strict=True)))
            except InputError as error:
                raise InputError(f"{frame.name_of(row)}: {error}") from error

    def _where(self, at: Any, named: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name from a mapping, a data frame or keywords."""
        frame = Frame.of(at)
        return by_name(at, named) if frame is None else frame.values(self.family.domain, named)

    def grad(
        self, name: str, at: At = None, /, *, extrapolate: bool = False, **named: Any
    ) -> Tensor:
        """∂u/∂name, of a variable or one entry.  Shape: leading axes, then those of the variable.

        Example:
            >>> import feynkac as fk
            >>> solution = fk.solve(fk.HeatParaboloid(dim=2), steps=2, batch_size=64)
            >>> solution.grad("sigma", x=[1.0, 1.0], t=0.5, sigma=[[1.0, 0.0], [0.0, 1.0]]).shape
            torch.Size([2, 2])
        """
        where = self._where(at, named)
        return self._ask(lambda v: partial(self.u, self.reach, name, v), where, extrapolate)

    def hessian(
        self, first: str, second: str, at: At = None, /, *, extrapolate: bool = False, **named: Any
    ) -> Tensor:
        """∂²u/∂first∂second.  Shape: leading axes, then those of both variables.

        Example:
            >>> solution.hessian("x", "sigma", x=9.5, t=0.5, sigma=0.3, strike=11.0).shape
            torch.Size([])
        """
        where = self._where(at, named)
        return self._ask(
            lambda v: hessian(self.u, self.reach, first, second, v), where, extrapolate
        )

    def along(
        self,
        direction: Mapping[str, Any],
        at: At = None,
        /,
        *,
        extrapolate: bool = False,
        **named: Any,
    ) -> Tensor:
        """The derivative of u along a direction, one change per variable.  Shape: leading axes.

        Example:
            >>> solution.along({"x": 1.0, "t": -1.0}, x=9.5, t=0.5, sigma=0.3, strike=11.0).shape
            torch.Size([])
        """
        inputs = self.reach.join(self._where(at, named), extrapolate)
        changes = self.reach.changes(direction).to(inputs)
        both = torch.cat(torch.broadcast_tensors(inputs, changes), -1)  # type: ignore[no-untyped-call]
        return over_rows(lambda pair: along(self.u, *pair.chunk(2, -1)), both).to(self._dtype)

    def greeks(
        self, at: At = None, /, *, extrapolate: bool = False, **named: Any
    ) -> dict[str, Tensor]:
        """The derivatives the family has names for, such as delta; empty if it names none.

        Those along what is fixed are left out.

        Example:
            >>> sorted(solution.greeks(x=9.5, t=0.5, sigma=0.3, strike=11.0))
            ['delta', 'gamma', 'theta', 'vanna', 'vega', 'volga']
        """
        where = self._where(at, named)
        return {name: self._greek(g, where, extrapolate) for name, g in self.named_greeks.items()}

    @property
    def named_greeks(self) -> dict[str, Greek]:
        """The family's Greeks, without those along what is fixed.

        Example:
            >>> solution.named_greeks["delta"]
            Greek(names=('x',), sign=1.0)
        """
        if not isinstance(self.family, NamedGreeks):
            return {}
        named = self.family.greeks.items()
        return {n: g for n, g in named if all(has_slope(self.reach, v) for v in g.names)}

    def _greek(self, greek: Greek, at: dict[str, Any], extrapolate: bool) -> Tensor:
        return self._ask(lambda v: greek_value(self.u, self.reach, greek, v), at, extrapolate)

    def implied_volatility(
        self, at: At = None, /, *, normal: bool = False, extrapolate: bool = False, **named: Any
    ) -> Tensor:
        """The Black volatility of the price u, NaN where none exists.  Shape: leading axes.

        In float64; NaN also where u is rounded to 0. For families that are `Quoted`. Gradients flow
        back to inputs that require them.

        Args:
            at: values by name.
            normal: the volatility of Bachelier's formula instead, in units of the asset.
            extrapolate: allow inputs outside the domain.
            named: the same as keywords.

        Example:
            >>> solution.implied_volatility(x=9.5, t=[0.5, 0.7], sigma=0.3, strike=11.0).shape
            torch.Size([2])
        """
        family = self.family
        read_quote(family, family.domain.mean[None])  # first, so that the answer is one sentence

        def volatility(block: Tensor) -> Tensor:
            prices = self._value(block.to(self.network.mean.device)).to(block)
            known = prices.masked_fill(prices == 0.0, torch.nan)  # rounded
            return price_volatility(family, known[..., None], block, normal)

        return over_values(volatility, self.reach, self._where(at, named), extrapolate)

    def sweep(
        self, over: str | Sequence[str], at: At = None, /, *, points: int = 41, **named: Any
    ) -> Sweep:
        """Value and Greeks (or first derivatives) along one or two scalar variables or entries.

        Args:
            over: which, each through its range.
            at: the other variables by name, one value each.
            points: along each.
            named: other variables as keywords.

        Example:
            >>> found = solution.sweep(["x", "t"], points=5, sigma=0.3, strike=11.0)
            >>> found.values["delta"].shape
            torch.Size([5, 5])
        """
        names = [over] if isinstance(over, str) else list(over)
        domain, others = self.family.domain, self._where(at, named)
        axes, where = make_grid(self.reach, names, points, others)
        value = self(where, extrapolate=True)  # not all of a grid need be allowed
        slopes = self.greeks(where, extrapolate=True) or {
            f"∂u/∂{name}": self.grad(name, where, extrapolate=True) for name in scalars(domain)
        }
        inputs = domain.side_by_side(*domain.broadcast(where))
        gone = ~domain.contains(self.reach.moved(inputs)[0]).to(value.device)
        tables = {
            name: table.reshape(value.shape).masked_fill(gone, torch.nan)
            for name, table in {"value": value, **slopes}.items()
            if table.numel() == value.numel()
        }
        held = {name: given for name, given in others.items() if name not in names}
        return Sweep(axes, held, tables, self.warnings)

    def quickly(self, inputs: Tensor) -> Tensor:
        """u at flat inputs of any dtype, in the network's own, block by block.

        Example:
            >>> solution.quickly(solution.family.domain.sample(3, torch.Generator())).shape
            torch.Size([3, 1])
        """
        return over_rows(self.u, inputs)

    @functools.cached_property
    @torch.inference_mode(False)  # what is kept serves autograd later
    def exactly(self) -> Network:
        """The network in float64, for optimisers that look at the last digits.

        Example:
            >>> solution.exactly.mean.dtype
            torch.float64
        """
        return copy.deepcopy(self.network).cpu().double()

    @functools.cached_property
    def reach(self) -> Reach:
        """Where u is known: on the domain, and wherever the family's symmetries lead into it.

        Example:
            >>> solution.reach.domain is solution.family.domain
            True
        """
        return Reach(self.family)

    def u(self, inputs: Tensor) -> Tensor:
        """u at flat inputs of any dtype, moved into the domain by the family's symmetries.

        Shape: `(…, dim)` → `(…, outputs)`, in the network's dtype.

        Example:
            >>> solution.u(solution.family.domain.sample(3, torch.Generator())).shape
            torch.Size([3, 1])
        """
        return extended(self.network, self.reach, inputs)

    def u_exactly(self, inputs: Tensor) -> Tensor:
        """The same in float64, by `exactly`.

        Example:
            >>> solution.u_exactly(solution.family.domain.sample(3, torch.Generator())).dtype
            torch.float64
        """
        return extended(self.exactly, self.reach, inputs)

    @property
    def _dtype(self) -> torch.dtype:
        return self.network.mean.dtype

    def _ask(self, f: Callable[[Tensor], Tensor], at: dict[str, Any], extrapolate: bool) -> Tensor:
        """f at the given inputs, block by block, in the network's dtype and on its device."""
        like = self.network.mean
        return over_values(lambda block: f(block.to(like.device)), self.reach, at, extrapolate).to(
            like.dtype
        )

    def _value(self, inputs: Tensor) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and traced(inputs)):
            return self.u(inputs).squeeze(-1)


def extended(network: Network, reach: Reach, inputs: Tensor) -> Tensor:
    """The network at flat inputs, also where only symmetries lead into its domain.

    Shape: `(…, dim)` → `(…, outputs)`, in the network's dtype.
    """
    moved, factor = reach.moved(inputs)
    with torch.autocast(network.mean.device.type, enabled=False):  # it would cost most digits
        values: Tensor = network(moved.to(network.mean))
        return factor.to(values) * values


def _columns(name: str, values: Tensor, rows: int) -> dict[str, Numbers]:
    """One column of a data frame per entry.  Shape: `(rows, …)`, or `(…)` if all rows agree."""
    plain = values.detach().cpu().double().numpy()
    if plain.ndim == 0:
        plain = plain[None].repeat(rows, 0)
    if len(plain) != rows:
        raise InputError(
            f"beside a data frame of {rows} rows, a keyword is one value or one per row; they make "
            f"{len(plain)} rows together."
        )
    return {label(name, i): plain[(slice(None), *i)] for i in np.ndindex(*plain.shape[1:])}
