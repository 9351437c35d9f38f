"""One node's HTTP: a POST and its answer, on connections that are kept open. A call that many make each
second costs httpx many times what its bytes cost (docs/decisions/0043).

    post --> an open connection that is still quiet, or a new one --> head --> pieces of the body
                                                    kept again when the answer came whole <--'

Laws
- Connecting, the handshake, sending, head and body together end within the time that is given.
- What comes is bounded: a head, or a line of a chunked body, that has no end after HEAD_BYTES is refused; a piece is
  at most PIECE_BYTES, also when it is unpacked. The whole is the caller's to bound.
- An answer whose end is not certain fails, and its connection is not used again.
- No proxy and no certificate of the environment is used; a redirect is not followed.

HTTP itself is h11's, which httpx uses as well. Source: RFC 7617 (user and password of a URL).
"""

import select
import socket
import ssl
import time
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import unquote_to_bytes

import h11
import httpx

from core.http_deadline import left_s, within

CONNECT_S: Final = 2.0
HEAD_BYTES: Final = 64 * 1024
PIECE_BYTES: Final = 256 * 1024
IDLE_S: Final = 5.0  # nodes close what rests longer, some without a word
MOST_IDLE: Final = 20
PACKED: Final = ("gzip", "deflate")
ACCEPTED: Final = {"Accept-Encoding": ", ".join(PACKED)}


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """An answer whose head is read. `headers`: names in lower case. `pieces`: the body, unpacked;
    errors are httpx's.
    """

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class Wire(Protocol):
    """How a node is asked."""

    def post(self, body: bytes, timeout_s: float) -> AbstractContextManager[PostAnswer]:
        """Errors: httpx.HTTPError, of which httpx.TimeoutException when it took too long."""
        ...

    def close(self) -> None: ...


class HttpxWire:
    """Through a transport of httpx that somebody made; who made it closes it."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self._url = url
        self._client = client

    @contextmanager
    def post(self, body: bytes, timeout_s: float) -> Iterator[PostAnswer]:
        timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
        headers = {**ACCEPTED, "Content-Type": "application/json"}
        with (
            within(timeout_s),
            self._client.stream(
                "POST", self._url, content=body, timeout=timeout, headers=headers
            ) as answer,
        ):
            yield PostAnswer(answer.status_code, answer.headers, answer.iter_bytes())

    def close(self) -> None:
        self._client.close()


class OwnWire:
    """Threads share it, each with a connection of its own while it asks."""

    def __init__(self, url: str) -> None:
        self._url = httpx.URL(url)
        self._tls = _tls() if self._url.scheme == "https" else None
        self._headers = _headers_of(self._url)
        self._idle: deque[_Connection] = deque()

    @contextmanager
    def post(self, body: bytes, timeout_s: float) -> Iterator[PostAnswer]:
        until = time.monotonic() + timeout_s
        connection, is_kept = self._resting() or _Connection(self._opened(until)), False
        headers = [*self._headers, (b"Content-Length", b"%d" % len(body))]
        request = h11.Request(method=b"POST", target=self._url.raw_path, headers=headers)
        try:
            connection.send(request, body, until)
            yield connection.answer(until)
            is_kept = connection.may_be_kept and len(self._idle) < MOST_IDLE
        finally:
            if not is_kept:
                connection.close()
        if is_kept:
            connection.rests_since = time.monotonic()
            self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _resting(self) -> "_Connection | None":
        """The one that was used last; those that rested too long, or where something came that
        nobody asked for (an end, above all), are closed.
        """
        while True:
            try:
                found = self._idle.pop()
            except IndexError:
                return None
            if time.monotonic() - found.rests_since < IDLE_S and found.is_quiet:
                return found
            found.close()

    def _opened(self, until: float) -> socket.socket:
        if self._url.scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol("a node's URL begins with http:// or https://")
        port = self._url.port or (443 if self._tls else 80)
        try:
            opened = socket.create_connection(
                (self._url.host, port), min(CONNECT_S, left_s(until, httpx.ConnectTimeout))
            )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("connecting took too long") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                return opened
            opened.settimeout(min(CONNECT_S, left_s(until, httpx.ConnectTimeout)))
            return self._tls.wrap_socket(opened, server_hostname=self._url.host)
        except TimeoutError as error:
            opened.close()
            raise httpx.ConnectTimeout("the handshake took too long") from error
        except OSError as error:
            opened.close()
            raise httpx.ConnectError(str(error)) from error


class _Connection:
    """One socket, and what h11 makes of the bytes that pass."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self.rests_since = 0.0

    @property
    def may_be_kept(self) -> bool:
        """The answer came whole, neither side is to close, and nothing came after it."""
        done = self._http.our_state is self._http.their_state is h11.DONE
        return done and not self._http.trailing_data[0]

    @property
    def is_quiet(self) -> bool:
        ready = select.poll()
        ready.register(self._socket, select.POLLIN)
        return not ready.poll(0)

    def close(self) -> None:
        self._socket.close()

    def __del__(self) -> None:
        self.close()  # one that rests goes with the wire that nobody has any more

    def send(self, request: h11.Request, body: bytes, until: float) -> None:
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        sent = b"".join(self._http.send(event) or b"" for event in events)
        self._socket.settimeout(left_s(until, httpx.WriteTimeout))
        try:
            self._socket.sendall(sent)
        except TimeoutError as error:
            raise httpx.WriteTimeout("sending took too long") from error
        except OSError as error:
            raise httpx.WriteError(str(error)) from error

    def answer(self, until: float) -> PostAnswer:
        while not isinstance(head := self._event(until), h11.Response):
            pass  # 100 and the like
        headers = dict[str, str]()
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = value if name not in headers else f"{headers[name]}, {value}"
        pieces = self._body(until)
        packing = headers.get("content-encoding", "").strip().lower()
        if packing in PACKED:
            pieces = _unpacked(pieces, packing)
        return PostAnswer(head.status_code, headers, pieces)

    def _body(self, until: float) -> Iterator[bytes]:
        while isinstance(event := self._event(until), h11.Data):
            yield bytes(event.data)

    def _event(self, until: float) -> h11.Event:
        try:
            while not isinstance(event := self._http.next_event(), h11.Event):
                self._http.receive_data(self._got(until))
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        return event

    def _got(self, until: float) -> bytes:
        """Nothing: the node closed."""
        self._socket.settimeout(left_s(until, httpx.ReadTimeout))
        try:
            return self._socket.recv(PIECE_BYTES)
        except TimeoutError as error:
            raise httpx.ReadTimeout("the answer took too long") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error


def _unpacked(pieces: Iterator[bytes], packing: str) -> Iterator[bytes]:
    """Piece by piece, none longer than PIECE_BYTES, whatever it was packed to."""
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packing == "gzip" else None
    left = b""
    try:
        for packed in pieces:
            left += packed
            if unpack is None and len(left) >= 2:
                unpack = _inflater(left[0], left[1])
            while unpack is not None and left:
                piece = unpack.decompress(left, PIECE_BYTES)
                left = unpack.unconsumed_tail
                if piece:
                    yield piece
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from error


def _inflater(first: int, second: int) -> "zlib._Decompress":
    """Deflate comes in zlib's wrapping (RFC 1950, 2.2) or, from some, bare (RFC 9110, 8.4.1.2)."""
    is_wrapped = first & 0x8F == zlib.DEFLATED and (first << 8 | second) % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if is_wrapped else -zlib.MAX_WBITS)


def _headers_of(url: httpx.URL) -> list[tuple[bytes, bytes]]:
    """Of each request, but the length of its body."""
    headers = [
        (b"Host", url.netloc),
        (b"Accept", b"*/*"),
        (b"Accept-Encoding", ACCEPTED["Accept-Encoding"].encode()),
        (b"Content-Type", b"application/json"),
    ]
    if url.userinfo:
        user, _, password = url.userinfo.partition(b":")
        pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
        headers.append((b"Authorization", b"Basic " + b64encode(pair)))
    return headers


def _tls() -> ssl.SSLContext:
    context = httpx.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context
