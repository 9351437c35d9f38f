"""A process that ends before a call is answered says so as a refusal. It was `500 Internal Server
Error` in plain text, when a loaded process was asked to end and its grace was over.
"""

import asyncio
import json
import threading
from dataclasses import replace

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from api.kernel.operation import Deps
from api.main import create_app, listen, server_of
from tests.integration.api.conftest import KEY, TestClient, connect
from tests.integration.api.probe import PATH, Gate, catalogue


def test_a_call_whose_process_ends__is_refused_and_may_be_sent_again(
    client: TestClient, deps: Deps, gate: Gate
) -> None:
    before = set(threading.enumerate())
    key = str(connect(client)["api_key"])
    app = create_app(replace(deps, catalogue=catalogue(gate)))

    async def story() -> httpx.Response:
        with listen("127.0.0.1", 0) as listener:
            port = listener.getsockname()[1]
            server = server_of(app, grace_s=0)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            async with httpx.AsyncClient(trust_env=False, timeout=30) as caller:
                asked = asyncio.create_task(
                    caller.post(
                        f"http://127.0.0.1:{port}{PATH}", json={"do": "wait"}, headers={KEY: key}
                    )
                )
                while not await asyncio.to_thread(gate.entered.wait, 0.1):
                    assert not asked.done(), asked.result().text
                server.should_exit = True
                answer = await asked
            gate.opened.set()
            await serving
            return answer

    answer = asyncio.run(story())
    for thread in set(threading.enumerate()) - before:
        thread.join(10)  # of the call: what it connects anew, its database closes at the test's end
        assert not thread.is_alive(), thread.name
    said = json.loads(answer.text)
    assert answer.status_code == 503
    assert said["service"]["reason"] == "temporarily_unavailable"
    assert "it is unknown whether the call took effect" in said["detail"]
    assert "X-Request-Id" in answer.headers


@pytest.mark.parametrize("path", ["/mandate-wallet/mandates", "/mcp"])
def test_a_call_whose_body_is_on_its_way_when_the_process_ends__is_refused(
    deps: Deps, path: str
) -> None:
    app, begun = create_app(deps), asyncio.Event()
    head = f"POST {path} HTTP/1.1\r\nhost: testserver\r\ncontent-length: 9\r\n\r\n{{".encode()

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            begun.set()
        await app(scope, receive, send)

    async def story() -> bytes:
        with listen("127.0.0.1", 0) as listener:
            server = server_of(watched, grace_s=0)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(head)
            await begun.wait()
            server.should_exit = True
            answer = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            await serving
            return answer

    answered, _, body = asyncio.run(story()).partition(b"\r\n\r\n")
    assert answered.startswith(b"HTTP/1.1 503 "), answered
    assert b"x-request-id: " in answered.lower()
    assert json.loads(body)["service"]["reason"] == "temporarily_unavailable"
