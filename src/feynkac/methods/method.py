r"""A method: all choices that turn a family into a trained network.

    Fast(width=96)            some choices made, the others left to the method: a preset
    .resolve(family)          all of them made: what a run stores

`resolve` may simulate a little to choose well (pilots); nothing else does. Subclass `Method` as a
frozen dataclass for a method of your own; `examples/plain_adam.py` is a small one.
"""

from abc import abstractmethod
from dataclasses import fields, replace
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, WrapValidator
from pydantic.dataclasses import dataclass

from feynkac.clock import Allowance
from feynkac.errors import InputError
from feynkac.families.family import Family
from feynkac.grids.grid import Grid
from feynkac.grids.table import Table
from feynkac.methods.space import Space
from feynkac.networks.architecture import Architecture
from feynkac.networks.network import Network
from feynkac.parts import Part, kinds
from feynkac.sampling.noise.noise import Noise
from feynkac.sampling.schemes.scheme import Scheme
from feynkac.suggestions import did_you_mean
from feynkac.training.objective import Objective
from feynkac.training.optimisers.optimiser import Optimiser
from feynkac.training.schedules import Schedule
from feynkac.training.settings import Training, one_sentence

unset: Any = None
"""The value of a field that `resolve` fills in."""
SOLVE = {"out", "progress", "report", "retrain", "tracker"}
"""Further keywords of `solve`, which a mistyped setting may mean."""
Chosen = WrapValidator(lambda value, check: unset if value is unset else check(value))
"""Marks such a field: its type is what a resolved method has there."""


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class Method(Part):
    """How a family is solved. Fields that are None are chosen by `resolve`.

    Example:
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> method = find_method("paper").with_fields({"batch_size": 64})
        >>> method.optimiser is None, method.resolve(BlackScholes()).optimiser.kind
        (True, 'adamw')
    """

    architecture: Annotated[Architecture, Chosen] = unset
    """The network."""
    scheme: Annotated[Scheme, Chosen] = unset
    """How paths are simulated."""
    noise: Annotated[Noise, Chosen] = unset
    """Where their normals come from."""
    optimiser: Annotated[Optimiser, Chosen] = unset
    """What updates the parameters."""
    schedule: Annotated[Schedule, Chosen] = unset
    """How the learning rate falls."""
    batch_size: Annotated[int, Field(ge=2), Chosen] = unset
    """Fresh inputs λ per step."""
    paths: Annotated[int, Field(ge=1), Chosen] = unset
    """Simulated paths per input, averaged into its label."""

    grid: Grid | None = None
    """Finite differences that give labels in place of paths; None: paths do."""

    @property
    def simulates(self) -> bool:
        """Whether labels come from paths."""
        return self.grid is None

    @abstractmethod
    def resolve(
        self,
        family: Family,
        allowance: Allowance = Allowance(),  # noqa: B008  (whole)
        device: str = "cpu",
    ) -> Self:
        """This method with every choice made for `family`.

        Args:
            family: what to solve.
            allowance: time for pilots. A limited one means that the run has a wall-clock budget:
                only then may a choice depend on the machine.
            device: where the run will be.
        """

    def labels(
        self,
        family: Family,
        training: Training,
        allowance: Allowance = Allowance(),  # noqa: B008  (whole)
        sets: int | None = None,
    ) -> Table | None:
        """Labels that are made before training, if the method makes such.

        Args:
            family: what to solve.
            training: of the run.
            allowance: time for them; they may be fewer then.
            sets: as many as a run that is continued has made.
        """
        return None

    @abstractmethod
    def objective(
        self, family: Family, network: Network, training: Training, table: Table | None = None
    ) -> Objective:
        """What a resolved method minimises, with its `labels`; it may set scales of `network`."""

    @abstractmethod
    def length(self, family: Family) -> int:
        """Steps of a run that is given neither steps nor a budget."""

    @abstractmethod
    def space(self, family: Family) -> Space:
        """What a search may vary, and in which ranges."""

    def rate(self, step: int, done: float) -> float:
        """Of update number `step`, with a fraction `done` of the run behind it."""
        return self.schedule.rate(self.optimiser.learning_rate, step, done)

    def with_fields(self, given: dict[str, Any]) -> Self:
        """With other values of some fields.

        Raises:
            InputError: one of them cannot have that value.
        """
        try:
            return replace(self, **given)
        except ValidationError as error:
            raise InputError(one_sentence(error)) from error


def find_method(method: "Method | str") -> Method:
    """A method, or the one of that name with all choices open.

    Example:
        >>> find_method("paper").kind
        'paper'
    """
    if isinstance(method, Method):
        return method
    known = kinds(Method)
    if method not in known:
        meant = did_you_mean(method, known)
        raise InputError(
            f"unknown method {method!r}; there are: {', '.join(sorted(known))}.{meant}"
        )
    found: Method = known[method]()
    return found


def divide(method: Method, given: dict[str, Any]) -> tuple[Method, dict[str, Any]]:
    """`method` with those of the keywords that are its fields, and the rest, fields of `Training`.

    Raises:
        InputError: a keyword is neither.

    Example:
        >>> method, rest = divide(find_method("paper"), {"batch_size": 64, "seed": 1})
        >>> method.batch_size, rest
        (64, {'seed': 1})
    """
    own = {field.name for field in fields(method)}
    known = own | {field.name for field in fields(Training)}
    for name in given:
        if name not in known:
            meant = did_you_mean(name, known | SOLVE)
            raise InputError(f"{method.kind!r} has no setting called {name!r}.{meant}")
    chosen = method.with_fields({k: v for k, v in given.items() if k in own})
    return chosen, {k: v for k, v in given.items() if k not in own}
