"""Signed attempts and the nonces that they hold: what the nodes' answers mean for them, and for the
intents that they are of. Pure.

    nonce 7   attempt 1 (mark)   attempt 2 (the same, dearer)   attempt 3 (a transfer of nothing)      one of them is mined

Laws
- Of all attempts of a nonce at most one is ever mined; which one is decided by the receipts of all
  of them. A receipt counts once two nodes have it, where two have its block; or
  one, where every node counts the nonce as used and no receipt says otherwise.
- Whatever is sent has its effect once, however often it is: the contract that gets it sees to that.
- A nonce is lost when it is used and no node knows any of its attempts. What has waited for
  STUCK_BLOCKS above a nonce that nobody holds (it was signed on a wrong count, or a reorg took out
  what was below), or whose key is no longer here, is given up, and signed again elsewhere.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from eth_utils.crypto import keccak

from core.chain import results
from core.chain.blocks import BlockHeader, TransactionReceipt
from core.chain.nodes import Nodes, Request
from core.chain.reader import receipt_of, transaction_of
from core.chain.signer import Signer
from core.hexes import hex_of
from core.keeper.intents import Intent, NewIntent, NewTx, Tx
from core.keeper.rules import ON_CHAIN, PENDING, IntentState, TxState
from keeper.gas import OTHERS_S, Fees, Market, Quotes, of_each
from keeper.state import YIELDING

SUCCESS = 1
STUCK_BLOCKS = 3  # after its last offer, in which its bytes may still be mined
OVER_BLOCKS = 64  # below its newest block, where a node names no safe one
DEEP_BLOCKS = 1_800  # over whatever a node calls safe
ASKED_AT_ONCE = 25  # receipts

T = TypeVar("T")
TxT = TypeVar("TxT", bound=NewTx)
Receipts = Mapping[str, Mapping[str, Any]]  # by node and hash


@dataclass(frozen=True, slots=True)
class SignedIntent:
    """An intent and its signed attempts, oldest first, which hold one nonce; with what nodes say.

    `mined`: the attempt that the chain has, and its receipt. `is_seen`: one node's word alone is that
    one is mined. `is_lost`: another transaction took the nonce, or it is out of reach.
    """

    intent: Intent
    attempts: tuple[Tx, ...]
    mined: tuple[Tx, TransactionReceipt] | None = None
    is_seen: bool = False
    is_lost: bool = False

    @property
    def newest(self) -> Tx:
        return self.attempts[-1]

    @property
    def place(self) -> tuple[str, int]:
        """The signer and the nonce."""
        return self.newest.signer, self.newest.nonce

    @property
    def is_pending(self) -> bool:
        return self.mined is None and not self.is_lost


TxMove = tuple[Tx, TxState, TransactionReceipt | None]


@dataclass(frozen=True, slots=True)
class IntentMove:
    """An intent's next state, and what becomes of its attempts."""

    intent: Intent
    state: IntentState
    attempts: tuple[TxMove, ...] = ()


def fees_of(tx: NewTx) -> Fees:
    return Fees(tx.max_fee_wei, tx.max_priority_fee_wei)


def signed_of(live: Iterable[Intent], attempts: Iterable[Tx]) -> list[SignedIntent]:
    """Those that were signed, by signer and nonce, lowest nonce first."""
    found: defaultdict[int, list[Tx]] = defaultdict(list)
    for tx in sorted(attempts, key=lambda tx: tx.id):
        found[tx.intent_id].append(tx)
    signed = [SignedIntent(one, tuple(found[one.id])) for one in live if one.id in found]
    return sorted(signed, key=lambda one: one.place)


def in_parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))


# What nodes say


def receipts(rpc: Nodes, hashes: Sequence[str]) -> Receipts:
    """Of each node that answers, a few at a time; of one that stops to answer nothing more."""
    found: dict[str, dict[str, Any]] = {}
    among: Collection[str] = rpc.names
    for part in in_parts(hashes, ASKED_AT_ONCE):
        by_node = of_each(
            rpc,
            [("eth_getTransactionReceipt", [one]) for one in part],
            among,
            [receipt_of(one) for one in part],
        )
        for name, answers in by_node.items():
            found.setdefault(name, {}).update(zip(part, answers, strict=True))
        among = by_node.keys()
    return found


def known(rpc: Nodes, hashes: Sequence[str]) -> set[str]:
    """Those that some node has, or cannot deny."""
    asked: list[Request] = [("eth_getTransactionByHash", [one]) for one in hashes]
    answers = of_each(rpc, asked, parse=list(map(transaction_of, hashes))).values()
    return {
        one for each in answers for one, body in zip(hashes, each, strict=True) if body is not None
    } | (set() if answers else set(hashes))


def broadcast(
    rpc: Nodes, txs: Sequence[NewTx], others_s: float = OTHERS_S
) -> Iterator[tuple[Sequence[NewTx], dict[str, list[Any]]]]:
    """Send these to every node, some at a time; and what each says."""
    for part in in_parts(txs, ASKED_AT_ONCE):
        requests: list[Request] = [("eth_sendRawTransaction", [hex_of(tx.raw)]) for tx in part]
        yield part, of_each(rpc, requests, others_s=others_s)


def safe_block(rpc: Nodes, quotes: Quotes) -> int:
    """The lowest block that a node calls safe, of those that get on, since an early one could be
    orphaned: some call their newest block so, and another's silence makes nothing of it true.
    """
    asked: list[Request] = [("eth_getBlockByNumber", ["safe", False])]
    heights = quotes.rising_heights()
    answers = of_each(rpc, asked, heights, [results.header])
    named = [
        one.number if isinstance(one, BlockHeader) else height - OVER_BLOCKS
        for name, height in heights.items()
        for one in answers.get(name, [None])
    ]
    return max(min(named), min(heights.values()) - DEEP_BLOCKS)


def agreed(
    attempts: Sequence[TxT],
    answers: Receipts,
    reach: Mapping[str, float],
    *,
    is_used: bool = False,
) -> tuple[TxT, TransactionReceipt] | None:
    """The attempt that is mined, and its receipt: as two nodes say, or all that have its block
    or soon will (`reach`). One above every head (pre-confirmed, or made up) is no receipt yet.

    `is_used`: every node counts the nonce as used. Then one receipt is enough where there is no
    other, so that a node that denies receipts holds up nothing.
    """
    needed = 1 if is_used and len(_receipts_of(attempts, answers)) == 1 else 2
    for attempt in attempts:
        found = {
            name: receipt
            for name, by_hash in answers.items()
            if isinstance(receipt := by_hash.get(attempt.hash), TransactionReceipt)
        }
        for receipt in found.values():
            same = sum(_end(one) == _end(receipt) for one in found.values())
            could = sum(reach.get(name, -1) >= receipt.block_number for name in answers)
            if could and same >= min(needed, could):
                return attempt, receipt
    return None


def _end(receipt: TransactionReceipt) -> tuple[str, int]:
    return receipt.block_hash, receipt.status


def _receipts_of(attempts: Iterable[NewTx], answers: Receipts) -> set[tuple[str, str, int]]:
    """Those that any node has, by hash, block and end."""
    return {
        (attempt.hash, *_end(receipt))
        for attempt in attempts
        for by_hash in answers.values()
        if isinstance(receipt := by_hash.get(attempt.hash), TransactionReceipt)
    }


def ends_of(attempts: Iterable[NewTx], answers: Receipts) -> set[int]:
    """How these ended, by any node's receipt."""
    return {status for _, _, status in _receipts_of(attempts, answers)}


def judged(
    signed: Sequence[SignedIntent],
    answers: Receipts,
    quotes: Quotes,
    unknown: Collection[str],
    own: Collection[str],
) -> list[SignedIntent]:
    """What each came to. `unknown`: hashes that no node knows. `own`: accounts whose keys are here."""
    found = list[SignedIntent]()
    held = dict[str, int]()  # the lowest nonce above all that is used or held
    for one in signed:
        (signer, nonce), newest = one.place, one.newest
        is_used = nonce < quotes.mined(signer)
        mined = agreed(one.attempts, answers, quotes.reach(), is_used=is_used)
        is_seen = bool(ends_of(one.attempts, answers))
        free = max(held.get(signer, 0), quotes.reachable(signer))
        is_out_of_reach = (
            newest.state is not TxState.MINED  # what a reorg took out begins again
            and quotes.head.number - newest.offered_block >= STUCK_BLOCKS
            and (signer not in own or nonce > free)
        )
        is_taken = nonce < quotes.count(signer) and all(tx.hash in unknown for tx in one.attempts)
        is_lost = mined is None and not is_seen and (is_taken or is_out_of_reach)
        if not is_lost:
            held[signer] = max(free, nonce + 1)
        found.append(replace(one, mined=mined, is_seen=is_seen, is_lost=is_lost))
    return found


def first_free_nonce(count: int, held: Iterable[int]) -> int:
    """The lowest nonce from the account's count on that no attempt holds."""
    taken, nonce = set(held), count
    while nonce in taken:
        nonce += 1
    return nonce


# What it means for intents


def move_of(one: SignedIntent, head_number: int, sent: Collection[str]) -> IntentMove | None:
    """What becomes of the intent; None: nothing changes. `sent`: hashes of what a node took."""
    intent = one.intent
    if one.is_lost:
        lost = tuple((tx, TxState.LOST, None) for tx in one.attempts)
        return IntentMove(intent, IntentState.NONCE_LOST, lost)
    if one.mined is None:
        return _pending_move(one, head_number, sent)
    tx, receipt = one.mined
    if tx.is_filler:
        lost = tuple((other, TxState.LOST, None) for other in one.attempts if other is not tx)
        return IntentMove(intent, IntentState.SUPERSEDED, ((tx, TxState.MINED, receipt), *lost))
    if receipt.status != SUCCESS:
        return IntentMove(intent, IntentState.REVERTED, ((tx, TxState.MINED, receipt),))
    if intent.state not in PENDING and tx.mined_block_hash == receipt.block_hash:
        return None
    moved = ((tx, TxState.MINED, receipt), *_orphaned(one, tx))
    state = IntentState.BROADCAST if intent.state is IntentState.SAFE else IntentState.MINED
    return IntentMove(intent, state, moved)


def _pending_move(one: SignedIntent, head_number: int, sent: Collection[str]) -> IntentMove | None:
    """Taken by a node: broadcast.

    A block that held it and is gone: broadcast again, and patience begins again, as it does where
    the height at which it was offered was never reached.
    """
    intent, newest = one.intent, one.newest
    if intent.state in ON_CHAIN and one.is_seen:
        return None  # one node's word takes nothing back
    if intent.state in ON_CHAIN:
        again = (replace(newest, offered_block=head_number), TxState.BROADCAST, None)
        return IntentMove(intent, IntentState.BROADCAST, (again, *_orphaned(one, newest)))
    offered = {
        tx.id: (replace(tx, offered_block=head_number), tx.state, None)
        for tx in one.attempts
        if tx.offered_block > head_number
    }
    if newest.state is TxState.SIGNED and newest.hash in sent:
        offered[newest.id] = (offered.get(newest.id, (newest,))[0], TxState.BROADCAST, None)
        return IntentMove(intent, IntentState.BROADCAST, tuple(offered.values()))
    return IntentMove(intent, intent.state, tuple(offered.values())) if offered else None


def _orphaned(one: SignedIntent, but: Tx) -> tuple[TxMove, ...]:
    """Other attempts of this nonce that were mined in a block that is gone: one of a nonce is
    mined, and its row says so.
    """
    return tuple(
        (tx, TxState.BROADCAST, None)
        for tx in one.attempts
        if tx.state is TxState.MINED and tx.id != but.id
    )


def is_over(intent: Intent, receipt: TransactionReceipt, head_number: int, safe: int) -> bool:
    """Nothing more is to be done for it: its block is safe. Of a mark a later block is enough,
    since the next one says more than it did, and of an anchor, since the contract is asked which
    epoch is the next.
    """
    if intent.kind in YIELDING:
        return head_number > receipt.block_number
    return receipt.block_number <= safe


# What is known in a round


@dataclass(slots=True)
class Round:
    """What is known in one round, and what is left of it as drafts are made."""

    quotes: Quotes
    signed: Sequence[SignedIntent]
    pending: list[SignedIntent] = field(init=False)
    lowest: dict[str, SignedIntent] = field(init=False, default_factory=dict)  # by signer
    held: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        self.pending = [one for one in self.signed if one.is_pending]
        for one in self.pending:
            signer, nonce = one.place
            self.lowest.setdefault(signer, one)
            self.held[signer].add(nonce)

    @property
    def market(self) -> Market:
        return self.quotes.market

    @property
    def head_number(self) -> int:
        return self.quotes.head.number

    def pending_of(self, signer: str) -> list[SignedIntent]:
        return [one for one in self.pending if one.newest.signer == signer]

    def waited(self, one: SignedIntent) -> int:
        return self.head_number - one.newest.offered_block


@dataclass(frozen=True, slots=True)
class Draft:
    """A transaction that may be signed now."""

    intent: NewIntent
    signer: str
    nonce: int
    fees: Fees
    gas: int
    is_filler: bool = False

    def signed(self, signer: Signer, block: int, intent_id: int = 0) -> NewTx:
        """`block`: at which it is offered. `intent_id` 0: there is no row yet. Errors: the signer's."""
        raw = signer.sign_transaction(self.transaction())
        return NewTx(
            intent_id=intent_id,
            signer=self.signer,
            nonce=self.nonce,
            raw=raw,
            hash=hex_of(keccak(raw)),
            max_fee_wei=self.fees.max_fee_wei,
            max_priority_fee_wei=self.fees.max_priority_fee_wei,
            offered_block=block,
            is_filler=self.is_filler,
        )

    def transaction(self) -> dict[str, Any]:
        """As Signer.sign_transaction takes it."""
        to, data = (self.signer, b"") if self.is_filler else (self.intent.to, self.intent.data)
        return {
            "type": 2,
            "chainId": self.intent.chain_id,
            "nonce": self.nonce,
            "to": to,
            "data": hex_of(data),
            "value": 0,
            "gas": self.gas,
            "maxFeePerGas": self.fees.max_fee_wei,
            "maxPriorityFeePerGas": self.fees.max_priority_fee_wei,
        }
