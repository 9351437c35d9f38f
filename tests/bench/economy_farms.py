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

`python -m tests.bench.economy_farms farm_rooms siege`: those alone whose names begin so.
"""

import json
import logging
import multiprocessing
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any, Final

import structlog

from api.kernel.limits import Limits
from tests.bench.economy_attacks import (
    SIEGE_LIES,
    Variant,
    Yield,
    gm_rooms,
    lies,
    observers,
    siege,
)
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
from tests.bench.economy_honest import FIRST_DAYS, OFFICE, Past, office, prepare, work
from tests.bench.economy_world import World, Worlds, worlds
from tests.bench.sybils import PEER

PROCESSES: Final = 2
DAYS: Final = 2  # of what lasts

# Credits that one honest agent was paid on its first day under the rules before groups.
BEFORE: Final = {"miner": 200, "re_observer": 840, "author": 100}


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


# Each job has a world of its own, and runs in a process beside others.


def earned_alone(made: Worlds, crew: Crew, day: Mapping[str, int], past: Past = Past.NONE) -> int:
    """Net credits of one honest agent."""
    with made.world() as world:
        workers = world.come_in(crew, "alone")
        prepare(world, workers, past)
        before = world.holdings(workers)
        work(world, workers, **day)
        return world.holdings(workers).since(before).net


def farmed(made: Worlds, farm: str, variant: Variant) -> Yield:
    is_unknown = variant.crew.came_from is CameFrom.UNKNOWN
    with made.world(peer="unknown" if is_unknown else PEER) as world:
        return FARMS[farm][0](world, variant)


def besieged(made: Worlds, crew: Crew | None, posts: bool) -> tuple[int, Yield | None]:
    with made.world() as world:
        return siege(world, crew, posts=posts)


def worked_in_an_office(made: Worlds, apart: bool, posts: bool) -> int:
    """Net credits. The budgets of the day are lifted, so that what is lost is lost by the address
    alone.
    """
    lifted = Limits(payout_credits_per_day=1_000_000, rooms_payout_credits_per_day=100_000)
    with made.world(lifted) as world:
        return office(world, apart=apart, posts=posts).net


NEWCOMERS: Final = {"": ALONE, "_unowned": UNOWNED}
UNITS: Final[Mapping[str, tuple[Mapping[str, int], Past]]] = {
    "values": ({}, Past.NONE),
    "rooms": (FIRST_DAYS["author"], Past.NONE),
    "values_standing": ({}, Past.STANDING),
    "rooms_standing": (FIRST_DAYS["author"], Past.STANDING),
}
KINDS: Final = {"values": False, "rooms": True}  # whether they are posts
SIEGES: Final = {"values": SPREAD, "rooms": TWELVE}


def jobs() -> dict[str, Callable[[Worlds], Any]]:
    """By the name of what each finds."""
    found = dict[str, Callable[[Worlds], Any]]()
    for suffix, crew in NEWCOMERS.items():
        for name, day in FIRST_DAYS.items():
            found[f"newcomer_{name}{suffix}"] = partial(earned_alone, crew=crew, day=day)
    for name, (day, past) in UNITS.items():
        found[name] = partial(earned_alone, crew=ALONE, day=day, past=past)
    for farm, (_, variants) in FARMS.items():
        for name, variant in variants.items():
            found[_title(farm, name)] = partial(farmed, farm=farm, variant=variant)
    for kind, posts in KINDS.items():
        found[f"siege_{kind}_free"] = partial(besieged, crew=None, posts=posts)
        found[f"siege_{kind}"] = partial(besieged, crew=SIEGES[kind], posts=posts)
        for name, apart in (("together", False), ("apart", True)):
            found[f"office_{kind}_{name}"] = partial(worked_in_an_office, apart=apart, posts=posts)
    return found


def _title(farm: str, name: str) -> str:
    return f"farm_{farm}_{name}" if name else f"farm_{farm}"


def quieten() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def report(*only: str) -> dict[str, Any]:
    """Print what each earns; the figures. `only`: how the names of what is run begin; none: all."""
    quieten()
    found = jobs()
    wanted = [name for name in found if name in UNITS or not only or name.startswith(only)]
    spawned = multiprocessing.get_context("spawn")
    with (
        worlds() as made,
        ProcessPoolExecutor(PROCESSES, spawned, initializer=quieten) as pool,
    ):
        asked = {name: pool.submit(found[name], made) for name in wanted}
        parts = (newcomers, farms, sieges, offices)
        return {name: n for part in parts for name, n in part(asked).items()}


Asked = Mapping[str, "Future[Any]"]


def newcomers(asked: Asked) -> dict[str, Any]:
    """What each earns alone on a first day, and the least share of what it was."""
    figures = dict[str, Any]()
    for suffix in NEWCOMERS:
        shares = list[Decimal]()
        for name, before in BEFORE.items():
            title = f"newcomer_{name}{suffix}"
            if title in asked:
                earned = figures[f"honest_{title}"] = asked[title].result()
                shares.append(Decimal(earned) / before)
                print(f"{title}: {earned} credits, before {before}", flush=True)
        if shares:
            figures[f"honest_newcomer{suffix}_ratio"] = _rounded(min(shares))
    return figures


def farms(asked: Asked) -> dict[str, Any]:
    figures: dict[str, Any] = {f"honest_{name}": asked[name].result() for name in UNITS}
    print(HEADINGS)
    for farm, (_, variants) in FARMS.items():
        for name, variant in variants.items():
            kind = "rooms" if farm == "rooms" else "values"
            unit = figures[f"honest_{kind}{'' if variant.past is Past.NONE else '_standing'}"]
            title = _title(farm, name)
            if title in asked:
                figures |= shown(title, variant.crew, asked[title].result(), unit)
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


def sieges(asked: Asked) -> dict[str, Any]:
    figures, days = dict[str, Any](), len(SIEGE_LIES)
    for kind, crew in SIEGES.items():
        title = f"siege_{kind}"
        if title in asked:
            free, behind = (asked[f"{title}{one}"].result()[0] for one in ("_free", ""))
            figures |= shown(title, crew, asked[title].result()[1], asked[kind].result())
            figures |= {f"{title}_honest_free": free, f"{title}_honest_behind": behind}
            print(f"  somebody honest in {days} days: {free} credits alone, {behind} behind them")
    return figures


def offices(asked: Asked) -> dict[str, Any]:
    figures = dict[str, Any]()
    for kind in KINDS:
        title = f"office_{kind}"
        if f"{title}_apart" in asked:
            together, apart = (asked[f"{title}_{one}"].result() for one in ("together", "apart"))
            ratio = None if apart <= 0 else _rounded(Decimal(together) / apart)
            figures |= {f"{title}_together": together, f"{title}_apart": apart}
            figures[f"{title}_ratio"] = ratio
            print(f"{title}: of {OFFICE} people, {together} together, {apart} apart ({ratio})")
    return figures


def _rounded(ratio: Decimal) -> float:
    return float(ratio.quantize(Decimal("0.01"), ROUND_HALF_UP))


if __name__ == "__main__":
    print(json.dumps(report(*sys.argv[1:])))
