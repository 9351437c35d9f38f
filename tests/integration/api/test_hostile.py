"""One caller's worst calls leave the others theirs: bodies, registrations, and connections that say
nothing.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from api.kernel import http
from api.kernel.credentials import KEY_HEADER
from api.kernel.operation import Deps
from api.kernel.workers import (
    CALLS,
    CALLS_OF_ONE,
    LARGE,
    LARGE_BYTES,
    MOST_WAITING,
    TURN_WAIT_S,
    Pools,
    Workers,
)
from api.main import create_app
from api.tools import endpoint
from core.db.engine import Database
from core.identity.queries import lock_registrations
from core.identity.tables import Account
from tests.each import each
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


@contextmanager
def held(*lines: tuple[Workers, str]) -> Iterator[None]:
    """Calls of these lines are served all the while."""
    gate, begun = threading.Event(), threading.Semaphore(0)

    def wait() -> None:
        begun.release()
        gate.wait(WAIT_S)

    with ThreadPoolExecutor(len(lines)) as pool:
        calls = [pool.submit(asyncio.run, workers.run(line, wait)) for workers, line in lines]
        assert all(begun.acquire(timeout=WAIT_S) for _ in calls)
        try:
            yield
        finally:
            gate.set()
        for one in calls:
            one.result(WAIT_S)


def every_thread_held(deps: Deps) -> AbstractContextManager[None]:
    """By calls of many addresses."""
    calls = [(deps.workers.calls, f"192.0.2.{n}") for n in range(CALLS)]
    return held(*calls, *((deps.workers.large, f"192.0.2.{n}") for n in range(LARGE)))


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
    crowded, other = limited(peer="198.51.100.1"), limited(peer="198.51.100.2")
    with held(*[(deps.workers.calls, "198.51.100.1")] * CALLS_OF_ONE):
        one_more = crowd.submit(crowded.get, "/prices")
        assert crowd.submit(other.get, "/prices").result(WAIT_S).status_code == 200
        assert not one_more.done()
    assert one_more.result(WAIT_S).status_code == 200


def test_calls_of_one_address__wait_in_a_line_that_has_an_end(
    limited: Limit, deps: Deps, crowd: ThreadPoolExecutor
) -> None:
    """Each waits with its body, also when its caller has left: without an end, one address fills
    the memory.
    """
    crowded, other = limited(peer="198.51.100.1"), limited(peer="198.51.100.2")
    with held(*[(deps.workers.calls, "198.51.100.1")] * CALLS_OF_ONE):
        waiting = [
            deps.workers.calls.submit("198.51.100.1", lambda: None) for _ in range(MOST_WAITING)
        ]
        refused = [
            crowd.submit(crowded.get, "/prices").result(5),
            crowd.submit(crowded.post, "/mcp", json={}).result(5),
        ]
        assert [one.status_code for one in refused] == [503, 503]
        assert "are already waiting" in refused[0].json()["detail"]
        assert refused[0].headers["Retry-After"]
        assert "are already waiting" in refused[1].json()["error"]["message"]
        assert crowd.submit(other.get, "/prices").result(5).status_code == 200
    for one in waiting:
        one.result(WAIT_S)
    assert crowded.get("/prices").status_code == 200


@pytest.mark.slow
def test_a_call__whose_turn_does_not_come__is_503_in_time_and_was_not_begun(
    limited: Limit, deps: Deps, database: Database, crowd: ThreadPoolExecutor
) -> None:
    """A process whose threads all wait for locks of the database answered when nobody listened any
    more.
    """
    addresses = [f"192.0.2.{n}" for n in range(CALLS)]
    others = [limited(peer=address) for address in addresses]
    caller = limited(peer="198.51.100.1")
    key = register(caller, 0).json()["api_key"]
    before = caller.get("/mandate-wallet/agents/me", headers={KEY_HEADER: key})
    with database.write() as session:
        for address in addresses:
            lock_registrations(session, address)
        held = [crowd.submit(register, one, n) for n, one in enumerate(others)]
        until(lambda: database.connections_in_use == CALLS + 1)
        began = time.monotonic()
        late = crowd.submit(caller.get, "/mandate-wallet/agents/me", headers={KEY_HEADER: key})
        written = crowd.submit(register, caller, 1)
        refused = [late.result(WAIT_S), written.result(WAIT_S)]
        assert TURN_WAIT_S <= time.monotonic() - began < TURN_WAIT_S + 1
    assert [one.result(WAIT_S).status_code for one in held] == [200] * CALLS
    assert [one.status_code for one in refused] == [503, 503]
    assert [one.headers["Retry-After"] for one in refused] == ["5", "5"]
    assert [one.json()["service"]["retry_safe"] for one in refused] == [True, True]
    assert "was not started" in refused[0].json()["detail"]
    after = caller.get("/mandate-wallet/agents/me", headers={KEY_HEADER: key})
    left = [int(one.headers["X-RateLimit-Remaining"]) for one in (before, after)]
    assert left[0] - left[1] == 1
    (counted,) = deps.metrics.calls.collect()
    served = [
        (one.labels["status"], one.value)
        for one in counted.samples
        if one.name.endswith("_total") and one.labels["operation"] == "mandates.me"
    ]
    assert served == [("200", 2)]
    with database.read() as session:
        names = session.scalars(select(Account.name).where(Account.kind == "agent")).all()
    assert len(names) == CALLS + 1


@pytest.mark.parametrize(
    "body",
    [b'{"agent_name":"quant"}', b'{"agent_name":"' + b"x" * 9_000 + b'"}'],
    ids=["small", "large"],
)
@pytest.mark.parametrize("path", ["/auth/agent/connect", "/mcp"])
def test_a_call__in_any_line__waits_for_its_turn_no_longer_than_the_bound(
    limited: Limit, deps: Deps, path: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "TURN_WAIT_S", 0.1)
    client = limited(peer="198.51.100.1")
    with every_thread_held(deps):
        answer = client.post(path, content=body)
    assert answer.status_code == 503
    assert "for its turn and was not started" in answer.text
    assert client.post(path, content=body).status_code != 503


def test_liveness__needs_no_thread(limited: Limit, deps: Deps, crowd: ThreadPoolExecutor) -> None:
    """A load balancer took a busy process for a dead one."""
    client = limited(peer="198.51.100.1")
    with every_thread_held(deps):
        waiting = [
            deps.workers.calls.submit(line, lambda: None)
            for line in ("198.51.100.1", ("in turn", "198.51.100.1"))
            for _ in range(MOST_WAITING)
        ]
        began = time.monotonic()
        assert crowd.submit(client.get, "/health/live").result(1).json() == {"status": "ok"}
        assert crowd.submit(client.head, "/health/live").result(1).status_code == 200
        assert time.monotonic() - began < 1
        with_a_key = crowd.submit(client.get, "/health/live", headers={KEY_HEADER: "svc_key_none"})
        assert with_a_key.result(WAIT_S).status_code == 503  # a credential is proven by a thread
    for one in waiting:
        one.result(WAIT_S)


def test_what_asks_nothing__asks_neither_database_nor_chain(deps: Deps) -> None:
    away = replace(
        deps,
        database=Database("postgresql+psycopg://nobody@127.0.0.1:1/none"),
        chain=None,  # type: ignore[arg-type]  # which is not asked
        workers=Pools(Workers(CALLS, CALLS_OF_ONE)),
    )
    asking_nothing = [one for one in deps.catalogue.operations if one.bounds.asks_nothing]
    assert [one.key for one in asking_nothing] == ["discovery.live"]
    with TestClient(create_app(away)) as client:
        assert [client.get(one.path).status_code for one in asking_nothing] == [200]


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


@each("number", ["1e999999999999999999999", "1e500", "9" * 5_000, "1e-401"])
@each("path", ["/auth/agent/connect", "/mcp"])
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
