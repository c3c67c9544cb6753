"""The OpenAPI document: what FastAPI knows, the bodies, and the problems."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from feynkac.interfaces.server import requests
from feynkac.interfaces.server.offer import Offer
from feynkac.interfaces.server.problems import CONTENT_TYPE
from feynkac.interfaces.server.served import MAP_INPUTS, Served

MODELS = (
    requests.ValueBody,
    requests.GreeksBody,
    requests.SliceBody,
    requests.CertifyBody,
    requests.CalibrateBody,
    requests.QuotesBody,
    requests.UncertaintyBody,
)
PROBLEM = {
    "type": "object",
    "description": "RFC 9457",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}
REASONS = {
    "400": "The body is not JSON",
    "401": "The token is missing or wrong",
    "403": "Another host",
    "404": "There is no such solution or run",
    "408": "The body came too slowly",
    "413": "The body is too large",
    "415": "The body is not application/json",
    "422": "A field is wrong; `errors` names it, its value and what is allowed",
    "503": "Over capacity; Retry-After says when to try again",
    "504": "It took too long; ask for less",
}
RANGES = {"output": (0, 10**6, 0), "after": (0, 10**6, 0)}
"""Of whole numbers in queries: lowest, highest, default."""


def openapi(app: FastAPI, offer: Offer, secured: bool) -> dict[str, Any]:
    """The document of a server that offers these solutions, and asks for a token if `secured`."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    _, definitions = models_json_schema(
        [(model, "validation") for model in MODELS], ref_template="#/components/schemas/{model}"
    )
    schemas = {**definitions["$defs"], "Problem": PROBLEM}
    for served in list(offer.solutions.values())[:1]:
        for model, example in _examples(served).items():
            schemas[model]["examples"] = [schemas[model]["examples"][0] | example]
    document["components"] = {"schemas": schemas}
    if secured:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            _complete(path, operation, offer)
    return document


def _examples(served: Served) -> dict[str, dict[str, Any]]:
    """Parts of the bodies' examples that this solution answers."""
    variables = served.description["variables"]
    sides = ("entries", "default", "low", "high")
    rows = [row for each in variables for row in zip(*(each[k] for k in sides), strict=True)]
    middle = {entry: start for entry, start, _, _ in rows}
    free = [entry for entry, _, low, high in rows if low < high]
    last, low, high = next((e, low, high) for e, _, low, high in reversed(rows) if low < high)
    others = {entry: value for entry, value in middle.items() if entry != last}
    law = {"law": "uniform", "parameters": [low, high]}
    at = {"at": middle}
    return {
        "ValueBody": at,
        "GreeksBody": at | {"quantities": ["value", f"∂u/∂{free[0]}"]},
        "SliceBody": at | {"over": [{"name": free[0], "points": 101}]},
        "CertifyBody": at,
        "CalibrateBody": {"free": [last], "values": [1.0], "known": others},
        "UncertaintyBody": {"given": {last: law}},
    }


def _complete(path: str, operation: dict[str, Any], offer: Offer) -> None:
    """Which ids and queries there are, and all that may be answered."""
    for parameter in operation.get("parameters", []):
        if parameter["name"] == "id":
            known = offer.runs if path.startswith("/v1/runs") else offer.solutions
            parameter["schema"] = {"type": "string", "enum": sorted(known) or ["none"]}
        elif parameter["name"] == "inputs":
            parameter["schema"] = {"type": "integer", "enum": list(MAP_INPUTS), "default": 256}
        elif parameter["name"] in RANGES:
            low, high, default = RANGES[parameter["name"]]
            bounds = {"minimum": low, "maximum": high, "default": default}
            parameter["schema"] = {"type": "integer", **bounds}
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    problems: dict[str, Any] = {
        code: {"description": why, "content": {CONTENT_TYPE: reference}}
        for code, why in REASONS.items()
    }
    kind = "text/plain" if path == "/metrics" else "application/json"
    good = {"description": "The answer", "content": {kind: {"schema": _answered(path)}}}
    if path == "/healthz":
        problems["503"]["content"]["application/json"] = {"schema": {"type": "object"}}
    operation["responses"] = {"200": good, **problems}


ANSWERS = {
    "solutions": ["solutions"],
    "{id}": ["id", "family", "variables", "outputs", "quantities", "error", "warnings"],
    "network": ["format", "version", "inputs", "stages"],
    "error-map": ["mean", "interval", "worst", "profiles", "inputs"],
    "runs": ["runs"],
    "progress": ["id", "state", "total", "after", "records"],
    "healthz": ["status", "version", "solutions"],
    "value": ["value"],
    "greeks": ["values", "closed_form", "warnings"],
    "slice": ["over", "values", "closed_form", "warnings"],
    "certify": ["certificates"],
    "calibrate": ["estimate", "residuals", "fitted", "warnings", "posterior"],
    "quotes": ["estimate", "quotes", "maturities", "sheet", "notes", "warnings", "posterior"],
    "uncertainty": ["mean", "variance", "quantiles", "density", "samples", "indices"],
}
"""Fields that are always there, by the last part of the path."""


def _answered(path: str) -> dict[str, Any]:
    last = path.rpartition("/")[2]
    return {"type": "object", "required": ANSWERS[last]} if last in ANSWERS else {"type": "string"}
