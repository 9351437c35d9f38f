"""How long a connection may be half-open, and how many may: uvicorn on an event loop whose clock
tests move.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from api.catalogue import catalogue
from api.kernel.connections import BoundedProtocol, ConnectionBounds
from api.kernel.protocol import protocol_of
from tests.each import each

BOUNDS = ConnectionBounds(half_open=3, open=5)
HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n"


class Transport(asyncio.Transport):
    """`is_read` false: its peer reads nothing, so that what is written stays in its buffer."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.sent = b""
        self.is_read = True
        self.is_over = self.is_lost = False
        self.is_paused = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("203.0.113.9", 5000), "sockname": ("127.0.0.1", 8000)}.get(
            name, default
        )

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_over = True
        if self.is_read or not self.sent:
            self.abort()

    def abort(self) -> None:
        self.is_over = True
        if not self.is_lost:
            self.is_lost = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def is_closing(self) -> bool:
        return self.is_over

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


async def application(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@dataclass
class Timer:
    at: float
    ring: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Hours:
    """The event loop, but for its clock, which tests move."""

    def __init__(self) -> None:
        self.create_task = asyncio.get_running_loop().create_task
        self.now = 0.0
        self.timers: list[Timer] = []

    def call_later(self, seconds: float, ring: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, ring))
        return self.timers[-1]

    async def pass_(self, seconds: float = 0) -> None:
        self.now += seconds
        for timer in [timer for timer in self.timers if timer.at <= self.now]:
            self.timers.remove(timer)
            if not timer.is_cancelled:
                timer.ring()
        for _ in range(10):
            await asyncio.sleep(0)


class Server:
    def __init__(self) -> None:
        self.protocol = protocol_of(BOUNDS, catalogue())
        self.config = uvicorn.Config(
            application, http=self.protocol, log_config=None, lifespan="off"
        )
        self.config.load()
        self.state = ServerState()
        self.hours = Hours()

    def connect(self) -> tuple[BoundedProtocol, Transport]:
        connection = self.protocol(self.config, self.state, {}, self.hours)
        transport = Transport(connection)
        connection.connection_made(transport)
        return connection, transport


def within(steps: Callable[[Server], Awaitable[None]]) -> None:
    async def run() -> None:
        server = Server()
        await steps(server)
        for connection in list(server.state.connections):
            connection.transport.close()
        await server.hours.pass_()

    asyncio.run(run())


@each("begins", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n"])
def test_a_head__that_does_not_end__is_dropped(begins: bytes) -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        if begins:
            connection.data_received(begins)
        await server.hours.pass_(9)
        assert not transport.is_over
        await server.hours.pass_(1)
        assert transport.is_over

    within(steps)


def test_a_head__byte_by_byte__gains_no_time() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        for byte in HEAD[:10]:
            assert not transport.is_over
            connection.data_received(bytes([byte]))
            await server.hours.pass_(1)
        assert transport.is_over

    within(steps)


def test_a_body__that_does_not_end__is_dropped_after_its_own_time() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(POST)
        for _ in range(3):
            connection.data_received(b"1")
            assert not transport.is_over
            await server.hours.pass_(10)
        assert transport.is_over

    within(steps)


def test_a_whole_request__is_answered_and_its_connection_kept() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        for request in (HEAD, POST + b"1234567890", HEAD):
            connection.data_received(request)
            await server.hours.pass_(4)
        assert transport.sent.count(b"204 No Content") == 3
        assert not transport.is_over
        connection.data_received(b"GET")
        await server.hours.pass_(10)
        assert transport.is_over

    within(steps)


def test_an_answer__may_take_longer_than_its_request() -> None:
    async def steps(server: Server) -> None:
        server.config.loaded_app = slow
        connection, transport = server.connect()
        connection.data_received(HEAD)
        await server.hours.pass_(1_000)
        assert not transport.is_over

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()  # answers when the caller leaves

    within(steps)


def test_half_open_connections__above_their_number__cost_the_oldest() -> None:
    async def steps(server: Server) -> None:
        asked, answered = server.connect()
        asked.data_received(HEAD)
        await server.hours.pass_()
        halves = [server.connect()[1] for _ in range(4)]
        assert [transport.is_over for transport in halves] == [True, False, False, False]
        assert not answered.is_over

    within(steps)


def test_connections__above_their_number__are_refused_in_the_form_of_all_refusals() -> None:
    async def steps(server: Server) -> None:
        for _ in range(5):
            connection, _transport = server.connect()
            connection.data_received(HEAD)
        _connection, refused = server.connect()
        assert refused.sent.startswith(b"HTTP/1.1 503 ")
        assert refused.is_over
        head, body = refused.sent.split(b"\r\n\r\n")
        assert f"content-length: {len(body)}".encode() in head
        assert b"retry-after: 5" in head
        assert json.loads(body)["service"]["reason"] == "temporarily_unavailable"

    within(steps)


def test_connections__above_their_number__cost_the_one_that_is_idle_longest() -> None:
    """One caller held every connection with a small call now and then, and all others were told
    503.
    """

    async def steps(server: Server) -> None:
        idle = []
        for _ in range(5):
            idle.append(server.connect())
            idle[-1][0].data_received(HEAD)
        await server.hours.pass_()
        idle[0][0].data_received(HEAD)
        await server.hours.pass_()
        connection, transport = server.connect()
        connection.data_received(HEAD)
        await server.hours.pass_()
        assert b"204 No Content" in transport.sent
        assert [transport.is_over for _, transport in idle] == [False, True, False, False, False]

    within(steps)


def test_an_answer__that_is_not_read__is_dropped() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(HEAD)
        connection.pause_writing()
        await server.hours.pass_(59)
        assert not transport.is_over
        await server.hours.pass_(1)
        assert transport.is_over

    within(steps)


def test_requests_sent_at_once__are_begun_one_after_the_other() -> None:
    """What one read of a socket holds are thousands of them."""
    begun = list[str]()

    async def steps(server: Server) -> None:
        may_answer = asyncio.Event()

        async def waits(scope: Any, receive: Any, send: Any) -> None:
            begun.append(scope["path"])
            await may_answer.wait()
            await application(scope, receive, send)

        server.config.loaded_app = waits
        connection, transport = server.connect()
        connection.data_received(b"".join(HEAD.replace(b"/", b"/%d" % n, 1) for n in range(3)))
        await server.hours.pass_()
        assert (begun, transport.is_paused) == (["/0"], True)
        may_answer.set()
        for _ in range(3):
            await server.hours.pass_()
        assert begun == ["/0", "/1", "/2"]
        assert not transport.is_paused

    within(steps)


def test_what_follows_connection_close__is_not_read() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(HEAD[:-2] + b"connection: close\r\n\r\n" + HEAD)
        connection.data_received(HEAD)
        await server.hours.pass_()
        assert transport.sent.count(b"204 No Content") == 1
        assert transport.is_over

    within(steps)


async def answers_half(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    await receive()
    await receive()
    await send({"type": "http.response.body", "body": b"the rest"})


def test_an_answer_under_way__is_cut_off_where_the_request_goes_wrong() -> None:
    async def steps(server: Server) -> None:
        server.config.loaded_app = answers_half
        connection, transport = server.connect()
        chunked = POST.replace(b"content-length: 10", b"transfer-encoding: chunked")
        connection.data_received(chunked)
        await server.hours.pass_()
        connection.data_received(b"no size\r\n")
        await server.hours.pass_()
        assert transport.sent.endswith(b"4\r\nhalf\r\n")
        assert transport.is_over

    within(steps)


def test_a_request_that_goes_wrong_before_its_answer__is_refused_and_not_answered() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(POST.replace(b"content-length: 10", b"transfer-encoding: chunked"))
        await server.hours.pass_()
        connection.data_received(b"no size\r\n")
        await server.hours.pass_()
        assert transport.sent.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert transport.sent.count(b"HTTP/1.1 ") == 1

    within(steps)


def test_an_answer_without_a_length__has_no_chunks_in_http_1_0() -> None:
    async def pieces(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in (b"one", b"", b"two"):
            await send({"type": "http.response.body", "body": piece, "more_body": piece != b"two"})

    async def steps(server: Server) -> None:
        server.config.loaded_app = pieces
        connection, transport = server.connect()
        connection.data_received(HEAD.replace(b"1.1", b"1.0"))
        await server.hours.pass_()
        assert transport.sent.endswith(b"connection: close\r\n\r\nonetwo")
        assert b"transfer-encoding" not in transport.sent
        assert transport.is_over

    within(steps)


LAST = HEAD[:-2] + b"connection: close\r\n\r\n"


@pytest.mark.parametrize(
    "closes",
    [
        pytest.param(lambda one: one.data_received(LAST), id="after its answer"),
        pytest.param(lambda one: one.data_received(b"no HTTP\n\n"), id="as it is no HTTP"),
        pytest.param(lambda one: one.shutdown(), id="as the process ends"),
        pytest.param(lambda one: one.timeout_keep_alive_handler(), id="as it is idle"),
    ],
)
def test_a_connection_that_closes__waits_a_minute_for_who_never_reads(
    closes: Callable[[BoundedProtocol], None],
) -> None:
    """Answers below the buffer's high water were kept for ever, with their connection and its file."""

    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        transport.is_read = False
        connection.data_received(HEAD)
        await server.hours.pass_()
        closes(connection)
        await server.hours.pass_()
        assert transport.is_closing()
        assert not connection._idle
        await server.hours.pass_(59)
        assert not transport.is_lost
        await server.hours.pass_(1)
        assert transport.is_lost
        assert not server.state.connections

    within(steps)


def test_an_answer_that_fails_midway__waits_a_minute_for_who_never_reads() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ZeroDivisionError

    async def steps(server: Server) -> None:
        server.config.loaded_app = fails
        connection, transport = server.connect()
        transport.is_read = False
        connection.data_received(HEAD)
        await server.hours.pass_()
        assert transport.is_closing()
        await server.hours.pass_(60)
        assert transport.is_lost

    within(steps)


def test_a_head_that_came_in_part_with_the_one_before__has_its_own_time() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(HEAD + b"GET / HT")
        await server.hours.pass_()
        await server.hours.pass_(9)
        assert not transport.is_over
        await server.hours.pass_(1)
        assert transport.is_over

    within(steps)


def test_a_body_that_is_whole_after_its_answer__leaves_the_connection_idle() -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def steps(server: Server) -> None:
        server.config.loaded_app = early
        connection, transport = server.connect()
        connection.data_received(POST)
        await server.hours.pass_()
        connection.data_received(b"1234567890")
        assert (connection in connection._idle, connection in connection._half_open) == (
            True,
            False,
        )
        await server.hours.pass_(5)
        assert transport.is_over  # of keep-alive

    within(steps)


@pytest.mark.parametrize("error", [None, ConnectionResetError()])
def test_a_connection_that_its_client_closes__leaves_nothing_behind(
    error: Exception | None,
) -> None:
    """Those that were idle stayed, each with its last request, and gave up their places as if they were there."""

    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(HEAD)
        await server.hours.pass_()
        assert connection in connection._idle
        transport.is_lost = True
        connection.connection_lost(error)
        assert not connection._idle
        assert not connection._half_open
        assert all(timer.is_cancelled for timer in server.hours.timers)

    within(steps)


def test_connections_that_nobody_reads__make_room_at_once() -> None:
    async def steps(server: Server) -> None:
        unread = []
        for _ in range(5):
            connection, transport = server.connect()
            transport.is_read = False
            connection.data_received(HEAD)
            unread.append(transport)
        await server.hours.pass_()
        _connection, transport = server.connect()
        await server.hours.pass_()
        assert [one.is_lost for one in unread] == [True, False, False, False, False]
        assert not transport.is_closing()

    within(steps)
