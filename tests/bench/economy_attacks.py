"""The farms of paid work: what members do to be paid without doing it (tests/bench/economy_farms.py).

    lies        members submit invented values; the others file mismatch, and the operator rejects
    observers   members look values up; the others copy what was submitted, and the operator approves
    rooms       members post "gm", reply to each other and release each other's posts
    siege       members use up the budget of each day before somebody honest works

Each goes on as long as it pays, and whatever is refused is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from tests.bench.economy_crews import ALONE, Crew
from tests.bench.economy_honest import (
    BESIDE,
    FIRST_DAYS,
    SEEN,
    SUBMITTED,
    Past,
    look_at_a_strangers,
    prepare,
    work,
)
from tests.bench.economy_world import Holdings, Submitted, Worker, World

BATCH: Final = 5  # values, until members look at what they were paid
LOOKED_UP: Final = SEEN + SUBMITTED  # by a group of members in a day, as by an honest agent
LIES_MOST: Final = 60
FILED_MOST: Final = 5  # members that file on one value
ROUNDS_MOST: Final = 40  # of posts
# A siege: more than a day's budget on each day, and more than two on the first.
SIEGE_LIES: Final = (80, 40)
SIEGE_ROUNDS: Final = (15, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """`follows`: of strangers' values alone; `joins`: of theirs and its own in turn; `days`: that
    it goes on.
    """

    crew: Crew
    past: Past = Past.NONE
    joins: bool = False
    follows: bool = False
    days: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """Of all members together: what was paid a day, and waits and is owed after the last one.

    `fees` and `bonds`: credits that posts took. `seconds`: until the last credit was paid.
    """

    held: Holdings
    groups: int
    fees: int
    bonds: int
    seconds: int
    refused: Mapping[str, int]


class Meter:
    """What some workers get from now on."""

    def __init__(self, world: World, workers: Sequence[Worker]) -> None:
        self._world, self._workers = world, workers
        self._before, self._began = world.holdings(workers), world.where.clock.now
        self._fees, self._bonds = world.fees, world.bonds
        self._last, self._last_at = self._held(), self._began
        world.refused.clear()

    def has_moved(self) -> bool:
        """Whether something was paid since this was asked last."""
        self._world.jobs()
        held, before = self._held(), self._last
        if held.net > before.net:
            self._last, self._last_at = held, self._world.where.clock.now
        return held.net > before.net

    def read(self, groups: int, days: int = 1) -> Yield:
        self.has_moved()
        held = self._held()
        return Yield(
            held=replace(held, paid=held.paid // days),
            groups=groups,
            fees=self._world.fees - self._fees,
            bonds=self._world.bonds - self._bonds,
            seconds=round((self._last_at - self._began).total_seconds()),
            refused=dict(self._world.refused.most_common(3)),
        )

    def _held(self) -> Holdings:
        return self._world.holdings(self._workers).since(self._before)


# Farms of values


def lies(world: World, variant: Variant) -> Yield:
    return _values(world, variant, is_true=False)


def observers(world: World, variant: Variant) -> Yield:
    return _values(world, variant, is_true=True)


def _values(world: World, variant: Variant, *, is_true: bool) -> Yield:
    workers = world.come_in(variant.crew, "member")
    prepare(world, workers, variant.past)
    meter = Meter(world, workers)
    for day in range(variant.days):
        if day:
            world.tomorrow()
        _a_day(world, workers, variant, meter, is_true=is_true)
    return meter.read(variant.crew.groups, variant.days)


def _a_day(
    world: World, workers: Sequence[Worker], variant: Variant, meter: Meter, *, is_true: bool
) -> None:
    """In batches, as long as the last one paid something; the first two whatever they pay."""
    most = LOOKED_UP * variant.crew.groups if is_true else LIES_MOST
    for n in range(0, most, BATCH):
        if not meter.has_moved() and n > BATCH:
            return
        _batch(world, workers, variant, range(n, min(n + BATCH, most)), is_true=is_true)


def _batch(
    world: World, workers: Sequence[Worker], variant: Variant, turns: range, *, is_true: bool
) -> None:
    waiting, verdict = world.waiting(workers), "match" if is_true else "mismatch"
    for n in turns:
        if variant.follows or (variant.joins and n % 2 and n < 2 * SEEN):
            look_at_a_strangers(world, workers)
            continue
        value = _submitted(world, workers, n, is_true=is_true)
        if value is not None:
            _confirm(world, workers, value, verdict, waiting)
            for stranger in world.others(BESIDE if variant.joins else 0, value.by):
                world.look(stranger, value, verdict)
            world.decide(value)


def _submitted(
    world: World, workers: Sequence[Worker], turn: int, *, is_true: bool
) -> Submitted | None:
    """By the member whose turn it is, or the next one that may."""
    made = (world.submit(one, is_true=is_true) for one in _from(workers, turn))
    return next((value for value in made if value is not None), None)


def _confirm(
    world: World, workers: Sequence[Worker], value: Submitted, verdict: str, waiting: set[int]
) -> None:
    """By members in turn, those last whose pay waits for another day."""
    filed = 0
    for other in sorted(_from(workers, value.number), key=lambda one: one.id in waiting):
        if other is not value.by:
            filed += world.look(other, value, verdict)
        if filed == FILED_MOST:
            return


def _from(workers: Sequence[Worker], turn: int) -> list[Worker]:
    """All of them, the one first whose turn it is."""
    first = turn % max(1, len(workers))
    return [*workers[first:], *workers[:first]]


# Farms of posts


def gm_rooms(world: World, variant: Variant) -> Yield:
    """Rounds of posts, one of each member, as long as the last one paid something; the first two
    whatever they pay.
    """
    workers = world.come_in(variant.crew, "member")
    prepare(world, workers, variant.past)
    meter, chat = Meter(world, workers), Chat(world, workers)
    for turn in range(ROUNDS_MOST):
        if variant.joins:
            chat.greet_a_stranger(turn)
        if not chat.round(turn) or (not meter.has_moved() and turn):
            break
    return meter.read(variant.crew.groups)


class Chat:
    """Members who reply to each other, so that each post is a first reply, and release each other's
    posts.
    """

    def __init__(self, world: World, workers: Sequence[Worker]) -> None:
        self._world, self._workers = world, workers
        self._room_id = world.room_ids[0]
        self._last: int | None = None

    def round(self, turn: int) -> bool:
        """Whether anybody could post."""
        posted = [self._post(n, turn) for n in range(len(self._workers))]
        return any(posted)

    def greet_a_stranger(self, turn: int) -> None:
        """Release what a stranger wrote, and reply to it."""
        text = f"The notice of {turn + 1} October names another contract."
        made = self._world.post(self._world.stranger(), self._room_id, text).body
        if made is not None:
            for one in _from(self._workers, turn)[:1]:
                self._world.release(one, made["id"])
            self._last = made["id"]

    def _post(self, n: int, turn: int) -> bool:
        """The word that costs least, or one that nobody has written yet."""
        by = self._workers[n]
        for text in ("gm", f"gm, and a fine {turn} of trades to everybody, from {n}"):
            for answer in self._answers(by, text):
                if answer is not None:
                    self._last = answer
                    self._release(by, answer, n + turn)
                    return True
        return False

    def _answers(self, by: Worker, text: str) -> Iterator[int | None]:
        """The message's id: at once, or when a limit of today lets it."""
        clock = self._world.where.clock
        for _ in range(2):
            answer = self._world.post(by, self._room_id, text, self._last)
            yield None if answer.body is None else answer.body["id"]
            again = answer.retry_at
            if again is None or again.date() != clock.now.date():
                return
            clock.now = max(clock.now, again)

    def _release(self, by: Worker, message_id: int, turn: int) -> None:
        """By the member whose turn it is, or the next one that may."""
        for other in _from(self._workers, turn):
            for kind in ("insightful", None):
                if other is not by and self._world.release(other, message_id, kind):
                    return


# Sieges


def siege(world: World, crew: Crew | None, *, posts: bool) -> tuple[int, Yield | None]:
    """What somebody honest is paid on the days of a siege behind members who use up each of them
    first, and what those are paid a day.
    """
    alone = world.come_in(ALONE, "alone", 90)
    workers = [] if crew is None else world.come_in(crew, "member")
    meter, before, chat = Meter(world, workers), world.holdings(alone), Chat(world, workers)
    for many_lies, rounds in zip(SIEGE_LIES, SIEGE_ROUNDS, strict=True):
        world.tomorrow()
        if crew is not None and posts:
            for turn in range(rounds):
                chat.round(turn)
        elif crew is not None:
            for n in range(0, many_lies, BATCH):
                _batch(world, workers, Variant(crew=crew), range(n, n + BATCH), is_true=False)
        world.where.clock.now += timedelta(hours=4)
        work(world, alone, **(FIRST_DAYS["author"] if posts else {}))
    paid = world.holdings(alone).since(before).paid
    return paid, None if crew is None else meter.read(crew.groups, len(SIEGE_LIES))
