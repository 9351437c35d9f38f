"""Starlette's test client, with one change of threads a call in place of its eight: an answer is
read as a whole, and goes over when the application has ended it.
"""

import asyncio
from functools import cache
from threading import Thread
from typing import Any
from urllib.parse import unquote

import anyio
import httpx2
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from api.catalogue import catalogue
from api.kernel.operation import Operation
from api.main import routed
from tests.integration.api.conformance import Conformance


class AppClient(TestClient):
    """What the application raises is raised by the call, and each answer is held to what its
    operation declares.
    """

    def __init__(
        self,
        app: ASGIApp,
        base_url: str = "http://testserver",
        client: tuple[str, int] = ("testclient", 50000),
        beside: tuple[Operation, ...] = (),
    ) -> None:
        """`beside`: operations that the application has beside the product's."""
        super().__init__(app, base_url=base_url, client=client)
        self._transport = _Transport(self, client)
        self.event_hooks = {
            "request": [],
            "response": [_conformance().beside(beside)],
        }


@cache
def _conformance() -> Conformance:
    return Conformance(routed(catalogue()))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """What serves the clients that were not entered."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True).start()
    return loop


class _Transport(httpx2.BaseTransport):
    def __init__(self, client: TestClient, peer: tuple[str, int]) -> None:
        self._client = client
        self._peer = peer

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        body = request.read()
        status, headers, answered = 0, list[tuple[bytes, bytes]](), bytearray()

        async def run() -> None:
            is_read, ended = False, anyio.Event()

            async def receive() -> Message:
                nonlocal is_read
                if not is_read:
                    is_read = True
                    return {"type": "http.request", "body": body}
                await ended.wait()
                return {"type": "http.disconnect"}

            async def send(message: Message) -> None:
                nonlocal status, headers
                assert not ended.is_set(), "more than one answer"
                if message["type"] == "http.response.start":
                    assert not status, "an answer that begins twice"
                    status, headers = message["status"], list(message.get("headers", []))
                else:
                    assert status and message["type"] == "http.response.body", message
                    answered.extend(message.get("body", b""))
                    if not message.get("more_body", False):
                        ended.set()

            await self._client.app(self._scope(request), receive, send)
            assert ended.is_set(), "no whole answer"

        portal = self._client.portal
        if portal is not None:  # of a client that was entered
            portal.call(run)
        else:
            asyncio.run_coroutine_threadsafe(run(), _loop()).result()
        content = b"" if request.method == "HEAD" else bytes(answered)
        return httpx2.Response(
            status, headers=headers, stream=httpx2.ByteStream(content), request=request
        )

    def _scope(self, request: httpx2.Request) -> dict[str, Any]:
        url = request.url
        return {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "path": unquote(url.path),
            "raw_path": url.raw_path.split(b"?", 1)[0],
            "root_path": "",
            "scheme": url.scheme,
            "query_string": url.query,
            "headers": [
                (name.lower().encode(), value.encode())
                for name, value in request.headers.multi_items()
            ],
            "client": self._peer,
            "server": [url.host, url.port or {"http": 80, "https": 443}[url.scheme]],
            "extensions": {},
            "state": self._client.app_state.copy(),
        }
