"""What the chain says of everything that is under way: read from one node.

What it says of one transaction and cannot be read leaves that one as it is: pending, and known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from core.chain.abi import AbiDecodeError
from core.chain.reader import ChainReader
from core.chain.results import header_of, receipt_of
from core.chain.rpc import RpcRefusedError
from core.db.repositories.keeper import Tx
from core.domain.blocks import Receipt
from core.domain.money import UnixSeconds
from keeper.attempts import Mined, Pending, Slot, Verdict, gap_below, slots_of, verdict_of
from keeper.observe import NoHeadError
from keeper.state import Head


@dataclass(frozen=True, slots=True)
class Sight:
    """`safe_block` None: the node names none. `counts`: transactions of each signer that are mined at the head."""

    head: Head
    safe_block: int | None
    counts: dict[str, int]
    verdicts: tuple[Verdict, ...]

    @property
    def pending(self) -> list[Slot]:
        return [verdict.slot for verdict in self.verdicts if isinstance(verdict, Pending)]

    def pending_of(self, signer: str) -> list[Slot]:
        return [slot for slot in self.pending if slot.signer == signer]

    def gap_of(self, signer: str) -> tuple[int, int] | None:
        """The nonces, both included, that hold up everything of this signer that is pending."""
        return gap_below(self.counts[signer], self.pending_of(signer))

    def mined_of(self, intent_id: int) -> Mined | None:
        found = (verdict for verdict in self.verdicts if isinstance(verdict, Mined) and verdict.tx.intent_id == intent_id)
        return next(found, None)


def look(reader: ChainReader, signers: Iterable[str], attempts: Sequence[Tx]) -> Sight:
    """Errors: RpcError, NoHeadError; nothing is concluded from a part of the answers."""
    slots = slots_of(attempts)
    accounts = sorted({*signers, *(slot.signer for slot in slots)})
    hashes = list(dict.fromkeys(tx.hash for tx in attempts))
    counts = [("eth_getTransactionCount", [account, "latest"]) for account in accounts]
    receipts = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in hashes]
    bodies = [("eth_getTransactionByHash", [tx_hash]) for tx_hash in hashes]
    blocks = [("eth_getBlockByNumber", [tag, False]) for tag in ("latest", "safe")]
    answers = iter(reader.rpc.batch_settled([*blocks, *counts, *receipts, *bodies]))
    head, safe = _head(next(answers)), next(answers)
    count_of = {account: int(_answered(next(answers)), 16) for account in accounts}
    told = {tx_hash: _receipt(next(answers)) for tx_hash in hashes}
    bodies_by_hash = {tx_hash: next(answers) for tx_hash in hashes}
    receipt_by_hash = {tx_hash: receipt for tx_hash, (receipt, _) in told.items()}
    known = {tx_hash: not told[tx_hash][1] or bodies_by_hash[tx_hash] is not None for tx_hash in hashes}
    verdicts = tuple(verdict_of(slot, count_of[slot.signer], receipt_by_hash, known) for slot in slots)
    # A node without the tag refuses it; then nothing is ever called safe by guess.
    safe_block = None if safe is None or isinstance(safe, RpcRefusedError) else header_of(safe).number
    return Sight(head, safe_block, count_of, verdicts)


def _answered(answer: Any) -> Any:
    if isinstance(answer, RpcRefusedError):
        raise answer
    return answer


def _receipt(raw: Any) -> tuple[Receipt | None, bool]:
    """The receipt, and whether the answer could be read."""
    try:
        return (None if raw is None else receipt_of(raw)), True
    except (KeyError, ValueError, TypeError, AttributeError, AbiDecodeError):
        return None, False


def _head(raw: Any) -> Head:
    header = None if raw is None or isinstance(raw, RpcRefusedError) else header_of(raw)
    if header is None or header.base_fee_wei is None:
        raise NoHeadError("the node gives no newest block, or one without a base fee")
    return Head(header.number, header.hash, UnixSeconds(header.timestamp), header.base_fee_wei)
