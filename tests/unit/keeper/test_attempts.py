"""Fees, nonces and what the chain's answers mean, without a chain."""

from dataclasses import replace
from typing import Any, cast

from core.chain.blocks import BlockHeader, TransactionReceipt
from core.chain.nodes import Nodes
from core.keeper.intents import Tx
from core.keeper.rules import TxState
from keeper.attempts import (
    DEEP_BLOCKS,
    OVER_BLOCKS,
    STUCK_BLOCKS,
    SignedIntent,
    first_free_nonce,
    judged,
    safe_block,
    signed_of,
)
from keeper.gas import Quotes
from tests.each import each
from tests.unit.keeper.readings import VAULT
from tests.unit.keeper.test_intents import intent


def test_first_free_nonce__nothing_held__is_the_count() -> None:
    assert first_free_nonce(7, set()) == 7


def test_first_free_nonce__skips_what_live_transactions_hold_and_fills_gaps() -> None:
    assert first_free_nonce(7, {7, 8}) == 9
    assert first_free_nonce(7, {8}) == 7


# What became of them


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
(SIGNED,) = signed_of([intent()], [SECOND, FIRST])
LOST, SEEN = replace(SIGNED, is_lost=True), replace(SIGNED, is_seen=True)
BOTH = {FIRST.hash, SECOND.hash}


def quotes(*counts: int, height: int = 9) -> Quotes:
    """Nodes n0, n1 ... at this height that have so many transactions in blocks."""
    head = BlockHeader(height, "0x" + "ab" * 32, "0x" + "ab" * 32, 1, 0, (), 5)
    return Quotes({f"n{n}": [1, head, 5, c, c] for n, c in enumerate(counts)}, [VAULT])


def mined(tx: Tx, found: TransactionReceipt | None = None) -> SignedIntent:
    return replace(SIGNED, mined=(tx, found or receipt(tx)), is_seen=True)


def verdict(
    told: Any, said: Quotes, *, one: SignedIntent = SIGNED, unknown: Any = (), own: Any = (VAULT,)
) -> SignedIntent:
    (found,) = judged([one], told, said, unknown, own)
    return found


def at_nonce(nonce: int, intent_id: int = 1) -> SignedIntent:
    (found,) = signed_of([intent(intent_id=intent_id)], [tx(3, nonce, intent_id=intent_id)])
    return found


def test_signed_of__attempts_stand_oldest_first_and_nonces_lowest_first() -> None:
    low = tx(3, nonce=6, intent_id=2)
    signed = signed_of([intent(), intent(intent_id=2)], [SECOND, FIRST, low])
    assert [(one.place[1], one.attempts) for one in signed] == [(6, (low,)), (7, (FIRST, SECOND))]


@each("attempt", [FIRST, SECOND])
def test_judged__an_attempt_whose_receipt_two_nodes_have__is_mined(attempt: Tx) -> None:
    said = {attempt.hash: receipt(attempt)}
    assert verdict({"n0": said, "n1": said}, quotes(8, 8)) == mined(attempt)


def test_judged__a_receipt_of_one_node__counts_where_no_other_has_the_block() -> None:
    one = {"n0": {FIRST.hash: receipt(FIRST)}, "n1": {}}
    assert verdict(one, quotes(8, 7)) == SEEN
    assert verdict(one, quotes(8)) == mined(FIRST)


def test_judged__the_only_receipt_of_a_nonce_that_every_node_counts__is_enough() -> None:
    """A node that denies receipts would hold up its own account's work for good."""
    one = {"n0": {FIRST.hash: receipt(FIRST)}, "n1": {}}
    assert verdict(one, quotes(8, 8)) == mined(FIRST)
    for other in (replace(receipt(FIRST), status=0), receipt(SECOND)):
        two = {"n0": {FIRST.hash: receipt(FIRST)}, "n1": {other.tx_hash: other}}
        assert verdict(two, quotes(8, 8)) == SEEN


@each("counts", [(8,), (8, 8)])
def test_judged__a_receipt_above_every_head__is_seen_and_not_mined(
    counts: tuple[int, ...],
) -> None:
    """Of nodes whose heads do not rise: a revert that one makes up would be believed for good."""
    early = replace(receipt(FIRST), block_number=10, status=0)
    said = {"n0": {FIRST.hash: early}, "n1": {}}
    assert verdict(said, quotes(*counts, height=9)) == SEEN
    assert verdict(said, quotes(8, height=10)) == mined(FIRST, early)


def test_judged__a_nonce_that_is_used_and_no_node_knows__is_lost() -> None:
    assert verdict({}, quotes(8), unknown=BOTH) == LOST
    assert verdict({}, quotes(8), unknown={FIRST.hash}) == SIGNED
    assert verdict({}, quotes(7), unknown=BOTH) == SIGNED


AT = SIGNED.newest.offered_block + STUCK_BLOCKS


def test_judged__above_a_nonce_that_nobody_holds__is_given_up_after_blocks() -> None:
    one = at_nonce(8)
    assert verdict({}, quotes(7, height=AT), one=one).is_lost
    assert verdict({}, quotes(7, height=AT - 1), one=one) == one
    assert verdict({}, quotes(8, height=AT), one=one) == one


def test_judged__above_one_that_waits__is_no_gap() -> None:
    both = [SIGNED, at_nonce(8, intent_id=2)]
    assert judged(both, {}, quotes(7, height=AT), (), (VAULT,)) == both


def test_judged__a_key_that_is_not_here__is_given_up_after_blocks() -> None:
    assert verdict({}, quotes(7, height=AT), own=()) == LOST
    assert verdict({}, quotes(7, height=AT - 1), own=()) == SIGNED


class Safes:
    """Nodes that call these heights safe, None: that know no such tag."""

    names = ("n0", "n1")

    def __init__(self, *numbers: int | None) -> None:
        self.numbers = numbers

    def batch_of_each(
        self, requests: Any, within_s: float, among: Any, *_: Any
    ) -> dict[str, list[BlockHeader | None]]:
        return {
            name: [None if number is None else header_at(number)]
            for name, number in zip(self.names, self.numbers, strict=True)
            if name in (among or self.names)
        }


def header_at(number: int) -> BlockHeader:
    return BlockHeader(number, "0x" + "ab" * 32, "0x" + "ab" * 32, 1, 0, (), 5)


@each(
    ("heights", "rising", "named", "safe"),
    [
        ((1_000, 1_000), ("n0", "n1"), (970, 968), 968),
        ((1_000, 990), ("n0", "n1"), (None, None), 990 - OVER_BLOCKS),
        # what its account sent before it stood still was never over: requests took no turn any more
        ((1_000, 500), ("n0",), (970, 470), 970),
        ((3_000, 3_000), ("n0", "n1"), (2_970, 470), 3_000 - DEEP_BLOCKS),
        ((1_000, 1_000), (), (970, 968), 968),
        # erigontech/erigon 15498: it calls its newest block safe; the other one knows no such tag
        ((1_000, 1_000), ("n0", "n1"), (1_000, None), 1_000 - OVER_BLOCKS),
    ],
)
def test_safe_block__is_the_lowest_that_nodes_name_which_get_on(
    heights: Any, rising: Any, named: Any, safe: int
) -> None:
    told = {f"n{n}": [1, header_at(height), 5, 8, 8] for n, height in enumerate(heights)}
    said = Quotes(told, [VAULT], rising)
    assert safe_block(cast("Nodes", Safes(*named)), said) == safe
