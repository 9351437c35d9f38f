"""What is refused before there is a call: one connection too many, bytes that are no HTTP, and a
browser's question for a method or header that nobody takes.

Such refusals have the form of all others (refusals.py). Source: RFC 9112; the Fetch standard, CORS
preflight.
"""

import uuid
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.kernel.catalogue import Catalogue
from api.kernel.connections import BoundedProtocol, ConnectionBounds
from api.kernel.http import json_text, response_of, with_standing
from api.kernel.operation import Refusal
from api.kernel.outcome import JSON, Outcome
from api.kernel.parser import CHUNK_BYTES, FREE_CHUNKS, HEAD_BYTES, MOST_LINES, Lacks
from api.kernel.refusals import refused

NOT_HTTP = (
    "The request cannot be read ({why}); send one of HTTP/1.1, with a head of at most "
    f"{HEAD_BYTES} bytes and {MOST_LINES - 1} fields, and a body in at most {FREE_CHUNKS} chunks of "
    f"less than {CHUNK_BYTES} bytes. This connection is closed."
)
TOO_MANY = "As many connections as this service takes are open; come back soon."
COME_BACK_S = 5
NO_TIME = datetime.fromtimestamp(0, UTC)  # a refusal that names no time needs none


class Protocol(BoundedProtocol):
    """uvicorn's with bounds, but for what its refusals say."""

    catalogue: Catalogue

    def send_400_response(self, msg: str) -> None:
        """An answer that is under way is cut off: the connection cannot be understood from here
        on.
        """
        self.logger.warning("A request cannot be read: %s", msg)
        if self.requests.lacks is Lacks.HEAD or not self.cycle.response_started:
            self._answer(_invalid(NOT_HTTP.format(why=msg), self.catalogue), b"Bad Request")
        if self.cycle is not None:
            self.cycle.disconnected = True  # what it still answers goes nowhere
        self.close()

    def send_503_response(self) -> None:
        refusal = Refusal(
            "temporarily_unavailable", TOO_MANY, headers={"Retry-After": str(COME_BACK_S)}
        )
        self._answer(refused(refusal, None, {}, NO_TIME, self.catalogue), b"Service Unavailable")
        self.close()

    def _answer(self, outcome: Outcome, words: bytes) -> None:
        body = json_text(outcome.body).encode()
        own = [
            (b"content-type", JSON.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        own += [(name.lower().encode(), value.encode()) for name, value in outcome.headers.items()]
        fields = with_standing(own, uuid.uuid4().hex)
        lines = [b"HTTP/1.1 %d %s" % (outcome.status, words)]
        lines += [name + b": " + value for name, value in fields]
        self.transport.write(b"\r\n".join([*lines, b"", body]))


def protocol_of(bounds: ConnectionBounds, catalogue: Catalogue) -> type[Protocol]:
    """The protocol of one server: what its connections count together is theirs alone."""
    return type(
        "Protocol",
        (Protocol,),
        {"bounds": bounds, "catalogue": catalogue, "_half_open": {}, "_idle": {}},
    )


class Cors(CORSMiddleware):
    """Starlette's, for preflights, but for the text of its 400; what other answers carry is the same for
    all (http.STANDING_HEADERS).
    """

    def __init__(self, app: ASGIApp, /, catalogue: Catalogue, **options: Any) -> None:
        super().__init__(app, **options)
        self._catalogue = catalogue

    async def simple_response(
        self, scope: Scope, receive: Receive, send: Send, request_headers: Headers
    ) -> None:
        await self.app(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        detail = (
            f"Preflight: {bytes(answer.body).decode()}; GET /agent/catalog lists every call with "
            "its method."
        )
        return response_of(_invalid(detail, self._catalogue))


def _invalid(detail: str, catalogue: Catalogue) -> Outcome:
    return refused(Refusal("invalid_parameter", detail), None, {}, NO_TIME, catalogue)
