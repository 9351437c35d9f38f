"""What is to be sent, as rows, without a database and without a chain."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.hexes import hex_of
from core.keeper.intents import Intent
from core.keeper.rules import IntentState, LacksMark
from core.mandate.chain import calldata
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UsdcE6
from keeper.intents import (
    as_anyone,
    filling,
    intent_of,
    live_kinds,
    order_of,
    restated,
)
from keeper.state import SOURCE_AT_COST, Head, IntentKind
from keeper.views import Numbers
from tests.each import each
from tests.unit.keeper.readings import FLOOR, HEAD, NOW, VAULT, reading

LATER = Head(HEAD.number + 3, "0x" + "cd" * 32, HEAD.at, HEAD.base_fee_wei)
KEEPER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
WHEN = datetime.fromtimestamp(NOW, UTC)


def intent(
    kind: IntentKind = IntentKind.STOP, state: IntentState = IntentState.PLANNED, intent_id: int = 1
) -> Intent:
    new = intent_of(reading(FLOOR).action(kind, HEAD, "at_or_below_floor"), 84532)
    fields = {name: getattr(new, name) for name in type(new).__slots__}
    return Intent(**fields, id=intent_id, state=state, created_at=WHEN)


def numbers(worth: int | None, status: VaultStatus | None = VaultStatus.WORKING) -> Numbers:
    return Numbers(status, None if worth is None else UsdcE6(worth), FLOOR, "vault.worth")


# What an action says on chain


def test_intent_of__is_the_vaults_mark_and_keeps_what_led_to_it() -> None:
    action = reading(FLOOR).action(IntentKind.STOP, HEAD, "at_or_below_floor")
    new = intent_of(action, 84532)
    assert (new.to, hex_of(new.data)) == (VAULT, calldata.mark())
    assert new.reason["worth_usdc"] == "950.000000"


# Judged again before signing


def test_restated__stop_still_due__says_the_numbers_of_now() -> None:
    fresh = restated(intent(), numbers(FLOOR - 5), LATER)
    assert fresh is not None
    assert fresh.reason["worth_usdc"] == "949.999995"
    assert (fresh.trigger_block_number, fresh.trigger_block_hash) == (LATER.number, LATER.hash)


@pytest.mark.parametrize("worth", [FLOOR + 1, None])
def test_restated__stop_whose_vault_recovered_or_became_unreadable__is_dropped(
    worth: int | None,
) -> None:
    assert restated(intent(), numbers(worth), LATER) is None


@each("status", [None, VaultStatus.STOPPED, VaultStatus.SETTLED])
def test_restated__vault_no_longer_working__is_dropped(status: VaultStatus | None) -> None:
    assert restated(intent(), numbers(FLOOR, status), LATER) is None


def test_restated__mark_whose_vault_reached_the_floor__leaves_it_to_the_stop() -> None:
    assert restated(intent(IntentKind.MARK), numbers(FLOOR), LATER) is None
    assert restated(intent(IntentKind.MARK), numbers(FLOOR + 1), LATER) is not None


def test_restated__settlement__stays_while_there_is_something_to_settle() -> None:
    settle = intent(IntentKind.SETTLE)
    assert restated(settle, numbers(FLOOR), LATER) == settle
    assert (
        restated(
            settle, replace(numbers(FLOOR, VaultStatus.STOPPED), fee_owed_usdc_e6=UsdcE6(1)), LATER
        )
        == settle
    )
    assert (
        restated(
            settle, replace(numbers(FLOOR, VaultStatus.STOPPED), fee_owed_usdc_e6=UsdcE6(0)), LATER
        )
        is None
    )
    assert restated(settle, numbers(FLOOR, VaultStatus.SETTLED), LATER) is None


def test_restated__about_no_vault__is_as_it_was() -> None:
    assert restated(intent(), None, LATER) == intent()


@pytest.mark.parametrize("worth", [FLOOR - 1, FLOOR + 1])
def test_restated__mark_of_an_end__is_sent_while_the_vault_is_over_and_can_be_valued(
    worth: int,
) -> None:
    mark = replace(intent(IntentKind.MARK), reason={**intent().reason, "why": LacksMark.END})
    for status in (VaultStatus.STOPPED, VaultStatus.SETTLED):
        assert restated(mark, numbers(worth, status), LATER) is not None
        assert restated(mark, numbers(None, status), LATER) is None
    assert restated(mark, numbers(worth), LATER) is None


def test_restated__worth_became_at_cost__the_reason_says_so() -> None:
    at_cost = restated(intent(), replace(numbers(FLOOR), source=SOURCE_AT_COST), LATER)
    assert at_cost is not None
    assert at_cost.reason["source"] == "vault.worth_at_cost"


def test_as_anyone__is_what_anyone_may_send() -> None:
    own = as_anyone(intent())
    assert (own.role, hex_of(own.data)) == ("stop", calldata.enforce_stop_line())


# Order


def test_filling__is_a_transfer_of_nothing_to_oneself_that_goes_after_stops() -> None:
    new = filling(KEEPER, "stop", 7, 84532, HEAD)
    assert new.subject == f"nonce:{KEEPER.lower()}:7"
    assert (new.kind, new.role) == ("fill", "stop")
    assert (new.to, new.data) == (KEEPER, b"")
    assert new.vault is None
    filling_, stop = replace(intent(intent_id=1), kind="fill"), intent(intent_id=9)
    assert sorted([filling_, stop], key=order_of)[0] is stop


def test_order_of__stops_first_then_settlements_then_requests_then_marks() -> None:
    request = replace(intent(intent_id=9), kind="relay_delivery")
    mixed = [
        intent(IntentKind.MARK, intent_id=1),
        request,
        intent(IntentKind.SETTLE, intent_id=3),
        intent(IntentKind.STOP, intent_id=4),
    ]
    assert [one.kind for one in sorted(mixed, key=order_of)] == [
        "stop",
        "settle",
        "relay_delivery",
        "mark",
    ]


def test_live_kinds__are_collected_by_vault() -> None:
    no_vault = replace(intent(IntentKind.ACCEPT), vault=None)
    assert live_kinds([intent(IntentKind.MARK), intent(IntentKind.STOP), no_vault]) == {
        VAULT: {IntentKind.MARK, IntentKind.STOP}
    }
