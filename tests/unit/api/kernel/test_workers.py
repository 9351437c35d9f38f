"""Who gets a thread: lines in turn, none on all threads, none for ever."""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from math import inf

import pytest

from api.kernel.workers import MOST_WAITING, SLOW_S, BusyError, NoTurnError, Workers

WAIT_S = 10


@pytest.fixture
def make() -> Iterator[Callable[[int, int], Workers]]:
    made: list[Workers] = []

    def build(threads: int, each: int) -> Workers:
        made.append(Workers(threads, each))
        return made[-1]

    yield build
    for workers in made:
        workers.shutdown()


def test_a_line__holds_no_more_threads_than_it_may(make: Callable[[int, int], Workers]) -> None:
    workers, gate = make(4, 3), threading.Event()
    held = [workers.submit("a", lambda: gate.wait(WAIT_S)) for _ in range(10)]
    assert workers.submit("b", lambda: "served").result(WAIT_S) == "served"
    assert sum(one.running() for one in held) == 3
    gate.set()
    assert all(one.result(WAIT_S) for one in held)


def test_a_line_of_one__runs_its_calls_one_by_one(make: Callable[[int, int], Workers]) -> None:
    workers, running, most = make(4, 4), 0, 0

    def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threading.Event().wait(0.01)
        running -= 1

    for one in [workers.submit("a", call, 1) for _ in range(8)]:
        one.result(WAIT_S)
    assert most == 1


def test_lines__are_served_in_turn(make: Callable[[int, int], Workers]) -> None:
    workers, gate, order = make(1, 1), threading.Event(), list[str]()
    first = workers.submit("first", lambda: gate.wait(WAIT_S))
    later = [
        workers.submit(line, lambda line=line: order.append(line))
        for line in ("a", "a", "a", "b", "c", "c")
    ]  # type: ignore[misc]
    gate.set()
    for one in (first, *later):
        one.result(WAIT_S)
    assert order == ["a", "b", "c", "a", "c", "a"]


def test_calls__that_compute__are_few_at_a_time() -> None:
    workers, gate = Workers(8, 8, at_work=2), threading.Event()
    held = [workers.submit(str(line), lambda: gate.wait(WAIT_S)) for line in range(4)]
    assert [one.running() for one in held] == [True, True, False, False]
    gate.set()
    assert all(one.result(WAIT_S) for one in held)
    workers.shutdown()


def test_calls__that_run_for_long__let_others_begin() -> None:
    """All that may compute wait for something: more calls come, until the threads are used up."""
    workers, gate = Workers(4, 4, at_work=2), threading.Event()

    async def five() -> list[str]:
        held = [
            asyncio.create_task(workers.run(str(line), lambda: gate.wait(WAIT_S)))
            for line in range(3)
        ]
        await asyncio.sleep(0)  # so that they come first
        began = time.monotonic()
        answer = await workers.run("another", lambda: "served")
        assert SLOW_S / 2 < time.monotonic() - began < WAIT_S / 2
        gate.set()
        assert all(await asyncio.gather(*held))
        return [answer, await workers.run("the last", lambda: "served too")]

    assert asyncio.run(five()) == ["served", "served too"]
    assert not workers._at_work
    workers.shutdown()


def test_a_call__that_raises__gives_its_thread_back(make: Callable[[int, int], Workers]) -> None:
    workers = make(1, 1)
    with pytest.raises(ZeroDivisionError):
        workers.submit("a", lambda: 1 // 0).result(WAIT_S)
    assert workers.submit("a", lambda: 1).result(WAIT_S) == 1


def test_a_call__whose_turn_does_not_come_in_time__is_not_begun(
    make: Callable[[int, int], Workers],
) -> None:
    workers, gate, begun = make(1, 1), threading.Event(), list[int]()
    held = workers.submit("a", lambda: gate.wait(WAIT_S))
    with pytest.raises(BusyError):
        asyncio.run(workers.run("b", lambda: begun.append(1), within_s=0.05))
    gate.set()
    held.result(WAIT_S)
    assert workers.submit("b", lambda: len(begun)).result(WAIT_S) == 0


def test_a_call__that_began_in_time__may_take_longer(make: Callable[[int, int], Workers]) -> None:
    workers = make(1, 1)
    assert (
        asyncio.run(workers.run("a", lambda: threading.Event().wait(0.2) or "done", within_s=0.05))
        == "done"
    )


def test_a_line__that_is_empty__is_forgotten(make: Callable[[int, int], Workers]) -> None:
    workers = make(2, 1)
    for number in range(100):
        workers.submit(number, lambda: None).result(WAIT_S)
    workers.submit("last", lambda: None).result(WAIT_S)
    assert len(workers._lines) <= 2


def test_a_line__takes_no_more_calls_than_may_wait(make: Callable[[int, int], Workers]) -> None:
    workers, gate = make(1, 1), threading.Event()
    held = workers.submit("a", lambda: gate.wait(WAIT_S))
    waiting = [workers.submit("a", lambda: True) for _ in range(MOST_WAITING)]
    with pytest.raises(BusyError):
        workers.submit("a", lambda: True)
    other = workers.submit("b", lambda: True)
    gate.set()
    assert all(one.result(WAIT_S) for one in (held, *waiting, other))


def test_a_call__whose_turn_did_not_come__leaves_its_place(
    make: Callable[[int, int], Workers],
) -> None:
    workers, gate = make(1, 1), threading.Event()
    held = workers.submit("a", lambda: gate.wait(WAIT_S))

    async def crowd() -> list[BaseException | None]:
        calls = [workers.run("b", lambda: None, within_s=0.05) for _ in range(MOST_WAITING)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert {type(one) for one in asyncio.run(crowd())} == {NoTurnError}
    assert list(workers._lines) == ["a"]
    gate.set()
    assert held.result(WAIT_S)


def test_calls__that_wait__are_not_looked_at_again_and_again(
    make: Callable[[int, int], Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three thousand that were, each 0.2 s, held the event loop for 0.4 s."""
    workers, gate, looks, begin = make(1, 1), threading.Event(), list[None](), Workers._begin
    held = workers.submit("a", lambda: gate.wait(WAIT_S))
    monkeypatch.setattr(Workers, "_begin", lambda self: (looks.append(None), begin(self))[1])

    async def crowd() -> list[BaseException | None]:
        calls = [workers.run("b", lambda: None, within_s=3 * SLOW_S) for _ in range(100)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert {type(one) for one in asyncio.run(crowd())} == {NoTurnError}
    assert len(looks) < 110  # one each, when it came
    gate.set()
    assert held.result(WAIT_S)


@pytest.mark.parametrize("within_s", [inf, WAIT_S])
def test_a_call__that_is_cancelled__leaves_its_place_at_once(
    make: Callable[[int, int], Workers], within_s: float
) -> None:
    workers, gate, begun = make(1, 1), threading.Event(), list[int]()
    held = workers.submit("a", lambda: gate.wait(WAIT_S))

    async def leave() -> None:
        calls = [
            asyncio.ensure_future(workers.run("b", lambda: begun.append(1), within_s=within_s))
            for _ in range(MOST_WAITING)
        ]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            workers.submit("b", lambda: None)
        for one in calls:
            one.cancel()
        await asyncio.wait(calls)
        assert list(workers._lines) == ["a"]

    asyncio.run(leave())
    gate.set()
    assert held.result(WAIT_S)
    assert workers.submit("b", lambda: len(begun)).result(WAIT_S) == 0


def test_a_call__that_is_cancelled_while_it_runs__gives_its_thread_back(
    make: Callable[[int, int], Workers],
) -> None:
    workers, gate, begun = make(1, 1), threading.Event(), threading.Event()

    async def leave() -> None:
        call = asyncio.ensure_future(
            workers.run("a", lambda: begun.set() or gate.wait(WAIT_S), within_s=WAIT_S)
        )
        await asyncio.to_thread(begun.wait, WAIT_S)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()

    asyncio.run(leave())
    gate.set()
    assert workers.submit("a", lambda: "served").result(WAIT_S) == "served"


def test_a_line__that_all_calls_left__keeps_no_turn(make: Callable[[int, int], Workers]) -> None:
    workers, gate, order = make(1, 1), threading.Event(), list[str]()
    first = workers.submit("first", lambda: gate.wait(WAIT_S))

    async def leave() -> None:
        with pytest.raises(NoTurnError):
            await workers.run("a", lambda: order.append("left"), within_s=0.01)

    asyncio.run(leave())
    later = [
        workers.submit(line, lambda line=line: order.append(line)) for line in ("b", "a", "a", "b")
    ]  # type: ignore[misc]
    gate.set()
    for one in (first, *later):
        one.result(WAIT_S)
    assert order == ["b", "a", "b", "a"]


@pytest.mark.parametrize("seed", range(5))
def test_calls__that_come_and_leave_in_any_order__are_each_served_or_told(
    make: Callable[[int, int], Workers], seed: int
) -> None:
    workers, draw, begun = make(4, 2), random.Random(seed), list[int]()

    def call(number: int, lasts_s: float) -> int:
        begun.append(number)
        threading.Event().wait(lasts_s)
        return number

    async def one(number: int) -> int | None:
        await asyncio.sleep(draw.uniform(0, 0.1))
        work = workers.run(
            draw.randrange(6),
            lambda: call(number, lasts_s),
            within_s=draw.choice((inf, 0.0, 0.01, 0.05)),
        )
        lasts_s, leaves_s = draw.uniform(0, 0.004), draw.choice((0.0, 0.02, WAIT_S))
        try:
            return await asyncio.wait_for(work, leaves_s)
        except (NoTurnError, TimeoutError):
            return None

    async def crowd() -> list[int | None]:
        return await asyncio.gather(*(one(number) for number in range(400)))

    served = [number for number in asyncio.run(crowd()) if number is not None]
    for line in range(6):
        workers.submit(line, lambda: None).result(WAIT_S)
    assert len(begun) == len(set(begun))
    assert set(served) <= set(begun)
    ends = time.monotonic() + WAIT_S
    while workers._lines and time.monotonic() < ends:
        time.sleep(0.01)
    assert (workers._free, len(workers._lines), len(workers._turns)) == (4, 0, 0)


def test_a_place__is_free_when_the_answer_is_known() -> None:
    workers, places = Workers(1, 1), list[int]()
    for _ in range(200):
        answered = threading.Event()
        future = workers.submit("a", lambda: None)
        future.add_done_callback(lambda _: places.append(workers._free))
        future.add_done_callback(lambda _, told=answered: told.set())
        assert answered.wait(WAIT_S)
    assert places == [1] * 200
    workers.shutdown()
