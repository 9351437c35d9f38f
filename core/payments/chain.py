"""What the chain says of payments for resources: EIP-3009 authorizations that were used, and events
of the x402 adapter.

Law: a payment is proven by the token's or the adapter's own log in a successful transaction, never
by anybody's word.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from eth_utils.crypto import keccak

from core.blocks.queries import DEEP
from core.chain import results
from core.chain.abi import address_word, topic_of
from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.nodes import Request
from core.chain.reader import (
    LATEST,
    At,
    ChainReader,
    block_argument,
    header_request,
    receipt_of,
)
from core.errors import OutsideError
from core.hexes import hex_of
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import X402Paid
from core.mandate.venues.x402 import is_nonce_used
from core.payments.rules import Authorization, Cost, Sent

LOG_WINDOW_BLOCKS = 2_000  # public nodes answer no wider range
ASKED_S = 2.0  # how long one node has to answer


def resource_hash(url: str) -> str:
    """What a vault's payment names its resource by: keccak256 of the URL's UTF-8 bytes."""
    return hex_of(keccak(text=url))


@dataclass(frozen=True, slots=True)
class Spent:
    """An authorization's nonce is used or cancelled. `by`: the transaction that paid exactly what is
    wanted with it; None: none did, and none ever will.
    """

    by: str | None


class NodeBehindError(OutsideError):
    """A node does not show what another one has."""


def safe_receipt(chain: ChainReader, tx_hash: str) -> TransactionReceipt | None:
    """Of a transaction in a safe block, as two nodes say, each up to what it calls safe itself or to
    DEEP blocks below its head; where one node is configured, as that one says. None: not yet, or too
    few answer. Some nodes call their newest block safe, some the same block for days, some show what
    a reorg took out.
    """
    asked: list[Request] = [header_request(at) for at in ("safe", LATEST)]
    asked.append(("eth_getTransactionReceipt", [tx_hash]))
    parse = [results.header, results.header, receipt_of(tx_hash)]
    votes = Counter(
        replace(receipt, cost_wei=None)
        for safe, newest, receipt in chain.rpc.batch_of_each(asked, ASKED_S, parse=parse).values()
        if isinstance(receipt, TransactionReceipt)
        and receipt.block_number <= max(_height(safe), _height(newest) - DEEP)
    )
    needed = min(2, len(chain.rpc.names))
    return next((one for one, count in votes.most_common(1) if count >= needed), None)


def _height(answer: Any) -> int:
    """-1: it names no block."""
    return answer.number if isinstance(answer, BlockHeader) else -1


def spent_of(chain: ChainReader, wanted: Authorization, from_block: int) -> Spent | None:
    """What became of an authorization that was not used below `from_block`; None: it was not used.

    Use and logs are read at one block: nodes behind one address answer by turns, and one that is
    behind shows no log of what another calls used. Errors: those of all reads; NodeBehindError.
    """
    head = chain.newest()
    if not chain.is_authorization_used(wanted.token, wanted.payer, wanted.nonce, head.hash):
        return None
    return Spent(settlement_of(chain, wanted, from_block, head))


def settlement_of(
    chain: ChainReader, wanted: Authorization, from_block: int, head: BlockHeader
) -> str | None:
    """The hash of the transaction that paid exactly this, from `from_block` to `head`; None when
    there is none.

    Errors: those of all reads; NodeBehindError.
    """
    topics = [topic_of("AuthorizationUsed"), address_word(wanted.payer), wanted.nonce]
    for first in range(from_block, head.number + 1, LOG_WINDOW_BLOCKS):
        last = min(first + LOG_WINDOW_BLOCKS - 1, head.number)
        logs, newest = chain.range_logs(first, last, [{"address": wanted.token, "topics": topics}])
        if newest is None or (last == head.number and newest.hash != head.hash):
            raise NodeBehindError(f"the node does not have block {last}")
        for log in logs:
            receipt = chain.receipt(log.tx_hash)
            if receipt is None:
                raise NodeBehindError(f"the node does not have transaction {log.tx_hash}")
            # a nonce is used once
            return log.tx_hash if is_paid(receipt, wanted) else None
    return None


def is_paid(receipt: TransactionReceipt, wanted: Authorization) -> bool:
    """Whether the transaction used this nonce for this transfer: the token logs the use, and right
    after it what it moved.

    The two must be neighbours: one transfer beside two uses would otherwise pay twice.
    """
    used = [topic_of("AuthorizationUsed"), address_word(wanted.payer), wanted.nonce]
    moved = [topic_of("Transfer"), address_word(wanted.payer), address_word(wanted.pay_to)]
    return receipt.status == 1 and any(
        _says(use, wanted.token, used)
        and _says(move, wanted.token, moved)
        and int(move.data, 16) == wanted.amount
        for use, move in pairwise(receipt.logs)
    )


def cost_of(chain: ChainReader, sent: Sent) -> Cost | None:
    """What our transaction cost; None while there is no receipt that says so.

    Errors: those of all reads.

    A revert counts against the payer, unless somebody else's transaction has paid before ours, or
    ours came after its time.
    """
    receipt = chain.receipt(sent.tx_hash)
    if receipt is None or receipt.cost_wei is None:
        return None
    is_reverted = receipt.status == 0 and not _is_blameless(chain, sent, receipt)
    bars_payer = is_reverted and (sent.is_contract or bool(chain.code_at(sent.wanted.payer)))
    return Cost(receipt.cost_wei, is_reverted, bars_payer)


def _is_blameless(chain: ChainReader, sent: Sent, receipt: TransactionReceipt) -> bool:
    block = chain.header(receipt.block_hash)
    if block is None or (sent.valid_before is not None and block.timestamp >= sent.valid_before):
        return True
    return settlement_of(chain, sent.wanted, sent.claimed_block, block) is not None


def vault_payments_of(receipt: TransactionReceipt, adapter: str) -> Iterator[tuple[int, X402Paid]]:
    """(log index, event) of each payment through the adapter in a successful transaction.

    Errors: AbiDecodeError.
    """
    for log in receipt.logs:
        if receipt.status == 1 and log.address == adapter:
            event = decode_log(log)
            if isinstance(event, X402Paid):
                yield log.log_index, event


def used_nonces(
    chain: ChainReader, adapter: str, asked: Sequence[tuple[str, str]], at: At
) -> frozenset[tuple[str, str]]:
    """Which of these (vault, nonce) have paid through the adapter at that block.

    Errors: those of all reads.
    """
    used = is_nonce_used()
    calls = [
        ("eth_call", [{"to": adapter, "data": used.encode(vault, nonce)}, block_argument(at)])
        for vault, nonce in asked
    ]
    answers = chain.rpc.batch(calls, [results.code] * len(calls))
    return frozenset(
        one for one, answer in zip(asked, answers, strict=True) if used.decode_output(answer)[0]
    )


def _says(log: RawLog, token: str, topics: list[str]) -> bool:
    return log.address == token and list(log.topics) == topics
