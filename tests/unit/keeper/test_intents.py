"""What is to be sent, as rows, without a database and without a chain."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from core.hexes import hex_of
from core.keeper.intents import Intent
from core.keeper.rules import IntentState
from core.mandate.chain import calldata
from keeper.intents import intent_of, is_out_of_patience, live_kinds, order_of
from keeper.state import IntentKind
from tests.unit.keeper.readings import FLOOR, HEAD, NOW, VAULT, reading

KEEPER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
WHEN = datetime.fromtimestamp(NOW, UTC)


def intent(
    kind: IntentKind = IntentKind.MARK, state: IntentState = IntentState.PLANNED, intent_id: int = 1
) -> Intent:
    new = intent_of(reading(FLOOR).action(kind, HEAD, "at_or_below_floor"), 84532)
    fields = {name: getattr(new, name) for name in type(new).__slots__}
    return Intent(**fields, id=intent_id, state=state, created_at=WHEN)


# What an action says on chain


def test_intent_of__a_mark__is_the_vaults_mark_and_keeps_what_led_to_it() -> None:
    action = reading(FLOOR).action(IntentKind.MARK, HEAD, "moved")
    new = intent_of(action, 84532)
    assert (new.to, hex_of(new.data)) == (VAULT, calldata.mark())
    assert new.reason["worth_usdc"] == "950.000000"


# For how long


def test_is_out_of_patience__what_a_tick_planned_is_superseded_after_a_minute() -> None:
    planned, at = intent(), WHEN + timedelta(minutes=1)
    assert is_out_of_patience(planned, at) is IntentState.SUPERSEDED
    assert is_out_of_patience(planned, at - timedelta(seconds=1)) is None
    assert is_out_of_patience(replace(planned, state=IntentState.SIGNED), at) is None


def test_is_out_of_patience__a_request_is_tried_for_an_hour() -> None:
    request = replace(intent(IntentKind.MARK), kind="relay_delivery", outbox_id=1)
    hour = timedelta(hours=1)
    assert is_out_of_patience(request, WHEN + hour) is IntentState.REFUSED
    assert is_out_of_patience(request, WHEN + hour - timedelta(seconds=1)) is None


# Order


def test_order_of__removals_first_then_settlements_then_requests_then_marks() -> None:
    request = replace(intent(intent_id=9), kind="relay_delivery")
    mixed = [
        intent(IntentKind.MARK, intent_id=1),
        request,
        intent(IntentKind.SETTLE, intent_id=3),
        intent(IntentKind.REMOVE, intent_id=4),
    ]
    assert [one.kind for one in sorted(mixed, key=order_of)] == [
        "remove_agent",
        "settle",
        "relay_delivery",
        "mark",
    ]


def test_live_kinds__are_collected_by_vault() -> None:
    no_vault = replace(intent(IntentKind.ACCEPT), vault=None)
    assert live_kinds([intent(IntentKind.MARK), intent(IntentKind.STOP), no_vault]) == {
        VAULT: {IntentKind.MARK, IntentKind.STOP}
    }
