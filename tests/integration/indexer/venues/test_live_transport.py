"""The way out to a venue, against a server on this machine: bounded, and without redirects."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from ccxt.base.errors import BadResponse, ExchangeNotAvailable, RequestTimeout

from indexer.venues.transport import LiveTransport, VenueAnswer, VenueRequest

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answered(handler: Handler, *, max_bytes: int = 1_000, timeout_s: float = 5.0) -> VenueAnswer:
    async def run() -> VenueAnswer:
        application = web.Application()
        application.router.add_get("/", handler)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        transport = LiveTransport(max_bytes)
        request = VenueRequest("GET", f"http://127.0.0.1:{port}/", {}, None, timeout_s)
        try:
            return await transport.send(request)
        finally:
            await transport.close()
            await runner.cleanup()

    return asyncio.run(run())


async def thousand(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 1_000)


async def one_more(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 1_001)


async def bomb(_: web.Request) -> web.StreamResponse:
    return web.Response(body=gzip.compress(b"0" * 50_000_000), headers={"Content-Encoding": "gzip"})


async def elsewhere(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("http://127.0.0.1:1/secret")


async def silence(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3)
    return web.Response()


def test_an_answer_of_the_most_bytes__is_taken() -> None:
    assert answered(thousand).text == "x" * 1_000


def test_an_answer_of_a_byte_more__is_refused() -> None:
    with pytest.raises(BadResponse, match="more than 1000 bytes"):
        answered(one_more)


def test_fifty_megabytes_in_a_small_gzip__are_refused() -> None:
    with pytest.raises(BadResponse, match="more than 1000 bytes"):
        answered(bomb)


def test_a_redirect__is_an_answer_and_is_not_followed() -> None:
    assert answered(elsewhere).status == 302


def test_a_server_that_says_nothing__is_a_timeout() -> None:
    with pytest.raises(RequestTimeout):
        answered(silence, timeout_s=0.2)


def test_a_closed_port__is_unavailable() -> None:
    async def run() -> None:
        transport = LiveTransport()
        try:
            await transport.send(VenueRequest("GET", "http://127.0.0.1:1/", {}, None, 2.0))
        finally:
            await transport.close()

    with pytest.raises(ExchangeNotAvailable):
        asyncio.run(run())
