"""Calls alike that wait for their turns together are answered by one read, each of them counted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from api.kernel.operation import Deps
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


def test_a_key_that_died_while_its_calls_waited__is_refused(
    client: TestClient, deps: Deps, reads: list[None]
) -> None:
    """The read of the first is of before; the second is proven by itself."""
    made = connect(client)
    key = str(made["api_key"])
    workers, opened = Workers(1, 1, most_waiting=1), Event()
    asked = AppClient(create_app(replace(deps, workers=workers)), client=(PEER, 5000))
    workers.submit("another", lambda: opened.wait(30))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(asked.get, ME, headers={KEY: key})
        _wait_until_full(workers)
        gone = client.post("/auth/agent/recover", json={"recovery_code": made["recovery_code"]})
        opened.set()
        answer = call.result(30)
    assert (gone.status_code, answer.status_code) == (200, 401)


def _wait_until_full(workers: Workers) -> None:
    until = monotonic() + 20
    while monotonic() < until:
        try:
            workers.require_place(PEER)
        except BusyError:
            return
        sleep(0.01)
    raise AssertionError("the calls do not wait")
