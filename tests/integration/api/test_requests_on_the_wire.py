"""What is answered to requests byte by byte, through the proxy that is shipped: which are read, which are
refused, and whether the connection is kept.

Source: RFC 9112 (5.1, 5.2, 6.1, 6.3, 7.1: what a server must refuse, since another reads it
otherwise).
"""

import gc
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from tests.integration.api.behind_proxy import behind_proxy
from tests.integration.api.serving import served

SILENCE_S = 1.0  # after which a connection counts as kept
KEPT, CLOSED = True, False
H = b"Host: x\r\n"
TE = b"Transfer-Encoding: chunked\r\n"
WEBSOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nuPgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
EXPECT = b"Expect: 100-continue\r\n"
BAD = ["400"]


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was asked; `/unread` without reading the body, `/stream` in chunks."""
    if scope["type"] != "http":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    body, more = b"", scope["path"] != "/unread"
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    query = scope["query_string"] and b"?" + scope["query_string"]
    said = f"{scope['method']} {scope['path']}".encode() + query + b" " + body
    said += b"".join(b" a=" + value for name, value in scope["headers"] if name == b"a")
    length = [(b"content-length", str(len(said)).encode())]
    headers = [] if scope["path"] == "/stream" else length
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with served(lambda _: echo) as url, behind_proxy(urlsplit(url).netloc) as port:
        yield f"http://127.0.0.1:{port}"


def exchanged(base_url: str, *pieces: bytes) -> tuple[bytes, bool]:
    """All that comes back until the server closes or says nothing more; is the connection kept?"""
    got, parts = b"", urlsplit(base_url)
    with closing(socket.create_connection((parts.hostname, parts.port))) as wire:
        wire.settimeout(SILENCE_S)
        try:
            for piece in pieces:
                wire.sendall(piece)
            while more := wire.recv(65_536):
                got += more
        except TimeoutError:
            return got, KEPT
        except (ConnectionResetError, BrokenPipeError):
            pass
        return got, CLOSED


def told(answer: bytes) -> list[str]:
    """One line for each answer: status, and what was read or why it is refused."""
    lines = list[str]()
    while answer:
        head, _, answer = answer.partition(b"\r\n\r\n")
        status, *fields = head.decode().split("\r\n")
        sent = {name.lower(): value for name, _, value in (one.partition(": ") for one in fields)}
        length = int(
            sent.get("content-length", "0" if status.endswith("Continue") else len(answer))
        )
        body, answer = answer[:length].decode(), answer[length:]
        said = "" if " 4" in status else body.rstrip()
        lines.append(f"{status.split()[1]} {said}".rstrip())
    return lines


def get(target: bytes = b"/", fields: bytes = b"", version: bytes = b"1.1") -> bytes:
    return b"GET " + target + b" HTTP/" + version + b"\r\n" + H + fields + b"\r\n"


def post(fields: bytes, body: bytes = b"", target: bytes = b"/") -> bytes:
    return b"POST " + target + b" HTTP/1.1\r\n" + H + fields + b"\r\n" + body


def chunked(body: bytes) -> bytes:
    return post(TE, body)


REQUESTS: dict[str, tuple[bytes, list[str], bool]] = {
    # the request's line
    "a plain one": (get(), ["200 GET /"], KEPT),
    "a query": (get(b"/a?b=c?d"), ["200 GET /a?b=c?d"], KEPT),
    "an escaped path": (get(b"/a%20b"), ["200 GET /a b"], KEPT),
    "a target that is no address": (get(b"http://"), BAD, CLOSED),
    "a path of two slashes": (get(b"//a/b"), ["200 GET //a/b"], KEPT),
    "a target with all that is printed": (get(b"/a\"<>\\^`{|}'[]"), ["200 GET /a\"<>\\^`{|}'[]"], KEPT),
    "a fragment": (get(b"/a#b"), BAD, CLOSED),
    "absolute form": (get(b"http://x/a?b"), ["200 GET /a?b"], KEPT),
    "absolute form without a path": (get(b"http://x"), BAD, CLOSED),
    "absolute form of another host": (get(b"http://y/a"), BAD, CLOSED),
    "a target without a slash": (get(b"a"), BAD, CLOSED),
    "asterisk form": (b"OPTIONS * HTTP/1.1\r\n" + H + b"\r\n", ["200 OPTIONS *"], KEPT),
    "CONNECT": (b"CONNECT x:443 HTTP/1.1\r\n" + H + b"\r\n", BAD, KEPT),
    "a target that is not ASCII": (get("/\u00e4".encode()), BAD, CLOSED),
    "a NUL in the target": (get(b"/a\0b"), BAD, CLOSED),
    "a tab in the target": (get(b"/a\tb"), BAD, CLOSED),
    "a space in the target": (get(b"/a b"), BAD, CLOSED),
    "a method nobody knows": (b"FETCH / HTTP/1.1\r\n" + H + b"\r\n", ["200 FETCH /"], KEPT),
    "a method in small letters": (b"get / HTTP/1.1\r\n" + H + b"\r\n", ["200 get /"], KEPT),
    "a method that is no token": (b"G@T / HTTP/1.1\r\n" + H + b"\r\n", BAD, CLOSED),
    "two spaces": (b"GET  / HTTP/1.1\r\n" + H + b"\r\n", ["200 GET /"], KEPT),
    "a space after the version": (b"GET / HTTP/1.1 \r\n" + H + b"\r\n", BAD, CLOSED),
    "an empty line before": (b"\r\n" + get(), ["200 GET /"], KEPT),
    "a space before": (b" " + get(), BAD, CLOSED),
    "HTTP/1.0": (get(version=b"1.0"), ["200 GET /"], CLOSED),
    "HTTP/1.0 without Host": (b"GET / HTTP/1.0\r\n\r\n", ["200 GET /"], CLOSED),
    "HTTP/1.0 that asks to be kept": (get(fields=b"Connection: keep-alive\r\n", version=b"1.0"), ["200 GET /"], KEPT),
    "HTTP/0.9": (b"GET /\r\n\r\n", BAD, CLOSED),
    "HTTP/1.2": (get(version=b"1.2"), ["200 GET /"], KEPT),
    "HTTP/2.0": (get(version=b"2.0"), ["200 GET /"], KEPT),
    "HTTP/2's preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BAD + BAD, CLOSED),
    "http in small letters": (b"GET / http/1.1\r\n" + H + b"\r\n", BAD, CLOSED),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00", BAD, CLOSED),
    "an answer": (b"HTTP/1.1 200 OK\r\n" + H + b"\r\n", BAD, CLOSED),
    # the fields
    "no Host": (b"GET / HTTP/1.1\r\na: b\r\n\r\n", BAD, CLOSED),
    "two Hosts": (get(fields=b"host: y\r\n"), BAD, CLOSED),
    "spaces around a value": (get(fields=b"a: \t b c \t \r\n"), ["200 GET /  a=b c"], KEPT),
    "an empty value": (get(fields=b"a:\r\n"), ["200 GET /  a="], KEPT),
    "a value of Latin-1": (get(fields=b"b: \xe4\r\n"), ["200 GET /"], KEPT),
    "no colon": (get(fields=b"a\r\n"), BAD, CLOSED),
    "no name": (get(fields=b": b\r\n"), BAD, CLOSED),
    "a space before the colon": (get(fields=b"a : b\r\n"), BAD, CLOSED),
    "a name that is no token": (get(fields=b"a(: b\r\n"), BAD, CLOSED),
    "a NUL in a value": (get(fields=b"a: b\0c\r\n"), BAD, CLOSED),
    "a control byte in a value": (get(fields=b"b: b\x01c\r\n"), ["200 GET /"], KEPT),
    "a bare CR in a value": (get(fields=b"a: b\rc\r\n"), BAD, CLOSED),
    "a CR before CR LF": (get(fields=b"a: b\r\r\n"), BAD, CLOSED),
    "a folded field": (get(fields=b"a: b\r\n c\r\n"), ["200 GET /  a=b   c"], KEPT),
    "a folded field first": (b"GET / HTTP/1.1\r\n a: b\r\n" + H + b"\r\n", BAD, CLOSED),
    "bare LF": (b"GET / HTTP/1.1\nHost: x\na: b\n\n", ["200 GET /  a=b"], KEPT),
    "bare LF once": (b"GET / HTTP/1.1\r\nHost: x\na: b\r\n\r\n", ["200 GET /  a=b"], KEPT),
    "an empty line of bare LF": (b"GET / HTTP/1.1\r\nHost: x\r\n\n", ["200 GET /"], KEPT),
    # what frames a body
    "a length": (post(b"Content-Length: 2\r\n", b"ab"), ["200 POST / ab"], KEPT),
    "a body to a GET": (get(fields=b"Content-Length: 2\r\n") + b"ab", ["200 GET / ab"], KEPT),
    "no length": (post(b"") + get(), ["200 POST /", "200 GET /"], KEPT),
    "length and Transfer-Encoding": (post(b"Content-Length: 5\r\n" + TE, b"0\r\n\r\n") + get(), ["200 POST /"], CLOSED),
    "Transfer-Encoding and length": (post(TE + b"Content-Length: 5\r\n", b"0\r\n\r\n") + get(), ["200 POST /"], CLOSED),
    "two lengths that differ": (post(b"Content-Length: 2\r\nContent-Length: 3\r\n", b"abc"), BAD, CLOSED),
    "the same length twice": (post(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"ab"), ["200 POST / ab"], KEPT),
    "a list of lengths": (post(b"Content-Length: 2, 2\r\n", b"ab"), ["200 POST / ab"], KEPT),
    "an empty length": (post(b"Content-Length:\r\n", b"ab"), BAD, CLOSED),
    "a length with a sign": (post(b"Content-Length: +2\r\n", b"ab"), BAD, CLOSED),
    "a length below 0": (post(b"Content-Length: -2\r\n", b"ab"), BAD, CLOSED),
    "a length in hex": (post(b"Content-Length: 0x2\r\n", b"ab"), BAD, CLOSED),
    "a length of two words": (post(b"Content-Length: 2 2\r\n", b"ab"), BAD, CLOSED),
    "a length with an underscore": (post(b"Content-Length: 0_2\r\n", b"ab"), BAD, CLOSED),
    "a length of 21 digits": (post(b"Content-Length: 100000000000000000000\r\n"), BAD, CLOSED),
    "a space before the length's colon": (post(b"Content-Length : 2\r\n", b"ab"), BAD, CLOSED),
    "a folded Transfer-Encoding": (post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"), ["200 POST /"], KEPT),
    "Chunked": (post(b"Transfer-Encoding: Chunked\r\n", b"1\r\na\r\n0\r\n\r\n"), ["200 POST / a"], KEPT),
    "gzip in chunks": (post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), ["422"], CLOSED),
    "chunks of chunks": (post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"), BAD, CLOSED),
    "Transfer-Encoding twice": (post(TE + TE, b"0\r\n\r\n"), BAD, CLOSED),
    "identity": (post(b"Transfer-Encoding: identity\r\n"), BAD, CLOSED),
    "no Transfer-Encoding in it": (post(b"Transfer-Encoding:\r\n"), BAD, CLOSED),
    "chunked with a parameter": (post(b"Transfer-Encoding: chunked;a=b\r\n", b"0\r\n\r\n"), BAD, CLOSED),
    "chunked with a vertical tab": (post(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n"), BAD, CLOSED),
    "chunks in HTTP/1.0": (b"POST / HTTP/1.0\r\n" + TE + b"\r\n1\r\na\r\n0\r\n\r\n", ["200 POST / a"], CLOSED),
    # chunks
    "two chunks": (chunked(b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n") + get(), ["200 POST / abc", "200 GET /"], KEPT),
    "a chunk of CR LF": (chunked(b"7\r\n\r\n\r\n0\r\n\r\n0\r\n\r\n") + get(), ["200 POST / \r\n\r\n0", "200 GET /"], KEPT),
    "a size in capitals with zeros": (chunked(b"000A\r\n0123456789\r\n000\r\n\r\n"), ["200 POST / 0123456789"], KEPT),
    "an extension": (chunked(b'1;a="b"\r\na\r\n0;c\r\n\r\n'), ["200 POST / a"], KEPT),
    "spaces after the size": (chunked(b"1 \t\r\na\r\n0\r\n\r\n"), ["200 POST / a"], KEPT),
    "trailers": (chunked(b"1\r\na\r\n0\r\na: b\r\nc: d\r\n\r\n") + get(), ["200 POST / a", "200 GET /"], KEPT),
    "a trailer that ends with a bare LF": (chunked(b"1\r\na\r\n0\r\na: b\n\r\n"), ["200 POST / a"], KEPT),
    "trailers that end with a bare LF": (chunked(b"1\r\na\r\n0\r\na: b\r\n\n") + get(), ["200 POST / a", "200 GET /"], KEPT),
    "a trailer that is no field": (chunked(b"1\r\na\r\n0\r\nb\r\n\r\n"), BAD, CLOSED),
    "a size that is none": (chunked(b"x\r\na\r\n0\r\n\r\n"), BAD, CLOSED),
    "an empty size": (chunked(b"\r\na\r\n0\r\n\r\n"), BAD, CLOSED),
    "a size with a sign": (chunked(b"+1\r\na\r\n0\r\n\r\n"), BAD, CLOSED),
    "a size with 0x": (chunked(b"0x1\r\na\r\n0\r\n\r\n"), BAD, CLOSED),
    "a space before the size": (chunked(b" 1\r\na\r\n0\r\n\r\n"), BAD, CLOSED),
    "a size of 21 digits": (chunked(b"000000000000000000001\r\na\r\n0\r\n\r\n"), ["200 POST / a"], KEPT),
    "a size of bare LF": (chunked(b"1\na\r\n0\r\n\r\n"), ["200 POST / a"], KEPT),
    "a bare LF in an extension": (chunked(b"1;a\nb\r\na\r\n0\r\n\r\n"), [], KEPT),
    "a bare CR in an extension": (chunked(b"1;a\rb\r\na\r\n0\r\n\r\n"), BAD, CLOSED),
    "a chunk longer than its size": (chunked(b"1\r\nab\r\n0\r\n\r\n"), BAD, CLOSED),
    "a chunk ended by LF": (chunked(b"1\r\na\n0\r\n\r\n"), ["200 POST / a"], KEPT),
    # the connection
    "three at once": (get(b"/1") + get(b"/2") + get(b"/3"), ["200 GET /1", "200 GET /2", "200 GET /3"], KEPT),
    "one and a half": (get(b"/1") + b"GET /2", ["200 GET /1"], KEPT),
    "one and no HTTP": (get(b"/1") + b"\x16\x03\x01", ["200 GET /1", "400"], CLOSED),
    "Connection: close": (get(fields=b"Connection: close\r\n"), ["200 GET /"], CLOSED),
    "Connection: a, Close": (get(fields=b"Connection: a, Close\r\n"), ["200 GET /"], CLOSED),
    "Connection twice": (get(fields=b"Connection: close\r\nConnection: a\r\n"), ["200 GET /"], CLOSED),
    "bytes after Connection: close": (get(fields=b"Connection: close\r\n") + get(b"/2"), ["200 GET /"], CLOSED),
    "HEAD": (b"HEAD / HTTP/1.1\r\n" + H + b"\r\n", ["200"], KEPT),
    "Expect": (post(b"Content-Length: 2\r\nExpect: 100-Continue\r\n", b"ab"), ["100", "200 POST / ab"], KEPT),
    "Expect in HTTP/1.0": (b"POST / HTTP/1.0\r\nContent-Length: 2\r\n" + EXPECT + b"\r\nab", ["200 POST / ab"], CLOSED),
    "Expect, answered before the body": (post(b"Content-Length: 2\r\n" + EXPECT, target=b"/unread"), ["100"], KEPT),
    "a body that is not read": (post(b"Content-Length: 2\r\n", b"ab", b"/unread") + get(), ["200 POST /unread", "200 GET /"], KEPT),
    "to a websocket": (get(fields=WEBSOCKET), ["200 GET /"], KEPT),
    "to h2c": (get(fields=H2C) + get(b"/2"), ["200 GET /", "200 GET /2"], KEPT),
    "to h2c with a body": (post(H2C + b"Content-Length: 2\r\n", b"ab") + get(), ["200 POST / ab", "200 GET /"], KEPT),
}  # fmt: skip


def test_a_request__is_answered(base_url: str) -> None:
    """None is read in two ways: what follows it is answered as the next one, or not at all."""

    def answered(sent: bytes) -> tuple[list[str], bool]:
        answer, is_kept = exchanged(base_url, sent)
        return told(answer), is_kept

    with ThreadPoolExecutor(16) as pool:
        answers = pool.map(answered, (sent for sent, _, _ in REQUESTS.values()))
        found = dict(zip(REQUESTS, answers, strict=True))
    assert found == {name: (said, kept) for name, (_, said, kept) in REQUESTS.items()}


def test_an_extension_of_17_kib__is_refused_or_waited_for_and_never_passed_on(
    base_url: str,
) -> None:
    """By how it arrives: at once, or when the time of a body is over."""
    sent = chunked(b"1;" + b"a" * 17_408 + b"\r\na\r\n0\r\n\r\n")
    answer, is_kept = exchanged(base_url, sent)
    assert (told(answer), is_kept) in ((BAD, CLOSED), ([], KEPT))


def test_a_connection_that_is_reset__leaves_nothing_behind() -> None:
    """As the proxy resets each that rests; what it sent was held until its keep-alive was over."""
    ports = set[int]()

    def held() -> int:
        gc.collect()
        known = [one for one in gc.get_objects() if isinstance(one, H11Protocol)]
        return sum(one.client is not None and one.client[1] in ports for one in known)

    with served(lambda _: echo) as url:
        parts = urlsplit(url)
        for _ in range(3):
            with socket.create_connection((parts.hostname, parts.port)) as wire:
                ports.add(wire.getsockname()[1])
                wire.sendall(get())
                assert wire.recv(65_536)
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until = time.monotonic() + 5
        while held() and time.monotonic() < until:
            time.sleep(0.05)
        assert held() == 0
