"""When what was mined is done: the vault says so, and the record, unless it lacks facts."""

from datetime import UTC, datetime

import pytest

from core.keeper.intents import Intent
from core.keeper.rules import IntentState
from core.keeper.views import SHORT
from core.mandate.rules.lifecycle import VaultStatus
from keeper.moves import confirmed
from keeper.state import IntentKind
from tests.each import each

VAULT = "0x" + "11" * 20


def stop(state: IntentState) -> Intent:
    return Intent(
        id=1,
        chain_id=84532,
        subject=VAULT,
        vault=VAULT,
        kind=IntentKind.STOP,
        role="keeper",
        to=VAULT,
        data=b"",
        trigger_block_number=1,
        trigger_block_hash="0x" + "22" * 32,
        reason={},
        state=state,
        created_at=datetime(2026, 11, 1, tzinfo=UTC),
    )


@each(
    ("recorded", "state"),
    [(None, None), ("working", None), ("stopped", IntentState.DONE), (SHORT, IntentState.DONE)],
)
def test_a_safe_stop__is_done_when_the_record_says_so_or_cannot_say(
    recorded: str | None, state: IntentState | None
) -> None:
    assert confirmed(stop(IntentState.SAFE), VaultStatus.STOPPED, recorded) is state


@pytest.mark.parametrize("status", [None, VaultStatus.WORKING])
def test_a_record_that_cannot_say__ends_no_stop_that_the_vault_does_not_confirm(
    status: VaultStatus | None,
) -> None:
    assert confirmed(stop(IntentState.SAFE), status, SHORT) is not IntentState.DONE
