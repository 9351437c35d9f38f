"""What honest agents do in a day, and how anybody gains standing, in the world of
tests/bench/economy_world.py.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tests.bench.economy_crews import Crew
from tests.bench.economy_world import Holdings, Worker, World

# An honest agent's day: values of strangers that it looks at, values that it looks up and submits,
# and posts.
SEEN: Final = 14
SUBMITTED: Final = 14
POSTS: Final = 10
CONFIRMERS: Final = 2  # strangers who look at a value of an honest agent
BESIDE: Final = 1  # strangers who look at somebody else's value after the others
HONEST_DAYS: Final = 3
VERIFIED: Final = 3  # claims that make standing
OFFICE: Final = 10  # people
OFFICE_WORK: Final = 8  # values of each that it looks at, and as many that it submits

FIRST_DAYS: Final[Mapping[str, Mapping[str, int]]] = {
    "miner": {"seen": 0},
    "re_observer": {"submitted": 0},
    "author": {"seen": 0, "submitted": 0, "posts": POSTS},
}


class Past(StrEnum):
    """What agents did before the day that counts."""

    NONE = "none"
    STANDING = "standing"
    HONEST = "honest"


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
    for _ in range(seen):
        for worker in workers:
            look_at_a_strangers(world, [worker])
    for _ in range(submitted):
        for worker in workers:
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
    for worker in workers:
        world.look(worker, value, "match")
    for other in world.others(BESIDE, value.by):
        world.look(other, value, "match")
    world.decide(value)


def office(world: World, *, apart: bool, posts: bool) -> Holdings:
    """Ten honest people, each with an owner and a funding wallet, at one address or at ten."""
    crew = Crew(members=OFFICE, addresses=OFFICE if apart else 1, owners=OFFICE, funders=OFFICE)
    workers = world.come_in(crew, "colleague")
    before = world.holdings(workers)
    if posts:
        work(world, workers, **FIRST_DAYS["author"])
    else:
        work(world, workers, OFFICE_WORK, OFFICE_WORK)
    return world.holdings(workers).since(before)


def prepare(world: World, workers: Sequence[Worker], past: Past) -> None:
    match past:
        case Past.NONE:
            return
        case Past.STANDING:
            gain_standing(world, workers)
        case Past.HONEST:
            for _ in range(HONEST_DAYS):
                work(world, workers, seen=2, submitted=1)
                world.tomorrow()


def gain_standing(world: World, workers: Sequence[Worker]) -> None:
    """By the cheapest way that works: values of their own, an operator's tasks, or what strangers
    submitted; a day each. Somebody alone has no values of its own to look at.
    """
    ways = (_by_own_values, _by_tasks, _by_strangers_values)
    for way in ways if len(workers) > 1 else ways[2:]:
        lacking = [one for one in workers if not world.has_standing(one)]
        if lacking:
            way(world, workers, lacking)
            world.tomorrow()


def _by_own_values(world: World, workers: Sequence[Worker], lacking: Sequence[Worker]) -> None:
    for by in workers[:2]:
        for _ in range(VERIFIED):
            value = world.submit(by)
            if value is not None:
                for other in lacking:
                    if other is not by:
                        world.look(other, value, "match")
                world.decide(value)


def _by_tasks(world: World, workers: Sequence[Worker], lacking: Sequence[Worker]) -> None:
    for worker in lacking:
        for _ in range(VERIFIED):
            world.do_a_task(worker)


def _by_strangers_values(
    world: World, workers: Sequence[Worker], lacking: Sequence[Worker]
) -> None:
    for _ in range(VERIFIED):
        look_at_a_strangers(world, lacking)
