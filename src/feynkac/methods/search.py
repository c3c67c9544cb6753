r"""The ranges that settings are searched in.

The paper's  (Table 6):   (L, q) ∈ {3, 4} × {4, 5, 6},   AdamW or SGD,
batch size ∈ {2^14, …, 2^17},   log η ~ U(log 1e-5, log 1e-1),   decay ~ U(0.2, 0.6).

The fast method's lie around what it proposes for the family.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from feynkac.errors import InputError
from feynkac.families.family import Family, jumps
from feynkac.methods.dimension import Choice, Dimension, Interval, read_dimension
from feynkac.methods.preset import Preset
from feynkac.methods.setup import Setup
from feynkac.networks.multilevel import Multilevel
from feynkac.networks.smooth import Smooth
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.optimisers.optimiser import SGD, AdamW
from feynkac.training.schedules import LinearDecay, StepDecay

Values = Mapping[str, Any]
"""One value for each dimension."""


@dataclass(frozen=True)
class SearchSpace:
    """Named dimensions, and what settings a point in them means.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> from feynkac.methods.paper import complete_paper_setup
        >>> space = paper_space(complete_paper_setup(BlackScholes()))
        >>> space.narrowed({"factor": [6]}).draw(torch.Generator())["factor"]
        6
    """

    dimensions: Mapping[str, Dimension]
    default: Values
    """The method's own choice."""
    preset: Callable[[Values], Preset]
    """The settings at a point."""

    def draw(self, generator: torch.Generator) -> dict[str, Any]:
        """A random point, each part independent of the others."""
        return {name: each.draw(generator) for name, each in self.dimensions.items()}

    def contains(self, values: Values) -> bool:
        """Whether `values` may be drawn."""
        return all(each.contains(values[name]) for name, each in self.dimensions.items())

    def record(self) -> dict[str, Any]:
        """The dimensions as in a file."""
        return {name: each.record() for name, each in self.dimensions.items()}

    def narrowed(self, given: Mapping[str, Any]) -> "SearchSpace":
        """With other ranges for some dimensions, each as `record` writes it.

        Raises:
            InputError: a name is unknown, or a range is none, or has values that cannot be set.
        """
        if unknown := [name for name in given if name not in self.dimensions]:
            known = ", ".join(self.dimensions)
            raise InputError(f"nothing to search is called {unknown[0]!r}; there are: {known}.")
        found = {name: read_dimension(name, data) for name, data in given.items()}
        for name, dimension in found.items():
            for value in dimension.samples():
                self._require(name, value)
        return replace(self, dimensions={**self.dimensions, **found})

    def _require(self, name: str, value: Any) -> None:
        try:
            self.preset({**self.default, name: value})
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{name} cannot be {value!r}; the method's is {self.default[name]!r}."
            ) from error


PAPER_OPTIMISERS: dict[str, AdamW | SGD] = {"adamw": AdamW(), "sgd": SGD(weight_decay=0.01)}
"""Their learning rates are drawn."""
PAPER_RANGES: dict[str, Dimension] = {
    "levels": Choice((3, 4)),
    "factor": Choice((4, 5, 6)),
    "optimiser": Choice(tuple(PAPER_OPTIMISERS)),
    "batch_size": Choice((2**14, 2**15, 2**16, 2**17)),
    "learning_rate": Interval(1e-5, 1e-1, log=True),
    "decay": Interval(0.2, 0.6),
}
"""Table 6."""


def paper_space(setup: Setup) -> SearchSpace:
    """The paper's ranges; the learning rate falls as often as in `setup`."""
    network, optimiser, schedule = setup.architecture, setup.optimiser, setup.schedule
    assert isinstance(network, Multilevel)
    assert isinstance(optimiser, AdamW | SGD)
    assert isinstance(schedule, StepDecay)

    def preset(values: Values) -> Preset:
        chosen = PAPER_OPTIMISERS[values["optimiser"]]
        return Preset(
            method="paper",
            architecture=replace(network, levels=values["levels"], factor=values["factor"]),
            optimiser=replace(chosen, learning_rate=values["learning_rate"]),
            schedule=replace(schedule, decay=values["decay"]),
            batch_size=values["batch_size"],
        )

    default = {
        "levels": network.levels,
        "factor": network.factor,
        "optimiser": optimiser.kind,
        "batch_size": setup.batch_size,
        "learning_rate": optimiser.learning_rate,
        "decay": schedule.decay,
    }
    return SearchSpace(PAPER_RANGES, default, preset)


def fast_space(setup: Setup, family: Family) -> SearchSpace:
    """Half to twice the proposed sizes, a fifth to five times the proposed learning rate.

    `paths` may be None: then their number follows the machine, as it does by default. Where the
    payoff jumps there are no slopes to weigh.
    """
    network, optimiser, schedule = setup.architecture, setup.optimiser, setup.schedule
    assert isinstance(network, Smooth)
    assert isinstance(optimiser, GaussNewton | Muon)
    assert isinstance(schedule, LinearDecay)
    rate = optimiser.learning_rate

    def preset(values: Values) -> Preset:
        width = values["width"]
        return Preset(
            architecture=replace(network, width=width, depth=values["depth"], products=width // 2),
            optimiser=replace(optimiser, learning_rate=values["learning_rate"]),
            schedule=schedule,
            batch_size=values["batch_size"],
            paths=values["paths"],
            slope_weight=values.get("slope_weight"),
        )

    ranges: dict[str, Dimension] = {
        "width": Choice(_around(network.width)),
        "depth": Choice((network.depth - 1, network.depth, network.depth + 1)),
        "batch_size": Choice(_around(setup.batch_size)),
        "paths": Choice((None, *_around(setup.paths))),
        "learning_rate": Interval(rate / 5, rate * 5, log=True),
    }
    default = {
        "width": network.width,
        "depth": network.depth,
        "batch_size": setup.batch_size,
        "paths": None,
        "learning_rate": rate,
    }
    if not jumps(family):
        ranges["slope_weight"] = Interval(0.1, 10.0, log=True)
        default["slope_weight"] = 1.0
    return SearchSpace(ranges, default, preset)


def _around(size: int) -> tuple[int, int, int]:
    return (max(2, size // 2), size, 2 * size)
