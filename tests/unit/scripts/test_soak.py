"""What the soak measures and judges."""

import asyncio
from collections import Counter
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.bench.soak import MachineRoom, Soak, report
from tests.bench.traffic import Tally, Traffic
from tests.each import each

MINUTES = 60.0
OURS = ("api", "keeper")


def soak_of(**room: Any) -> Soak:
    traffic = SimpleNamespace(in_flight=0, take=Tally)
    machines = cast("MachineRoom", SimpleNamespace(**room))
    return Soak(machines, cast("Traffic", traffic), 200.0, MINUTES * 60)


@pytest.fixture
def soak() -> Soak:
    """1,000 calls served, and memory that does not grow."""
    stack = SimpleNamespace(children=dict.fromkeys((*OURS, "chain")))
    soak = soak_of(stack=stack, restarts=Counter(), asked_ends=Counter())
    soak.troubled = Tally(served=1_000)
    for name in (*OURS, "chain"):
        soak.memory[name, 1] = [(at * 60.0, 100.0) for at in range(61)]
    return soak


def judged(soak: Soak, *, traded_to_the_end: bool = True) -> set[str]:
    """What does not hold."""
    found = report(soak, 0, MINUTES, 9, traded_to_the_end=traded_to_the_end)
    return {name for name, held in found["held"].items() if not held}


def test_a_process_that_is_begun_again_while_it_is_looked_at__is_seen_once() -> None:
    pids = count(1)
    soak = soak_of(memory_mib=lambda: {("keeper", next(pids)): 100.0})
    asyncio.run(soak._look(Tally()))
    assert [(one, len(samples)) for one, samples in soak.memory.items()] == [(("keeper", 1), 1)]


def test_a_run_without_a_fault__holds(soak: Soak) -> None:
    assert judged(soak) == set()


@each(("mib", "fails"), [(105.0, set()), (105.1, {"memory"})])
def test_memory__may_grow_by_five_per_cent(soak: Soak, mib: float, fails: set[str]) -> None:
    soak.memory["keeper", 1][-3:] = [(at * 60.0, mib) for at in (58, 59, 60)]
    assert judged(soak) == fails


def test_memory_of_the_chain__is_not_judged(soak: Soak) -> None:
    soak.memory["chain", 1][-3:] = [(at * 60.0, 900.0) for at in (58, 59, 60)]
    assert judged(soak) == set()


@each(("begun", "fails"), [(42, set()), (43, {"memory"})])
def test_a_process_that_is_begun_again_too_late_for_its_memory__does_not_hold(
    soak: Soak, begun: int, fails: set[str]
) -> None:
    """18 of 60 minutes; what grew since the last look but three would always be nothing."""
    soak.memory["keeper", 1] = [(at * 60.0, 100.0) for at in range(begun)]
    soak.memory["keeper", 2] = [(at * 60.0, 100.0) for at in range(begun, 61)]
    assert judged(soak) == fails


@each(("restarts", "fails"), [(2, set()), (3, {"restarts"})])
def test_a_process__ends_no_more_often_than_a_fault_asks(
    soak: Soak, restarts: int, fails: set[str]
) -> None:
    soak.room.asked_ends["keeper"] = 2
    soak.room.restarts["keeper"] = restarts
    assert judged(soak) == fails


@each(("refused", "fails"), [(10, set()), (11, {"refused"})])
def test_one_call_of_a_hundred__may_be_refused(soak: Soak, refused: int, fails: set[str]) -> None:
    soak.troubled = Tally(served=1_000 - refused, refused=Counter({"503 busy": refused}))
    assert judged(soak) == fails


def test_an_agent_that_stopped_trading__does_not_hold(soak: Soak) -> None:
    assert judged(soak, traded_to_the_end=False) == {"events"}


def test_the_minute_that_p99_is_compared_with__is_not_the_first(soak: Soak) -> None:
    """The first has cold connections and caches: its p99 was twice that of the whole hour."""
    stretches = []

    async def stretch(seconds: float, into: Tally) -> None:
        stretches.append((seconds, into))

    soak.traffic.close = lambda: None  # type: ignore[method-assign]
    soak._stretch = stretch  # type: ignore[method-assign]
    asyncio.run(soak.run())
    assert [seconds for seconds, _ in stretches] == [60, 60, 3_480]
    assert stretches[1][1] is soak.quiet
