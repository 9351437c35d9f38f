"""What somebody earns who makes up the work that is paid, beside what an honest agent earns: a part
of `make bench-economy`, or `python -m tests.bench.economy_farms`.

    lies        members submit invented values; the others file mismatch, and the operator rejects
    observers   members look values up; the others copy what was submitted, and the operator approves
    rooms       members post "gm", reply to each other and release each other's posts

Each is run by a crew of six (three in the rooms) at one address, fresh, and then

    standing    every member has standing first
    spread      ten members, each with an address, an owner, a funding wallet and a day of its own
    joined      members look at what honest agents submitted as well, who look at theirs
    turned      members worked honestly for three days before

and by crews that share some of these signs and not others. Its yield is what a day pays, less what is
owed after it, for each group of members that share no sign; its ratio is that by what one honest
agent at an address of its own earns in a day of the same work among strangers. Printed, not judged.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

import structlog

from api.kernel.limits import Limits
from tests.bench.economy_crews import (
    ALONE,
    SHARED,
    SIX,
    SPREAD,
    THREE,
    TWELVE,
    UNOWNED,
    CameFrom,
    Crew,
)
from tests.bench.economy_honest import (
    BESIDE,
    POSTS,
    SEEN,
    SUBMITTED,
    Past,
    look_at_a_strangers,
    prepare,
    work,
)
from tests.bench.economy_world import Holdings, Submitted, Worker, World, Worlds, worlds
from tests.bench.sybils import PEER

BATCH: Final = 5  # values, until members look at what they were paid
LOOKED_UP: Final = SEEN + SUBMITTED  # by a group of members in a day, as by an honest agent
LIES_MOST: Final = 60
FILED_MOST: Final = 5  # members that file on one value
ROUNDS_MOST: Final = 40  # of posts
DAYS: Final = 2  # of what lasts
# A siege: more than a day's budget on each day, and more than two on the first.
SIEGE_LIES: Final = (80, 40)
SIEGE_ROUNDS: Final = (15, 10)
OFFICE: Final = 10
OFFICE_WORK: Final = 8

# Credits that one honest agent was paid on its first day under the rules before groups.
BEFORE: Final = {"miner": 200, "re_observer": 840, "author": 100}
FIRST_DAYS: Final[Mapping[str, Mapping[str, int]]] = {
    "miner": {"seen": 0},
    "re_observer": {"submitted": 0},
    "author": {"seen": 0, "submitted": 0, "posts": POSTS},
}


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
    for day in range(variant.days if workers else 0):
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
    first = turn % len(workers)
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
            self._world.release(self._workers[turn % len(self._workers)], made["id"])
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


# Sieges of a day's budget, and an honest office


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


# The report


def variants_of(few: Crew) -> dict[str, Variant]:
    return {
        "": Variant(crew=few),
        "standing": Variant(crew=few, past=Past.STANDING),
        "spread": Variant(crew=SPREAD),
        "joined": Variant(crew=few, joins=True),
        "turned": Variant(crew=few, past=Past.HONEST),
        "spread_standing": Variant(crew=SPREAD, past=Past.STANDING),
        "spread_joined": Variant(crew=SPREAD, joins=True),
    }


FARMS: Final[Mapping[str, tuple[Callable[[World, Variant], Yield], Mapping[str, Variant]]]] = {
    "lies": (
        lies,
        variants_of(SIX)
        | {"spread_lasting": Variant(crew=SPREAD, joins=True, days=DAYS)}
        | {name: Variant(crew=one) for name, one in SHARED.items()},
    ),
    "observers": (
        observers,
        variants_of(SIX)
        | {
            "followers": Variant(crew=SIX, follows=True),
            "spread_six": Variant(crew=SHARED["spread_six"]),
            "half_owned": Variant(crew=SHARED["half_owned"]),
        },
    ),
    "rooms": (
        gm_rooms,
        variants_of(THREE)
        | {
            name: Variant(crew=SHARED[name])
            for name in ("half_owned", "ten_funders", "no_owner", "one_subscriber")
        },
    ),
}


def report() -> dict[str, Any]:
    """Print what each earns, each in a database of its own; the figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with worlds() as made:
        figures, units = newcomers(made), units_of(made)
        figures |= {f"honest_{name}": unit for name, unit in units.items()}
        return figures | farms(made, units) | sieges(made, units) | offices(made)


def earned_alone(made: Worlds, crew: Crew, day: Mapping[str, int], past: Past = Past.NONE) -> int:
    """Net credits of one honest agent."""
    with made.world() as world:
        workers = world.come_in(crew, "alone")
        prepare(world, workers, past)
        before = world.holdings(workers)
        work(world, workers, **day)
        return world.holdings(workers).since(before).net


def newcomers(made: Worlds) -> dict[str, Any]:
    """What each earns alone on a first day, and the least share of what it was."""
    figures = dict[str, Any]()
    for suffix, crew in (("", ALONE), ("_unowned", UNOWNED)):
        shares = list[Decimal]()
        for name, day in FIRST_DAYS.items():
            earned = earned_alone(made, crew, day)
            figures[f"honest_newcomer_{name}{suffix}"] = earned
            shares.append(Decimal(earned) / BEFORE[name])
            print(f"honest newcomer{suffix}, {name}: {earned} credits, before {BEFORE[name]}")
        figures[f"honest_newcomer{suffix}_ratio"] = _rounded(min(shares))
    return figures


def units_of(made: Worlds) -> dict[str, int]:
    """A day of one honest agent, in values and in posts, without standing and with it."""
    units = dict[str, int]()
    for suffix, past in (("", Past.NONE), ("_standing", Past.STANDING)):
        units[f"values{suffix}"] = earned_alone(made, ALONE, {}, past)
        units[f"rooms{suffix}"] = earned_alone(made, ALONE, FIRST_DAYS["author"], past)
    return units


def farms(made: Worlds, units: Mapping[str, int]) -> dict[str, Any]:
    figures = dict[str, Any]()
    print(HEADINGS)
    for farm, (run, variants) in FARMS.items():
        for name, variant in variants.items():
            is_unknown = variant.crew.came_from is CameFrom.UNKNOWN
            with made.world(peer="unknown" if is_unknown else PEER) as world:
                found = run(world, variant)
            kind = "rooms" if farm == "rooms" else "values"
            unit = units[kind if variant.past is Past.NONE else f"{kind}_standing"]
            title = f"farm_{farm}_{name}" if name else f"farm_{farm}"
            figures |= shown(title, variant.crew, found, unit)
    return figures


HEADINGS: Final = (
    f"\n{'attack':30} {'agents/addresses/owners/funders':34} {'paid':>6} {'queued':>6} "
    f"{'owed':>5} {'fees':>4} {'bonds':>5} {'sec':>6} {'groups':>6} {'unit':>5} {'ratio':>6}  refused"
)


def shown(name: str, crew: Crew, found: Yield, unit: int) -> dict[str, Any]:
    """`unit`: what one honest agent earns; 0 or less: there is no ratio."""
    held = found.held
    ratio = None if unit <= 0 else _rounded(Decimal(held.net) / found.groups / unit)
    refused = ", ".join(f"{reason} {times}" for reason, times in found.refused.items())
    print(
        f"{name:30} {crew.cost:34} {held.paid:6} {held.queued:6} {held.owed:5} {found.fees:4} "
        f"{found.bonds:5} {found.seconds:6} {found.groups:6} {unit:5} {'-' if ratio is None else ratio:>6}  {refused}",
        flush=True,
    )
    return {f"{name}_ratio": ratio, f"{name}_net": held.net, f"{name}_queued": held.queued}


def sieges(made: Worlds, units: Mapping[str, int]) -> dict[str, Any]:
    figures = dict[str, Any]()
    for kind, crew, posts in (("rooms", TWELVE, True), ("values", SPREAD, False)):
        with made.world() as world:
            free, _ = siege(world, None, posts=posts)
        with made.world() as world:
            behind, found = siege(world, crew, posts=posts)
        assert found is not None, "a crew has a yield"
        figures |= shown(f"siege_{kind}", crew, found, units[kind])
        figures |= {f"siege_{kind}_honest_free": free, f"siege_{kind}_honest_behind": behind}
        days = len(SIEGE_LIES)
        print(f"  somebody honest in {days} days: {free} credits alone, {behind} behind them")
    return figures


def offices(made: Worlds) -> dict[str, Any]:
    """The budgets of the day are lifted, so that what is lost is lost by the address alone."""
    lifted = Limits(payout_credits_per_day=1_000_000, rooms_payout_credits_per_day=100_000)
    figures = dict[str, Any]()
    for kind, posts in (("values", False), ("rooms", True)):
        nets = list[int]()
        for apart in (False, True):
            with made.world(lifted) as world:
                nets.append(office(world, apart=apart, posts=posts).net)
        ratio = None if nets[1] <= 0 else _rounded(Decimal(nets[0]) / nets[1])
        names = ("together", "apart", "ratio")
        figures |= dict(zip((f"office_{kind}_{one}" for one in names), (*nets, ratio), strict=True))
        print(f"office of {OFFICE}, {kind}: {nets[0]} credits together, {nets[1]} apart ({ratio})")
    return figures


def _rounded(ratio: Decimal) -> float:
    return float(ratio.quantize(Decimal("0.01"), ROUND_HALF_UP))


if __name__ == "__main__":
    print(json.dumps(report()))
