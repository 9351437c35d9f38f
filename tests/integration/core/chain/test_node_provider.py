"""Nodes over real sockets: whatever form an answer has, it is read or refused in bounded time and
memory, and the next node is asked.
"""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

import pytest

from core.chain import provider
from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from tests.each import each
from tests.integration.client.dripping import DRIPPED, DRIPS, PAUSE_S, sending

BODY = b'{"jsonrpc":"2.0","id":1,"result":"0x5"}'
OK = b"HTTP/1.1 200 OK\r\n"


class Told:
    """Says one answer a request; None: it closes. What it was sent is kept."""

    def __init__(self, answers: Sequence[bytes | None], before_s: float) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._answers, self._before_s = iter(answers), before_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, serve: Callable[..., None], *given: socket.socket) -> None:
        self._threads.append(threading.Thread(target=serve, args=given, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                self._begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, StopIteration):
            while (request := _request(connection)) is not None:
                self.requests.append(request)
                answer = next(self._answers)
                if answer is None or self._over.wait(self._before_s):
                    return
                connection.sendall(answer)
                if b"connection: close" in answer.lower():
                    return

    def close(self) -> None:
        self._over.set()
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
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
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@contextmanager
def telling(*answers: bytes | None, before_s: float = 0.0) -> Iterator[Told]:
    with closing(Told(answers, before_s)) as node:
        yield node


def counted(body: bytes = BODY, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return OK + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", size: bytes = b"%x\r\n") -> bytes:
    said = b"".join(size % len(chunk) + chunk + b"\r\n" for chunk in chunks)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + said + end


def height(*urls: str, answer_s: float = 5.0, deadline_s: float = 10.0) -> str:
    with closing(Nodes(urls, answer_s=answer_s, deadline_s=deadline_s)) as nodes:
        return str(nodes.call("eth_blockNumber"))


@each(
    "answer",
    [
        counted(),
        chunked(BODY[:1], BODY[1:7], BODY[7:]),
        chunked(BODY, end=b"0\r\nLater: yes\r\n\r\n"),
        b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + counted(),
        OK + b"Connection: close\r\n\r\n" + BODY,
        counted(gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip"),
        counted(zlib.compress(BODY), b"Content-Encoding: deflate"),
        counted(zlib.compress(BODY)[2:-4], b"Content-Encoding: deflate"),
    ],
)
def test_an_answer_in_any_form_of_http__is_read(answer: bytes) -> None:
    with telling(answer) as node:
        assert height(node.url) == "0x5"


@each(
    "answer",
    [
        b"SSH-2.0-x\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        OK + b"X: " + b"x" * 200_000,
        chunked(BODY, size=b"-%x\r\n"),
        counted(b"no gzip", b"Content-Encoding: gzip"),
        counted(gzip.compress(gzip.compress(BODY)), b"Content-Encoding: gzip, gzip"),
        counted(BODY, b"Content-Encoding: br"),
        OK + b"Connection: close\r\nContent-Length: 99\r\n\r\n" + BODY,
        OK + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n99\r\n" + BODY,
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        None,
    ],
)
def test_an_answer_that_is_none_or_cut_off__fails_and_the_next_node_is_asked(
    answer: bytes | None,
) -> None:
    with telling(answer) as bad, telling(counted()) as node:
        assert height(bad.url, node.url) == "0x5"
        assert len(bad.requests) == 1


def test_what_unfolds_to_any_size__is_read_no_further_than_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provider, "MOST_ANSWER_BYTES", 2**20)
    bomb = gzip.compress(b" " * 2**28)
    with telling(counted(bomb, b"Content-Encoding: gzip")) as bad, telling(counted()) as node:
        began = time.process_time()
        assert height(bad.url, node.url) == "0x5"
        assert time.process_time() - began < 1


def test_a_node_that_answers_late__is_left_and_the_next_is_asked_in_the_same_call() -> None:
    with telling(counted(), before_s=29) as late, telling(counted()) as node:
        began = time.monotonic()
        assert height(late.url, node.url, answer_s=0.3) == "0x5"
        assert time.monotonic() - began < 5


@each("pieces", list(DRIPPED.values()))
def test_a_node_that_drips__is_given_up_in_time(pieces: Sequence[bytes]) -> None:
    """A call of the keeper lasted as long as the node wished: its headers had no bound."""
    with sending(pieces, PAUSE_S) as url, telling(counted()) as node:
        began = time.monotonic()
        assert height(url, node.url, answer_s=0.5) == "0x5"
        assert time.monotonic() - began < DRIPS * PAUSE_S / 2


def test_a_node_that_reads_nothing__is_given_up_in_time() -> None:
    """It takes what the kernel keeps for it, and no more."""
    with sending([b""], 4) as url, closing(Nodes([url], answer_s=0.5, deadline_s=0.6)) as nodes:
        began = time.monotonic()
        with pytest.raises(RpcUnreachableError):
            nodes.call("eth_sendRawTransaction", ["0x" + "ff" * 25_000_000])
        assert time.monotonic() - began < 3


def test_nobody_listens_or_speaks_http__is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with telling(counted()) as node:
        for url in (
            f"http://127.0.0.1:{port}",
            "ftp://127.0.0.1",
            "127.0.0.1:8545",
            "http://[",
            node.url.replace("http://", "https://"),
        ):
            with pytest.raises(RpcUnreachableError):
                height(url, deadline_s=1)


def test_a_connection__serves_the_next_call_too() -> None:
    def numbered(call: int) -> bytes:
        return counted(BODY.replace(b'"id":1', b'"id":%d' % call))

    stale = numbered(2).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    with telling(numbered(1), stale, numbered(3)) as node, closing(Nodes([node.url])) as nodes:
        assert [nodes.call("eth_blockNumber") for _ in range(3)] == ["0x5"] * 3
        assert node.connections == 2


def test_a_proxy_of_the_environment__is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with telling(counted()) as node, telling(counted()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert (height(node.url), proxy.requests) == ("0x5", [])


def test_a_cookie__is_not_sent_back() -> None:
    """A node that sets others in each answer makes each request longer than the one before."""
    cookies = [b"Set-Cookie: %s=1; Path=/" % name for name in (b"a", b"b")]
    second = counted(BODY.replace(b'"id":1', b'"id":2'))
    with telling(counted(BODY, *cookies), second) as node, closing(Nodes([node.url])) as nodes:
        assert [nodes.call("eth_blockNumber") for _ in range(2)] == ["0x5"] * 2
        assert b"cookie" not in node.requests[1].lower()


def test_user_and_password_of_a_url__go_along_and_are_not_told() -> None:
    with telling(counted(), None) as node:
        url = node.url.replace("http://", "http://user:s%40cret@") + "/key?a=b"
        with closing(Nodes([url])) as nodes:
            assert nodes.call("eth_blockNumber") == "0x5"
            assert node.requests[0].startswith(b"POST /key?a=b HTTP/1.1\r\n")
            assert b"Authorization: Basic dXNlcjpzQGNyZXQ=" in node.requests[0]
            with pytest.raises(RpcUnreachableError) as failed:
                nodes.call("eth_blockNumber")
            assert "cret" not in str((failed.value, nodes.stats()))
