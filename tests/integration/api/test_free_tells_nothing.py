"""What is sold is not told free (docs/decisions/0057): of two worlds that differ in nothing but what is
sold, whoever pays nothing gets the same bytes, whatever it asks.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from api.areas.fund.service import plans
from api.areas.playbooks.service import reading
from api.catalogue import catalogue
from api.kernel.credentials import credentials_sent
from api.kernel.operation import Operation
from api.kernel.outcome import Outcome
from api.kernel.pipeline import Run, SentFields, perform
from core.credits.rules.prices import PRICES
from tests.integration.api.conftest import KEY, reason
from tests.integration.api.paid_worlds import (
    FOLLOWER,
    LIVE,
    ONE,
    OTHER,
    Asked,
    World,
    base,
    consent_of,
    reads,
    shelf_of,
    world_on,
    writes,
)
from tests.integration.api.tools.conftest import message, send
from tests.integration.databases import Databases
from tests.integration.scenes import Scenes

SELLS_NO_ANSWER: Final = {
    "rooms_first_post",
    "subscription_tier_1_month",
    "subscription_tier_2_month",
}
LOCKED: Final = {"tier_required", "target_required", "signal_locked"}
OURS: Final = tuple(f"{Path(plans.__file__).parents[4]}/{part}/" for part in ("api", "core"))
UNPAID: Final = {"payment_required", "credit_insufficient", *LOCKED}
FREE_WITH_A_KEY: Final = {"notes.read"}  # the pro note (specification, 2.9 and 5.8)
ITS_TIER: Final = {"targets.add", "reports.order"}  # what a subscription lets one do
SAME: Final = {"X-Request-Id": "same"}

Answer = tuple[int, list[tuple[str, str]], bytes]


@pytest.fixture
def worlds(scenes: Scenes, template: str, databases: Databases) -> Iterator[list[World]]:
    scene = scenes.play("what is sold", template, base)
    with ExitStack() as opened:
        yield [
            world_on(opened.enter_context(databases.begin_as(scene.database)).open, scene.held, one)
            for one in (ONE, OTHER)
        ]


@pytest.fixture
def shelves(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a world's guides on the shelf that the process has."""

    def put(world: World) -> None:
        made = shelf_of(world.paid)
        monkeypatch.setattr(reading, "shelf", lambda: made)

    return put


def answer_of(response: Any) -> Answer:
    return response.status_code, sorted(response.headers.items()), response.content


def is_sold(operation: Operation) -> bool:
    return operation.sold is not None or bool(LOCKED & {*operation.refuses})


def differing(told: Iterable[Mapping[str, Answer]]) -> list[str]:
    one, other = told
    assert one.keys() == other.keys()
    return [
        f"{name}: {one[name]} {other[name]}"[:2_000] for name in one if one[name] != other[name]
    ]


def test_a_price__is_of_an_answer_that_the_worlds_hold_or_of_none() -> None:
    sold = {one.sold.price.key for one in catalogue().operations if one.sold is not None}
    assert sold | {plans.PRICE} | SELLS_NO_ANSWER == PRICES.keys()


def test_reads__tell_whoever_pays_nothing_the_same_of_both_worlds(
    worlds: list[World], shelves: Any
) -> None:
    told, refused = list[dict[str, Answer]](), set[str]()
    for world in worlds:
        shelves(world)
        said = dict[str, Answer]()
        for who, headers in world.callers.who_pay_nothing.items():
            for asked in reads():
                if KEY in headers and asked.operation.key in FREE_WITH_A_KEY:
                    continue
                for method in ("GET", "HEAD") if is_sold(asked.operation) else ("GET",):
                    answer = asked.over_http(world, headers, method)
                    said[f"{who}, {method} {asked.names}"] = answer_of(answer)
                    if method == "GET" and answer.status_code in (402, 403):
                        refused |= {asked.operation.key} if reason(answer)[1] in UNPAID else set()
        told.append(said)
    assert differing(told) == []
    assert refused == {
        one.key for one in catalogue().operations if one.method == "GET" and is_sold(one)
    }


def test_writes_and_tools__tell_whoever_pays_nothing_the_same_of_both_worlds(
    worlds: list[World], shelves: Any
) -> None:
    """A plan with any consent and account, what a report or a target would cost, and each read as a tool."""
    told, refused = list[dict[str, Answer]](), set[str]()
    for world in worlds:
        said = dict[str, Answer]()
        for who, headers in world.callers.who_pay_nothing.items():
            is_subscribed = headers == world.callers.tier_1
            for number, asked in enumerate([*writes(world), *reads()]):
                operation, name = asked.operation, f"{who}, {number} {asked.names}"
                is_a_write = operation.method != "GET"
                if is_a_write and (
                    KEY not in headers or (is_subscribed and operation.key in ITS_TIER)
                ):
                    continue
                if operation.tool is not None:
                    said[f"{name} as a tool"] = answer_of(asked.as_a_tool(world, headers))
                if is_a_write:
                    answer = asked.over_http(world, headers)
                    said[name] = answer_of(answer)
                    if answer.status_code in (402, 403, 409) and reason(answer)[1] in UNPAID:
                        refused.add(operation.key)
            for uri in ("kg://index", "kg://notes/BTC") if KEY not in headers else ():
                call = message("resources/read", uri=uri)
                said[f"{who}, {uri}"] = answer_of(send(world.client, call, headers | SAME))
        told.append(said)
    assert differing(told) == []
    assert refused == {"fund.plan"} | {
        one.key for one in catalogue().operations if one.method != "GET" and is_sold(one)
    }


def test_what_is_sold__differs_for_who_pays(worlds: list[World], shelves: Any) -> None:
    """Else the worlds would prove nothing."""
    told = list[dict[str, Answer]]()
    for world in worlds:
        shelves(world)
        told.append(
            {one.names: answer_of(one.over_http(world, world.callers.payer)) for one in sold(world)}
        )
    found = {name.partition("(")[0] for name in differing(told)}
    assert found == {"fund.plan"} | {
        one.key for one in catalogue().operations if one.method == "GET" and is_sold(one)
    }


@pytest.mark.slow
def test_a_refusal__takes_the_same_work_in_both_worlds(worlds: list[World], shelves: Any) -> None:
    """How long an answer takes is an answer, too. Calls of functions are counted, since they do not
    depend on the machine.
    """
    done = list[dict[str, int]]()
    for world in worlds:
        shelves(world)
        work = dict[str, int]()
        for number, asked in enumerate([*writes(world), *reads()]):
            if asked.operation.key == "fund.plan" or is_sold(asked.operation):
                work[f"{number} {asked.names}"] = work_of(world, asked)
            elif asked.operation.method != "GET":
                assert asked.over_http(world, world.callers.free).status_code == 200
        done.append(work)
    one, other = done
    assert {name: (work, other[name]) for name, work in one.items() if work != other[name]} == {}


def test_what_one_paid__is_served_to_nobody_else(worlds: list[World], shelves: Any) -> None:
    """Not by a cache, a 304, a range or the payer's idempotency key."""
    world, _ = worlds
    shelves(world)
    asked = [*sold(world), *(one for one in reads() if one.operation.key in FREE_WITH_A_KEY)]
    unsold = {**SAME, "Idempotency-Key": "one", "If-None-Match": "*", "Range": "bytes=0-99"}

    def told() -> dict[str, Answer]:
        said = dict[str, Answer]()
        for who, headers in world.callers.who_pay_nothing.items():
            for one in asked:
                if KEY in headers and one.operation.key in FREE_WITH_A_KEY:
                    continue
                for method in ("POST",) if one.operation.method == "POST" else ("GET", "HEAD"):
                    answer = one.over_http(world, headers | unsold, method)
                    for counted in ("Age", "X-RateLimit-Remaining"):
                        answer.headers.pop(counted, None)
                    said[f"{who}, {method} {one.names}"] = answer_of(answer)
        return said

    before = told()
    by_key = world.callers.payer | {"Idempotency-Key": "one"}
    paid = {one.operation.key for one in asked if one.over_http(world, by_key).status_code == 200}
    assert paid == {one.operation.key for one in asked}
    assert differing([before, told()]) == []


def sold(world: World) -> list[Asked]:
    """What the payer pays for: each read that is sold, and a plan, for which agents consent."""
    consent = consent_of(world, FOLLOWER, "5.00")
    for agent in (world.callers.payer, world.callers.free, world.callers.tier_1):
        assert consent.over_http(world, agent).status_code == 200
    plan = Asked(catalogue().by_key["fund.plan"], {"id": LIVE, "account_address": FOLLOWER})
    return [plan, *(one for one in reads() if is_sold(one.operation))]


def work_of(world: World, asked: Asked) -> int:
    """Calls of our own functions, for the agent that pays nothing; the least of three times, since
    what is asked first is kept.
    """
    credentials = credentials_sent([world.callers.free[KEY]], [], "203.0.113.9")
    calls, least = 0, sys.maxsize

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(OURS)

    for _ in range(3):
        calls = 0
        sys.setprofile(count)
        try:
            outcome = perform(
                Run(
                    operation=asked.operation,
                    credentials=credentials,
                    sent=SentFields(asked.fields),
                    deps=world.deps,
                    request_id="same",
                )
            )
        finally:
            sys.setprofile(None)
        assert isinstance(outcome, Outcome)
        least = min(least, calls)
    assert least > 0, "nothing was counted"
    return least
