"""The bodies that the service accepts: no unknown fields, no NaN, no booleans as numbers."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

MOST_POINTS = 10_000
MOST_SLOPES = 2_000
"""Points of one request for derivatives."""
MOST_GRID = 10_201
MOST_SECONDS = 20.0
"""Of simulation in one request."""
MOST_QUOTES = 2_000
RANK = 4
"""Of nested lists: a matrix and two axes of points."""
EXAMPLE: dict[str, Any] = {"x": [9.2, 9.7], "t": 0.5, "sigma": 0.3, "strike": 11.0}


class Numbers:
    """A finite number or nested lists of them, validated in one pass by pydantic's core."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        kinds: list[CoreSchema] = [core_schema.float_schema(strict=True, allow_inf_nan=False)]
        for _ in range(RANK):
            kinds.append(core_schema.list_schema(kinds[-1], strict=True, min_length=1))
        return core_schema.union_schema(
            list(kinds),
            mode="left_to_right",
            custom_error_type="numbers",
            custom_error_message="expected a finite number or nested lists of them",
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found: list[dict[str, Any]] = [{"type": "number"}]
        for _ in range(RANK):
            found.append({"type": "array", "items": found[-1], "minItems": 1})
        return {"anyOf": found}


Name = Annotated[str, Field(min_length=1, max_length=100)]
At = Annotated[
    dict[Name, Numbers],
    Field(
        description="Values by variable, or by entry such as x[1]; they broadcast like numpy's.",
        examples=[EXAMPLE],
        max_length=20_000,
    ),
]
Output = Annotated[int, Field(ge=0, le=10_000, description="Which of several outputs.")]
Seed = Annotated[int, Field(ge=0, le=2**32)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Quote = Annotated[float, Field(ge=-1e15, le=1e15)]
Noise = Annotated[float, Field(ge=1e-15, le=1e15)]
"""Far from where squares leave the range of float64."""
Positive = Annotated[float, Field(gt=0.0, le=1e9)]
Carry = Annotated[float, Field(ge=-1.0, le=1.0)]
Quantities = Annotated[
    list[Name] | None,
    Field(
        description="value, a Greek's name, or ∂u/∂ and a variable; null: all of the solution's.",
        max_length=200,
    ),
]


class Body(BaseModel):
    """What all bodies have in common."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ValueBody(Body):
    """Values of u."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"at": EXAMPLE}]})

    at: At
    extrapolate: bool = False
    """Allow inputs outside the domain."""
    closed_form: bool = False
    """The closed form too."""


class GreeksBody(Body):
    """Values and derivatives of u."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"at": EXAMPLE, "quantities": ["delta"]}]}
    )

    at: At
    quantities: Quantities = None
    extrapolate: bool = False
    closed_form: bool = False
    output: Output = 0


class Axis(Body):
    """One axis of a slice."""

    name: Name
    low: Finite | None = None
    high: Finite | None = None
    points: Annotated[int, Field(ge=2, le=1001)] | None = None


class SliceBody(Body):
    """u and derivatives along one or two inputs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"over": [{"name": "x", "points": 101}], "at": EXAMPLE | {"x": 9.5}}]
        }
    )

    over: Annotated[list[Axis], Field(min_length=1, max_length=2)]
    at: At
    quantities: Quantities = Field(default_factory=lambda: ["value"])
    closed_form: bool = False
    output: Output = 0


class CertifyBody(Body):
    """Values checked by simulation."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"at": EXAMPLE | {"x": 9.5}, "seconds": 0.1}]}
    )

    at: At
    seconds: Annotated[float, Field(gt=0.0, le=MOST_SECONDS)] = 0.5
    """Per point; all points together may take 20 s."""
    tolerance: Annotated[float, Field(gt=0.0)] | None = None
    confidence: Annotated[float, Field(ge=0.5, le=0.9999)] = 0.95
    seed: Seed = 2
    output: Output = 0


class CalibrateBody(Body):
    """Parameters that explain quotes."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "free": ["sigma"],
                    "values": [1.2, 1.9],
                    "known": {"x": 9.5, "t": 0.5, "strike": [10.0, 11.0]},
                    "noise": 0.01,
                }
            ]
        }
    )

    free: Annotated[list[Name], Field(min_length=1, max_length=20)]
    values: Annotated[list[Quote], Field(min_length=1, max_length=MOST_QUOTES)]
    known: At
    noise: Noise | list[Noise] | None = None
    confidence: Annotated[float, Field(ge=0.01, le=0.999)] = 0.9
    seed: Seed = 0
    posterior: Annotated[int, Field(ge=0, le=2000)] = 0
    """Steps of the posterior's walkers, at least 100; 0: no posterior."""
    output: Output = 0


class QuotesBody(Body):
    """Parameters that explain a quote sheet."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"sheet": "strike,maturity,iv\n95,6M,0.21\n105,6M,0.2\n", "spot": 100.0}]
        }
    )

    sheet: Annotated[str, Field(min_length=1, max_length=500_000)]
    """The text of a CSV file, as people have it; columns and units are guessed."""
    spot: Positive | None = None
    """What stands for all rows, if the sheet does not say it; so do the next ones."""
    forward: Positive | None = None
    rate: Carry | None = None
    dividend: Carry | None = None
    date: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    """The day of the quotes, where maturities are dates."""
    confidence: Annotated[float, Field(ge=0.01, le=0.999)] = 0.9
    seed: Seed = 0
    posterior: Annotated[int, Field(ge=0, le=2000)] = 0
    """Steps of the posterior's walkers, at least 100; 0: no posterior."""


class Law(Body):
    """The law of one input."""

    law: Literal["normal", "uniform", "lognormal", "beta"]
    parameters: Annotated[list[Finite], Field(min_length=2, max_length=2)]


class Pair(Body):
    """The correlation of two inputs."""

    names: Annotated[list[Name], Field(min_length=2, max_length=2)]
    value: Annotated[float, Field(gt=-1.0, lt=1.0)]


class UncertaintyBody(Body):
    """The law of u for random inputs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "given": {"t": 0.5, "sigma": {"law": "normal", "parameters": [0.3, 0.05]}},
                    "samples": 10000,
                }
            ]
        }
    )

    given: Annotated[dict[Name, Law | Numbers], Field(max_length=1000)] = Field(
        default_factory=dict
    )
    correlation: Annotated[list[Pair], Field(max_length=100)] = Field(default_factory=list)
    samples: Annotated[int, Field(ge=64, le=1_000_000)] = 100_000
    seed: Seed = 0
    indices: bool = False
    """Sobol' indices too."""
    output: Output = 0
