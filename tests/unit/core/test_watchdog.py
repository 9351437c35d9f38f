"""When the watchdog ends the process.

How it ends a real one: tests/integration/keeper/test_keeper_watchdog.py.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from core.watchdog import EXIT_CODE, Watchdog

WITHIN_S = 5.0


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Exit:
    """Takes the place of os._exit."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.happened = threading.Event()

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.happened.set()


@pytest.fixture(autouse=True)
def threads_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a thread raises belongs to the test that started it. The test's patches outlive its threads,
    which need them to their end.
    """
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(WITHIN_S)
        assert not thread.is_alive()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leave() -> Exit:
    return Exit()


def test_watchdog__silence_as_long_as_the_limit__ends_the_process_once(
    clock: Clock, leave: Exit
) -> None:
    watchdog = Watchdog(0.05, leave, clock)
    watchdog.start()
    clock.now += 0.05
    assert leave.happened.wait(WITHIN_S)
    assert leave.codes == [EXIT_CODE] == [70]


def test_watchdog__a_sign_in_time__does_not(clock: Clock, leave: Exit) -> None:
    watchdog = Watchdog(0.05, leave, clock)
    watchdog.start()
    for _ in range(3):
        clock.now += 0.049
        assert not leave.happened.wait(0.02)  # it has looked four times
        watchdog.sign()
    watchdog.call_off()
    assert leave.codes == []


def test_watchdog__time_before_the_start__does_not_count(clock: Clock, leave: Exit) -> None:
    watchdog = Watchdog(0.05, leave, clock)
    clock.now += 60
    watchdog.start()
    assert not leave.happened.wait(0.02)
    watchdog.call_off()


def test_watchdog__called_off__ends_nothing(clock: Clock, leave: Exit) -> None:
    watchdog = Watchdog(0.05, leave, clock)
    watchdog.start()
    watchdog.call_off()
    clock.now += 60
    assert not leave.happened.wait(0.1)


@pytest.mark.parametrize("is_stuck", [False, True], ids=["raises", "never returns"])
def test_watchdog__its_own_log_fails__ends_the_process_all_the_same(
    clock: Clock, leave: Exit, monkeypatch: pytest.MonkeyPatch, is_stuck: bool
) -> None:
    is_over = threading.Event()

    class Log:
        def critical(self, *_: object, **__: object) -> None:
            if is_stuck:
                is_over.wait(2 * WITHIN_S)
            raise OSError("No space left on device")

    monkeypatch.setattr("core.watchdog.log", Log())
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    watchdog = Watchdog(0.05, leave, clock)
    watchdog.start()
    clock.now += 0.05
    try:
        assert leave.happened.wait(WITHIN_S)
        assert leave.codes == [EXIT_CODE]
    finally:
        is_over.set()
