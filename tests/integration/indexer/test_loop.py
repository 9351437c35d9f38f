"""No failure of a round ends the process: it is counted, told and followed by the next round."""

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from core.db import leadership as leader
from core.db import locks
from core.db.engine import WriteSession
from core.db.leadership import Leadership
from core.health import views as health
from core.watchdog import Watchdog
from indexer import loop as loop_module
from indexer.chain import refold as refold_module
from indexer.chain.quarantine import HeldFacts
from indexer.chain.tip import TipLoop, TipRound
from indexer.loop import Indexer
from indexer.metrics import IndexerMetrics
from tests.integration.indexer.conftest import Follower
from tests.integration.indexer.refusing import Refusals
from tests.integration.indexer.test_quarantine import buy

WITHIN_S = 60.0


@pytest.fixture
def metrics() -> IndexerMetrics:
    return IndexerMetrics(time.time)


@pytest.fixture
def indexer(
    follower: Follower, metrics: IndexerMetrics, monkeypatch: pytest.MonkeyPatch
) -> Indexer:
    monkeypatch.setattr(loop_module, "RETRY_S", 0.05)
    chain = follower.chain
    return Indexer(
        chain.reader,
        follower.database,
        follower.leadership,
        chain_id=chain.chain_id,
        start_block=chain.start_block,
        poll_s=0.05,
        metrics=metrics,
        watchdog=Watchdog(WITHIN_S, lambda code: None),
    )


def running(indexer: Indexer, until: Callable[[], bool]) -> None:
    thread = Thread(target=indexer.run, daemon=True)
    thread.start()
    end = time.monotonic() + WITHIN_S
    while not until():
        assert thread.is_alive(), "the loop ended"
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    indexer.stop()
    thread.join()


def counted(metrics: IndexerMetrics, kind: str) -> float:
    return (
        metrics.registry.get_sample_value("mandate_indexer_round_failures_total", {"kind": kind})
        or 0.0
    )


def rounds(metrics: IndexerMetrics) -> float:
    return metrics.registry.get_sample_value("mandate_indexer_rounds_total") or 0.0


HOSTILE = "a \x00 name \ud800 of\n" + "many words" * 1_000


@pytest.mark.parametrize(
    "error",
    [
        KeyError(HOSTILE),
        TypeError(HOSTILE),
        RecursionError(HOSTILE),
        AssertionError(),
        ZeroDivisionError(),
    ],
)
def test_any_exception_of_a_round__is_counted_and_the_next_one_follows(
    indexer: Indexer, metrics: IndexerMetrics, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Its text, whatever is in it, stands in the status, which the database takes."""
    failures, real = iter([error, error]), TipLoop.round

    def failing(self: TipLoop) -> Any:
        for failure in failures:
            raise failure
        return real(self)

    monkeypatch.setattr(TipLoop, "round", failing)
    running(indexer, lambda: rounds(metrics) >= 2)
    assert counted(metrics, type(error).__name__) == 2


def test_what_fails_beside_a_round__keeps_nothing_else_from_being_done(
    indexer: Indexer, metrics: IndexerMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: TipLoop) -> None:
        raise KeyError("safe")

    looked: list[int] = []
    monkeypatch.setattr(TipLoop, "note_finality", broken)
    monkeypatch.setattr(loop_module, "watch_deposits", lambda chain, now: looked.append(1))
    running(indexer, lambda: bool(looked) and rounds(metrics) >= 2)
    assert counted(metrics, "KeyError") >= 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[TipLoop]:
    """Every loop that was opened: each reads the watch list of all vaults again and has forgotten
    what was learnt of nodes.
    """
    made, real = list[TipLoop](), TipLoop.__init__

    def opening(self: TipLoop, *rest: Any) -> None:
        made.append(self)
        real(self, *rest)

    monkeypatch.setattr(TipLoop, "__init__", opening)
    return made


def test_what_fails_beside_a_round_for_good__costs_nothing_of_what_the_process_knows(
    indexer: Indexer,
    metrics: IndexerMetrics,
    opened: list[TipLoop],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop was dropped, and opened again, each second."""

    def failing(error: Exception) -> Callable[..., None]:
        def fail(*rest: object) -> None:
            raise error

        return fail

    monkeypatch.setattr(loop_module, "FINALITY_S", 0.0)
    monkeypatch.setattr(loop_module, "DEPOSITS_S", 0.0)
    monkeypatch.setattr(TipLoop, "note_finality", failing(KeyError("safe")))
    monkeypatch.setattr(loop_module, "BESIDE_S", 0.0)
    monkeypatch.setattr(HeldFacts, "round", failing(AssertionError("no fact")))
    monkeypatch.setattr(loop_module, "watch_deposits", failing(ZeroDivisionError("no report")))
    kinds = "KeyError", "AssertionError", "ZeroDivisionError"
    running(indexer, lambda: all(counted(metrics, kind) >= 4 for kind in kinds))
    assert len(opened) == 1
    assert indexer._status["state"] == "degraded"
    assert indexer._status["error"].startswith("'safe'; no report")


def test_a_ledger_that_todays_fold_refuses__keeps_no_later_one_from_being_folded(
    indexer: Indexer,
    metrics: IndexerMetrics,
    opened: list[TipLoop],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = list[int]()

    def refold(session: object, mandate_id: int) -> None:
        tried.append(mandate_id)
        if mandate_id == 1:
            raise ValueError("today's fold refuses it")

    monkeypatch.setattr(refold_module, "older_ledgers", lambda session: [1, 2, 3])
    monkeypatch.setattr(refold_module, "refold", refold)
    monkeypatch.setattr(loop_module, "BESIDE_S", 0.0)
    running(indexer, lambda: len(tried) >= 3)
    assert tried == [1, 2, 3]
    assert counted(metrics, "ValueError") == 1
    assert len(opened) == 1


def test_a_new_start__tries_what_is_held_once_more(
    indexer: Indexer, follower: Follower, metrics: IndexerMetrics
) -> None:
    refusals = Refusals(follower.database)
    mandate = follower.issue()
    ledger = mandate, follower.deployed.create_vault(mandate.terms)
    follower.catch_up()
    refusals.add(buy(follower, ledger))
    follower.catch_up()
    refusals.drop()
    running(indexer, lambda: "move" in follower.story(mandate))
    follower.assert_sound(*ledger)


def test_work_beside_a_leader__waits_for_its_transaction_and_it_for_ours(
    follower: Follower, database_url: str
) -> None:
    leadership: Leadership = follower.leadership
    with follower.database.write() as session:
        leadership.fence(session)
        with WriteSession(follower.database.engine, expire_on_commit=False) as other:
            other.execute(text("set local lock_timeout = '50ms'"))
            with pytest.raises(Exception, match="lock timeout"):
                locks.own(leader.fence_name(health.INDEXER)).wait(other)
    with follower.database.write() as session:
        locks.own(leader.fence_name(health.INDEXER)).wait(session)
        with WriteSession(follower.database.engine, expire_on_commit=False) as other:
            other.execute(text("set local lock_timeout = '50ms'"))
            with pytest.raises(Exception, match="lock timeout"):
                leadership.fence(other)


def test_work_beside_a_leader__does_not_hold_up_its_heartbeat(follower: Follower) -> None:
    """A spare ends a leader that was silent for two seconds."""
    leadership: Leadership = follower.leadership
    with follower.database.write() as session:
        locks.own(leader.fence_name(health.INDEXER)).wait(session)
        begun = time.monotonic()
        leadership.beat({"state": "following"})
        assert time.monotonic() - begun < 1


def test_a_round_that_hangs__is_ended_by_the_watchdog_and_one_that_gets_on_is_not(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, hangs = Event(), Event()
    indexer._watchdog = Watchdog(1.0, lambda code: left.set())

    def slow(self: TipLoop) -> TipRound:
        for _ in range(8):
            time.sleep(0.25)
            self.chain.sign()
        assert not left.is_set(), "it gave signs all the time"
        hangs.wait(WITHIN_S)
        return TipRound(0, 0)

    monkeypatch.setattr(TipLoop, "round", slow)
    thread = Thread(target=indexer.run, daemon=True)
    thread.start()
    assert left.wait(WITHIN_S)
    hangs.set()
    indexer.stop()
    thread.join()


def test_a_database_that_is_away_before_it_leads__is_waited_for(
    indexer: Indexer, metrics: IndexerMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, real = iter([1, 2]), Leadership.try_take

    def failing(self: Leadership, now: Any) -> bool:
        for _ in failures:
            raise OperationalError("select", {}, Exception("connection refused"))
        return real(self, now)

    monkeypatch.setattr(Leadership, "try_take", failing)
    running(indexer, lambda: rounds(metrics) >= 2)
    assert counted(metrics, "OperationalError") == 2
