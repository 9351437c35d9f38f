"""A bound in time of a whole HTTP request, whatever the other side does with it.

httpx bounds each read alone: who sends a byte of a header now and then is never too late.

    within(30): connecting, the handshake, sending, headers and body together end within 30 s
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any, Final

import httpcore
import httpx

PIECE_BYTES: Final = 16_384  # of what is sent: the backend bounds each piece alone

_until: ContextVar[float | None] = ContextVar("http_deadline", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What this thread asks through a DeadlineTransport in here ends in so many seconds.

    Errors, of the requests within: httpx.TimeoutException.
    """
    outer = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(outer)


class DeadlineTransport(httpx.HTTPTransport):
    """As httpx's own, bounded by `within`; no proxy or certificate of the environment is used."""

    def __init__(self) -> None:
        super().__init__(trust_env=False)
        # httpx hands no backend on to the pool that it makes
        self._pool._network_backend = _Backend()

    def __del__(self) -> None:
        self.close()  # connections that rest go with the transport that nobody has any more


def remaining_s(otherwise: float) -> float:
    """What is left of `within`, at least a millisecond; outside of it `otherwise`."""
    until = _until.get()
    return otherwise if until is None else max(0.001, until - time.monotonic())


def left_s(until: float, late: Callable[[str], Exception]) -> float:
    """Seconds until then, by time.monotonic. Errors: `late` when there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise late("the request took too long")
    return left


def _bounded(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """Of one step's time as much as the request has. Errors: `late`."""
    until = _until.get()
    if until is None:
        return timeout
    left = left_s(until, late)
    return left if timeout is None else min(timeout, left)


class _Backend(httpcore.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        within_s = _bounded(timeout, httpcore.ConnectTimeout)
        return _Stream(super().connect_tcp(host, port, within_s, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _bounded(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for at in range(0, len(buffer), PIECE_BYTES):
            piece = buffer[at : at + PIECE_BYTES]
            self._stream.write(piece, _bounded(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        within_s = _bounded(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, within_s))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
