"""A route of FastAPI that serves one operation.

FastAPI finds the route, documents it and answers what is raised. What was sent is not for it to read: a
number would arrive as a binary float, a name given twice and a query that no field takes would pass,
and a body would be judged before its caller is known (api/kernel/http.py reads it).
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fastapi.routing import APIRoute
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from api.kernel.etag import NOT_MODIFIED, add_cache_headers
from api.kernel.http import Shared, credentials_of, enter, fields_of, response_of
from api.kernel.kept_answers import answered_again, place_of
from api.kernel.operation import Events, Operation, Refusal
from api.kernel.outcome import JSON
from api.kernel.over_rate import over_rate
from api.kernel.refusals import route_path
from api.kernel.sale import SentPayment
from api.kernel.streams import LINE_END, Stream, Streams

TEXT = {"schema": {"type": "string"}}
FILE = {"schema": {"type": "string", "format": "binary"}}  # generated clients read it as bytes
# one event of a stream, as its fields: `data` is JSON text (docs/api-guide.md#events)
EVENT = {
    "schema": {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "event": {"type": "string"},
            "data": {"type": "string"},
            "retry": {"type": "integer"},
        },
    }
}


def routes_of(operations: Iterable[Operation]) -> list["OperationRoute"]:
    """A literal segment goes before a placeholder (`/agents/me`, `/agents/{id}`). Those of any application
    whose `state.shared` is a `Shared`.
    """
    return [_route(one) for one in sorted(operations, key=lambda one: _placeholders(one.path))]


@lru_cache(1_024)
def _placeholders(path: str) -> list[bool]:
    return [segment.startswith("{") for segment in path.split("/")]


class OperationRoute(APIRoute):
    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        is_json = operation.media[0] == JSON
        super().__init__(
            route_path(operation.path),
            self.serve,
            methods=[operation.method],
            operation_id=operation.key.replace(".", "_"),
            tags=[operation.area],
            summary=operation.summary,
            status_code=operation.statuses[0],
            response_model=operation.answer if is_json else None,
            response_description="Answered",
            responses=_answers(operation),
            response_class=JSONResponse if is_json else Response,
        )

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.serve

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As FastAPI's, for an application at the root of its host, with HEAD as GET."""
        found = self.path_regex.fullmatch(scope["path"])
        if found is None or scope["type"] != "http":
            return Match.NONE, {}
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        is_taken = method == self.operation.method
        sent = {"endpoint": self.endpoint, "path_params": found.groupdict(), "route": self}
        return Match.FULL if is_taken else Match.PARTIAL, sent

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Errors: HTTPException 405, which names every method of the path."""
        if self.matches(scope)[0] is not Match.FULL:
            raise HTTPException(405, headers={"Allow": ", ".join(self._allowed(scope))})
        await self.app(scope, receive, send)

    def _allowed(self, scope: Scope) -> list[str]:
        routes = [one for one in scope["app"].routes if isinstance(one, OperationRoute)]
        found = {one.operation.method for one in routes if one.path == self.path}
        return sorted(found | {"HEAD"} if "GET" in found else found)

    async def serve(self, request: Request) -> Response:
        operation, shared = self.operation, request.app.state.shared
        assert isinstance(shared, Shared), "create_app sets it"
        deps, answers = shared.deps, shared.answers
        place = place_of(request, operation)
        began_at = deps.clock()
        credentials = credentials_of(request)
        if (over := await over_rate(request, operation, deps)) is not None:
            return response_of(over)
        if place is not None and (known := answers.find(place, deps.clock())) is not None:
            return answered_again(request, operation, known, deps)
        read = await fields_of(request, operation, deps.limits.body_bytes)
        payment = _payment_of(request)
        outcome = await enter(request, operation, read, deps, payment)
        if outcome.stream is not None:
            streams = deps.parts.find(Streams)
            assert streams is not None, "create_app makes them"
            try:
                stream = streams.open(outcome.stream)
            except Refusal as refusal:  # it counts too
                raise replace(refusal, headers=outcome.headers) from None
            return EventStreamResponse(streams, stream, outcome.headers)
        answer = response_of(outcome)
        add_cache_headers(answer, operation, credentials)
        if place is not None and outcome.status in operation.statuses:
            answers.keep(
                place, answer, operation.cache.max_age_s if operation.cache else 0, began_at
            )
        return answer


class EventStreamResponse(EventSourceResponse):
    """The answer that goes on, until the stream or its caller ends; it closes its stream, however it ends.

    A caller that reads nothing is cut off by the proxy (docs/operations/haproxy.cfg). A HEAD gets the
    headers.
    """

    def __init__(self, streams: Streams, stream: Stream, headers: Mapping[str, str]) -> None:
        super().__init__(
            stream.events(),
            headers=headers,
            ping=streams.times.heartbeat_s,
            ping_message_factory=lambda: ServerSentEvent(comment="heartbeat", sep=LINE_END),
            sep=LINE_END,
        )
        self._streams = streams
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.close(self._stream)


@lru_cache(1_024)  # by the operation itself, which is equal only to itself
def _route(operation: Operation) -> OperationRoute:
    return OperationRoute(operation)


def _payment_of(request: Request) -> SentPayment:
    if request.method == "HEAD":
        return SentPayment(only_asks=True)
    return SentPayment(request.headers.get("PAYMENT-SIGNATURE"), request.headers.get("X-PAYMENT"))


def _answers(operation: Operation) -> dict[int | str, dict[str, Any]]:
    """What FastAPI says of answers beside the model of a plain success."""
    content: dict[str, Any] = {
        media: EVENT if operation.answer is Events else TEXT if media.startswith("text/") else FILE
        for media in operation.media
        if media != JSON
    }
    found: dict[int | str, dict[str, Any]] = {operation.statuses[0]: {"content": content}}
    for status in operation.statuses[1:]:
        found[status] = {"description": "Answered", "model": operation.answer, "content": content}
    if operation.cache is not None:
        found[NOT_MODIFIED] = {"description": "Unchanged: If-None-Match matched the current ETag"}
    return found
