"""HTTP in, the pipeline, HTTP out.

Laws
- Path, query and body are merged into the fields of one command; a name that comes twice is
  refused, not chosen from.
- The event loop reads bytes and hands out calls; what a body holds is read by the thread that
  serves it, since that is work. A call with a large body is served beside the others, on threads of
  its own (api/kernel/workers.py). An operation that `asks_nothing` is no work: without a
  credential it is answered at once, so that a process says that it lives however busy it is.
- Every answer carries X-Request-Id, nosniff, what a browser of another site needs (any origin, no
  cookies), and no-store unless its operation says that it may be kept.
"""

import re
import time
import uuid
from asyncio import CancelledError, timeout
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.kernel.bodies import PiecesResponse
from api.kernel.body import read_object, require_storable
from api.kernel.built import BuiltBody, encoded
from api.kernel.credentials import KEY_HEADER, Credentials, client_address, credentials_sent, one_of
from api.kernel.fields import QueryText
from api.kernel.kept_answers import KeptAnswers
from api.kernel.operation import Deps, Operation, Refusal
from api.kernel.outcome import JSON, Outcome
from api.kernel.pipeline import Run, SentFields, Unsettled, perform
from api.kernel.refusals import PAYABLE_HEADER, refused
from api.kernel.sale import NO_PAYMENT, SentPayment
from api.kernel.workers import LARGE_BYTES, SETTLING_WAIT_S, TURN_WAIT_S, BusyError, NoTurnError

REQUEST_ID_HEADER = "X-Request-Id"
IDEMPOTENCY_HEADER = "Idempotency-Key"
LAST_EVENT_ID = "Last-Event-ID"
BODY_S = 30  # 256 KiB at 9 KiB/s
RETRY_S = 5  # after that a call's turn comes more likely
EXPOSED_HEADERS = (
    REQUEST_ID_HEADER, "Idempotent-Replay", "Retry-After", "X-RateLimit-Limit",
    "X-RateLimit-Remaining", "X-RateLimit-Reset",
    "ETag", "PAYMENT-REQUIRED", "PAYMENT-RESPONSE", PAYABLE_HEADER, "X-Free-Reads-Remaining",
    "X-Credits-Charged", "WWW-Authenticate",
    "Content-Disposition",
)  # fmt: skip

STANDING_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", ", ".join(EXPOSED_HEADERS).encode()),
)

T = TypeVar("T")

log = structlog.get_logger("api")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


Read = Callable[[], SentFields]
"""Reads what was sent; work, so that a thread that serves calls does it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all calls to one application share, as its `state.shared`; routes themselves hold nothing of it."""

    deps: Deps
    answers: KeptAnswers


async def enter(
    request: Request,
    operation: Operation,
    read: Read,
    deps: Deps,
    payment: SentPayment = NO_PAYMENT,
    most_characters: int | None = None,
) -> Outcome:
    """Serve one call with the credentials of this request, beside the event loop; a defect of ours
    is an outcome too.
    """
    credentials = credentials_of(request)

    def call() -> Outcome | Unsettled:
        run = Run(
            operation=operation,
            credentials=credentials,
            sent=read(),
            deps=deps,
            request_id=request.state.request_id,
            payment=payment,
            most_characters=most_characters,
        )
        return perform(run)

    try:
        if operation.bounds.asks_nothing and credentials.key is None and credentials.bearer is None:
            served = call()
        else:
            served = await beside(request, deps, call, in_turn=operation.bounds.in_turn)
        return (
            served
            if isinstance(served, Outcome)
            else await _settled(served, credentials.client, deps)
        )
    except (BusyError, CancelledError) as error:  # cancelled: the process ends
        refusal = busy(deps, error) if isinstance(error, BusyError) else ending(deps)
        return refused(refusal, operation, {}, deps.clock(), deps.catalogue)
    except Exception:  # the process's edge: a route and a tool answer alike
        return defect(request.state.request_id, deps)


async def beside(
    request: Request, deps: Deps, call: Callable[[], T], *, in_turn: bool = False
) -> T:
    """Run work of this request on a thread: its caller's line, or that of large bodies.

    `in_turn`: one by one. Errors: BusyError, within TURN_WAIT_S: the work was not begun.
    """
    client = credentials_of(request).client
    if getattr(request.state, "sent_bytes", 0) > LARGE_BYTES:
        return await deps.workers.large.run(client, partial(_resting, call), within_s=TURN_WAIT_S)
    line, at_once = (("in turn", client), 1) if in_turn else (client, None)
    return await deps.workers.calls.run(line, call, at_once=at_once, within_s=TURN_WAIT_S)


def _resting(call: Callable[[], T]) -> T:
    """Rest as long as the call computed, so that large bodies have half of a moment at most."""
    began = time.thread_time()
    try:
        return call()
    finally:
        time.sleep(time.thread_time() - began)


async def _settled(call: Unsettled, client: str, deps: Deps) -> Outcome:
    """Settling waits for a chain, so that it has threads of its own; when those are all taken,
    nothing is begun.
    """
    try:
        return await deps.workers.settling.run(client, call.settle, within_s=SETTLING_WAIT_S)
    except BusyError:
        return call.refuse(settling_busy(deps))  # asks nothing, so that it waits for no second turn


def busy(deps: Deps, error: BusyError) -> Refusal:
    """Nothing was begun, and nothing of it is kept."""
    if isinstance(error, NoTurnError):
        return _later(
            deps,
            f"This service is busy: the call waited {TURN_WAIT_S:.0f} s for its turn and was "
            "not started; send it again later.",
        )
    return _later(
        deps,
        "Too many calls from your network address are already waiting; send this one again "
        "later, and fewer at a time.",
    )


def ending(deps: Deps) -> Refusal:
    """The process was asked to end and its grace is over: the call may be done or not."""
    return _later(
        deps,
        "This process stopped before it answered the call, so it is unknown whether the call "
        "took effect. Send it again: a read unchanged, a write with the same Idempotency-Key "
        "(without one, first check whether it took effect), a paid call with the same payment.",
    )


def settling_busy(deps: Deps) -> Refusal:
    """Nothing of the payment was begun."""
    return _later(
        deps,
        "This service is already settling as many payments as it can; send the same call with "
        "the same payment again.",
    )


def _later(deps: Deps, detail: str) -> Refusal:
    at = deps.clock() + timedelta(seconds=RETRY_S)
    return Refusal("temporarily_unavailable", detail, retry_at=at)


def response_of(outcome: Outcome) -> Response:
    if (file := outcome.file) is not None:
        headers = {
            **outcome.headers,
            "Content-Disposition": f'attachment; filename="{file.name}"',
        }
        return PiecesResponse(file.content, outcome.status, headers, file.media_type)
    if outcome.lines is not None:
        return StreamingResponse(
            outcome.lines, outcome.status, dict(outcome.headers), media_type=outcome.media_type
        )
    if isinstance(outcome.body, BuiltBody):
        text: str | bytes = outcome.body.text
    elif outcome.media_type == JSON:
        text = encoded(outcome.body)
    else:
        text = str(outcome.body["text"])
    return Response(text, outcome.status, dict(outcome.headers), media_type=outcome.media_type)


def json_text(body: Mapping[str, Any]) -> str:
    return (body.text if isinstance(body, BuiltBody) else encoded(body)).decode()


def credentials_of(request: Request) -> Credentials:
    """Read once of each request."""
    state, headers = request.state, request.headers
    if not hasattr(state, "credentials"):
        client = client_address(None if request.client is None else request.client.host)
        sent = headers.getlist(KEY_HEADER), headers.getlist("authorization")
        state.credentials = credentials_sent(*sent, client)
    found: Credentials = state.credentials
    return found


async def fields_of(request: Request, operation: Operation, body_bytes: int) -> Read:
    """Take the bytes of the call; what is answered reads them."""
    raw, refused = b"", None
    if operation.method not in ("GET", "DELETE"):
        try:
            raw = await body_of(request, body_bytes)
        except Refusal as refusal:
            refused = refusal
    return partial(_sent, request, raw, refused, operation.streams)


def _sent(request: Request, raw: bytes, refused: Refusal | None, streams: bool) -> SentFields:
    key = one_of(request.headers.getlist(IDEMPOTENCY_HEADER))
    fields: dict[str, Any] = {name: QueryText(value) for name, value in request.path_params.items()}
    last_event_id = request.headers.get(LAST_EVENT_ID) if streams else None
    try:
        _merge(
            fields,
            [(name, QueryText(value)) for name, value in request.query_params.multi_items()],
            "the query",
        )
        if last_event_id:  # of who connects again, to the address that it began with
            fields["last_event_id"] = QueryText(last_event_id)
        if refused is not None:
            raise refused
        _merge(fields, read_object(raw).items(), "the body")
        require_storable(fields)
    except Refusal as refusal:
        return SentFields(fields, refusal, key)
    return SentFields(fields, None, key)


def _merge(fields: dict[str, Any], more: Iterable[tuple[str, Any]], place: str) -> None:
    for name, value in more:
        if name in fields:
            raise Refusal(
                "invalid_parameter",
                f"{name[:40]}: it was sent twice, the second time in {place}; send it once.",
            )
        fields[name] = value


async def body_of(request: Request, limit: int) -> bytes:
    raw = bytearray()
    try:
        async with timeout(BODY_S):
            async for chunk in request.stream():
                raw += chunk
                request.state.sent_bytes = len(raw)
                if len(raw) > limit:
                    detail = f"The body is larger than {limit} bytes; send less."
                    raise Refusal("body_too_large", detail)
    except TimeoutError:
        detail = f"The body did not arrive within {BODY_S} s; send it without pauses."
        raise Refusal("invalid_parameter", detail) from None
    if raw:
        _require_json(request.headers)
    return bytes(raw)


def _require_json(headers: Headers) -> None:
    """JSON is UTF-8 (RFC 8259, 8.1): another charset or coding says that the bytes are something else."""
    said = headers.get("content-type", JSON).lower().split(";")
    media_type, *parameters = [part.strip() for part in said]
    named = (one.partition("=") for one in parameters)
    charsets = [value.strip('" ') for name, _, value in named if name.strip() == "charset"]
    if media_type != JSON and not media_type.endswith("+json"):
        detail = "The body is not JSON; send it with Content-Type: application/json."
    elif any(charset not in ("utf-8", "utf8") for charset in charsets):
        detail = "The body's charset is not UTF-8; send JSON in UTF-8, without a charset."
    elif headers.get("content-encoding", "").lower() not in ("", "identity"):
        detail = "The body is compressed; send it uncompressed."
    else:
        return
    raise Refusal("unsupported_media_type", detail)


class Envelope:
    """Gives each call its id and each answer its standing headers, and answers for defects of ours."""

    def __init__(self, app: ASGIApp, deps: Deps) -> None:
        self.app = app
        self.deps = deps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = list(message.get("headers", ()))
                named = {name for name, _ in own}
                standing = (one for one in STANDING_HEADERS if one[0] not in named)
                message["headers"] = [*own, (b"x-request-id", request_id.encode()), *standing]
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except ClientDisconnect:  # before its body was whole: nobody is left to be answered
            log.info("client left", request_id=request_id)
        except CancelledError:  # the process ends, while the call's body is on its way
            if started:
                raise
            outcome = refused(ending(self.deps), None, {}, self.deps.clock(), self.deps.catalogue)
            await response_of(outcome)(scope, receive, send_with_headers)
        except Exception:  # the process's edge: nothing above it answers
            outcome = defect(request_id, self.deps)
            if started:
                raise
            await response_of(outcome)(scope, receive, send_with_headers)


def without_slash(router: Router) -> ASGIApp:
    """What no route takes is served as without the one slash at its end; a redirect would lose a body."""

    async def route_again(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if scope["type"] != "http" or not path.endswith("/") or path.endswith("//") or path == "/":
            await router.not_found(scope, receive, send)
        else:
            scope["path"] = path[:-1]
            await router(scope, receive, send)

    return route_again


def defect(request_id: str, deps: Deps) -> Outcome:
    """What a caller hears of an exception that nothing else answers; the log has it whole."""
    log.exception("defect", request_id=request_id)
    detail = (
        "This service failed on this call; the fault is ours. Include the request id "
        f"{request_id} when you report it."
    )
    return refused(Refusal("internal_error", detail), None, {}, deps.clock(), deps.catalogue)


def _request_id(scope: Scope) -> str:
    wanted = REQUEST_ID_HEADER.lower().encode()
    sent = next((value for name, value in scope["headers"] if name == wanted), b"").decode(
        "latin-1"
    )
    return sent if _REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex


def refusal_handlers(
    deps: Deps,
) -> dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]]:
    """Answers what is raised on the way to a call or from it: refusals, and FastAPI's own 404 and 405."""

    async def refuse(request: Request, refusal: Refusal) -> Response:
        operation = getattr(request.scope.get("route"), "operation", None)
        return response_of(refused(refusal, operation, {}, deps.clock(), deps.catalogue))

    async def not_routed(request: Request, error: HTTPException) -> Response:
        allowed = (error.headers or {}).get("Allow")
        if allowed is None:
            refusal = Refusal(
                "unknown_route", "There is no such path; GET /agent/catalog lists every call."
            )
        else:
            detail = f"{request.method} is not allowed for this path; it takes {allowed}."
            refusal = Refusal("method_not_allowed", detail, headers={"Allow": allowed})
        return response_of(refused(refusal, None, {}, deps.clock(), deps.catalogue))

    return {Refusal: refuse, HTTPException: not_routed}
