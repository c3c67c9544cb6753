"""Schemathesis: bodies and queries made from the OpenAPI document, good and bad; no 5xx."""

from collections import Counter

import httpx
import pytest
import schemathesis
import schemathesis.specs.openapi.checks as openapi_checks
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

CHECKS = [
    schemathesis.checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]
OPERATIONS = 15


@pytest.fixture(scope="module")
def operations(server):
    schema = schemathesis.openapi.from_url(server.url + "openapi.json")
    return [found.ok() for found in schema.get_all_operations()]


def ask_all(operations, examples: int) -> Counter:
    """The number of answers by status."""
    found: Counter = Counter()
    for operation in operations:
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            ask(operation, mode, examples, found)
    return found


def ask(operation, mode: GenerationMode, examples: int, found: Counter) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case):
        answer = case.call(timeout=60)
        found[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    try:
        each()
    except Unsatisfiable:  # an operation without inputs has no bad ones
        assert mode is GenerationMode.NEGATIVE


@pytest.mark.slow
def test_a_few_generated_requests(server, operations):
    assert len(operations) == OPERATIONS
    found = ask_all(operations, examples=3)
    assert not [status for status in found if status >= 500]
    assert httpx.get(server.url + "healthz").status_code == 200


@pytest.mark.slow
def test_two_thousand_generated_requests(server, operations):
    found = ask_all(operations, examples=120)
    print(dict(found))  # noqa: T201
    assert sum(found.values()) >= 2000
    assert not [status for status in found if status >= 500]
    assert httpx.get(server.url + "healthz").status_code == 200


def test_the_document_has_examples_and_problems(server):
    document = server.get("openapi.json")
    body = document["components"]["schemas"]["ValueBody"]
    assert body["examples"][0]["at"]["x"] == 9.5  # the middle of the first solution's range
    assert body["additionalProperties"] is False
    for operations in document["paths"].values():
        for operation in operations.values():
            assert "application/problem+json" in operation["responses"]["422"]["content"]


def test_the_examples_of_the_document_are_answered(server):
    schemas = server.get("openapi.json")["components"]["schemas"]
    for name, schema in schemas.items():
        for example in schema.get("examples", []):
            path = name.removesuffix("Body").lower()
            assert server.post(f"put/{path}", example)
