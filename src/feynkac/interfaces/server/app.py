"""The routes of the service."""

import functools
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from fastapi import FastAPI, Request, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from feynkac import __version__
from feynkac.errors import FeynkacError
from feynkac.interfaces.server.capacity import Capacity
from feynkac.interfaces.server.counters import CONTENT_TYPE as METRICS
from feynkac.interfaces.server.counters import Counters
from feynkac.interfaces.server.guard import (
    Access,
    App,
    Guard,
    Receive,
    Scope,
    Send,
    send_problem,
)
from feynkac.interfaces.server.offer import Offer
from feynkac.interfaces.server.pages import Page, read_pages
from feynkac.interfaces.server.problems import CONTENT_TYPE, Fault, Problem, bad_value, invalid
from feynkac.interfaces.server.requests import (
    Body,
    CalibrateBody,
    CertifyBody,
    GreeksBody,
    QuotesBody,
    SliceBody,
    UncertaintyBody,
    ValueBody,
)
from feynkac.interfaces.server.schema import openapi
from feynkac.interfaces.server.served import JOB_SECONDS, MAP_INPUTS, Served
from feynkac.interfaces.server.together import Together

AT_ONCE = 1000
"""Points whose values are computed in the event loop: quicker than a thread can be woken."""
QUICK_SECONDS = 10.0
VALUE = "/v1/solutions/{id}/value"
ASKS_VALUE = re.compile("/v1/solutions/([^/]+)/value")
B = TypeVar("B", bound=Body)
Answering = Callable[[Served, B], dict[str, Any]]


def make_app(offer: Offer, access: Access, pages: dict[str, Page] | None = None) -> Guard:
    """The application, guarded."""
    counters = Counters()
    quick = Capacity("slices and Greeks", running=2, waiting=64, seconds=QUICK_SECONDS)
    jobs = Capacity("simulations and fits", running=2, waiting=8, seconds=JOB_SECONDS + 5.0)
    lists = Capacity("lists", running=1, waiting=64, seconds=QUICK_SECONDS)
    app = FastAPI(
        title="feynkac",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=_closing(quick, jobs, lists),
    )
    values = Values(app, offer, counters, quick)
    _add_handlers(app)
    _add_status(app, offer, counters, (quick, jobs))
    _add_listing(app, offer, jobs, lists)
    _add_value(app, values)
    _add_posts(app, offer, quick, jobs)
    _add_pages(app, read_pages() if pages is None else pages)
    documents = functools.lru_cache(1)(lambda *_offered: openapi(app, offer, bool(access.token)))
    app.openapi = lambda: documents(*offer.solutions, "", *offer.runs)  # type: ignore[method-assign]
    return Guard(values, access, counters)


def _closing(*capacities: Capacity) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """At the end, what waits does not begin."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        for capacity in capacities:
            capacity.close()

    return lifespan


@dataclass(frozen=True)
class Values:
    """`POST …/value` without FastAPI, which takes longer than a network needs for 100 points."""

    app: App
    offer: Offer
    counters: Counters
    quick: Capacity
    together: Together = field(default_factory=Together)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests for values; all others go on to the routes."""
        match = ASKS_VALUE.fullmatch(scope.get("path", ""))
        if match is None or scope.get("method") != "POST":
            return await self.app(scope, receive, send)
        scope["route_path"] = VALUE
        kind = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
        try:
            body = (await receive())["body"]
            found = await self.answered(match[1], body, kind)
        except Problem as problem:
            return await send_problem(problem, send)
        return await found(scope, receive, send)

    async def answered(self, name: str, content: bytes, kind: str) -> Response:
        """The values, computed here if they are few."""
        served, body = self.offer.find(name), _validated(content, kind, ValueBody)
        flat = served.flat(body)
        count = flat.size // flat.shape[-1]
        self.counters.points[name] += count
        if count <= AT_ONCE and not body.closed_form and served.inputs.hold(flat):
            return answer({"value": await self.together.value(served, flat)})
        return answer(await self.quick.run(lambda: served.value(flat, body.closed_form)))


def answer(data: Any) -> Response:
    """JSON; NaN and infinities become null."""
    return Response(
        orjson.dumps(data, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY),
        media_type="application/json",
    )


def _plain(value: Any) -> Any:
    """Numpy's arrays that orjson does not take as they are."""
    return value.tolist() if value.ndim else value[()]


def _problem(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, dict(problem.headers), media_type=CONTENT_TYPE)


def _add_handlers(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def refused(request: Request, problem: Problem) -> Response:
        return _problem(problem)

    @app.exception_handler(FeynkacError)
    async def unusable(request: Request, error: FeynkacError) -> Response:
        return _problem(bad_value(Fault("body", None, str(error))))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        text = f"{request.method} {request.url.path[:100]}: {error.detail}; see /openapi.json."
        return _problem(Problem(error.status_code, text, headers=error.headers or {}))


def _add_status(
    app: FastAPI, offer: Offer, counters: Counters, capacities: tuple[Capacity, ...]
) -> None:
    @app.get("/healthz", summary="Is the server well?")
    async def healthz() -> Response:
        status = {"version": __version__, "solutions": len(offer.solutions)}
        found = answer({"status": "draining" if offer.draining() else "ok", **status})
        found.status_code = 503 if offer.draining() else 200
        return found

    @app.get("/metrics", summary="Counts and times, for Prometheus")
    async def metrics() -> Response:
        gauges = {"computations": float(sum(one.taken for one in capacities))}
        text = counters.text(gauges | {"solutions": float(len(offer.solutions))})
        return Response(text, media_type=METRICS)


def _add_listing(app: FastAPI, offer: Offer, jobs: Capacity, lists: Capacity) -> None:
    @app.get("/v1/solutions", summary="All solutions, their inputs and errors")
    async def solutions() -> Response:
        await lists.run(offer.refresh)
        found = list(offer.solutions.values())  # another thread may add one
        return answer({"solutions": [one.description for one in found]})

    @app.get("/v1/solutions/{id}", summary="One solution")
    async def solution(id: str) -> Response:
        return answer(offer.find(id).description)

    @app.get("/v1/solutions/{id}/network", summary="The weights, as plain data")
    async def network(id: str) -> Response:
        served = offer.find(id)
        content = await jobs.run(lambda: served.weights)
        return Response(content, media_type="application/json")

    @app.get("/v1/solutions/{id}/error-map", summary="The error over the domain, by simulation")
    async def error_map(
        id: str, request: Request, inputs: str = "256", output: str = "0"
    ) -> Response:
        served = offer.find(id)
        count, index = _query(request, "inputs", 256, 16), _query(request, "output", 0, 0)
        if count not in MAP_INPUTS:
            text = f"inputs = {count} must be one of {', '.join(map(str, MAP_INPUTS))}."
            raise bad_value(Fault("inputs", count, text, list(MAP_INPUTS)))
        return answer(await jobs.run(lambda: served.error_map(count, index)))

    @app.get("/v1/runs", summary="Runs that can be followed")
    async def runs() -> Response:
        return answer({"runs": offer.listed_runs()})

    @app.get("/v1/runs/{id}/progress", summary="Errors measured while a run trains")
    async def progress(id: str, request: Request, after: str = "0") -> Response:
        first = _query(request, "after", 0, 0)
        await lists.run(offer.refresh)
        return answer(await lists.run(lambda: offer.progress(id, first)))


def _query(request: Request, name: str, default: int, low: int, high: int = 10**6) -> int:
    """A whole number from the query string."""
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 9 and low <= int(text) <= high):
        detail = f"{name} = {text[:20]!r} must be a whole number between {low} and {high}."
        raise bad_value(Fault(name, text, detail, [low, high]))
    return int(text)


def _validated(body: bytes, kind: str, model: type[B]) -> B:
    """The body of a request of this content type."""
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, f"expected the content type application/json, got {kind[:50]!r}.")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error) from None


async def _read(request: Request, model: type[B]) -> B:
    return _validated(await request.body(), request.headers.get("content-type", ""), model)


def _add_value(app: FastAPI, values: Values) -> None:
    @app.post(VALUE, summary="Values of u", openapi_extra=_of(ValueBody))
    async def value(id: str, request: Request) -> Response:
        kind = request.headers.get("content-type", "")
        return await values.answered(id, await request.body(), kind)


def _add_posts(app: FastAPI, offer: Offer, quick: Capacity, jobs: Capacity) -> None:
    def add(
        path: str, summary: str, model: type[B], answering: Answering[B], capacity: Capacity
    ) -> None:
        async def endpoint(id: str, request: Request) -> Response:
            served, body = offer.find(id), await _read(request, model)
            return answer(await capacity.run(lambda: answering(served, body)))

        route = app.post(f"/v1/solutions/{{id}}/{path}", summary=summary, openapi_extra=_of(model))
        endpoint.__name__ = path
        route(endpoint)

    add("greeks", "Values and derivatives", GreeksBody, Served.greeks, quick)
    add("slice", "A curve or surface", SliceBody, Served.slice, quick)
    add("certify", "Values checked by simulation", CertifyBody, Served.certify, jobs)
    add("calibrate", "Parameters from quotes", CalibrateBody, Served.calibrate, jobs)
    add("quotes", "Parameters from a quote sheet", QuotesBody, Served.quotes, jobs)
    add("uncertainty", "u for random inputs", UncertaintyBody, Served.uncertainty, jobs)


def _of(model: type[Body]) -> dict[str, Any]:
    """Which body an operation takes; `schema.py` puts the model in its place."""
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": reference}}}
    }


def _add_pages(app: FastAPI, pages: dict[str, Page]) -> None:
    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str) -> Response:
        found = pages.get(path)
        if found is None:
            raise Problem(404, f"there is no page /{path[:100]}.")
        caching = {"Cache-Control": "no-cache"}
        return Response(found.content, headers=caching, media_type=found.media_type)
