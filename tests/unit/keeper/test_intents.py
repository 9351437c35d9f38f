"""What is to be sent, as rows, without a database and without a chain."""

from dataclasses import replace
from datetime import UTC, datetime

from core.hexes import hex_of
from core.keeper.intents import Intent
from core.keeper.rules import IntentState
from core.mandate.chain import calldata
from keeper.intents import intent_of, live_kinds
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


def test_live_kinds__are_collected_by_vault() -> None:
    no_vault = replace(intent(IntentKind.ACCEPT), vault=None)
    assert live_kinds([intent(IntentKind.MARK), intent(IntentKind.STOP), no_vault]) == {
        VAULT: {IntentKind.MARK, IntentKind.STOP}
    }
