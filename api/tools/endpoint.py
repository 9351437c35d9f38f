"""POST /mcp and GET /mcp: MCP over Streamable HTTP, without sessions, for clients of both protocol
eras.

    POST -> Host, Origin -> rate -> body -> does it call a tool that its profile shows, or read or list notes?
                                            yes: the MCP server -> pipeline, as the tool's or the note's call
                                            no:  pipeline, as the call tools.endpoint -> the MCP server,
                                                 or its answer of before (api/tools/protocol_answers.py)

Laws
- Each well-formed message enters the pipeline once. So every credential that is sent is checked,
  and every message that comes with a key counts (docs/rules.md#two-credentials,
  docs/rules.md#calls-per-day). Without a credential, what the protocol answers everybody alike
  needs no pipeline.
- Messages of a network address without a key have a rate (docs/rules.md#client-address); one that
  is over it is refused unread, and after a pause, so that who asks again at once waits too.
- A message that is refused before the server sees it is answered with the refusal's HTTP status and
  a JSON-RPC error whose `data` is the refusal's body.
- Each message takes its turn in its caller's line before anything is done for it, so that one
  address with many connections delays the others by a message each turn (api/kernel/workers.py).
- A large message reaches the MCP server without what is long in its arguments: the server reads it
  on the event loop.
- Nothing outlives its POST: no session, no stream. A GET that asks for a stream is 405, a browser's
  GET is a page.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.kernel.body import read_object, require_storable
from api.kernel.http import (
    Read,
    beside,
    body_of,
    busy,
    credentials_of,
    enter,
    fields_of,
    json_text,
    response_of,
)
from api.kernel.kept_answers import KeptAnswer, KeptAnswers, answered_again
from api.kernel.operation import Deps, Refusal
from api.kernel.outcome import Outcome
from api.kernel.over_rate import over_rate
from api.kernel.pipeline import SentFields
from api.kernel.refusals import refused
from api.kernel.tool import Profile
from api.kernel.workers import LARGE_BYTES, BusyError
from api.tools import page, resources
from api.tools.origin import require_own_origin
from api.tools.protocol_answers import AnswerPlace, head_of, keeping, place_of
from api.tools.registry import entries_of
from api.tools.schemas import ToolsQuery
from api.tools.server import Exchange, server_of

PATH = "/mcp"
SHORT_TEXT = 256
OVER_RATE_PAUSE_S = 0.25
CEILING_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def route_of(deps: Deps) -> Route:
    """The route of the catalogue's tools; methods beside GET and POST are refused by it."""
    return Route(PATH, ToolEndpoint(deps), methods=["GET", "POST"])


@dataclass(frozen=True, slots=True)
class SentMessage:
    """What came: query and message as far as they could be read, and why not further.

    `raw`: the message for the MCP server.
    """

    raw: bytes
    message: Mapping[str, Any]
    query: Mapping[str, Any]
    unreadable: Refusal | None


class ToolEndpoint:
    """An ASGI application."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._endpoint, self._help = (
            deps.catalogue.by_key["tools.endpoint"],
            deps.catalogue.by_key["tools.help"],
        )
        self._entries = entries_of(deps.catalogue)
        self._server = server_of(self._entries, deps)
        self._of_protocol = KeptAnswers(
            deps.clock
        )  # of its own, so that no stranger's reads push it out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer = await (self._post(request) if request.method == "POST" else self._get(request))
        await answer(scope, receive, send)

    async def _get(self, request: Request) -> Response:
        if "text/event-stream" in request.headers.get("accept", ""):
            detail = (
                "This endpoint opens no stream: each POST is answered whole; send messages with "
                "POST."
            )
            return response_of(
                self._refused(Refusal("method_not_allowed", detail, headers={"Allow": "POST"}))
            )
        outcome = await enter(request, self._help, await self._query(request), self._deps)
        if outcome.status != 200:
            return response_of(outcome)
        return HTMLResponse(outcome.body["text"], headers={**outcome.headers, **page.HEADERS})

    async def _post(self, request: Request) -> ASGIApp:
        try:
            require_own_origin(request.headers, self._deps.base_url)
        except Refusal as refusal:
            return _error(None, INVALID_REQUEST, self._refused(refusal))
        if (over := await over_rate(request, self._endpoint, self._deps)) is not None:
            await asyncio.sleep(OVER_RATE_PAUSE_S)
            return _error(None, INVALID_REQUEST, over)
        try:
            sent = await self._read(request)
        except BusyError as error:
            return _error(None, INTERNAL_ERROR, self._refused(busy(self._deps, error)))
        exchange = self._call_of_server(sent)
        return await (
            self._protocol(request, sent)
            if exchange is None
            else self._called(request, sent, exchange)
        )

    async def _called(self, request: Request, sent: SentMessage, exchange: Exchange) -> ASGIApp:
        """The answer to a message that is a call."""
        operation = exchange.operation
        place = (
            place_of(sent.message, exchange.profile, request, operation)
            if self._is_anybodys(request)
            else None
        )
        answers: KeptAnswers = request.app.state.shared.answers
        known = self._kept(answers, place)
        if known is not None and await over_rate(request, operation, self._deps) is None:
            return answered_again(request, operation, known, self._deps, head_of(sent.message))
        request.state.exchange = exchange
        return self._served(sent, exchange, answers, place)

    async def _protocol(self, request: Request, sent: SentMessage) -> ASGIApp:
        """The answer to a message that is no call."""
        profile = None if sent.unreadable else _profile(sent.query)
        place = None if profile is None else place_of(sent.message, profile, request, None)
        known = self._kept(self._of_protocol, place)
        if known is not None and self._is_anybodys(request):
            return answered_again(request, self._endpoint, known, self._deps, head_of(sent.message))
        outcome = await enter(
            request, self._endpoint, lambda: SentFields(sent.query, sent.unreadable), self._deps
        )
        if outcome.status >= 400:
            return _error(sent.message.get("id"), _code(outcome, sent), outcome)
        if known is not None:
            body = head_of(sent.message) + known.body
            return Response(body, 200, {**known.headers, **_ceiling(outcome.headers)})
        exchange = Exchange(
            Profile(outcome.body["profile"]), {}, self._endpoint, dict(outcome.headers)
        )
        request.state.exchange = exchange
        return self._served(sent, exchange, self._of_protocol, place)

    def _is_anybodys(self, request: Request) -> bool:
        credentials = credentials_of(request)
        return credentials.key is None and credentials.bearer is None

    def _kept(self, answers: KeptAnswers, place: AnswerPlace | None) -> KeptAnswer | None:
        return None if place is None else answers.find(place.place, self._deps.clock())

    async def _read(self, request: Request) -> SentMessage:
        read_query, raw, refused = await self._query(request), b"", None
        try:
            raw = await body_of(request, self._deps.limits.body_bytes)
        except Refusal as refusal:
            refused = refusal
        return await beside(request, self._deps, lambda: _sent(read_query(), raw, refused))

    def _call_of_server(self, sent: SentMessage) -> Exchange | None:
        """None: the message is none, or none that its profile allows; the pipeline or the server
        says why.
        """
        profile = None if sent.unreadable else _profile(sent.query)
        if profile is None:
            return None
        match sent.message:
            case {
                "id": str() | int(),
                "method": "tools/call",
                "params": {"name": str(name), **params},
            } if name in self._entries and profile.shows(self._entries[name].tool):
                arguments = params.get("arguments")
                return Exchange(
                    profile,
                    arguments if isinstance(arguments, dict) else {},
                    self._entries[name].operation,
                )
        call = resources.call_of(sent.message)
        return (
            None if call is None else Exchange(profile, {}, self._deps.catalogue.by_key[call.key])
        )

    async def _query(self, request: Request) -> Read:
        return await fields_of(request, self._help, 0)  # a GET's fields: no body is read

    def _refused(self, refusal: Refusal) -> Outcome:
        return refused(refusal, self._endpoint, {}, self._deps.clock(), self._deps.catalogue)

    def _served(
        self,
        sent: SentMessage,
        exchange: Exchange,
        answers: KeptAnswers,
        place: AnswerPlace | None,
    ) -> ASGIApp:
        """By the MCP server; what it answers is kept at its place, if it has one."""
        began_at = self._deps.clock()

        def keep(answer: Response) -> None:
            assert place is not None
            answers.keep(place.place, answer, place.kept_s, began_at)

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            # A manager a message: it holds nothing between messages, and its tasks end with the one
            # it serves.
            limit = self._deps.limits.body_bytes
            manager = StreamableHTTPSessionManager(
                self._server, json_response=True, stateless=True, max_request_body_size=limit
            )
            kept = send if place is None else keeping(sent.message, keep, send)
            async with manager.run():
                await manager.handle_request(
                    _as_json(scope), _again(sent.raw, receive), _with_ceiling(exchange, kept)
                )

        return serve


def _sent(query: SentFields, raw: bytes, refused: Refusal | None) -> SentMessage:
    """The message in the body; why the body is none comes before why the query is none."""
    try:
        if refused is not None:
            raise refused
        message = read_object(raw)
        require_storable({name: value for name, value in message.items() if name != "params"})
    except Refusal as refusal:
        return SentMessage(raw, {}, query.fields, refusal)
    brief = raw if len(raw) <= LARGE_BYTES else _brief(message)
    if len(brief) > LARGE_BYTES:
        detail = (
            f"The part of a message outside the tool's arguments is larger than {LARGE_BYTES} "
            "bytes; send less."
        )
        return SentMessage(b"", message, query.fields, Refusal("body_too_large", detail))
    return SentMessage(brief, message, query.fields, query.unreadable)


def _brief(message: Mapping[str, Any]) -> bytes:
    """The message without what is long in its arguments: they are read already, and the MCP server
    reads on the event loop.
    """
    match message:
        case {"method": "tools/call", "params": {"arguments": dict(arguments)} as params}:
            short = {name: value for name, value in arguments.items() if _is_short(value)}
            message = {**message, "params": {**params, "arguments": short}}
    return json.dumps(message, default=lambda number: float(number.literal)).encode()


def _is_short(value: Any) -> bool:
    return (
        len(value) <= SHORT_TEXT
        if isinstance(value, str)
        else value is None or isinstance(value, int)
    )


def _profile(query: Mapping[str, Any]) -> Profile | None:
    try:
        return Profile(ToolsQuery.model_validate(query).profile)
    except ValidationError:
        return None


def _code(outcome: Outcome, sent: SentMessage) -> int:
    if outcome.status >= 500:
        return INTERNAL_ERROR
    is_bad_json = sent.unreadable is not None and not sent.message
    return PARSE_ERROR if is_bad_json and outcome.status == 400 else INVALID_REQUEST


def _error(message_id: Any, code: int, outcome: Outcome) -> Response:
    """A JSON-RPC error; `id` is null where the message has none."""
    known = (
        message_id
        if isinstance(message_id, str | int) and not isinstance(message_id, bool)
        else None
    )
    error = {"code": code, "message": outcome.body["detail"], "data": dict(outcome.body)}
    text = json_text({"jsonrpc": "2.0", "id": known, "error": error})
    return Response(text, outcome.status, dict(outcome.headers), media_type="application/json")


def _as_json(scope: Scope) -> Scope:
    """The body was read as JSON, whatever its type was called; the server takes one name for it
    alone.
    """
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def _again(raw: bytes, receive: Receive) -> Receive:
    """The body once more, then what else comes (the caller goes away)."""
    waiting: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def _with_ceiling(exchange: Exchange, send: Send) -> Send:
    async def send_with_ceiling(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(
                {
                    name: exchange.headers[name]
                    for name in CEILING_HEADERS
                    if name in exchange.headers
                }
            )
        await send(message)

    return send_with_ceiling


def _ceiling(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in CEILING_HEADERS if name in headers}
