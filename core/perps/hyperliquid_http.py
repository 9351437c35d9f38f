"""The HTTP of the perpetuals venue's official SDK (hyperliquid-python-sdk), bounded.

Laws
- The SDK's HTTP session is replaced by one that ends each request within its time, whatever the
  venue does (a slow head, a byte a second, a body without end), follows no redirect and takes
  ANSWER_BYTES at most.
- What the SDK raises is one OutsideError, which carries no text of the venue's.
- Nothing is asked for when it is built: the SDK's lists of markets are given empty.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn

import httpx
from hyperliquid.info import Info
from hyperliquid.utils.error import ClientError, ServerError

from core.errors import OutsideError

ANSWER_S = 2.0
ANSWER_BYTES = 1_000_000
# as they are sent: what is compressed could be larger than it says
HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
# what the SDK lets through, of its own and of what it builds on
FAILURES = (
    ClientError,
    ServerError,
    OSError,
    httpx.HTTPError,
    httpx.InvalidURL,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


class VenueUnreachableError(OutsideError):
    """The venue did not answer in time, too much, or with an error."""


class BoundedAnswer:
    """What the SDK reads of a response."""

    def __init__(self, status_code: int, headers: Mapping[str, str], raw: bytes) -> None:
        self.status_code = status_code
        self.headers = headers
        self.text = raw.decode("utf-8", "replace")

    def json(self) -> Any:
        """Errors: ValueError for NaN and infinities too."""
        return json.loads(self.text, parse_float=str, parse_constant=_refuse_constant)


class BoundedSession:
    """Stands in for the SDK's requests.Session: one connection a request, closed when its time is
    over. For threads without an event loop.
    """

    def __init__(self, answer_s: float) -> None:
        self._answer_s = answer_s

    def post(self, url: str, json: Any = None, timeout: float | None = None) -> BoundedAnswer:
        """Errors: OSError, httpx.HTTPError. `timeout` is the SDK's, and not used."""
        return asyncio.run(self._asked(url, json))

    async def _asked(self, url: str, body: Any) -> BoundedAnswer:
        content, raw = json.dumps(body).encode(), bytearray()
        async with (
            asyncio.timeout(self._answer_s),
            httpx.AsyncClient(verify=_tls(), trust_env=False, timeout=self._answer_s) as client,
            client.stream("POST", url, content=content, headers=HEADERS) as answer,
        ):
            async for part in answer.aiter_raw():
                raw += part
                if len(raw) > ANSWER_BYTES:
                    raise OSError("too large")
        if answer.is_redirect:
            raise OSError("a redirect")
        return BoundedAnswer(answer.status_code, answer.headers, bytes(raw))


def bare_info(url: str, session: BoundedSession) -> Info:
    """The SDK's reader, with lists of markets that are empty, and our session."""
    info = Info(url, skip_ws=True, meta={"universe": []}, spot_meta={"universe": [], "tokens": []})
    info.session = session
    return info


@cache
def _tls() -> ssl.SSLContext:
    """The machine's authorities, read at the first request and not by every process's start."""
    return ssl.create_default_context()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
