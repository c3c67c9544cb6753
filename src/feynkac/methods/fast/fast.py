r"""The fast method: smooth networks fitted to means and slopes of many paths per input.

With few inputs, Gauss–Newton steps in the space of the samples; with many, Muon. The border is
where all slopes of a batch of useful size no longer fit into one linear system.
"""

import math
from dataclasses import replace
from typing import Annotated, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from feynkac.clock import Allowance, Clock
from feynkac.errors import InputError
from feynkac.families.capabilities import ClosedForm
from feynkac.families.family import Family, jumps, outputs
from feynkac.grids.grid import Grid
from feynkac.grids.table import Table, make_table
from feynkac.methods.dimension import Choice, Dimension, Interval
from feynkac.methods.fast.choose_grid import choose_grid
from feynkac.methods.fast.choose_head import choose_head
from feynkac.methods.fast.choose_logarithm import spans_decades
from feynkac.methods.fast.choose_noise import choose_noise, enough_nodes
from feynkac.methods.fast.choose_paths import choose_paths
from feynkac.methods.fast.choose_scheme import choose_scheme, suitable_scheme
from feynkac.methods.fast.choose_subspaces import Seen, choose_subspaces
from feynkac.methods.fast.choose_symmetries import FEW_INPUTS, Symmetries, choose_symmetries
from feynkac.methods.fast.choose_waves import choose_frequencies
from feynkac.methods.fast.formula_data import FormulaData
from feynkac.methods.fast.path_data import PathData
from feynkac.methods.fast.scales import measure_scales
from feynkac.methods.fast.sobolev import SobolevGradient, SobolevProjection
from feynkac.methods.fast.table_data import TableData
from feynkac.methods.method import Chosen, Method, unset
from feynkac.methods.space import Space, Values
from feynkac.networks.architecture import Architecture
from feynkac.networks.head import Head
from feynkac.networks.network import Network
from feynkac.networks.reduction import Reduction
from feynkac.networks.smooth import Smooth
from feynkac.phases import enter
from feynkac.sampling.generators import make_generator
from feynkac.sampling.line_labels import found_to_jump, slopes_hold
from feynkac.sampling.noise.sobol import Sobol
from feynkac.sampling.noise.trapezoid import Trapezoid
from feynkac.sampling.path import label_normals
from feynkac.suggestions import KnownKeywords
from feynkac.training.objective import MeanSquare, Objective
from feynkac.training.optimisers.gauss_newton import GaussNewton
from feynkac.training.optimisers.muon import Muon
from feynkac.training.schedules import LinearDecay
from feynkac.training.settings import Training
from feynkac.training.state import begin

SLOPED_INPUTS = 24  # up to here Gauss–Newton steps, where slopes are fitted
WAVY_WIDTH = 96  # at least, where u oscillates
ROWS = 500  # values and slopes in one Gauss–Newton system
MOST_ROWS = 4096  # if a batch is given: a step then takes about a second
NORMALS = 2048  # drawn for one input, if there are many inputs
GRID_SHARE = 0.7
SUBSPACE_SHARE = 0.3
SCHEME_SHARE, NOISE_SHARE, SCALES_SHARE = 0.37, 0.4, 0.5  # of the allowance that is left by then
SCALE_INPUTS, FEWEST_SCALE_INPUTS = 2048, 128
FEWEST_SETS = 64  # of a table of labels
SCALE_PATHS = 64
LEAST_SLOPE = 1e-3  # relative to the largest: all entries of a long vector matter together
FEW_LEAST_SLOPE = 0.1  # with few inputs: what matters less to u must not count as much


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class Fast(KnownKeywords, Method):
    """Values and slopes of many paths per input, fitted by second-order or orthogonal steps.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> method = Fast(width=96).resolve(BlackScholes())
        >>> method.architecture.width, method.optimiser.kind
        (96, 'gauss-newton')
    """

    width: Annotated[int, Field(ge=2), Chosen] = unset
    """Neurons per layer; part of `architecture` once that is chosen."""
    depth: Annotated[int, Field(ge=1), Chosen] = unset
    """Hidden layers; likewise."""
    slopes: bool = True
    """Whether pathwise derivatives are fitted too, if the payoff allows."""
    slope_weight: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    """μ, how much they count beside the values, see `sobolev.py`."""
    symmetries: bool = True
    """Whether the network sees fewer inputs where u scales with some of them, or is radial."""
    head: Annotated[bool, Field(exclude_if=lambda wanted: wanted)] = True
    """Whether the network gives the volatility of a formula, if u is a call or put that has one."""
    formula: Annotated[bool, Field(exclude_if=lambda wanted: not wanted)] = False
    """Whether labels are those of the family's closed form, in place of paths."""
    scale_inputs: Annotated[int, Field(ge=2), Chosen] = unset
    """Inputs on which the scales of u and of its slopes are measured before the first step."""

    def resolve(
        self,
        family: Family,
        allowance: Allowance = Allowance(),  # noqa: B008  (whole)
        device: str = "cpu",
    ) -> Self:
        """Sizes from the number of inputs; scheme, noise and paths from pilots."""
        chosen = self._with_grid_or_scheme(family, allowance)
        seen = chosen._seen(family, allowance.share(SUBSPACE_SHARE))
        few = chosen._are_few(family, seen)
        chosen = chosen._with_paths(family, few, allowance)._with_network(family, few, seen)
        chosen = chosen._with_logarithm(family, self.architecture)
        if math.isinf(allowance.seconds):
            return replace(chosen, scale_inputs=self.scale_inputs or SCALE_INPUTS)
        return chosen._suited_to_machine(family, allowance, device, balance=self.paths is unset)

    @property
    def simulates(self) -> bool:
        """Neither a grid nor a formula makes the labels."""
        return self.grid is None and not self.formula

    def _with_grid_or_scheme(self, family: Family, allowance: Allowance) -> Self:
        if self.formula and not (isinstance(family, ClosedForm) and self._fits_slopes):
            raise InputError(
                "labels by a formula need a family with a closed form, and an optimiser that fits "
                "slopes; leave out formula=True."
            )
        if self.grid and not self._fits_slopes:
            raise InputError(
                f"a grid gives values and slopes, and the optimiser {self.optimiser.kind!r} fits "
                "values of paths; leave out the grid or the optimiser."
            )
        grid = self.grid or self._chosen_grid(family, allowance)
        if grid or self.formula:
            scheme, noise = self.scheme or suitable_scheme(family), self.noise or Sobol()
            return replace(self, grid=grid, scheme=scheme, noise=noise, paths=self.paths or 512)
        enter("choosing the scheme")
        scheme = self.scheme or choose_scheme(family, allowance.share(SCHEME_SHARE))
        scheme.check(family)
        return replace(self, scheme=scheme)

    def _seen(self, family: Family, allowance: Allowance) -> Seen:
        """What symmetries leave of the inputs, or combinations of many that slopes tell."""
        if self.architecture is not unset or not self._fits_slopes:
            return Seen()
        seen = Seen(symmetries=choose_symmetries(family) if self.symmetries else Symmetries())
        sloped = self.slopes and not jumps(family) and not self.grid
        few = seen.size(family.domain) <= FEW_INPUTS
        if few or not sloped or found_to_jump(family, self.scheme):
            return seen
        enter("looking for directions that matter")
        return choose_subspaces(family, self.scheme, allowance, seen.symmetries)

    def _are_few(self, family: Family, seen: Seen) -> bool:
        """Whether batches of few inputs tell enough: of a dozen, or of twice as many where slopes
        are fitted; not where u oscillates along many entries."""
        inputs = seen.size(family.domain)
        if inputs <= FEW_INPUTS and not seen.subspaces:
            return True
        sloped = inputs <= SLOPED_INPUTS and self.slopes and not jumps(family)
        return sloped and (bool(self.grid) or not self._oscillates(family, seen))

    def _oscillates(self, family: Family, seen: Seen) -> bool:
        return bool(choose_frequencies(family, self.scheme, Sobol(), seen.symmetries))

    @property
    def _fits_slopes(self) -> bool:
        return self.optimiser is unset or self.optimiser.fits_slopes

    def _with_paths(self, family: Family, few: bool, allowance: Allowance) -> Self:
        if not self.simulates:
            return self
        normals = self.scheme.draws * label_normals(family, self.scheme)
        paths = 512 if few else _affordable_paths(normals)
        enter("choosing the noise")
        rest = allowance.share(NOISE_SHARE)
        noise = self.noise or choose_noise(family, self.scheme, paths, rest)
        if isinstance(noise, Trapezoid):
            paths = enough_nodes(family, self.scheme, paths, rest)
        return replace(self, noise=noise, paths=self.paths or paths)

    def _chosen_grid(self, family: Family, allowance: Allowance) -> Grid | None:
        """None where something is said about paths: then they are wanted."""
        by_hand = (self.scheme, self.noise, self.paths) != (unset, unset, unset)
        if by_hand or self.formula or not self._fits_slopes:
            return None
        enter("trying a grid")
        return choose_grid(family, allowance.share(GRID_SHARE))

    def _with_network(self, family: Family, few: bool, seen: Seen) -> Self:
        inputs = seen.size(family.domain)
        narrow = 64 if outputs(family) == 1 else 128
        width = narrow if few else min(512, max(128, 64 * -(-2 * inputs // 64)))
        known = 2 if seen.symmetries.radial else family.domain.state_dim + 1
        sloped = known if self.grid else inputs * slopes_hold(family, self.noise)
        rows = max(32, ROWS // (1 + sloped))
        solved = few and (self.batch_size or rows) * (1 + sloped) <= MOST_ROWS
        head = self._chosen_head(family, seen.symmetries) if few else None
        waves = () if seen.subspaces or head else self._frequencies(family, seen.symmetries)
        width = max(width, WAVY_WIDTH) if waves else width
        return replace(
            self,
            architecture=self._network(width, 3 if few else 2, waves, seen, head),
            width=unset,
            depth=unset,
            optimiser=self.optimiser or (GaussNewton() if solved else Muon()),
            schedule=self.schedule
            or (LinearDecay(warmup=10, hold=0.1) if solved else LinearDecay(warmup=30, hold=0.0)),
            batch_size=self.batch_size or (rows if few else 256),
        )

    def _frequencies(self, family: Family, symmetries: Symmetries) -> tuple[float, ...]:
        """None where the network is given, or slopes do not tell."""
        if self.architecture is not unset or self.grid or not self.slopes or jumps(family):
            return ()
        return choose_frequencies(family, self.scheme, self.noise, symmetries)

    def _chosen_head(self, family: Family, symmetries: Symmetries) -> Head | None:
        """None where the network is given, or something else than values and slopes is fitted."""
        if not self.head or self.architecture is not unset or not self._fits_slopes:
            return None
        return choose_head(family, symmetries)

    def _network(
        self,
        width: int,
        depth: int,
        frequencies: tuple[float, ...],
        seen: Seen,
        head: Head | None,
    ) -> Smooth:
        if self.architecture is not unset:
            if (self.width, self.depth) != (unset, unset):
                raise InputError("give an architecture, or width and depth, not both.")
            return self.architecture  # type: ignore[return-value]
        width = self.width or width
        return Smooth(
            width=width,
            depth=self.depth or depth,
            products=width // 2,
            log_ranges=True,
            frequencies=frequencies,
            ordered=seen.ordered,
            subspaces=seen.subspaces,
            radial=seen.symmetries.radial,
            units=seen.symmetries.units,
            head=head,
        )

    def _with_logarithm(self, family: Family, given: Architecture) -> Self:
        """ln u in place of u, if that is positive over decades; then it is steep, and no wave."""
        network = self.architecture
        if given is not unset or not isinstance(network, Smooth) or network.head:
            return self
        if not self.optimiser.fits_slopes:
            return self
        reduction = Reduction(family.domain, network.radial, network.units)
        if not spans_decades(family, reduction, self._pilot_labels(family)):
            return self
        return replace(self, architecture=replace(network, frequencies=(), positive=True))

    def _pilot_labels(self, family: Family) -> PathData | Grid:
        slopeless = PathData(family, self.scheme, self.noise, 1, self.paths, with_slopes=False)
        return self.grid or slopeless

    def _suited_to_machine(
        self, family: Family, allowance: Allowance, device: str, balance: bool
    ) -> Self:
        """With as much for the scales as there is time for, and paths that balance the network."""
        inputs = self.scale_inputs or self._affordable_scale_inputs(
            family, allowance.share(SCALES_SHARE), device
        )
        chosen = replace(self, scale_inputs=inputs)
        if not balance or not self.simulates:
            return chosen
        enter("choosing the number of paths")
        training = Training(steps=1)
        state = begin(self.architecture, self.optimiser, family, training, device)
        objective = chosen.objective(family, state.network, training)
        return replace(chosen, paths=choose_paths(objective, state, self.paths, allowance))

    def _affordable_scale_inputs(self, family: Family, allowance: Allowance, device: str) -> int:
        """A power of two."""
        if self.grid or not self.optimiser.fits_slopes:
            return SCALE_INPUTS
        generator = make_generator(0, "scale inputs", device=device)
        few = self._scale_data(family, FEWEST_SCALE_INPUTS)
        few.sample(generator)  # the first is the slowest
        clock = Clock()
        few.sample(generator)
        times = allowance.times(clock.spent(), SCALE_INPUTS // FEWEST_SCALE_INPUTS)
        return FEWEST_SCALE_INPUTS << max(0, times.bit_length() - 1)

    def _scale_data(self, family: Family, inputs: int) -> PathData | FormulaData:
        if self.formula:
            return FormulaData(family, inputs)
        slopes = self.slopes and slopes_hold(family, self.noise)
        return PathData(family, self.scheme, self.noise, inputs, SCALE_PATHS, slopes)

    def labels(
        self,
        family: Family,
        training: Training,
        allowance: Allowance = Allowance(),  # noqa: B008  (whole)
        sets: int | None = None,
    ) -> Table | None:
        """Those of the grid, if there is one."""
        if not self.grid:
            return None
        enter("making labels on the grid")
        grid = replace(self.grid, sets=sets or self._sets(self.grid, training))
        return make_table(family, grid, make_generator(training.seed, "table"), allowance)

    def _sets(self, grid: Grid, training: Training) -> int:
        """Those of the grid, or fewer if a short run does not draw so many labels."""
        if training.budget is not None or training.steps is None:  # its length is not known yet
            return grid.sets
        drawn = training.steps * self.batch_size
        return int(min(grid.sets, max(FEWEST_SETS, 4 * (drawn // (4 * grid.points)))))

    def objective(
        self, family: Family, network: Network, training: Training, table: Table | None = None
    ) -> Objective:
        """Values and slopes on their scales, which are measured first and set in `network`.

        The measurement has its own stream of randomness, so that a continued run finds the same
        scales. An optimiser that does not fit slopes gets least squares on values.
        """
        rows = training.per_worker(self.batch_size)
        if not self.optimiser.fits_slopes:
            return MeanSquare(family, self.scheme, rows, self.paths)
        if not isinstance(self.architecture, Smooth):
            raise InputError(
                f"the optimiser {self.optimiser.kind!r} fits Smooth networks, "
                f"not {self.architecture.kind!r}; give architecture=Smooth(…), or use AdamW."
            )
        few = isinstance(self.optimiser, GaussNewton)
        generator = make_generator(training.seed, "pilot", device=str(network.mean.device))
        data: TableData | PathData | FormulaData
        if table := table or self.labels(family, training):
            data = TableData(family, table.to(network.mean.device), self.scale_inputs)
        else:
            data = self._scale_data(family, self.scale_inputs)
        scales = measure_scales(data, network, generator, FEW_LEAST_SLOPE if few else LEAST_SLOPE)
        network.shift.copy_(scales.shift.reshape(network.shift.shape))
        network.scale.copy_(scales.scale.reshape(network.scale.shape))
        relative = scales.scale / scales.scale.mean()
        data = replace(data, batch_size=rows, relative=relative).with_paths(self.paths)
        weight = self.slope_weight if self.slopes and scales.weights.any() else 0.0
        return (SobolevProjection if few else SobolevGradient)(data, scales, weight)

    def length(self, family: Family) -> int:
        """Enough for the accuracy that these networks reach."""
        few = family.domain.dim <= FEW_INPUTS
        return 1000 if few or isinstance(self.optimiser, GaussNewton) else 5000

    def space(self, family: Family) -> Space:
        """Half to twice the proposed sizes, a fifth to five times the proposed learning rate.

        `paths` may be None: then their number follows the machine, as it does by default. Where
        the payoff jumps and labels are of single paths, there are no slopes to weigh.
        """
        proposed = self.resolve(family)
        network, optimiser = proposed.architecture, proposed.optimiser
        if not isinstance(network, Smooth):
            raise InputError(f"the ranges of a search are for Smooth networks, not {network.kind}.")
        rate = optimiser.learning_rate

        def at(values: Values) -> Fast:
            width, depth = values["width"], values["depth"]
            return replace(
                self,
                architecture=replace(network, width=width, depth=depth, products=width // 2),
                optimiser=replace(optimiser, learning_rate=values["learning_rate"]),  # type: ignore[type-var]
                schedule=proposed.schedule,
                batch_size=values["batch_size"],
                paths=values["paths"],
                slope_weight=values.get("slope_weight", self.slope_weight),
            )

        ranges: dict[str, Dimension] = {
            "width": Choice(_around(network.width)),
            "depth": Choice((network.depth - 1, network.depth, network.depth + 1)),
            "batch_size": Choice(_around(proposed.batch_size)),
            "paths": Choice((None, *_around(proposed.paths))),
            "learning_rate": Interval(rate / 5, rate * 5, log=True),
        }
        default = {
            "width": network.width,
            "depth": network.depth,
            "batch_size": proposed.batch_size,
            "paths": None,
            "learning_rate": rate,
        }
        if slopes_hold(family, proposed.noise):
            ranges["slope_weight"] = Interval(0.1, 10.0, log=True)
            default["slope_weight"] = 1.0
        return Space(ranges, default, at)


def _affordable_paths(normals: int) -> int:
    """A power of two from 16 to 128, so that an input costs about `NORMALS` normals."""
    return int(min(128, max(16, 2 ** round(math.log2(NORMALS / normals)))))


def _around(size: int) -> tuple[int, int, int]:
    return (max(2, size // 2), size, 2 * size)
