"""The caps, the split and the drain (docs/payouts.md)."""

from hypothesis import given

from api.areas.earn.rules import payout
from api.areas.earn.rules.payout import (
    Cap,
    CapKind,
    Debts,
    Item,
    Payee,
    PayoutLimits,
    PayoutPart,
    Wait,
)
from tests.each import each
from tests.payouts import STEPS, TIGHT, Step, World

LIMITS = PayoutLimits()
BRONZE = Payee(account_id=7, address="192.0.2.1", has_standing=True)
NEW = Payee(account_id=8, address="192.0.2.1")
OWNED = Payee(account_id=9, owner_id=3, address="192.0.2.9", has_standing=True)
PEOPLE = {
    1: Payee(account_id=1, address="192.0.2.1"),
    2: Payee(account_id=2, address="192.0.2.1", funder="0x01", has_standing=True),
    3: Payee(account_id=3, address="192.0.2.3", funder="0x01", has_standing=True),
    4: Payee(account_id=4, owner_id=90, address="192.0.2.9", has_standing=True),
    5: Payee(account_id=5, owner_id=90, address="192.0.2.9"),
    6: Payee(account_id=6, owner_id=91, address="192.0.2.9", has_standing=True),
}


def item(left: int, payee: Payee = BRONZE, award_id: int = 1, is_room: bool = False) -> Item:
    return Item(award_id, payee.account_id, is_room, left)


def pay(left: int, payee: Payee = BRONZE, is_room: bool = False, **used: int) -> PayoutPart:
    named = {name.replace("__", ":"): amount for name, amount in used.items()}
    return payout.pay(item(left, payee, is_room=is_room), payee, named, Debts({}), LIMITS)


def names(payee: Payee, is_room: bool = False) -> set[str]:
    return {cap.name for cap in payout.caps_of(payee, is_room=is_room, limits=LIMITS)}


# Who shares what


def test_caps__of_an_unowned_agent__are_its_own_and_its_addresss() -> None:
    assert names(BRONZE) == {"agent:7", "address:192.0.2.1"}


def test_caps__of_an_unowned_agent_with_a_funder__are_the_funders_too() -> None:
    funded = Payee(account_id=7, address="192.0.2.1", funder="0x01", has_standing=True)
    assert names(funded) == {"agent:7", "address:192.0.2.1", "funder:0x01"}


def test_caps__of_an_owned_agent__are_its_owners_and_those_of_owners_of_its_address() -> None:
    assert names(OWNED) == {"owner:3", "owners:192.0.2.9"}


def test_caps__without_standing__are_the_accounts_too() -> None:
    assert names(NEW) - names(BRONZE) == {"agent:8", "account:8"}


def test_caps__of_what_a_room_pays__are_those_of_the_rooms_beside_all_others() -> None:
    in_rooms = {"rooms", "rooms:owner:3", "rooms:owners:192.0.2.9"}
    assert names(OWNED, is_room=True) == names(OWNED) | in_rooms


def test_caps__of_owners_of_one_address__have_a_limit_of_their_own() -> None:
    caps = payout.caps_of(OWNED, is_room=True, limits=LIMITS)
    limits = {cap.kind: cap.limit for cap in caps}
    assert (limits[CapKind.OWNERS_ADDRESS], limits[CapKind.ROOMS_OWNERS_ADDRESS]) == (5_000, 250)


# One item


def test_pay__below_every_cap__is_paid_whole() -> None:
    part = pay(60)
    assert (part.paid, part.left, part.cap) == (60, 0, None)


@each(
    ("paid_before", "paid", "left", "cap"),
    [(1_940, 60, 0, None), (1_942, 58, 2, CapKind.PERSON), (2_000, 0, 60, CapKind.PERSON)],
)
def test_pay__at_the_person_cap__is_split(
    paid_before: int, paid: int, left: int, cap: CapKind | None
) -> None:
    part = pay(60, agent__7=paid_before)
    assert (part.paid, part.left, part.cap) == (paid, left, cap)


def test_pay__at_the_cap_of_its_network_address__is_split_for_an_agent_that_earned_nothing() -> (
    None
):
    used = {"address:192.0.2.1": 1_990}
    part = payout.pay(item(60), BRONZE, used, Debts({}), LIMITS)
    assert (part.paid, part.cap) == (10, CapKind.NETWORK_ADDRESS)


def test_pay__a_new_account__is_paid_200_a_day() -> None:
    part = pay(300, NEW)
    assert (part.paid, part.left, part.cap) == (200, 100, CapKind.NEW_ACCOUNT)


def test_pay__of_a_room__meets_the_persons_cap_there() -> None:
    part = pay(300, OWNED, is_room=True)
    assert (part.paid, part.cap) == (100, CapKind.ROOMS_PERSON)


def test_pay__where_all_rooms_are_used_up__waits_and_mining_is_paid() -> None:
    in_room, mined = pay(60, OWNED, is_room=True, rooms=1_000), pay(60, OWNED, rooms=1_000)
    assert (in_room.paid, in_room.cap, mined.paid) == (0, CapKind.ROOMS, 60)


def test_pay__with_less_budget_than_due__takes_what_is_left() -> None:
    part = pay(60, budget=9_950)
    assert (part.paid, part.left, part.cap) == (50, 10, CapKind.DAY_BUDGET)


def test_pay__a_debt__is_repaid_first_and_counts_in_no_cap() -> None:
    used, owed = {"budget": 10_000}, {7: 40}
    part = payout.pay(item(60), BRONZE, used, Debts(owed), LIMITS)
    assert (part.repaid, part.paid, part.left) == (40, 0, 20)
    assert (used, owed) == ({"budget": 10_000}, {7: 0})


def test_pay__counts_in_every_cap_of_the_payee() -> None:
    used: dict[str, int] = {}
    payout.pay(item(60, OWNED, is_room=True), OWNED, used, Debts({}), LIMITS)
    assert used == dict.fromkeys(
        [
            "budget",
            "owner:3",
            "owners:192.0.2.9",
            "rooms",
            "rooms:owner:3",
            "rooms:owners:192.0.2.9",
        ],
        60,
    )


# Many


def test_drain__passes_one_that_a_cap_stops_and_pays_the_next() -> None:
    used = {"agent:7": 2_000}
    items = [item(60, award_id=1), item(60, OWNED, award_id=2)]
    look = payout.drain(items, {7: BRONZE, 9: OWNED}, used, Debts({}), LIMITS)
    assert [(part.paid, part.cap) for part in look.parts] == [(0, CapKind.PERSON), (60, None)]
    assert not look.is_stopped


def test_drain__at_the_budget__stops_and_no_smaller_item_overtakes() -> None:
    items = [item(60, award_id=1), item(2, OWNED, award_id=2)]
    look = payout.drain(items, {7: BRONZE, 9: OWNED}, {"budget": 9_950}, Debts({}), LIMITS)
    assert [(part.item.award_id, part.paid, part.left) for part in look.parts] == [(1, 50, 10)]
    assert look.is_stopped


def test_drain__of_a_used_up_budget__looks_at_nothing() -> None:
    look = payout.drain([item(60)], {7: BRONZE}, {"budget": 10_000}, Debts({}), LIMITS)
    assert (look.parts, look.is_stopped) == ((), True)


def test_room__of_a_cap_that_was_lowered_below_what_was_paid__is_zero() -> None:
    assert Cap(CapKind.PERSON, "agent:7", 100).room({"agent:7": 160}) == 0


# How long one waits


def test_waits__of_what_no_cap_stops__are_none() -> None:
    assert payout.waits_of([item(60)], BRONZE, {}, {}, LIMITS) == [Wait(0, None)]


def test_waits__behind_own_items__are_a_day_a_cap_of_them() -> None:
    """A new account is paid 200 a day: 60 are paid today, then 200 on each day."""
    items = [item(140, NEW, 1), item(200, NEW, 2), item(2, NEW, 3), item(2, NEW, 4)]
    waits = payout.waits_of(items, NEW, {"account:8": 60}, {}, LIMITS)
    days = [(wait.days, wait.cap) for wait in waits]
    new = CapKind.NEW_ACCOUNT
    assert days == [(0, None), (1, new), (2, new), (2, new)]


def test_waits__for_a_used_up_budget__are_until_tomorrow() -> None:
    waits = payout.waits_of([item(60)], BRONZE, {"budget": 10_000}, {}, LIMITS)
    assert waits == [Wait(1, CapKind.DAY_BUDGET)]


def test_waits__for_a_cap_of_zero__have_no_day() -> None:
    limits = PayoutLimits(rooms=0)
    waits = payout.waits_of([item(60, OWNED, is_room=True)], OWNED, {}, {}, limits)
    assert waits == [Wait(None, CapKind.ROOMS)]


# Histories


@given(STEPS)
def test_any_history__adds_up_and_keeps_every_cap(history: list[Step]) -> None:
    world = World(PEOPLE, TIGHT)
    for step in history:
        world.take(step)
        assert list(world.faults()) == []


@given(STEPS)
def test_any_history__is_paid_in_the_end(history: list[Step]) -> None:
    world = World(PEOPLE, TIGHT)
    for step in history:
        world.take(step)
    for _ in range(200):
        world.day += 1
        world.drain()
    assert world.queue == {}
