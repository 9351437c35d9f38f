"""One caller's worst calls leave the others theirs: bodies, registrations, and connections that say
nothing.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from api.kernel import http
from api.kernel.operation import Deps
from api.kernel.workers import CALLS, CALLS_OF_ONE, LARGE_BYTES, MOST_WAITING
from api.tools import endpoint
from core.db.engine import Database
from core.identity.queries import lock_registrations
from tests.integration.api.conftest import Limit, TestClient

WAIT_S = 20


@pytest.fixture
def crowd() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(40) as pool:
        yield pool


def register(client: TestClient, number: int) -> httpx.Response:
    return client.post("/auth/agent/connect", json={"agent_name": f"a{number}"})


def until(is_so: Callable[[], bool], seconds: float = WAIT_S) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_registrations_of_one_address__hold_one_thread_however_many_wait(
    limited: Limit, deps: Deps, database: Database, crowd: ThreadPoolExecutor
) -> None:
    """Their lock is held by a transaction that takes its time: 30 of them waited on all 16
    threads.
    """
    crowded, other = limited(peer="198.51.100.1"), limited(peer="198.51.100.2")
    with database.write() as session:
        lock_registrations(session, "198.51.100.1")
        waiting: list[Future[httpx.Response]] = [
            crowd.submit(register, crowded, n) for n in range(30)
        ]
        until(lambda: database.connections_in_use >= 2)
        time.sleep(0.5)
        assert database.connections_in_use == 2  # this test's own, and one that waits
        began = time.monotonic()
        assert crowd.submit(register, other, 0).result(5).status_code == 200
        assert crowd.submit(crowded.get, "/prices").result(5).status_code == 200
        assert time.monotonic() - began < 5
    assert sorted({one.result(WAIT_S).status_code for one in waiting}) == [200, 429]


def test_calls_of_one_address__never_hold_every_thread(
    limited: Limit, deps: Deps, crowd: ThreadPoolExecutor
) -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)
    crowded, other = limited(peer="198.51.100.1"), limited(peer="198.51.100.2")

    def wait() -> None:
        begun.release()
        gate.wait(WAIT_S)

    held = [deps.workers.submit("198.51.100.1", wait) for _ in range(CALLS)]
    assert all(begun.acquire(timeout=WAIT_S) for _ in range(CALLS_OF_ONE))
    assert not begun.acquire(timeout=0.2)
    try:
        assert crowd.submit(other.get, "/prices").result(WAIT_S).status_code == 200
    finally:
        gate.set()
    for one in held:
        one.result(WAIT_S)
    assert crowded.get("/prices").status_code == 200


def test_calls_of_one_address__wait_in_a_line_that_has_an_end(
    limited: Limit, deps: Deps, crowd: ThreadPoolExecutor
) -> None:
    """Each waits with its body, also when its caller has left: without an end, one address fills
    the memory.
    """
    gate = threading.Event()
    crowded, other = limited(peer="198.51.100.1"), limited(peer="198.51.100.2")
    held = [
        deps.workers.submit("198.51.100.1", lambda: gate.wait(WAIT_S))
        for _ in range(CALLS_OF_ONE + MOST_WAITING)
    ]
    try:
        refused = [
            crowd.submit(crowded.get, "/prices").result(5),
            crowd.submit(crowded.post, "/mcp", json={}).result(5),
        ]
        assert [one.status_code for one in refused] == [503, 503]
        assert "as may wait are waiting" in refused[0].json()["detail"]
        assert refused[0].headers["Retry-After"]
        assert "as may wait are waiting" in refused[1].json()["error"]["message"]
        assert crowd.submit(other.get, "/prices").result(5).status_code == 200
    finally:
        gate.set()
    for one in held:
        one.result(WAIT_S)
    assert crowded.get("/prices").status_code == 200


@pytest.mark.parametrize("path", ["/auth/agent/connect", "/mcp"])
def test_a_body__is_read_by_a_thread_and_not_by_the_event_loop(
    limited: Limit, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_by: list[str] = []
    real = http.read_object

    def noted(raw: bytes) -> dict[str, object]:
        if raw:
            read_by.append(threading.current_thread().name)
        return real(raw)

    monkeypatch.setattr(http, "read_object", noted)
    monkeypatch.setattr(endpoint, "read_object", noted)
    client = limited()
    client.event_hooks = {"request": [], "response": []}
    client.post(path, content=b'{"a":1}')
    client.post(path, content=b'{"a":"' + b"x" * 9_000 + b'"}')
    assert [name.split("_")[0] for name in read_by] == ["call", "large"]


@pytest.mark.parametrize("number", ["1e999999999999999999999", "1e500", "9" * 5_000, "1e-401"])
@pytest.mark.parametrize("path", ["/auth/agent/connect", "/mcp"])
def test_a_number__beyond_any_bound__is_400_and_no_defect(
    limited: Limit, path: str, number: str
) -> None:
    client = limited()
    client.event_hooks = {"request": [], "response": []}
    answer = client.post(path, content=f'{{"agent_name": {number}, "id": {number}}}'.encode())
    assert answer.status_code == 400
    body = answer.json()
    assert (body["service"] if "service" in body else body["error"]["data"]["service"])[
        "reason"
    ] == "invalid_number"


def test_a_large_message__reaches_the_event_loop_without_its_arguments(
    limited: Limit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The MCP server reads what it gets on the event loop; the call's own arguments are whole."""
    given: list[int] = []
    real = endpoint._again

    def noted(raw: bytes, receive: Any) -> Any:
        given.append(len(raw))
        return real(raw, receive)

    monkeypatch.setattr(endpoint, "_again", noted)
    client = limited()
    client.event_hooks = {"request": [], "response": []}
    arguments = {"agent_name": "quant", "more": [1.5] * 15_000}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "agent_connect", "arguments": arguments},
    }
    assert client.post("/mcp", json={**call, "method": "tools/list"}).status_code == 413
    headers = {"Accept": "application/json, text/event-stream"}
    answer = client.post("/mcp", json=call, headers=headers)
    assert "more: leave it out" in answer.text
    assert given == [one for one in given if one < LARGE_BYTES]
    assert len(given) == 1
