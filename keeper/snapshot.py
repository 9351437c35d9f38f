"""What the chain says of everything that is under way: of transactions one node, of the head and of
our accounts' nonces every node of the pool.

Laws
- What it says of one transaction and cannot be read leaves that one as it is: pending, and known.
- What pends of an account whose key this process does not hold cannot be raised, nor its nonce
  filled: after STRANDED_BLOCKS it is given up and signed again by a key that it holds.
- What pends more than MOST_GAP nonces above what is used or held was signed on a wrong count: it is
  given up and signed again.
- What the asked node calls mined is mined when one more node has it in the same block, with the
  same end; of what must not be done twice one node's word is enough, since nothing is sent in its
  place.
- What must not be done twice is given up only when every node's count is past its nonce and no node
  knows it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from core.chain import results
from core.chain.blocks import BlockHeader, TransactionReceipt
from core.chain.errors import RpcRefusedError
from core.chain.nodes import Nodes, Request
from core.chain.reader import receipt_of, transaction_of
from core.chain.results import Parse
from core.keeper.intents import Tx
from core.keeper.rules import TxState
from keeper.attempts import (
    Lost,
    Mined,
    NonceSlot,
    PendingSlot,
    Verdict,
    gap_below,
    slots_of,
    verdict_of,
)
from keeper.counts import Counts
from keeper.heads import NEWEST, Heads, NoHeadError, disbelieve
from keeper.state import Head

log = structlog.get_logger("keeper")

MOST_GAP = 16  # a transfer of nothing is paid for each nonce of a gap
STRANDED_BLOCKS = 3  # after its last offer, in which its bytes may still be mined
OTHERS_S = 1.0  # that each other node may take


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`safe_block` None: the node names none.

    `counts`: transactions of each signer that are mined at the head.
    """

    head: Head
    safe_block: int | None
    counts: dict[str, int]
    verdicts: tuple[Verdict, ...]

    @property
    def seen(self) -> set[tuple[str, int]]:
        """Signer and nonce of what pends, and is in a block by one node's word."""
        pending = (verdict for verdict in self.verdicts if isinstance(verdict, PendingSlot))
        return {(verdict.slot.signer, verdict.slot.nonce) for verdict in pending if verdict.is_seen}

    @property
    def unknown(self) -> list[NonceSlot]:
        """What pends, and the node that was asked has no bytes of."""
        return [
            verdict.slot
            for verdict in self.verdicts
            if isinstance(verdict, PendingSlot) and verdict.unknown
        ]

    @property
    def pending(self) -> list[NonceSlot]:
        return [verdict.slot for verdict in self.verdicts if isinstance(verdict, PendingSlot)]

    def pending_of(self, signer: str) -> list[NonceSlot]:
        return [slot for slot in self.pending if slot.signer == signer]

    def lowest_of(self, signer: str) -> NonceSlot | None:
        """What everything else of this signer that is pending waits for."""
        count = self.counts[signer]
        lowest = next((slot for slot in self.pending_of(signer) if slot.nonce >= count), None)
        return lowest if lowest is not None and lowest.nonce <= count + MOST_GAP else None

    def gap_of(self, signer: str) -> tuple[int, int] | None:
        """The nonces, both included and at most MOST_GAP, that hold up everything of this signer
        that is pending.
        """
        lowest = self.lowest_of(signer)
        return None if lowest is None else gap_below(self.counts[signer], [lowest])

    def mined_of(self, intent_id: int) -> Mined | None:
        found = (
            verdict
            for verdict in self.verdicts
            if isinstance(verdict, Mined) and verdict.tx.intent_id == intent_id
        )
        return next(found, None)


def look(
    rpc: Nodes,
    heads: Heads,
    signers: Collection[str],
    attempts: Sequence[Tx],
    counts: Counts,
    once: Collection[int] = (),
) -> Snapshot:
    """`signers`: accounts whose keys this process holds.

    `once`: intents that must not be carried out twice.

    Errors: RpcError, NoHeadError; nothing is concluded from a part of the answers.
    """
    slots = slots_of(attempts)
    accounts = sorted({*signers, *(slot.signer for slot in slots)})
    hashes = list(dict.fromkeys(tx.hash for tx in attempts))
    asked_counts: list[Request] = [
        ("eth_getTransactionCount", [account, "latest"]) for account in accounts
    ]
    receipts = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in hashes]
    bodies = [("eth_getTransactionByHash", [tx_hash]) for tx_hash in hashes]
    safe_block: Request = ("eth_getBlockByNumber", ["safe", False])
    of_all: list[Parse[Any]] = [results.header, *(results.number for _ in accounts)]
    answers = iter(
        rpc.batch_settled(
            [NEWEST, *asked_counts, safe_block, *receipts, *bodies],
            [*of_all, results.header, *map(receipt_of, hashes), *map(transaction_of, hashes)],
        )
    )
    newest, own_counts, safe = next(answers), [next(answers) for _ in accounts], next(answers)
    receipt_by_hash, known = _read(hashes, list(answers))
    others = _of_others(rpc, [NEWEST, *asked_counts], of_all)
    theirs = {name: head for name, said in others.items() if (head := Head.of(said[0])) is not None}
    head = _head(rpc, heads, newest, theirs)
    told = _told(rpc, accounts, own_counts, {name: said[1:] for name, said in others.items()})
    waited = _waited(slots, receipt_by_hash, head)
    believed = {
        account: counts.of(account, told[account], waited.get(account, 0), head.number)
        for account in accounts
    }
    single = {
        (slot.signer, slot.nonce)
        for slot in slots
        if any(tx.intent_id in once for tx in slot.attempts)
    }
    verdicts = list[Verdict]()
    for slot in slots:
        is_single = (slot.signer, slot.nonce) in single
        count = min(told[slot.signer]) if is_single else believed[slot.signer]
        verdict = verdict_of(slot, count, receipt_by_hash, known)
        verdicts.append(_denied(rpc, verdict) if is_single else verdict)
    recent = {name: head.number for name, head in theirs.items() if heads.is_recent(head)}
    verdicts = _witnessed(rpc, verdicts, recent, single)
    for n, (slot, is_far) in enumerate(_reach(verdicts, believed)):
        is_given_up = is_far or (slot.signer not in signers and _is_stranded(verdicts[n], head))
        if is_given_up and (slot.signer, slot.nonce) not in single:
            verdicts[n] = Lost(slot)
    for account, count in believed.items():
        counts.passed(account, count)
    # A node without the tag refuses it; then nothing is ever called safe by guess.
    return Snapshot(
        head, safe.number if isinstance(safe, BlockHeader) else None, believed, tuple(verdicts)
    )


def _of_others(
    rpc: Nodes, requests: Sequence[Request], parse: Sequence[Parse[Any]]
) -> dict[str, list[Any]]:
    return rpc.batch_of_each(
        requests, OTHERS_S, [name for name in rpc.names if name != rpc.pinned_name], parse
    )


def _read(
    hashes: Sequence[str], answers: Sequence[Any]
) -> tuple[dict[str, TransactionReceipt | None], dict[str, bool]]:
    """By hash: the receipt, and whether the node knows the transaction; an error in place of an
    answer says that it may.
    """
    told, bodies = answers[: len(hashes)], answers[len(hashes) :]
    receipts = {
        tx_hash: one if isinstance(one, TransactionReceipt) else None
        for tx_hash, one in zip(hashes, told, strict=True)
    }
    of_both = zip(hashes, told, bodies, strict=True)
    return receipts, {
        tx_hash: body is not None or isinstance(one, RpcRefusedError)
        for tx_hash, one, body in of_both
    }


def _waited(
    slots: Sequence[NonceSlot], receipts: Mapping[str, TransactionReceipt | None], head: Head
) -> dict[str, int]:
    """Blocks since the first attempt that is in none was signed, by account."""
    first: dict[str, int] = {}
    for slot in slots:
        if all(receipts[tx.hash] is None for tx in slot.attempts):
            first[slot.signer] = min(
                first.get(slot.signer, head.number), slot.attempts[0].offered_block
            )
    return {signer: head.number - block for signer, block in first.items()}


def _told(
    rpc: Nodes, accounts: Sequence[str], own: Sequence[Any], others: Mapping[str, Sequence[Any]]
) -> dict[str, list[int]]:
    """Each account's count as each node tells it. Errors: RpcRefusedError when none does."""
    by_node = [own, *others.values()]
    told = {
        account: [one for counts in by_node if isinstance(one := counts[n], int)]
        for n, account in enumerate(accounts)
    }
    refused = next(
        (one for account, one in zip(accounts, own, strict=True) if not told[account]), None
    )
    if refused is not None:
        rpc.distrust("no count")
        raise refused
    return told


def _head(rpc: Nodes, heads: Heads, header: Any, theirs: Mapping[str, Head]) -> Head:
    """The newest block that is believed. `header`: the asked node's."""
    own = Head.of(header)
    if own is None:
        rpc.distrust("no head")
        raise NoHeadError("the node gives no newest block, or one without a base fee")
    return heads.believed({rpc.pinned_name or "": own, **theirs}, rpc.pinned_name)[1]


def _denied(rpc: Nodes, verdict: Verdict) -> Verdict:
    """As it is, unless the asked node alone does not know what it calls lost: then it pends, and
    another node is asked next.
    """
    if not isinstance(verdict, Lost):
        return verdict
    requests: list[Request] = [
        ("eth_getTransactionByHash", [tx.hash]) for tx in verdict.slot.attempts
    ]
    said = rpc.batch_of_others(requests, OTHERS_S).values()
    if not any(isinstance(answer, dict) for answers in said for answer in answers):
        return verdict
    rpc.distrust("denies")
    return PendingSlot(verdict.slot, unknown=True, is_seen=True)


def _witnessed(
    rpc: Nodes,
    verdicts: Sequence[Verdict],
    heights: Mapping[str, int],
    single: Collection[tuple[str, int]],
) -> list[Verdict]:
    """What the asked node calls mined, again or in another block, is mined when one more node has
    the same receipt. `heights`: of the other nodes whose newest block is recent; where there is
    none, or none answers, the asked one's word is all there is, as it is of `single`: (signer,
    nonce) of what is not sent again in any case.
    """
    found = list(verdicts)
    mined_now = [
        (n, one)
        for n, one in enumerate(verdicts)
        if isinstance(one, Mined) and one.tx.mined_block_hash != one.receipt.block_hash
    ]
    news = [(n, one) for n, one in mined_now if (one.slot.signer, one.slot.nonce) not in single]
    if not news or not heights:
        return found
    hashes = [mined.tx.hash for _, mined in news]
    requests: list[Request] = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in hashes]
    said = rpc.batch_of_each(requests, OTHERS_S, heights, list(map(receipt_of, hashes)))
    for place, (n, mined) in enumerate(news):
        told = {
            name: one
            for name, answers in said.items()
            if not isinstance(one := answers[place], RpcRefusedError)
        }
        if not told or any(
            one is not None and _is_same(one, mined.receipt) for one in told.values()
        ):
            continue
        is_denied = any(heights[name] >= mined.receipt.block_number for name in told)
        if is_denied:
            disbelieve(rpc, rpc.pinned_name, "receipt", transaction=mined.tx.hash)
        found[n] = PendingSlot(mined.slot, unknown=False, is_seen=not is_denied)
    return found


def _is_stranded(verdict: Verdict, head: Head) -> bool:
    newest = verdict.slot.newest
    # What a reorg took out begins again.
    is_pending = (
        isinstance(verdict, PendingSlot)
        and not verdict.is_seen
        and newest.state is not TxState.MINED
    )
    return is_pending and head.number - newest.offered_block >= STRANDED_BLOCKS


def _is_same(one: TransactionReceipt, other: TransactionReceipt) -> bool:
    return (one.block_hash, one.status) == (other.block_hash, other.status)


def _reach(verdicts: Sequence[Verdict], counts: dict[str, int]) -> Iterator[tuple[NonceSlot, bool]]:
    """Each slot, lowest nonce of a signer first, and whether it pends beyond reach.

    `counts` go up over what was seen in blocks.
    """
    held: dict[str, int] = {}  # the lowest nonce above all that is used or held
    for verdict in verdicts:
        signer, nonce = verdict.slot.signer, verdict.slot.nonce
        if isinstance(verdict, Mined) and nonce == counts[signer]:
            counts[signer] += 1
        free = max(held.get(signer, 0), counts[signer])
        is_far = nonce > free + MOST_GAP
        if not is_far:
            held[signer] = max(free, nonce + 1)
        yield verdict.slot, is_far and isinstance(verdict, PendingSlot)
