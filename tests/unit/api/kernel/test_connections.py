"""How long a connection may be half-open, and how many may: uvicorn on a real event loop, with transports that keep what they hear."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from api.kernel.connections import BoundedProtocol, ConnectionBounds, protocol_of

BOUNDS = ConnectionBounds(head_s=0.1, body_s=0.3, stall_s=0.1, half_open=3, open=5)
HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n"


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_over = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("203.0.113.9", 5000), "sockname": ("127.0.0.1", 8000)}.get(name, default)

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_over = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_over

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def application(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class Server:
    def __init__(self, bounds: ConnectionBounds = BOUNDS) -> None:
        self.protocol = protocol_of(bounds)
        self.config = uvicorn.Config(application, http=self.protocol, log_config=None, lifespan="off")
        self.state = ServerState()

    def connect(self) -> tuple[BoundedProtocol, Transport]:
        connection, transport = self.protocol(self.config, self.state, {}), Transport()
        connection.connection_made(transport)
        return connection, transport


def within(steps: Callable[[Server], Awaitable[None]]) -> None:
    async def run() -> None:
        await steps(Server())

    asyncio.run(run())


async def dripped(connection: BoundedProtocol, transport: Transport, data: bytes, seconds: float) -> float:
    """Send a byte every 20 ms; the second at which the connection was over."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for byte in data:
        if transport.is_over or loop.time() - began > seconds:
            break
        connection.data_received(bytes([byte]))
        await asyncio.sleep(0.02)
    return loop.time() - began


@pytest.mark.parametrize("begins", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n"])
def test_a_head__that_does_not_end__is_dropped(begins: bytes) -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        if begins:
            connection.data_received(begins)
        await asyncio.sleep(0.3)
        assert transport.is_over

    within(steps)


def test_a_head__byte_by_byte__gains_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        assert await dripped(connection, transport, HEAD * 4, 2) < 1
        assert transport.is_over

    within(steps)


def test_a_body__that_does_not_end__is_dropped_after_its_own_time() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(POST + b"123")
        await asyncio.sleep(0.15)
        assert not transport.is_over
        await asyncio.sleep(0.5)
        assert transport.is_over

    within(steps)


def test_a_whole_request__is_answered_and_its_connection_kept() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        for request in (HEAD, POST + b"1234567890", HEAD):
            connection.data_received(request)
            await asyncio.sleep(0.15)
        assert transport.sent.count(b"204 No Content") == 3
        assert not transport.is_over
        connection.data_received(b"GET")
        await asyncio.sleep(0.3)
        assert transport.is_over

    within(steps)


def test_half_open_connections__above_their_number__cost_the_oldest() -> None:
    async def steps(server: Server) -> None:
        asked, answered = server.connect()
        asked.data_received(HEAD)
        await asyncio.sleep(0.01)
        halves = [server.connect()[1] for _ in range(4)]
        assert [transport.is_over for transport in halves] == [True, False, False, False]
        assert not answered.is_over

    within(steps)


def test_connections__above_their_number__are_told_so() -> None:
    async def steps(server: Server) -> None:
        for _ in range(5):
            connection, _transport = server.connect()
            connection.data_received(HEAD)
        _connection, refused = server.connect()
        assert refused.sent.startswith(b"HTTP/1.1 503 ")
        assert refused.is_over
        head, body = refused.sent.split(b"\r\n\r\n")
        assert f"content-length: {len(body)}".encode() in head

    within(steps)


def test_an_answer__that_is_not_read__is_dropped() -> None:
    async def steps(server: Server) -> None:
        connection, transport = server.connect()
        connection.data_received(HEAD)
        connection.pause_writing()
        await asyncio.sleep(0.3)
        assert transport.is_over

    within(steps)
