"""How a request of a ccxt client leaves: bounded, without redirects.

`client_class` puts it under ccxt's own parser by taking the place of `Exchange.fetch`, so errors,
shapes and quirks of a venue are read by the same code whatever the answer came from.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import aiohttp
import yarl
from ccxt.base.errors import BadResponse, BaseError, ExchangeNotAvailable, RequestTimeout

from indexer.venues.port import MAX_ANSWER_BYTES
from indexer.venues.reach import within_reach
from indexer.venues.reading import UNEXPECTED_SHAPES

_CHUNK = 65_536
# Of an answer to what is asked now: reading a text holds up every venue, so a call that expects
# little reads little.
most_characters: ContextVar[int] = ContextVar("most_characters", default=MAX_ANSWER_BYTES)
# ccxt's parsers of one row, and what replaces a row that they cannot read
_ROWS: Mapping[str, Mapping[str, Any]] = {
    "parse_market": {"spot": True},
    "parse_ticker": {"symbol": None},
    "parse_spot_or_uta_ticker": {"symbol": None},
}


@dataclass(frozen=True, slots=True)
class VenueRequest:
    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class VenueAnswer:
    status: int
    text: str
    headers: Mapping[str, str]


class VenueTransport(Protocol):
    async def send(self, request: VenueRequest) -> VenueAnswer: ...

    async def close(self) -> None: ...


class LiveTransport:
    """Errors: those of ccxt: RequestTimeout, ExchangeNotAvailable, BadResponse (too large)."""

    def __init__(self, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._max_bytes = max_bytes

    async def send(self, request: VenueRequest) -> VenueAnswer:
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=True)
        try:
            async with self._session.request(
                request.method,
                yarl.URL(request.url, encoded=True),
                data=request.body.encode() if request.body else None,
                headers=request.headers,
                timeout=aiohttp.ClientTimeout(total=request.timeout_s),
                allow_redirects=False,
            ) as response:
                text = await self._text_of(response)
                return VenueAnswer(response.status, text, dict(response.headers))
        except TimeoutError as error:
            raise RequestTimeout(request.url) from error
        except aiohttp.ClientError as error:
            raise ExchangeNotAvailable(type(error).__name__) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)
            self._session = None

    async def _text_of(self, response: aiohttp.ClientResponse) -> str:
        """The body, after decompression, which is where a small answer becomes a large one."""
        parts, size = [], 0
        async for part in response.content.iter_chunked(_CHUNK):
            size += len(part)
            if size > self._max_bytes:
                response.close()
                raise BadResponse(f"an answer of more than {self._max_bytes} bytes")
            parts.append(part)
        return b"".join(parts).decode("utf-8", "replace")


def client_class(
    base: type[Any], transport: VenueTransport, now: Callable[[], datetime]
) -> type[Any]:
    """A ccxt exchange whose requests go through the transport. It opens no session of its own but
    for a websocket, and its time is `now`.
    """

    class OverTransport(base):  # type: ignore[misc]  # the base is chosen at run time
        def milliseconds(self) -> int:
            return int(now().timestamp() * 1_000)

        def seconds(self) -> int:
            return int(now().timestamp())

        async def fetch(
            self, url: str, method: str = "GET", headers: Any = None, body: Any = None
        ) -> Any:
            sent = self.prepare_request_headers(headers)
            request = VenueRequest(method, url, sent, body, self.timeout / 1_000)
            answer = await transport.send(request)
            if len(answer.text) > (most := most_characters.get()):
                raise BadResponse(f"an answer of more than {most} characters")
            parsed = within_reach(answer.text, self.parse_json(answer.text))
            self.last_response_headers = dict(answer.headers)
            head = (answer.status, "", url, method)
            self.handle_errors(*head, dict(answer.headers), answer.text, parsed, sent, body)
            self.handle_http_status_code(*head, answer.text)
            if parsed is None:
                raise BadResponse(f"no JSON: {answer.text[:80]}")
            return parsed

    for name, unread in _ROWS.items():
        if hasattr(base, name):
            setattr(OverTransport, name, _by_itself(getattr(base, name), unread))
    return OverTransport


def _by_itself(parse: Callable[..., Any], unread: Mapping[str, Any]) -> Callable[..., Any]:
    """ccxt's parser of a row; what it cannot read is `unread`, so that it costs no other row."""

    def parsed(*values: Any, **named: Any) -> Any:
        try:
            return parse(*values, **named)
        except (*UNEXPECTED_SHAPES, BaseError):
            return dict(unread)

    return parsed
