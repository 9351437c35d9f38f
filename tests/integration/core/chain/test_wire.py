"""Answers of a node, well formed and not, byte by byte."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import httpx
import pytest

from core.chain.rpc import Rpc, RpcUnreachableError
from core.chain.wire import HEAD_BYTES, IDLE_S, PIECE_BYTES, OwnWire

OK = b"HTTP/1.1 200 OK\r\n"
BODY = b'{"jsonrpc":"2.0","id":1,"result":"0x5"}'


class Told:
    """A node that says these bytes, one answer a request; None: it closes. What it was sent is kept."""

    def __init__(self, answers: Sequence[bytes | None], *, drips: bool = False) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._answers = iter(answers)
        self._drips = drips
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = [self._listener]
        self._wires: list[OwnWire] = []
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, serve: Callable[..., None], *given: socket.socket) -> None:
        self._threads.append(threading.Thread(target=serve, args=given, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, StopIteration):
            while (request := _request(connection)) is not None:
                self.requests.append(request)
                answer = next(self._answers)
                if answer is None:
                    return
                self._say(connection, answer)
                if b"connection: close" in answer.lower() or b"until closed" in answer:
                    return

    def _say(self, connection: socket.socket, answer: bytes) -> None:
        for at in range(0, len(answer), 1 if self._drips else len(answer)):
            connection.sendall(answer[at : at + 1] if self._drips else answer)

    def wire(self) -> OwnWire:
        self._wires.append(OwnWire(self.url))
        return self._wires[-1]

    def close(self) -> None:
        for wire in self._wires:
            wire.close()
        self._listener.shutdown(socket.SHUT_RDWR)
        for one in self._open[1:]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


def _request(connection: socket.socket) -> bytes | None:
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(65_536)
        if not more or more.startswith(b"\x16"):  # a handshake
            return None
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@contextmanager
def telling(*answers: bytes | None, drips: bool = False) -> Iterator[Told]:
    node = Told(answers, drips=drips)
    try:
        yield node
    finally:
        node.close()


def counted(body: bytes = BODY, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return OK + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(
    *chunks: bytes, end: bytes = b"0\r\n\r\n", size: bytes = b"%x\r\n", head: bytes = b""
) -> bytes:
    said = b"".join(size % len(chunk) + chunk + b"\r\n" for chunk in chunks)
    return OK + head + b"Transfer-Encoding: chunked\r\n\r\n" + said + end


def byte_by_byte(packed: bytes, packing: bytes) -> bytes:
    chunks = (packed[at : at + 1] for at in range(len(packed)))
    return chunked(*chunks, head=b"Content-Encoding: " + packing + b"\r\n")


def asked(wire: OwnWire, body: bytes = b"{}", within_s: float = 5) -> tuple[int, bytes]:
    with wire.post(body, within_s) as answer:
        return answer.status, b"".join(answer.pieces)


@pytest.mark.parametrize("drips", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        counted(),
        chunked(BODY),
        chunked(BODY[:1], BODY[1:7], BODY[7:]),
        chunked(BODY, size=b'00%x;name="v"\r\n'),
        chunked(BODY, end=b"0\r\nLater: yes\r\n\r\n"),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + counted(),
        OK + b"Connection: close\r\n\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\nX: until closed\r\n\r\n" + BODY,
        b"HTTP/1.1 200\r\nContent-Length:%d\r\n\r\n" % len(BODY) + BODY,
        counted(gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip"),
        counted(zlib.compress(BODY), b"Content-Encoding: deflate"),
        counted(zlib.compress(BODY)[2:-4], b"Content-Encoding: DEFLATE"),
        byte_by_byte(gzip.compress(BODY, mtime=0), b"gzip"),
        byte_by_byte(zlib.compress(BODY), b"deflate"),
        byte_by_byte(zlib.compress(BODY)[2:-4], b"deflate"),
    ],
)
def test_an_answer_in_any_form_of_http__is_its_body(answer: bytes, drips: bool) -> None:
    with telling(answer, drips=drips) as node:
        assert asked(node.wire()) == (200, BODY)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        OK + b"Content-Length : 2\r\n\r\n{}",
        OK + b"Content-Length: -2\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        OK + b"Content-Length: \xb2\r\n\r\n{}",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        OK + b"X: " + b"x" * (HEAD_BYTES + 1),
        chunked(b"{}", size=b"-%x\r\n"),
        chunked(b"{}", size=b"0x%x\r\n"),
        chunked(b"{}", size=b"%x;" + b"x" * (HEAD_BYTES + 1)),
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
        chunked(b"{}", end=b"0\r\nno trailer\r\n\r\n"),
        counted(b"no gzip", b"Content-Encoding: gzip"),
        None,
    ],
    ids=lambda answer: str(answer)[-24:],
)
def test_an_answer_that_is_no_http__fails_and_its_connection_is_not_used_again(
    answer: bytes | None,
) -> None:
    with telling(answer, counted()) as node:
        wire = node.wire()
        with pytest.raises(httpx.HTTPError) as refused:
            asked(wire)
        assert not isinstance(refused.value, httpx.TimeoutException)
        assert (asked(wire), node.connections) == ((200, BODY), 2)


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Connection: close\r\nContent-Length: 99\r\n\r\n" + BODY,
        OK + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n99\r\n" + BODY,
        OK + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY) + BODY,
    ],
)
def test_an_answer_that_is_cut_off__fails(answer: bytes) -> None:
    with telling(answer) as node, pytest.raises(httpx.RemoteProtocolError):
        asked(node.wire())


def test_a_connection__serves_the_next_call_and_is_closed_after_what_nobody_asked_for() -> None:
    twice = counted() + counted(b"stray")
    with telling(counted(), chunked(BODY), twice, counted()) as node:
        wire = node.wire()
        assert [asked(wire) for _ in range(4)] == [(200, BODY)] * 4
        assert node.connections == 2


def test_both_a_length_and_chunks__are_read_as_chunks() -> None:
    both = chunked(BODY).replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n", 1)
    with telling(both) as node:
        assert asked(node.wire()) == (200, BODY)


def test_an_answer_that_was_not_read_to_its_end__leaves_its_connection() -> None:
    with telling(counted(), counted()) as node:
        wire = node.wire()
        with wire.post(b"{}", 5) as answer:
            assert answer.status == 200
        assert (asked(wire), node.connections) == ((200, BODY), 2)


def test_a_connection_that_rested_too_long__is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    with telling(counted(), counted(), counted()) as node:
        wire = node.wire()
        for later_s, connections in ((0.0, 1), (IDLE_S - 0.5, 1), (2 * IDLE_S, 2)):
            monkeypatch.setattr(time, "monotonic", lambda at=now + later_s: at)
            assert (asked(wire, within_s=5), node.connections) == ((200, BODY), connections)


def test_a_node_that_says_nothing__is_waited_for_no_longer_than_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        wire = OwnWire(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(httpx.ReadTimeout):
            asked(wire, within_s=0.05)


def test_a_node_that_drips_a_header__is_left_when_the_time_is_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(OK + b"X: ")
                while not over.wait(0.01):
                    connection.sendall(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        with pytest.raises(httpx.ReadTimeout):
            asked(OwnWire(f"http://127.0.0.1:{listener.getsockname()[1]}"), within_s=0.2)
        over.set()
        dripping.join()


def test_nobody_listens__is_an_error_of_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(httpx.ConnectError):
        asked(OwnWire(f"http://127.0.0.1:{port}"))
    with pytest.raises(httpx.UnsupportedProtocol):
        asked(OwnWire("ftp://127.0.0.1"))


def test_a_server_without_tls__is_an_error_of_connecting() -> None:
    with telling(counted()) as node, pytest.raises(httpx.ConnectError):
        asked(OwnWire(node.url.replace("http://", "https://")), within_s=1)


def test_what_unfolds_to_any_size__comes_in_pieces_of_a_bounded_one() -> None:
    packed = gzip.compress(b" " * (40 * PIECE_BYTES))
    assert len(packed) < PIECE_BYTES
    with (
        telling(counted(packed, b"Content-Encoding: gzip")) as node,
        node.wire().post(b"{}", 5) as answer,
    ):
        sizes = [len(piece) for piece in answer.pieces]
    assert (sum(sizes), max(sizes)) == (40 * PIECE_BYTES, PIECE_BYTES)


def test_user_and_password_of_a_url__go_along_and_are_not_told() -> None:
    with telling(counted(), None) as node:
        url = node.url.replace("http://", "http://user:s%40cret@") + "/key?a=b"
        rpc = Rpc([url])
        assert rpc.call("eth_blockNumber") == "0x5"
        assert node.requests[0].splitlines()[:2] == [
            b"POST /key?a=b HTTP/1.1",
            b"Host: " + node.url.removeprefix("http://").encode(),
        ]
        assert b"Authorization: Basic dXNlcjpzQGNyZXQ=" in node.requests[0]
        with pytest.raises(RpcUnreachableError) as failed:
            rpc.call("eth_blockNumber")
        assert "cret" not in str(failed.value)
        rpc.close()
