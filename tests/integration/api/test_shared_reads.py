"""Calls alike that wait for their turns together are answered by one read, each of them counted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest
from sqlalchemy import text

from api.kernel import pipeline
from api.kernel.operation import Deps
from api.kernel.outcome import Outcome
from api.kernel.shared_reads import Arrival
from api.kernel.workers import BusyError, Workers
from api.main import create_app
from core.db.engine import Database
from tests.integration.api.conftest import KEY, TestClient, connect
from tests.integration.api.in_process import AppClient

ME, WAITING, PEER = "/mandate-wallet/agents/me", 5, "203.0.113.5"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each snapshot that a call has read."""
    made, reading = list[None](), Database.reading

    def counted(database: Database, work: Callable[[Any], Any]) -> Any:
        made.append(None)
        return reading(database, work)

    monkeypatch.setattr(Database, "reading", counted)
    return made


def test_calls_alike_that_wait_together__share_one_read_and_are_counted_each(
    client: TestClient, deps: Deps, reads: list[None]
) -> None:
    key = str(connect(client)["api_key"])
    workers, opened = Workers(1, 1, most_waiting=WAITING), Event()
    asked = AppClient(create_app(replace(deps, workers=workers)), client=(PEER, 5000))
    taken = workers.submit("another", lambda: opened.wait(30))
    reads.clear()
    with ThreadPoolExecutor(WAITING) as pool:
        calls = [pool.submit(asked.get, ME, headers={KEY: key}) for _ in range(WAITING)]
        _wait_until_full(workers)
        opened.set()
        answers = [call.result(30) for call in calls]
    assert taken.result()
    assert [answer.status_code for answer in answers] == [200] * WAITING
    assert len({answer.text for answer in answers}) == len(reads) == 1
    left = sorted(int(answer.headers["X-RateLimit-Remaining"]) for answer in answers)
    assert left == list(range(left[0], left[0] + WAITING))
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == WAITING


def test_calls_of_two_agents_that_wait_together__are_answered_each_with_its_own(
    client: TestClient, deps: Deps, reads: list[None]
) -> None:
    keys = [str(connect(client, agent_name=name)["api_key"]) for name in ("one", "two")]
    workers, opened = Workers(1, 1, most_waiting=4), Event()
    asked = AppClient(create_app(replace(deps, workers=workers)), client=(PEER, 5000))
    workers.submit("another", lambda: opened.wait(30))
    reads.clear()
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(asked.get, ME, headers={KEY: key}) for key in keys * 2]
        _wait_until_full(workers)
        opened.set()
        answers = [call.result(30) for call in calls]
    assert [answer.json()["name"] for answer in answers] == ["one", "two"] * 2
    assert len(reads) == 2


def test_calls_that_come_one_after_the_other__read_anew(
    client: TestClient, reads: list[None]
) -> None:
    headers = {KEY: str(connect(client)["api_key"])}
    reads.clear()
    assert [client.get(ME, headers=headers).status_code for _ in range(3)] == [200] * 3
    assert len(reads) == 3


def test_a_key_that_died_after_the_read_that_it_waits_beside__is_refused(
    client: TestClient, deps: Deps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is there, and the call's own key is proven all the same."""
    made = connect(client)
    key, begun, opened = str(made["api_key"]), Event(), Event()
    keep = Arrival.keep

    def held(arrival: Arrival, began_at: float, outcome: Outcome) -> None:
        keep(arrival, began_at, outcome)
        begun.set()
        assert opened.wait(30)

    monkeypatch.setattr(Arrival, "keep", held)
    workers, started = Workers(1, 1, most_waiting=2), Event()
    asked = AppClient(create_app(replace(deps, workers=workers)), client=(PEER, 5000))
    workers.submit("another", lambda: started.wait(30))
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(asked.get, ME, headers={KEY: key}) for _ in range(2)]
        _wait_until_full(workers)
        started.set()
        assert begun.wait(30)
        gone = client.post("/auth/agent/recover", json={"recovery_code": made["recovery_code"]})
        opened.set()
        statuses = sorted(call.result(30).status_code for call in calls)
    assert (gone.status_code, statuses) == (200, [200, 401])


@pytest.fixture
def first_is_proven(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """The first call's key is proven, and the call goes on when the second event says so."""
    proven, go, prove, waits = Event(), Event(), pipeline.prove_key, [True]

    def held(*given: Any) -> Any:
        found = prove(*given)
        if waits:
            waits.clear()
            proven.set()
            assert go.wait(30)
        return found

    monkeypatch.setattr(pipeline, "prove_key", held)
    return proven, go


def test_a_call__is_not_answered_with_who_it_was_before_it_was_sent(
    client: TestClient, deps: Deps, first_is_proven: tuple[Event, Event], reads: list[None]
) -> None:
    """Its key's proof tells name and scopes: a read begins with it, and with the call's time."""
    key, (proven, go) = str(connect(client, agent_name="before")["api_key"]), first_is_proven
    workers = Workers(1, 1, most_waiting=1)
    asked = AppClient(create_app(replace(deps, workers=workers)), client=(PEER, 5000))
    reads.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(asked.get, ME, headers={KEY: key})
        assert proven.wait(30)
        with deps.database.write() as session:
            session.execute(text("update account set name = 'after' where name = 'before'"))
        second = pool.submit(asked.get, ME, headers={KEY: key})
        _wait_until_full(workers)
        go.set()
        names = [call.result(30).json()["name"] for call in (first, second)]
    assert (names, len(reads)) == (["before", "after"], 2)


def test_a_refusal__is_each_calls_own(client: TestClient, deps: Deps, reads: list[None]) -> None:
    key = str(connect(client)["api_key"])
    workers, opened = Workers(1, 1, most_waiting=2), Event()
    asked = AppClient(create_app(replace(deps, workers=workers)), client=(PEER, 5000))
    workers.submit("another", lambda: opened.wait(30))
    reads.clear()
    with ThreadPoolExecutor(2) as pool:
        nobodys = "/mandate-wallet/mandates/m_aaaaaaaaaa"
        calls = [pool.submit(asked.get, nobodys, headers={KEY: key}) for _ in range(2)]
        _wait_until_full(workers)
        opened.set()
        statuses = [call.result(30).status_code for call in calls]
    assert (statuses, len(reads)) == ([404, 404], 2)


def _wait_until_full(workers: Workers) -> None:
    until = monotonic() + 20
    while monotonic() < until:
        try:
            workers.require_place(PEER)
        except BusyError:
            return
        sleep(0.01)
    raise AssertionError("the calls do not wait")
