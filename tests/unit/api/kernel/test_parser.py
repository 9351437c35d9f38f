"""What one caller's head or body may cost the event loop, on which all the others wait."""

import h11
import pytest

from api.kernel.parser import CHUNK_BYTES, FREE_CHUNKS, HEAD_BYTES, MOST_LINES, BoundedParser

START = b"POST / HTTP/1.1\r\nhost: x\r\n"
CHUNKED = START + b"transfer-encoding: chunked\r\n\r\n"


def events(sent: bytes) -> list[type[object]]:
    """The kinds of what is read until more is needed. Errors: RemoteProtocolError."""
    parser, found = BoundedParser(), list[type[object]]()
    parser.receive_data(sent)
    while (event := parser.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
        found.append(type(event))
    return found


def head(fields: int) -> bytes:
    return START + b"a: b\r\n" * (fields - 1) + b"\r\n"


def test_a_head_of_as_many_fields_as_may_be__is_read() -> None:
    assert events(head(MOST_LINES - 1)) == [h11.Request, h11.EndOfMessage]


@pytest.mark.parametrize(
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
    monkeypatch.setattr(h11.Connection, "next_event", lambda _: read.append(b""))
    with pytest.raises(h11.RemoteProtocolError):
        events(sent)
    assert read == []


@pytest.mark.parametrize("bytes_", [HEAD_BYTES, HEAD_BYTES + 1])
def test_a_head_that_comes_at_once__is_as_long_as_one_that_does_not(bytes_: int) -> None:
    sent = START + b"a: "
    sent += b"b" * (bytes_ - len(sent) - 4) + b"\r\n\r\n"
    if bytes_ == HEAD_BYTES:
        assert events(sent) == [h11.Request, h11.EndOfMessage]
    else:
        with pytest.raises(h11.RemoteProtocolError):
            events(sent)


ONES = b"1\r\n \r\n"
SIZED = b"200\r\n" + b" " * CHUNK_BYTES + b"\r\n"
END = b"0\r\n\r\n"


@pytest.mark.parametrize(
    "chunks", [ONES * FREE_CHUNKS, SIZED * 512, ONES * FREE_CHUNKS + SIZED * 100]
)
def test_a_body_in_chunks__is_read(chunks: bytes) -> None:
    assert events(CHUNKED + chunks + END)[-1] is h11.EndOfMessage


@pytest.mark.parametrize(
    "chunks", [ONES * (FREE_CHUNKS + 1), SIZED * 10 + ONES * (FREE_CHUNKS + 1)]
)
def test_a_body_in_too_many_small_chunks__is_refused(chunks: bytes) -> None:
    """One connection that sent chunks of one byte kept every other caller from being served at
    all.
    """
    with pytest.raises(h11.RemoteProtocolError):
        events(CHUNKED + chunks)


def test_chunks__are_counted_for_each_request() -> None:
    parser = BoundedParser()
    for _ in range(3):
        parser.receive_data(CHUNKED + ONES * FREE_CHUNKS + END)
        while type(parser.next_event()) is not h11.EndOfMessage:
            pass
        parser.send(h11.Response(status_code=204, headers=[]))
        parser.send(h11.EndOfMessage())
        parser.start_next_cycle()
