"""The auditor's thread: out of the tip's way, patient with the outside, gone when it is told to."""

import threading
from collections.abc import Callable

import pytest

from core.db.leadership import LeadershipLostError
from core.errors import OutsideError
from indexer.chain.audit_loop import AuditLoop, Rest, Rounds, StoppedError

WAIT_S = 5.0


class CountedRounds:
    """Stands where an auditor does; counts its rounds and may fail in them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = threading.Semaphore(0)
        self.error = error

    def made(self) -> Callable[[Rest], Rounds]:
        return lambda _: self

    def round(self) -> None:
        self.begun.release()
        if self.error is not None:
            raise self.error


def test_while_the_tip_is_behind__no_round_begins() -> None:
    rounds, loop = CountedRounds(), AuditLoop(0.001)
    loop.start(rounds.made())
    assert not rounds.begun.acquire(timeout=0.1)
    loop.let_go()
    assert rounds.begun.acquire(timeout=WAIT_S)
    loop.stop()


def test_a_round_that_fails__is_followed_by_the_next() -> None:
    rounds, loop = CountedRounds(OutsideError("away")), AuditLoop(0.001)
    loop.start(rounds.made())
    loop.let_go()
    for _ in range(3):
        assert rounds.begun.acquire(timeout=WAIT_S)
    loop.stop()


def test_a_lost_lead__ends_the_thread() -> None:
    rounds, loop = CountedRounds(LeadershipLostError("indexer", 1)), AuditLoop(0.001)
    loop.start(rounds.made())
    loop.let_go()
    assert rounds.begun.acquire(timeout=WAIT_S)
    assert not rounds.begun.acquire(timeout=0.1)
    loop.stop()


def test_a_stopped_loop__lets_no_further_piece_of_work_begin() -> None:
    loop = AuditLoop(0.001)
    loop.let_go()
    loop.rest(0)
    loop.stop()
    with pytest.raises(StoppedError):
        loop.rest(0)


def test_a_loop_that_waits_for_the_tip__can_be_stopped() -> None:
    rounds, loop = CountedRounds(), AuditLoop(0.001)
    loop.start(rounds.made())
    loop.stop()
    assert not rounds.begun.acquire(blocking=False)
    assert "auditor" not in {thread.name for thread in threading.enumerate()}
