"""Fees, nonces and what the chain's answers mean, without a chain."""

from dataclasses import replace
from typing import Any

from core.chain.blocks import BlockHeader, TransactionReceipt
from core.keeper.intents import Tx
from core.keeper.rules import TxState
from keeper.attempts import (
    STUCK_BLOCKS,
    Lost,
    Mined,
    NonceSlot,
    PendingSlot,
    Verdict,
    first_free_nonce,
    slots_of,
    verdicts_of,
)
from keeper.gas import Fees, Quotes
from tests.each import each
from tests.unit.keeper.readings import VAULT


def test_first_free_nonce__nothing_held__is_the_count() -> None:
    assert first_free_nonce(7, set()) == 7


def test_first_free_nonce__skips_what_live_transactions_hold_and_fills_gaps() -> None:
    assert first_free_nonce(7, {7, 8}) == 9
    assert first_free_nonce(7, {8}) == 7


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
BOTH = {FIRST.hash, SECOND.hash}


def quotes(*counts: int, height: int = 9) -> Quotes:
    """Nodes n0, n1 ... at this height that have so many transactions in blocks."""
    head = BlockHeader(height, "0x" + "ab" * 32, "0x" + "ab" * 32, 1, 0, (), 5)
    return Quotes({f"n{n}": [1, head, 5, c, c] for n, c in enumerate(counts)}, [VAULT])


def verdict(
    told: Any, said: Quotes, *, slot: NonceSlot = SLOT, unknown: Any = (), own: Any = (VAULT,)
) -> Verdict:
    (found,) = verdicts_of([slot], told, said, unknown, own)
    return found


def test_slots_of__attempts_stand_oldest_first_and_nonces_lowest_first() -> None:
    low = tx(3, nonce=6)
    slots = slots_of([SECOND, FIRST, low])
    assert [(slot.nonce, slot.attempts) for slot in slots] == [(6, (low,)), (7, (FIRST, SECOND))]
    assert (SLOT.newest, SLOT.fees) == (SECOND, Fees(8, 8))


@each("mined", [FIRST, SECOND])
def test_verdicts__an_attempt_whose_receipt_two_nodes_have__is_mined(mined: Tx) -> None:
    said = {mined.hash: receipt(mined)}
    assert verdict({"n0": said, "n1": said}, quotes(8, 8)) == Mined(SLOT, mined, receipt(mined))


def test_verdicts__a_receipt_of_one_node__counts_where_no_other_has_the_block() -> None:
    one = {"n0": {FIRST.hash: receipt(FIRST)}, "n1": {}}
    assert verdict(one, quotes(8, 7)) == PendingSlot(SLOT, is_seen=True)
    assert verdict(one, quotes(8)) == Mined(SLOT, FIRST, receipt(FIRST))


def test_verdicts__the_only_receipt_of_a_nonce_that_every_node_counts__is_enough() -> None:
    """A node that denies receipts would hold up its own account's work for good."""
    one = {"n0": {FIRST.hash: receipt(FIRST)}, "n1": {}}
    assert verdict(one, quotes(8, 8)) == Mined(SLOT, FIRST, receipt(FIRST))
    for other in (replace(receipt(FIRST), status=0), receipt(SECOND)):
        two = {"n0": {FIRST.hash: receipt(FIRST)}, "n1": {other.tx_hash: other}}
        assert verdict(two, quotes(8, 8)) == PendingSlot(SLOT, is_seen=True)


@each("counts", [(8,), (8, 8)])
def test_verdicts__a_receipt_above_every_head__is_seen_and_not_mined(
    counts: tuple[int, ...],
) -> None:
    """Of nodes whose heads do not rise: a revert that one makes up would be believed for good."""
    early = replace(receipt(FIRST), block_number=10, status=0)
    said = {"n0": {FIRST.hash: early}, "n1": {}}
    assert verdict(said, quotes(*counts, height=9)) == PendingSlot(SLOT, is_seen=True)
    assert verdict(said, quotes(8, height=10)) == Mined(SLOT, FIRST, early)


def test_verdicts__a_nonce_that_is_used_and_no_node_knows__is_lost() -> None:
    assert verdict({}, quotes(8), unknown=BOTH) == Lost(SLOT)
    assert verdict({}, quotes(8), unknown={FIRST.hash}) == PendingSlot(SLOT)
    assert verdict({}, quotes(7), unknown=BOTH) == PendingSlot(SLOT)


AT = SLOT.newest.offered_block + STUCK_BLOCKS


def test_verdicts__above_a_nonce_that_nobody_holds__is_given_up_after_blocks() -> None:
    slot = replace(SLOT, nonce=8)
    assert verdict({}, quotes(7, height=AT), slot=slot) == Lost(slot)
    assert verdict({}, quotes(7, height=AT - 1), slot=slot) == PendingSlot(slot)
    assert verdict({}, quotes(8, height=AT), slot=slot) == PendingSlot(slot)


def test_verdicts__above_one_that_waits__is_no_gap() -> None:
    above = replace(SLOT, nonce=8)
    both = verdicts_of([SLOT, above], {}, quotes(7, height=AT), (), (VAULT,))
    assert both == [PendingSlot(SLOT), PendingSlot(above)]


def test_verdicts__a_key_that_is_not_here__is_given_up_after_blocks() -> None:
    assert verdict({}, quotes(7, height=AT), own=()) == Lost(SLOT)
    assert verdict({}, quotes(7, height=AT - 1), own=()) == PendingSlot(SLOT)
