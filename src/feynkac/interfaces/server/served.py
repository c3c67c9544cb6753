"""One solution and the answers that the service gives about it, as plain data."""

import copy
import functools
import io
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.analysis.certificates import Effort
from feynkac.analysis.chunks import over_rows
from feynkac.analysis.error_map import ErrorMap
from feynkac.analysis.observations import free_columns
from feynkac.analysis.partials import Map, greek_value, partial
from feynkac.errors import InputError
from feynkac.exporting.description import describe
from feynkac.exporting.stage import bare
from feynkac.exporting.weights import weights_bytes
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import outputs
from feynkac.families.greek import Greek
from feynkac.families.measures.log_uniform import LogUniform
from feynkac.families.names import label, parse_name
from feynkac.interfaces.server.description import describe_solution, quantities
from feynkac.interfaces.server.inputs import Array, Inputs, as_array, make_inputs
from feynkac.interfaces.server.laws import parse_laws
from feynkac.interfaces.server.problems import Fault, bad_value, too_long
from feynkac.interfaces.server.requests import (
    MOST_GRID,
    MOST_POINTS,
    MOST_QUOTES,
    MOST_SECONDS,
    MOST_SLOPES,
    Axis,
    CalibrateBody,
    CertifyBody,
    GreeksBody,
    QuotesBody,
    SliceBody,
    UncertaintyBody,
    ValueBody,
)
from feynkac.market.reading import read_quotes
from feynkac.solution import Solution

MOST_DRAWS = 1000  # of a posterior that are sent
LONGEST_CURVE, LONGEST_SIDE = 101, 41  # points of an axis, if nothing is said
JOB_SECONDS = 30.0
"""After which a long computation is given up."""
MAP_EFFORT = Effort(seconds=0.01)
MAP_INPUTS = (16, 64, 256, 1024)
"""A few sizes of error maps, since each is computed once and kept."""
Answer = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A solution under a name."""

    name: str
    solution: Solution
    run: str | None = None
    inputs: Inputs = field(init=False)
    _maps: dict[tuple[int, int], ErrorMap] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", make_inputs(self.solution.reach))

    @functools.cached_property
    def description(self) -> Answer:
        """As listed."""
        return describe_solution(self.name, self.solution, self.run)

    @functools.cached_property
    def weights(self) -> bytes:
        """As `feynkac export RUN out.json` writes them."""
        return weights_bytes(self.solution)

    @functools.cached_property
    @torch.inference_mode(False)
    def _network(self) -> Map:
        """The network as plain functions: calls of modules take half of the time for 100 points."""
        try:
            network: Map = bare(describe(self.solution))
        except InputError:  # an architecture of the user's own
            network = copy.deepcopy(self.solution.network).cpu()
        return network

    def flat(self, body: ValueBody) -> Array:
        """The inputs of a request for values."""
        return self.inputs.flat(body.at, MOST_POINTS, extrapolate=body.extrapolate)

    @torch.inference_mode()
    def value(self, flat: Array, closed_form: bool = False) -> Answer:
        """u."""
        rows = torch.as_tensor(flat.reshape(-1, flat.shape[-1]))
        if self.inputs.hold(flat):
            found = self.inside(flat)
        else:
            moved, factor = self.solution.reach.moved(rows)
            found = _shaped(self._network(moved.to(torch.float32)) * factor, flat)
        answer = {"value": found}
        if not closed_form:
            return answer
        known = self._closed_form()
        exact = None if known is None else known(rows).numpy().reshape(found.shape)
        return answer | {"closed_form": exact}

    @torch.inference_mode()
    def inside(self, flat: Array) -> Array:
        """u at inputs in the box.  Shape: `(…, dim)` → `(…,)`, or `(…, outputs)` if several."""
        rows = torch.from_numpy(flat.reshape(-1, flat.shape[-1]).astype(np.float32))
        return _shaped(self._network(rows), flat)

    def greeks(self, body: GreeksBody) -> Answer:
        """u and derivatives."""
        flat = self.inputs.flat(body.at, MOST_SLOPES, extrapolate=body.extrapolate)
        names = self._quantities(body.quantities)
        return self._tables(flat, names, body.closed_form, body.output)

    def slice(self, body: SliceBody) -> Answer:
        """u and derivatives along one or two inputs."""
        axes = self._axes(body.over)
        swept = {axis.name for axis in body.over}
        others = {name: value for name, value in body.at.items() if name not in swept}
        grid = np.meshgrid(*axes, indexing="ij")
        moved = {axis.name: g.tolist() for axis, g in zip(body.over, grid, strict=True)}
        box = self.inputs.without_rule()
        columns = [self.inputs.place(name, "over").columns.start for name in swept]
        if box.flat(others, MOST_GRID, absent=columns).ndim > 1:
            text = "at: a slice starts from one input; give one value per variable."
            raise bad_value(Fault("at", "several points", text))
        flat = box.flat(others | moved, MOST_GRID)
        names = self._quantities(body.quantities)
        found = self._tables(flat, names, body.closed_form, body.output)
        if self.inputs.domain.rule is not None:
            _blank(found, ~self.inputs.allowed(flat))
        over = [
            {"name": axis.name, "points": line} for axis, line in zip(body.over, axes, strict=True)
        ]
        return {"over": over, **found}

    def certify(self, body: CertifyBody) -> Answer:
        """Values checked by simulation."""
        most = max(1, int(min(MOST_POINTS, MOST_SECONDS / body.seconds)))
        flat = self.inputs.flat(body.at, most)
        effort = Effort(seconds=body.seconds, confidence=body.confidence)
        found = self._output(body.output).certify(
            torch.as_tensor(flat.reshape(-1, flat.shape[-1])),
            tolerance=body.tolerance,
            effort=effort,
            seed=body.seed,
            report=_deadline(),
        )
        return {"certificates": found.record()}

    def calibrate(self, body: CalibrateBody) -> Answer:
        """Parameters that explain quotes."""
        solution, domain = self._output(body.output), self.inputs.domain
        for i, name in enumerate(body.free):
            self.inputs.place(name, f"free[{i}]")
        if isinstance(body.noise, list) and len(body.noise) != len(body.values):
            text = (
                f"noise has {len(body.noise)} numbers for {len(body.values)} values; give one each."
            )
            raise bad_value(Fault("noise", body.noise, text))
        columns = free_columns(domain, body.free)
        known = {name: as_array(value, f"known.{name}") for name, value in body.known.items()}
        try:
            problem = solution.observe(body.free, body.values, known, noise=body.noise)
        except InputError:  # says the same without field and range
            self.inputs.without_rule().flat(body.known, MOST_QUOTES, "known", absent=columns)
            raise
        found = solution.calibrate(problem, confidence=body.confidence, seed=body.seed)
        fitted = found.residuals + problem.values
        answer = found.record() | {
            "fitted": fitted,
            "model_error": float((problem.model**2).mean() ** 0.5),
            "posterior": None,
        }
        if body.posterior:
            answer["posterior"] = self._posterior(solution, problem, found, body)
        return answer

    def quotes(self, body: QuotesBody) -> Answer:
        """Parameters that explain a quote sheet."""
        carry = ("spot", "forward", "rate", "dividend", "date")
        try:
            quotes = read_quotes(
                io.StringIO(body.sheet), **{name: getattr(body, name) for name in carry}
            )
        except InputError as error:
            raise bad_value(Fault("sheet", None, str(error))) from None
        if len(quotes) > MOST_QUOTES:
            text = f"the sheet has {len(quotes)} quotes; give at most {MOST_QUOTES}."
            raise bad_value(Fault("sheet", len(quotes), text, [1, MOST_QUOTES]))
        fit = self.solution.calibrate(quotes, confidence=body.confidence, seed=body.seed)
        answer = fit.record() | {"level": quotes.level_name, "posterior": None}
        if body.posterior:
            answer["posterior"] = self._posterior(self.solution, fit.problem, fit.calibration, body)
        return answer

    def _posterior(
        self, solution: Solution, problem: Any, found: Any, body: CalibrateBody | QuotesBody
    ) -> Answer:
        drawn = solution.posterior(
            problem,
            found,
            steps=max(100, body.posterior),
            confidence=body.confidence,
            seed=body.seed,
            report=_deadline(),
        )
        step = -(-len(drawn.samples) // MOST_DRAWS)
        draws = dict(zip(drawn.labels, drawn.samples[::step].T.tolist(), strict=True))
        return drawn.record() | {"draws": draws}

    def uncertainty(self, body: UncertaintyBody) -> Answer:
        """The law of u for random inputs."""
        solution = self._output(body.output)
        for name in body.given:
            self.inputs.place(name, f"given.{name}")
        given = parse_laws(body.given)
        pairs = {(pair.names[0], pair.names[1]): pair.value for pair in body.correlation}
        for names in pairs:
            for name in names:
                self.inputs.place(name, "correlation")
        if body.indices and pairs:
            raise InputError("Sobol' indices need independent inputs; omit correlation.")
        found = solution.uncertainty(
            given, pairs, samples=body.samples, seed=body.seed, report=_deadline()
        )
        shares = solution.sobol_indices(given, seed=body.seed) if body.indices else None
        return found.record() | {"indices": shares.record() if shares else None}

    def error_map(self, inputs: int, output: int) -> Answer:
        """The error over the domain; computed once."""
        key = (inputs, output)
        with self._lock:
            if key not in self._maps:
                self._maps[key] = self._output(output).error_map(
                    inputs, effort=MAP_EFFORT, report=_deadline()
                )
        return self._maps[key].record()

    def _output(self, index: int) -> Solution:
        count = outputs(self.solution.family)
        if index >= count:
            text = f"output = {index}, but there are {count}, counted from 0."
            raise bad_value(Fault("output", index, text, [0, count - 1]))
        return self.solution.output(index)

    def _quantities(self, asked: list[str] | None) -> list[str]:
        """The value and what was asked for, once each."""
        names = quantities(self.solution) if asked is None else asked
        for i, name in enumerate(names):
            if name != "value" and self._greek(name, f"quantities[{i}]") is None:
                self._slope(name, f"quantities[{i}]")
        return list(dict.fromkeys(["value", *names]))

    def _greek(self, name: str, field: str) -> Greek | None:
        """The Greek of that name, or of one entry of it, such as delta[1]."""
        greeks, (base, index) = self.solution.named_greeks, parse_name(name)
        if name in greeks or index is None or base not in greeks:
            return greeks.get(name)
        shapes = self.inputs.domain.measures
        first, *rest = greeks[base].names
        moved = [label(v, index) if v == first or shapes[v].shape else v for v in (first, *rest)]
        for entry in moved:
            self.inputs.place(entry, field)
        return Greek(tuple(moved), greeks[base].sign)

    def _slope(self, name: str, field: str) -> str:
        variable = name.removeprefix("∂u/∂")
        if variable == name:
            known = quantities(self.solution)
            text = f"{field}: there is no {name!r}; there are {', '.join(known[:12])}."
            raise bad_value(Fault(field, name, text, known))
        self.inputs.place(variable, field)
        return variable

    def _tables(self, flat: Array, names: list[str], closed_form: bool, output: int) -> Answer:
        """By name, for the network and, on request, the closed form."""
        solution = self._output(output)
        rows, lead = torch.as_tensor(flat.reshape(-1, flat.shape[-1])), flat.shape[:-1]
        within = self.inputs.hold(flat) and bool(self.inputs.domain.varies.all())
        u, own = (
            (solution.network, rows.to(solution.network.mean)) if within else (solution.u, rows)
        )
        found = {name: self._table(u, name, own, lead) for name in names}
        known = self._closed_form() if closed_form else None
        exact = None
        if known is not None:
            one: Map = lambda v: known(v)[..., output, None]  # noqa: E731
            exact = {name: self._table(one, name, rows, lead) for name in names}
        return {"values": found, "closed_form": exact, "warnings": solution.warnings}

    def _table(self, u: Map, name: str, rows: Tensor, lead: tuple[int, ...]) -> Array:
        where, greek = self.solution.reach, self._greek(name, "quantities")

        def ask(block: Tensor) -> Tensor:
            if name == "value":
                with torch.no_grad():
                    return u(block).squeeze(-1)
            if greek is not None:
                return greek_value(u, where, greek, block)
            return partial(u, where, name.removeprefix("∂u/∂"), block)

        found = over_rows(ask, rows).detach().numpy()
        return np.asarray(found.reshape((*lead, *found.shape[1:])))

    def _closed_form(self) -> Map | None:
        family = self.solution.family
        if not isinstance(family, ClosedForm):
            return None
        return lambda flat: family.closed_form(*family.domain.split(flat))

    def _axes(self, over: list[Axis]) -> list[Array]:
        if len({axis.name for axis in over}) < len(over):
            raise bad_value(Fault("over", over[0].name, "over: name two different inputs."))
        most = LONGEST_CURVE if len(over) == 1 else LONGEST_SIDE
        axes = [self._axis(axis, f"over[{i}]", most) for i, axis in enumerate(over)]
        if (count := int(np.prod([len(axis) for axis in axes]))) > MOST_GRID:
            text = f"over has {count} points; take at most {MOST_GRID}."
            raise bad_value(Fault("over", count, text, [2, MOST_GRID]))
        return axes

    def _axis(self, axis: Axis, field: str, most: int) -> Array:
        place = self.inputs.place(axis.name, f"{field}.name")
        column = place.columns.start
        bounds = [float(self.inputs.low[column]), float(self.inputs.high[column])]
        if place.size > 1 or bounds[0] == bounds[1]:
            what = "is fixed" if place.size == 1 else "has several entries; name one, as x[0]"
            text = f"{field}.name: {axis.name} {what}."
            raise bad_value(Fault(f"{field}.name", axis.name, text, self.inputs.domain.free))
        low = bounds[0] if axis.low is None else axis.low
        high = bounds[1] if axis.high is None else axis.high
        for side, value in (("low", low), ("high", high)):
            if not bounds[0] <= value <= bounds[1]:
                text = f"{field}.{side} = {value:g} lies outside [{bounds[0]:g}, {bounds[1]:g}]."
                raise bad_value(Fault(f"{field}.{side}", value, text, bounds))
        if not low < high:
            raise bad_value(Fault(f"{field}.low", low, f"{field}: low must be below high.", bounds))
        law = self.inputs.domain.measures[place.name]
        line = np.geomspace if isinstance(law, LogUniform) else np.linspace
        return np.clip(line(low, high, axis.points or most), low, high)


def _shaped(found: Tensor, flat: Array) -> Array:
    """Values with the leading axes of their inputs."""
    outputs = found.shape[-1:] if found.shape[-1] > 1 else ()
    return np.asarray(found.numpy().reshape((*flat.shape[:-1], *outputs)))


def _deadline() -> Callable[[float], None]:
    """To be called while a computation runs: gives up once it takes too long."""
    end = time.monotonic() + JOB_SECONDS

    def report(_: float) -> None:
        if time.monotonic() > end:
            raise too_long(JOB_SECONDS)

    return report


def _blank(found: Answer, gone: Any) -> None:
    """NaN, which is sent as null, where the family allows no input."""
    for tables in (found["values"], found["closed_form"] or {}):
        for name, table in tables.items():
            blank = np.array(table, dtype=np.float64)
            blank[gone] = np.nan
            tables[name] = blank
