"""The states of an intent, and the words that the table's constraints make of them."""

from core.custody.rules import transfer_state
from core.keeper.rules import (
    ENDS_OF_REQUEST,
    HOLDING,
    NEXT,
    NOT_SENT,
    ON_CHAIN,
    PENDING,
    QUEUED,
    TERMINAL,
    IntentState,
)
from core.keeper.tables import LIVE_STATES, KeeperIntent

ENDS_OF_SIGNED = {"broadcast", "mined", "reverted", "superseded", "nonce_lost"}


def test_next__every_state_stands_in_the_table() -> None:
    assert set(NEXT) == set(IntentState)


def test_terminal__is_what_leads_nowhere() -> None:
    assert TERMINAL == ("done", "reverted", "superseded", "nonce_lost", "refused")


def test_not_sent__is_every_end_but_done() -> None:
    assert NOT_SENT == ("reverted", "superseded", "nonce_lost", "refused")


def test_holding__is_every_state_of_an_attempt_but_lost() -> None:
    assert HOLDING == ("signed", "broadcast", "mined")


def test_live_states__are_planned_pending_or_on_chain() -> None:
    assert {IntentState.PLANNED, *PENDING, *ON_CHAIN} == set(IntentState) - set(TERMINAL)


def test_next__signed_bytes__are_never_signed_for_anew_nor_dropped() -> None:
    assert IntentState.PLANNED not in set().union(*NEXT.values())
    assert NEXT[IntentState.SIGNED] == ENDS_OF_SIGNED


def test_ends_of_request__are_the_ends_that_a_transfer_ends_by() -> None:
    assert set(ENDS_OF_REQUEST) == {
        end for end in TERMINAL if transfer_state(end, is_used=False) in ("confirmed", "failed")
    }


def test_queued__is_no_state_of_an_intent() -> None:
    assert QUEUED not in set(IntentState)


def test_live_states__are_word_for_word_the_predicate_of_the_index_that_was_migrated() -> None:
    assert LIVE_STATES == "state not in ('done', 'reverted', 'superseded', 'nonce_lost', 'refused')"


def test_the_tables_check__is_word_for_word_the_one_that_was_migrated() -> None:
    states = (
        "'planned', 'signed', 'broadcast', 'mined', 'safe', 'done', 'reverted', 'superseded', "
        "'nonce_lost', 'refused'"
    )
    found = {str(getattr(one, "sqltext", "")) for one in KeeperIntent.__table__.constraints}
    assert f"state in ({states})" in found
