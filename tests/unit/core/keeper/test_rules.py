"""The states of an intent, and the words that the table's constraints make of them."""

from core.custody.rules import transfer_state
from core.keeper.rules import (
    ENDS_OF_REQUEST,
    NEXT,
    ON_CHAIN,
    PENDING,
    TERMINAL,
    IntentState,
)

ENDS_OF_SIGNED = {"broadcast", "mined", "reverted", "superseded", "nonce_lost"}


def test_next__every_state_stands_in_the_table() -> None:
    assert set(NEXT) == set(IntentState)


def test_live_states__are_planned_pending_or_on_chain() -> None:
    assert {IntentState.PLANNED, *PENDING, *ON_CHAIN} == set(IntentState) - set(TERMINAL)


def test_next__signed_bytes__are_never_signed_for_anew_nor_dropped() -> None:
    assert IntentState.PLANNED not in set().union(*NEXT.values())
    assert NEXT[IntentState.SIGNED] == ENDS_OF_SIGNED


def test_ends_of_request__are_the_ends_that_a_transfer_ends_by() -> None:
    assert set(ENDS_OF_REQUEST) == {
        end for end in TERMINAL if transfer_state(end, is_used=False) in ("confirmed", "failed")
    }
