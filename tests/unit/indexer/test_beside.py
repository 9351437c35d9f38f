"""The threads beside the tip: out of its way, patient, gone when they are told to."""

import threading
from collections.abc import Iterator

import pytest

from core.db.leadership import LeadershipLostError
from core.errors import OutsideError
from indexer.beside import Beside, Work

WAIT_S = 5.0


class Counted:
    """A work that counts its turns, and may fail in them."""

    def __init__(self, error: Exception | None = None, *, is_more: bool = False) -> None:
        self.begun = threading.Semaphore(0)
        self.error, self.is_more = error, is_more

    def do(self) -> bool:
        self.begun.release()
        if self.error is not None:
            raise self.error
        return self.is_more

    def turns(self, count: int, timeout: float = WAIT_S) -> bool:
        return all(self.begun.acquire(timeout=timeout) for _ in range(count))


@pytest.fixture
def thread() -> Iterator[Beside]:
    beside = Beside("beside the test")
    yield beside
    beside.stop()
    assert "beside the test" not in {one.name for one in threading.enumerate()}


def test_while_the_tip_is_behind__nothing_begins(thread: Beside) -> None:
    work = Counted()
    thread.start([Work(work.do, 0.0)])
    assert not work.turns(1, timeout=0.1)
    thread.let_go()
    assert work.turns(2)


def test_what_is_due__has_its_turn_beside_work_that_always_has_more(thread: Beside) -> None:
    busy, rare = Counted(is_more=True), Counted()
    thread.start([Work(busy.do, 60.0), Work(rare.do, 0.02)])
    thread.let_go()
    assert rare.turns(3)
    assert busy.turns(3)


def test_work_that_is_done__waits_for_its_time(thread: Beside) -> None:
    work = Counted()
    thread.start([Work(work.do, 60.0)])
    thread.let_go()
    assert work.turns(1)
    assert not work.turns(1, timeout=0.1)


def test_what_fails__is_told_once_and_followed_by_the_next_turn(thread: Beside) -> None:
    work = Counted(OutsideError("away"))
    thread.start([Work(work.do, 0.02)])
    thread.let_go()
    assert work.turns(3)
    thread.stop()
    assert len(thread.troubles()) >= 3
    assert thread.troubles() == []


def test_a_lost_lead__ends_the_thread(thread: Beside) -> None:
    work = Counted(LeadershipLostError("indexer", 1))
    thread.start([Work(work.do, 0.0)])
    thread.let_go()
    assert work.turns(1)
    assert not work.turns(1, timeout=0.1)
    assert thread.troubles() == []
