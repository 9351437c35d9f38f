"""The HTTP of the perpetuals venue's official SDK (hyperliquid-python-sdk), bounded.

Laws
- The SDK's HTTP session is replaced by one that ends each request within ANSWER_S, whatever the
  venue does (a slow head, a byte a second, a body without end), follows no redirect and takes
  ANSWER_BYTES at most.
- What the SDK raises is one OutsideError, which carries no text of the venue's.
- Nothing is asked for when it is built: the SDK's lists of markets are given empty.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import urlsplit

from hyperliquid.info import Info
from hyperliquid.utils.error import ClientError, ServerError

from core.errors import OutsideError

ANSWER_S = 2.0
ANSWER_BYTES = 1_000_000
TLS = ssl.create_default_context()
# what the SDK lets through, of its own and of what it stands on
FAILURES = (
    ClientError,
    ServerError,
    OSError,
    http.client.HTTPException,
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
    over.
    """

    def __init__(self, answer_s: float) -> None:
        self._answer_s = answer_s

    def post(self, url: str, json: Any = None, timeout: float | None = None) -> BoundedAnswer:
        """Errors: OSError, http.client.HTTPException. `timeout` is the SDK's, and not used."""
        parts = urlsplit(url)
        connection = _connection(parts.scheme, parts.hostname or "", parts.port, self._answer_s)
        is_over = threading.Event()
        timer = threading.Timer(self._answer_s, _cut, (connection, is_over))
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
            if is_over.is_set():
                raise TimeoutError("too late")
            return _asked(connection, parts.path, json, is_over)
        finally:
            timer.cancel()
            connection.close()


def bare_info(url: str, session: BoundedSession) -> Info:
    """The SDK's reader, with lists of markets that are empty, and our session."""
    info = Info(url, skip_ws=True, meta={"universe": []}, spot_meta={"universe": [], "tokens": []})
    info.session = session
    return info


def _asked(
    connection: http.client.HTTPConnection, path: str, body: Any, is_over: threading.Event
) -> BoundedAnswer:
    encoded = json.dumps(body).encode()
    connection.request("POST", path, encoded, {"Content-Type": "application/json"})
    response = connection.getresponse()
    raw = response.read(ANSWER_BYTES + 1)
    if is_over.is_set():
        raise TimeoutError("too late")
    if len(raw) > ANSWER_BYTES or 300 <= response.status < 400:
        raise OSError("too large, or a redirect")
    return BoundedAnswer(response.status, dict(response.getheaders()), raw)


def _connection(
    scheme: str, host: str, port: int | None, answer_s: float
) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=answer_s, context=TLS)
    return http.client.HTTPConnection(host, port, timeout=answer_s)


def _cut(connection: http.client.HTTPConnection, is_over: threading.Event) -> None:
    """Wake whoever waits for a byte of it."""
    is_over.set()
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
