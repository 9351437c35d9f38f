"""Fees, nonces and what the chain's answers mean, without a chain."""

from dataclasses import replace

import pytest

from core.chain.blocks import TransactionReceipt
from core.keeper.intents import Tx
from core.keeper.rules import TxState
from keeper.attempts import (
    Fees,
    Lost,
    Mined,
    PendingSlot,
    bumped,
    fees_for,
    first_free_nonce,
    gap_below,
    slots_of,
    verdict_of,
)
from tests.each import each
from tests.unit.keeper.readings import VAULT

GWEI = 10**9


def test_fees_for__is_twice_the_base_fee_plus_the_priority_fee() -> None:
    assert fees_for(3 * GWEI, GWEI, 50 * GWEI) == Fees(7 * GWEI, GWEI)


def test_fees_for__never_passes_the_cap() -> None:
    assert fees_for(30 * GWEI, GWEI, 50 * GWEI) == Fees(50 * GWEI, GWEI)


def test_fees_for__base_fee_at_the_cap__still_sends() -> None:
    assert fees_for(50 * GWEI, GWEI, 50 * GWEI) == Fees(50 * GWEI, GWEI)


def test_fees_for__base_fee_above_the_cap__waits() -> None:
    assert fees_for(50 * GWEI + 1, GWEI, 50 * GWEI) is None


def test_fees_for__priority_fee_above_the_cap__is_cut_to_it() -> None:
    assert fees_for(0, 90 * GWEI, 50 * GWEI) == Fees(50 * GWEI, 50 * GWEI)


def test_first_free_nonce__nothing_held__is_the_count() -> None:
    assert first_free_nonce(7, set()) == 7


def test_first_free_nonce__skips_what_live_transactions_hold_and_fills_gaps() -> None:
    assert first_free_nonce(7, {7, 8}) == 9
    assert first_free_nonce(7, {8}) == 7


# Replacements


@each(("last", "next_"), [(0, 1), (1, 2), (8, 9), (9, 11), (1_000, 1_125), (GWEI, 1_125_000_000)])
def test_bumped__offers_an_eighth_more_rounded_up(last: int, next_: int) -> None:
    assert bumped(Fees(last, last), None, 50 * GWEI) == Fees(next_, next_)


def test_bumped__never_below_the_market() -> None:
    assert bumped(Fees(GWEI, 1), Fees(9 * GWEI, 5), 50 * GWEI) == Fees(9 * GWEI, 5)


def test_bumped__a_priority_above_the_fee__raises_the_fee_with_it() -> None:
    assert bumped(Fees(1, 1), Fees(3, 7), 50) == Fees(7, 7)


def test_bumped__at_the_cap_and_one_wei_above_it() -> None:
    assert bumped(Fees(8, 8), None, 9) == Fees(9, 9)
    assert bumped(Fees(8, 8), None, 8) is None


# Verdicts


def tx(tx_id: int, nonce: int = 7, tx_hash: str = "", intent_id: int = 1) -> Tx:
    return Tx(
        id=tx_id,
        intent_id=intent_id,
        signer=VAULT,
        nonce=nonce,
        raw=b"",
        hash=tx_hash or f"0x{tx_id:064x}",
        max_fee_wei=8,
        max_priority_fee_wei=8,
        offered_block=1,
        state=TxState.BROADCAST,
        mined_block_hash=None,
    )


def receipt(of: Tx) -> TransactionReceipt:
    return TransactionReceipt(of.hash, 0, 9, "0x" + "ab" * 32, 1, VAULT, VAULT, 21_000, 0, ())


FIRST, SECOND = tx(1), tx(2)
(SLOT,) = slots_of([SECOND, FIRST])
NOTHING = {FIRST.hash: None, SECOND.hash: None}
UNKNOWN = {FIRST.hash: False, SECOND.hash: False}


def test_slots_of__attempts_stand_oldest_first_and_nonces_lowest_first() -> None:
    low = tx(3, nonce=6)
    slots = slots_of([SECOND, FIRST, low])
    assert [(slot.nonce, slot.attempts) for slot in slots] == [(6, (low,)), (7, (FIRST, SECOND))]
    assert (SLOT.newest, SLOT.fees) == (SECOND, Fees(8, 8))


@pytest.mark.parametrize("mined", [FIRST, SECOND])
def test_verdict_of__any_attempt_with_a_receipt__is_mined(mined: Tx) -> None:
    verdict = verdict_of(SLOT, 8, NOTHING | {mined.hash: receipt(mined)}, UNKNOWN)
    assert verdict == Mined(SLOT, mined, receipt(mined))


def test_verdict_of__count_past_the_nonce_and_none_known__is_lost() -> None:
    assert verdict_of(SLOT, 8, NOTHING, UNKNOWN) == Lost(SLOT)


def test_verdict_of__count_past_the_nonce_but_one_is_known__pends() -> None:
    assert verdict_of(SLOT, 8, NOTHING, UNKNOWN | {FIRST.hash: True}) == PendingSlot(
        SLOT, unknown=True
    )


def test_verdict_of__count_at_the_nonce__pends_whether_known_or_not() -> None:
    assert verdict_of(SLOT, 7, NOTHING, UNKNOWN) == PendingSlot(SLOT, unknown=True)
    assert verdict_of(SLOT, 7, NOTHING, UNKNOWN | {SECOND.hash: True}) == PendingSlot(
        SLOT, unknown=False
    )


def test_gap_below__nonces_that_nobody_holds_below_the_lowest_pending_one() -> None:
    assert gap_below(5, [SLOT]) == (5, 6)
    assert gap_below(7, [SLOT]) is None
    assert gap_below(5, []) is None
    assert gap_below(7, [replace(SLOT, nonce=9), SLOT]) is None
