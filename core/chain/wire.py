"""One node's HTTP: a POST and its answer, on connections that are kept open. A call that many make each
second costs httpx some fifty times what its bytes cost (docs/decisions/0043).

    post --> an open connection that is still quiet, or a new one --> head --> pieces of the body
                                                    kept again when the answer came whole <--'

Laws
- Connecting, the handshake, sending, head and body together end within the time that is given.
- What comes is bounded before it is read: a head by HEAD_BYTES, a line of a chunked body too, a piece by
  PIECE_BYTES also when it is unpacked. The whole is the caller's to bound.
- An answer whose end is not certain fails, and its connection is not used again.
- No proxy and no certificate of the environment is used; a redirect is not followed.

Source: RFC 9112 (messages, chunks), RFC 7617 (user and password of a URL).
"""

import re
import select
import socket
import ssl
import time
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import unquote_to_bytes

import httpx

from core.http_deadline import within

CONNECT_S: Final = 2.0
HEAD_BYTES: Final = 64 * 1024
PIECE_BYTES: Final = 256 * 1024
IDLE_S: Final = 5.0  # nodes close what rests longer, some without a word
MOST_IDLE: Final = 20
PACKED: Final = ("gzip", "deflate")

_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*)?")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?\r?\n")


@dataclass(frozen=True, slots=True)
class Posted:
    """An answer whose head is read. `headers`: names in lower case. `pieces`: the body, unpacked;
    errors are httpx's.
    """

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class Wire(Protocol):
    """How a node is asked."""

    def post(self, body: bytes, timeout_s: float) -> AbstractContextManager[Posted]:
        """Errors: httpx.HTTPError, of which httpx.TimeoutException when it took too long."""
        ...

    def close(self) -> None: ...


class HttpxWire:
    """Through a transport of httpx that somebody made; who made it closes it."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self._url = url
        self._client = client

    @contextmanager
    def post(self, body: bytes, timeout_s: float) -> Iterator[Posted]:
        timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
        headers = {"Accept-Encoding": ", ".join(PACKED), "Content-Type": "application/json"}
        with (
            within(timeout_s),
            self._client.stream(
                "POST", self._url, content=body, timeout=timeout, headers=headers
            ) as answer,
        ):
            yield Posted(answer.status_code, answer.headers, answer.iter_bytes())

    def close(self) -> None:
        self._client.close()


class OwnWire:
    """Threads share it, each with a connection of its own while it asks."""

    def __init__(self, url: str) -> None:
        self._url = httpx.URL(url)
        self._tls = _tls() if self._url.scheme == "https" else None
        self._head = _head_of(self._url)
        self._idle: deque[_Connection] = deque()

    @contextmanager
    def post(self, body: bytes, timeout_s: float) -> Iterator[Posted]:
        until = time.monotonic() + timeout_s
        connection, is_kept = self._resting() or _Connection(self._opened(until)), False
        try:
            connection.send(b"%b%d\r\n\r\n%b" % (self._head, len(body), body), until)
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
                (self._url.host, port), min(CONNECT_S, _left(until, httpx.ConnectTimeout))
            )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("connecting took too long") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                return opened
            opened.settimeout(min(CONNECT_S, _left(until, httpx.ConnectTimeout)))
            return self._tls.wrap_socket(opened, server_hostname=self._url.host)
        except TimeoutError as error:
            opened.close()
            raise httpx.ConnectTimeout("the handshake took too long") from error
        except OSError as error:
            opened.close()
            raise httpx.ConnectError(str(error)) from error


class _Connection:
    """One socket; what came and is not read yet is in `_came`."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._came = b""
        self._is_whole = self._stays = False
        self.rests_since = 0.0

    @property
    def may_be_kept(self) -> bool:
        return self._is_whole and self._stays and not self._came

    @property
    def is_quiet(self) -> bool:
        ready = select.poll()
        ready.register(self._socket, select.POLLIN)
        return not ready.poll(0)

    def close(self) -> None:
        self._socket.close()

    def __del__(self) -> None:
        self.close()  # one that rests goes with the wire that nobody has any more

    def send(self, sent: bytes, until: float) -> None:
        self._is_whole = self._stays = False
        self._socket.settimeout(_left(until, httpx.WriteTimeout))
        try:
            self._socket.sendall(sent)
        except TimeoutError as error:
            raise httpx.WriteTimeout("sending took too long") from error
        except OSError as error:
            raise httpx.WriteError(str(error)) from error

    def answer(self, until: float) -> Posted:
        while True:
            minor, status, headers = _read_head(self._line_block(until))
            if status >= 200:
                break
        said = headers.get("connection", "").lower()
        self._stays = minor == "1" and "close" not in said
        pieces = self._body(status, headers, until)
        packing = headers.get("content-encoding", "").strip().lower()
        if packing in PACKED:
            pieces = _unpacked(pieces, packing)
        return Posted(status, headers, pieces)

    def _line_block(self, until: float) -> bytes:
        """All up to an empty line."""
        while (end := self._came.find(b"\r\n\r\n")) < 0:
            if len(self._came) > HEAD_BYTES:
                raise httpx.RemoteProtocolError("a head without end")
            self._more(until)
        if end > HEAD_BYTES:
            raise httpx.RemoteProtocolError("a head without end")
        block, self._came = self._came[:end], self._came[end + 4 :]
        return block

    def _more(self, until: float) -> None:
        got = self._got(until)
        if not got:
            raise httpx.RemoteProtocolError("the node closed before its answer was whole")
        self._came += got

    def _got(self, until: float) -> bytes:
        self._socket.settimeout(_left(until, httpx.ReadTimeout))
        try:
            return self._socket.recv(PIECE_BYTES)
        except TimeoutError as error:
            raise httpx.ReadTimeout("the answer took too long") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

    def _body(self, status: int, headers: Mapping[str, str], until: float) -> Iterator[bytes]:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if status in (204, 304):
            yield from self._counted(0, until)
        elif coding is not None:
            self._stays = self._stays and length is None  # whoever counted would see another end
            if coding.strip().lower() != "chunked":
                raise httpx.RemoteProtocolError("a transfer coding that was not asked for")
            yield from self._chunks(until)
            return
        elif length is not None:
            if not (length.isascii() and length.isdecimal() and len(length) <= 15):
                raise httpx.RemoteProtocolError("a length that is no number")
            yield from self._counted(int(length), until)
        else:
            self._stays = False
            yield from self._to_the_end(until)
        self._is_whole = True

    def _counted(self, length: int, until: float) -> Iterator[bytes]:
        left = length
        while left:
            if not self._came:
                self._more(until)
            piece, self._came = self._came[:left], self._came[left:]
            left -= len(piece)
            yield piece

    def _chunks(self, until: float) -> Iterator[bytes]:
        while (size := self._chunk_size(until)) > 0:
            yield from self._counted(size, until)
            self._require_line_end(until)
        while (line := self._line(until)).strip(b"\r\n"):  # trailers, of which none is asked for
            if b":" not in line:
                raise httpx.RemoteProtocolError("a trailer that is none")
        self._is_whole = True

    def _chunk_size(self, until: float) -> int:
        found = _CHUNK.fullmatch(self._line(until))
        if found is None:
            raise httpx.RemoteProtocolError("a chunk without a size")
        return int(found[1], 16)

    def _require_line_end(self, until: float) -> None:
        if self._line(until) not in (b"\r\n", b"\n"):
            raise httpx.RemoteProtocolError("a chunk longer than its size")

    def _line(self, until: float) -> bytes:
        while (end := self._came.find(b"\n")) < 0:
            if len(self._came) > HEAD_BYTES:
                raise httpx.RemoteProtocolError("a line without end")
            self._more(until)
        line, self._came = self._came[: end + 1], self._came[end + 1 :]
        return line

    def _to_the_end(self, until: float) -> Iterator[bytes]:
        piece, self._came = self._came, b""
        while piece or (piece := self._got(until)):
            yield piece
            piece = b""


def _read_head(block: bytes) -> tuple[str, int, dict[str, str]]:
    """Minor version, status, headers; those that come twice are a list. Errors: httpx's."""
    first, *lines = block.decode("latin-1").split("\r\n")
    found = _STATUS.fullmatch(first)
    if found is None:
        raise httpx.RemoteProtocolError("no HTTP/1.1")
    headers = dict[str, str]()
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or _NAME.fullmatch(name) is None or "\n" in value or "\0" in value:
            raise httpx.RemoteProtocolError("a header that is none")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = value if name not in headers else f"{headers[name]}, {value}"
    return found[1], int(found[2]), headers


def _unpacked(pieces: Iterator[bytes], packing: str) -> Iterator[bytes]:
    """Piece by piece, none longer than PIECE_BYTES, whatever it was packed to."""
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS if packing == "gzip" else zlib.MAX_WBITS)
    is_first = packing == "deflate"
    try:
        for packed in pieces:
            left = packed
            while left:
                try:
                    piece = unpack.decompress(left, PIECE_BYTES)
                except zlib.error:
                    if not is_first:
                        raise
                    # some send it bare (RFC 9110, 8.4.1.2)
                    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
                    piece = unpack.decompress(left, PIECE_BYTES)
                is_first, left = False, unpack.unconsumed_tail
                if piece:
                    yield piece
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from error


def _head_of(url: httpx.URL) -> bytes:
    """Up to the length of the body."""
    lines = [
        b"POST %b HTTP/1.1" % url.raw_path,
        b"Host: %b" % url.netloc,
        b"Accept: */*",
        b"Accept-Encoding: %b" % ", ".join(PACKED).encode(),
        b"Content-Type: application/json",
    ]
    if url.userinfo:
        user, _, password = url.userinfo.partition(b":")
        pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
        lines.append(b"Authorization: Basic %b" % b64encode(pair))
    return b"\r\n".join([*lines, b"Content-Length: "])


def _tls() -> ssl.SSLContext:
    context = httpx.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _left(until: float, late: Callable[[str], httpx.TimeoutException]) -> float:
    """Errors: `late`."""
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise late("the request took too long")
    return left_s
