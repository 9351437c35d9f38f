"""What somebody earns who makes up the work that is paid, beside what an honest agent earns: a part
of `make bench-economy`, or `python -m tests.bench.economy_farms`.

    lies        members submit invented values; the others file mismatch, and the operator rejects
    observers   members look values up; the others copy what was submitted, and the operator approves
    rooms       members post "gm", reply to each other and release each other's posts

Each is run by a crew of six (three in the rooms) at one address, fresh, and then

    standing          every member has standing first
    turned            members worked honestly for three days before
    spread            ten members, each with an address, an owner, a funding wallet and a day of its own
    spread_standing   the same, with standing first

Each goes on as long as it pays, and whatever is refused is left out. Its yield is what a day pays, less
what is owed after it, for each group of members that share no sign; its ratio is that by what one honest
agent at an address of its own earns in a day of the same work among strangers. Printed, not judged.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Any, Final

import structlog

from tests.bench.economy_world import Crew, Holdings, Submitted, Worker, World, worlds

# An honest agent's day: values of strangers that it looks at, values that it looks up and submits,
# and posts; who looks at its values, and at others' after it.
SEEN, SUBMITTED, POSTS, CONFIRMERS, BESIDE = 14, 14, 10, 2, 1
HONEST_DAYS, VERIFIED = 3, 3  # claims that make standing
BATCH: Final = 5  # values, until members look at what they were paid
LOOKED_UP: Final = SEEN + SUBMITTED  # by a group of members in a day, as by an honest agent
LIES_MOST, FILED_MOST, ROUNDS_MOST = 60, 5, 40  # members that file on one value; rounds of posts

ALONE: Final = Crew(members=1, addresses=1, owners=1, funders=1)
SIX: Final = Crew(members=6, addresses=1, owners=6, funders=0)
THREE: Final = Crew(members=3, addresses=1, owners=3, funders=0)
SPREAD: Final = Crew(members=10, addresses=10, owners=10, funders=10, days=5)


class Past(StrEnum):
    """What agents did before the day that counts."""

    FRESH = "fresh"
    STANDING = "standing"
    TURNED = "turned"


# Honest work


def work(
    world: World,
    workers: Sequence[Worker],
    seen: int = SEEN,
    submitted: int = SUBMITTED,
    posts: int = 0,
) -> None:
    """A day of each: strangers' values that it looks at, its own that strangers look at, and posts
    that strangers release.
    """
    for worker in list(workers) * seen:
        look_at_a_strangers(world, [worker])
    for worker in list(workers) * submitted:
        value = world.submit(worker)
        if value is not None:
            for other in world.others(CONFIRMERS, worker):
                world.look(other, value, "match")
            world.decide(value)
    for n in range(posts):
        for worker in workers:
            room_id = world.room_ids[n % len(world.room_ids)]
            text = f"The notice of {n + 1} October names another contract; see the source."
            made = world.post(worker, room_id, text).body
            if made is not None:
                world.release(world.stranger(), made["id"])
    world.jobs()


def look_at_a_strangers(world: World, workers: Sequence[Worker]) -> None:
    """At one true value of a stranger: the workers in their order, then other strangers."""
    value = world.submit(world.stranger())
    if value is None:
        return
    for worker in (*workers, *world.others(BESIDE, value.by)):
        world.look(worker, value, "match")
    world.decide(value)


def prepare(world: World, workers: Sequence[Worker], past: Past) -> None:
    match past:
        case Past.FRESH:
            return
        case Past.STANDING:
            gain_standing(world, workers)
        case Past.TURNED:
            for _ in range(HONEST_DAYS):
                work(world, workers, seen=2, submitted=1)
                world.tomorrow()


def gain_standing(world: World, workers: Sequence[Worker]) -> None:
    """By values of their own, as the cheapest way, and what those leave by strangers' values, a day
    each. Somebody alone has no values of its own to look at.
    """
    for by in workers[:2] if len(workers) > 1 else ():
        for value in (world.submit(by) for _ in range(VERIFIED)):
            if value is not None:
                for other in workers:
                    if other is not by:
                        world.look(other, value, "match")
                world.decide(value)
    world.tomorrow()
    lacking = [one for one in workers if not world.has_standing(one)]
    for _ in range(VERIFIED if lacking else 0):
        look_at_a_strangers(world, lacking)
    world.tomorrow()


# Farms


class Meter:
    """What some workers get from now on."""

    def __init__(self, world: World, workers: Sequence[Worker]) -> None:
        self._world, self._workers = world, workers
        self._before, self._last = world.holdings(workers), 0

    def held(self) -> Holdings:
        return self._world.holdings(self._workers).since(self._before)

    def has_moved(self) -> bool:
        """Whether something was paid since this was asked last."""
        self._world.jobs()
        before, self._last = self._last, self.held().net
        return self._last > before


def lies(world: World, crew: Crew, workers: Sequence[Worker]) -> None:
    _values(world, workers, LIES_MOST, is_true=False)


def observers(world: World, crew: Crew, workers: Sequence[Worker]) -> None:
    _values(world, workers, LOOKED_UP * crew.groups, is_true=True)


def _values(world: World, workers: Sequence[Worker], most: int, *, is_true: bool) -> None:
    """In batches, as long as the last one paid something; the first two whatever they pay."""
    meter, verdict = Meter(world, workers), "match" if is_true else "mismatch"
    for first in range(0, most, BATCH):
        if not meter.has_moved() and first > BATCH:
            return
        waiting = world.waiting(workers)
        for n in range(first, min(first + BATCH, most)):
            value = _submitted(world, workers, n, is_true=is_true)
            if value is not None:
                _confirm(world, workers, value, verdict, waiting)
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
        if other is not value.by and filed < FILED_MOST:
            filed += world.look(other, value, verdict)


def _from(workers: Sequence[Worker], turn: int) -> list[Worker]:
    """All of them, the one first whose turn it is."""
    first = turn % max(1, len(workers))
    return [*workers[first:], *workers[:first]]


def rooms(world: World, crew: Crew, workers: Sequence[Worker]) -> None:
    """Rounds of posts, one of each member, each the first reply to the one before, as long as the
    last round paid something; the first two whatever they pay.
    """
    meter, last = Meter(world, workers), None
    for turn in range(ROUNDS_MOST):
        posted = 0
        for n, by in enumerate(workers):
            made = _chat(world, by, f"gm, and a fine {turn} of trades to everybody, from {n}", last)
            if made is not None:
                posted, last = posted + 1, made
                _release(world, _from(workers, n + turn), by, made)
        if not posted or (not meter.has_moved() and turn):
            return


def _chat(world: World, by: Worker, otherwise: str, last: int | None) -> int | None:
    """The message's id: of the word that costs least, or of one that nobody has written yet; at
    once, or when a limit of today lets it.
    """
    clock = world.where.clock
    for text in ("gm", otherwise):
        for _ in range(2):
            answer = world.post(by, world.room_ids[0], text, last)
            if answer.body is not None:
                return int(answer.body["id"])
            again = answer.retry_at
            if again is None or again.date() != clock.now.date():
                break
            clock.now = max(clock.now, again)
    return None


def _release(world: World, others: Sequence[Worker], by: Worker, message_id: int) -> None:
    """By the first member that may."""
    for other in others:
        for kind in ("insightful", None):
            if other is not by and world.release(other, message_id, kind):
                return


# What is run


Farm = Callable[[World, Crew, Sequence[Worker]], None]
FARMS: Final[Mapping[str, tuple[Farm, Crew, str]]] = {
    "lies": (lies, SIX, "values"),
    "observers": (observers, SIX, "values"),
    "rooms": (rooms, THREE, "rooms"),
}
HONEST: Final[Mapping[str, Mapping[str, int]]] = {
    "values": {},
    "rooms": {"seen": 0, "submitted": 0, "posts": POSTS},
}


def variants_of(few: Crew) -> dict[str, tuple[Crew, Past]]:
    return {
        "": (few, Past.FRESH),
        "_standing": (few, Past.STANDING),
        "_turned": (few, Past.TURNED),
        "_spread": (SPREAD, Past.FRESH),
        "_spread_standing": (SPREAD, Past.STANDING),
    }


def report() -> dict[str, Any]:
    """Print what each earns, in a world of its own; the figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    figures = dict[str, Any]()
    with worlds() as made:

        def earned(crew: Crew, past: Past, farm: Farm | None, day: Mapping[str, int]) -> Holdings:
            with made.world() as world:
                workers = world.come_in(crew, "member")
                prepare(world, workers, past)
                meter = Meter(world, workers)
                if farm is None:
                    work(world, workers, **day)
                else:
                    farm(world, crew, workers)
                world.jobs()
                return meter.held()

        for kind, day in HONEST.items():
            for past in (Past.FRESH, Past.STANDING):
                figures[f"honest_{kind}_{past}"] = earned(ALONE, past, None, day).net
        for name, (farm, few, kind) in FARMS.items():
            for suffix, (crew, past) in variants_of(few).items():
                held = earned(crew, past, farm, {})
                stood = Past.STANDING if past is Past.STANDING else Past.FRESH
                unit = figures[f"honest_{kind}_{stood}"]
                ratio = None if unit <= 0 else Decimal(held.net) / crew.groups / unit
                figures[f"farm_{name}{suffix}_ratio"] = None if ratio is None else _rounded(ratio)
                figures[f"farm_{name}{suffix}_net"] = held.net
                print(f"farm_{name}{suffix}: {held}, {crew.groups} groups, unit {unit}", flush=True)
    return figures


def _rounded(ratio: Decimal) -> float:
    return float(ratio.quantize(Decimal("0.01"), ROUND_HALF_UP))


if __name__ == "__main__":
    print(json.dumps(report()))
