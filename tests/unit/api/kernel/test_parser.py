"""What one caller's head or body may cost the event loop, on which all the others wait, and what is
read of it.
"""

from typing import Any

import pytest

from api.kernel import parser as module
from api.kernel.parser import (
    CHUNK_BYTES,
    FREE_CHUNKS,
    HEAD_BYTES,
    MOST_LINES,
    SIZE_BYTES,
    BoundedParser,
    InvalidRequestError,
    Lacks,
    RequestHead,
    WireEvent,
)
from tests.each import each

START = b"POST / HTTP/1.1\r\nhost: x\r\n"
CHUNKED = START + b"transfer-encoding: chunked\r\n\r\n"


def events_of(parser: BoundedParser, sent: bytes) -> list[Any]:
    """What is read until more is needed, pieces of a body as one. Errors: InvalidRequestError."""
    found = list[Any]()
    parser.receive_data(sent)
    while (event := parser.next_event()) not in (WireEvent.NEED_DATA, WireEvent.PAUSED):
        if isinstance(event, bytearray) and found and isinstance(found[-1], bytes):
            found[-1] += bytes(event)
        else:
            found.append(bytes(event) if isinstance(event, bytearray) else event)
    return found


def events(sent: bytes) -> list[Any]:
    return [
        RequestHead if isinstance(one, RequestHead) else one
        for one in events_of(BoundedParser(), sent)
    ]


def head(fields: int) -> bytes:
    return START + b"a: b\r\n" * (fields - 1) + b"\r\n"


def test_a_head_of_as_many_fields_as_may_be__is_read() -> None:
    assert events(head(MOST_LINES - 1)) == [RequestHead, WireEvent.WHOLE]


@each(
    "sent",
    [head(MOST_LINES), head(40_000), head(40_000)[:-2]],
    ids=["one more", "all at once", "without an end"],
)
def test_a_head_of_more_fields__is_refused_before_they_are_read(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head that came at once was read whole, up to the 256 KiB that a socket gives: a fifth of a
    second for everybody else.
    """
    read = list[bytes]()
    monkeypatch.setattr(module, "RequestHead", read.append)
    with pytest.raises(InvalidRequestError):
        events(sent)
    assert read == []


@each("bytes_", [HEAD_BYTES, HEAD_BYTES + 1])
@each("piece_bytes", [HEAD_BYTES * 2, 1_000])
def test_a_head_that_comes_at_once__is_as_long_as_one_that_does_not(
    bytes_: int, piece_bytes: int
) -> None:
    sent = START + b"a: "
    sent += b"b" * (bytes_ - len(sent) - 4) + b"\r\n\r\n"
    parser = BoundedParser()
    pieces = [sent[at : at + piece_bytes] for at in range(0, len(sent), piece_bytes)]
    for piece in pieces[:-1]:
        assert events_of(parser, piece) == []
    if bytes_ == HEAD_BYTES:
        assert events_of(parser, pieces[-1])[1:] == [WireEvent.WHOLE]
    else:
        with pytest.raises(InvalidRequestError):
            events_of(parser, pieces[-1])


def test_a_head_without_an_end__is_refused_once_it_is_too_long() -> None:
    parser = BoundedParser()
    assert events_of(parser, b"GET /" + b"a" * (HEAD_BYTES - 5)) == []
    with pytest.raises(InvalidRequestError):
        events_of(parser, b"a")


def test_bytes_of_tls__are_refused_before_a_head_could_end() -> None:
    with pytest.raises(InvalidRequestError):
        events(b"\x16")


ONES = b"1\r\n \r\n"
SIZED = b"200\r\n" + b" " * CHUNK_BYTES + b"\r\n"
END = b"0\r\n\r\n"


@each("chunks", [ONES * FREE_CHUNKS, SIZED * 512, ONES * FREE_CHUNKS + SIZED * 100])
def test_a_body_in_chunks__is_read(chunks: bytes) -> None:
    assert events(CHUNKED + chunks + END)[-1] is WireEvent.WHOLE


@each("chunks", [ONES * (FREE_CHUNKS + 1), SIZED * 10 + ONES * (FREE_CHUNKS + 1)])
def test_a_body_in_too_many_small_chunks__is_refused(chunks: bytes) -> None:
    """One connection that sent chunks of one byte kept every other caller from being served at
    all.
    """
    with pytest.raises(InvalidRequestError):
        events(CHUNKED + chunks)


def test_chunks__are_counted_for_each_request() -> None:
    parser = BoundedParser()
    for _ in range(3):
        assert events_of(parser, CHUNKED + ONES * FREE_CHUNKS + END)[-1] is WireEvent.WHOLE
        parser.start_next()


@each("bytes_", [SIZE_BYTES, SIZE_BYTES + 1])
def test_the_line_before_a_chunk__is_short(bytes_: int) -> None:
    line = b"1;" + b"a" * (bytes_ - 4) + b"\r\n"
    if bytes_ == SIZE_BYTES:
        assert events(CHUNKED + line + b" \r\n" + END) == [RequestHead, b" ", WireEvent.WHOLE]
    else:
        with pytest.raises(InvalidRequestError):
            events(CHUNKED + line[:-1])


@each(
    "trailers", [b"a: b\r\n" * (MOST_LINES + 1), b"a: " + b"b" * HEAD_BYTES], ids=["lines", "bytes"]
)
def test_trailers__are_as_short_as_a_head(trailers: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        events(CHUNKED + b"0\r\n" + trailers + b"\r\n")


@each(
    "sent",
    [
        head(3),
        START + b"content-length: 5\r\n\r\nab\r\nc",
        CHUNKED + b"3;a=b\r\nab\r\r\n0a \r\n0123456789\r\n" + END,
        CHUNKED + b"1\r\na\r\n0\r\nb: c\r\nd: e\r\n\r\n",
        b"GET / HTTP/1.0\n\n",
    ],
)
def test_a_request__is_the_same_byte_by_byte(sent: bytes) -> None:
    whole = events_of(BoundedParser(), sent)
    parser, read = BoundedParser(), list[Any]()
    for byte in sent:
        read += events_of(parser, bytes([byte]))
    assert read[0].headers == whole[0].headers
    assert b"".join(read[1:-1]) == b"".join(whole[1:-1])
    assert read[-1] is whole[-1] is WireEvent.WHOLE


def test_the_next_request__stays_unread_until_it_is_asked_for() -> None:
    parser, next_one = BoundedParser(), b"GET /2 HTTP/1.1\r\nhost: x\r\n\r\n"
    events_of(parser, head(1) + next_one * 1_000)
    assert (parser.lacks, parser.next_event()) == (None, WireEvent.PAUSED)
    assert parser.unread == next_one * 1_000
    parser.start_next()
    assert parser.lacks is Lacks.HEAD
    assert events_of(parser, b"")[0].target == b"/2"
    assert parser.unread == next_one * 999
