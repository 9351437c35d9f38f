"""Reads requests, one at a time and within bounds: it works on the event loop, while every other
caller waits. Heads are parsed by httptools (llhttp, in C); where one ends, and its body, is found
here.

    HEAD --head--> BODY --whole--> nothing --start_next--> HEAD

Laws
- A head is parsed only once it is whole, and known to have few lines and few bytes, whether it came
  at once or in pieces.
- A body comes in few chunks for its length: each costs as much as a header field, and may hold one
  byte. The line before a chunk is short.
- What two readers may frame in two ways is refused: two lengths, a length beside chunks, another
  coding than chunks, a line that continues the one before (RFC 9112, 5.2, 6.1, 6.3). Nothing is
  lenient but the end of a head's line, which may be a bare LF (2.2).
- The next request is not looked at before `start_next`: what was sent of it stays in `unread`.
- An upgrade to another protocol is not made: the request is read as any other (RFC 9110, 7.8).
"""

import re
from contextlib import suppress
from enum import Enum, auto
from typing import Final

import httptools

MOST_LINES: Final = 101  # the request's own and 100 header fields
HEAD_BYTES: Final = 16 * 1024  # of trailers as well
FREE_CHUNKS: Final = 64  # of any length
CHUNK_BYTES: Final = 512  # of each further one, on average
SIZE_BYTES: Final = 256  # of the line before a chunk, with its extensions

_FRAMING = (b"host", b"content-length", b"transfer-encoding", b"expect")
_REQUEST_LINE = re.compile(rb"[!-~]+ [!-~]+ HTTP/1\.[01]\r?\n")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[^\r\n]*)?[ \t]*\r\n")
_TRAILERS = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\0\r\n]*\r\n)+\r\n")

InvalidRequestError = httptools.HttpParserError


class Lacks(Enum):
    """What of a request is not whole."""

    HEAD = auto()
    BODY = auto()


class WireEvent(Enum):
    WHOLE = auto()  # the request is
    NEED_DATA = auto()
    PAUSED = auto()  # more was sent than the request that is whole


class _Chunks(Enum):
    """What comes next of a body in chunks."""

    SIZE = auto()
    DATA = auto()
    END_OF_DATA = auto()
    TRAILERS = auto()


class RequestHead:
    """One request's head. `path` is as it was sent, escapes and all; `body_bytes`: None if its body
    comes in chunks.
    """

    method: str
    version: str
    keeps_alive: bool

    def __init__(self, sent: bytes) -> None:
        """`sent`: whole, each line of it ended by CR LF. Errors: InvalidRequestError."""
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self._framing: dict[bytes, list[bytes]] = {name: [] for name in _FRAMING}
        self._is_whole = False
        self._http = httptools.HttpRequestParser(self)
        with suppress(httptools.HttpParserUpgrade):  # read as any other
            self._http.feed_data(sent)
        del self._http  # it holds this head: a circle for each request, for the collector to find
        if not self._is_whole:
            raise InvalidRequestError("the head ends before its end")
        self.body_bytes = self._framed()
        self.path, _, self.query = self.target.partition(b"?")
        if not self.target.startswith(b"/"):  # as to a proxy: http://host/path (RFC 9112, 3.2.2)
            whole = httptools.parse_url(self.target)
            self.path, self.query = whole.path or b"/", whole.query or b""

    @property
    def expects_continue(self) -> bool:
        return self.version == "1.1" and b"100-continue" in self._framing[b"expect"]

    def on_url(self, piece: bytes) -> None:
        self.target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        name, value = name.lower(), value.rstrip(b" \t")  # llhttp leaves spaces at the end
        self.headers.append((name, value))
        if name in self._framing:
            self._framing[name].append(value.lower())

    def on_headers_complete(self) -> None:
        self.method = self._http.get_method().decode("ascii")
        self.version = self._http.get_http_version()
        self.keeps_alive = self.version != "1.0" and self._http.should_keep_alive()
        self._is_whole = True

    def _framed(self) -> int | None:
        hosts, lengths = self._framing[b"host"], self._framing[b"content-length"]
        codings = self._framing[b"transfer-encoding"]
        if self.method == "CONNECT":
            raise InvalidRequestError("a tunnel, which this service is not")
        if len(hosts) != 1 and (hosts or self.version == "1.1"):
            raise InvalidRequestError("not one Host")
        if len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]):
            raise InvalidRequestError("a body that is framed twice, or not in chunks alone")
        return None if codings else int(lengths[0]) if lengths else 0


class BoundedParser:
    """One connection's. `lacks`: what of the request is not whole yet; None: nothing."""

    def __init__(self) -> None:
        self.unread = bytearray()
        self.lacks: Lacks | None = Lacks.HEAD
        self._next_of_chunks: _Chunks | None = None
        self._left = self._chunks = self._body_bytes = 0

    def receive_data(self, data: bytes) -> None:
        self.unread += data

    def next_event(self) -> RequestHead | bytearray | WireEvent:
        """A head, a piece of its body, or what is the matter.

        Errors: InvalidRequestError, also for what passes the bounds.
        """
        if self.lacks is None:
            return WireEvent.PAUSED if self.unread else WireEvent.NEED_DATA
        if self.lacks is Lacks.HEAD:
            return self._read_head()
        if self._next_of_chunks is not None:
            return self._read_chunks(self._next_of_chunks)
        return self._read_data() if self._left else self._whole()

    def start_next(self) -> None:
        """The request that is whole is answered."""
        assert self.lacks is None
        self.lacks = Lacks.HEAD

    def _read_head(self) -> RequestHead | WireEvent:
        if self.unread and self.unread[0] <= ord(" "):
            raise InvalidRequestError("no method")  # of TLS, for one, no end of a head may come
        end = _end_of_head(self.unread)
        if end is None:
            return WireEvent.NEED_DATA
        sent = bytes(self._taken(end))
        if not _REQUEST_LINE.match(sent) or b"\n " in sent or b"\n\t" in sent:
            raise InvalidRequestError("no request of HTTP/1.1 or HTTP/1.0, or a folded field")
        if sent.count(b"\n") != sent.count(b"\r\n"):
            sent = _BARE_LF.sub(b"\r\n", sent)
        head = RequestHead(sent)
        self.lacks = Lacks.BODY
        self._left = head.body_bytes or 0
        self._next_of_chunks = _Chunks.SIZE if head.body_bytes is None else None
        self._chunks = self._body_bytes = 0
        return head

    def _read_data(self) -> bytearray | WireEvent:
        data = self._taken(self._left)
        self._left -= len(data)
        return data or WireEvent.NEED_DATA

    def _read_chunks(self, following: _Chunks) -> bytearray | WireEvent:
        if following is _Chunks.END_OF_DATA:
            if len(self.unread) < 2:
                return WireEvent.NEED_DATA
            if self._taken(2) != b"\r\n":
                raise InvalidRequestError("a chunk is longer than its size")
            following = _Chunks.SIZE
        if following is _Chunks.SIZE:
            following = self._read_size()
        if following is _Chunks.TRAILERS and self._trailers_are_read():
            return self._whole()
        self._next_of_chunks = following
        return self._read_chunk() if following is _Chunks.DATA else WireEvent.NEED_DATA

    def _read_size(self) -> _Chunks:
        end = self.unread.find(b"\n", 0, SIZE_BYTES) + 1
        if end == 0 and len(self.unread) < SIZE_BYTES:
            return _Chunks.SIZE
        found = _SIZE.fullmatch(self._taken(end))
        if found is None:
            raise InvalidRequestError("no chunk's size")
        self._left = int(found[1], 16)
        return _Chunks.DATA if self._left else _Chunks.TRAILERS

    def _read_chunk(self) -> bytearray | WireEvent:
        data = self._read_data()
        if not isinstance(data, WireEvent):
            self._body_bytes += len(data)
        if self._left == 0:
            self._next_of_chunks = _Chunks.END_OF_DATA
            self._chunks += 1
            if self._chunks > FREE_CHUNKS + self._body_bytes // CHUNK_BYTES:
                raise InvalidRequestError("the body's chunks are too small")
        return data

    def _trailers_are_read(self) -> bool:
        """They are read and left out: nobody asks for them."""
        if self.unread.startswith(b"\r\n"):
            self._taken(2)
            return True
        end = 1 if self.unread.startswith(b"\n") else _end_of_head(self.unread)
        if end is None:
            return False
        if not _TRAILERS.fullmatch(self._taken(end)):
            raise InvalidRequestError("a trailer that is no field")
        return True

    def _whole(self) -> WireEvent:
        self.lacks = None
        return WireEvent.WHOLE

    def _taken(self, bytes_: int) -> bytearray:
        """As many as there are of these bytes."""
        taken = self.unread[:bytes_]
        del self.unread[:bytes_]
        return taken


def _end_of_head(sent: bytearray) -> int | None:
    """None: it is not whole. Errors: InvalidRequestError, if it is too long."""
    found = _END_OF_HEAD.search(sent, 0, HEAD_BYTES)
    end, blank = (len(sent), 0) if found is None else (found.end(), 1)
    if end > HEAD_BYTES or sent.count(b"\n", 0, end) > MOST_LINES + blank:
        raise InvalidRequestError("the head is too long")
    return None if found is None else end
