"""Kinds of tampering with rows that the service has signed for; hashes, numbers and totals fit in
each, and the receipts are what their holders kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from api.client.verify.receipts_check import KeptReceipt
from core.canonical import canonical_json
from core.chain.signer import LocalKeySigner
from core.mandate.chain.typed_data import record_receipt_digest
from core.mandate.rules.receipts import RecordReceipt, unsigned_receipt
from core.mandate.rules.record_file import row_of_line
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.client.forging import Forgery

SERVICE = LocalKeySigner("0x" + "77" * 32)


@dataclass(frozen=True)
class ReceiptKind:
    """`name`: the finding that it must show as."""

    what: str
    name: str
    tamper: Callable[[Forgery, list[RecordReceipt]], object]


def signed(receipt: RecordReceipt, signer: LocalKeySigner = SERVICE) -> RecordReceipt:
    named = replace(receipt, signer=signer.address)
    return replace(named, signature=signer.sign_digest(record_receipt_digest(named)))


def receipts_of(lines: Sequence[bytes], factory: str) -> list[RecordReceipt]:
    """Of the agent's rows, as the service signed them."""
    forgery = Forgery.of(lines)
    rows = [row_of_line(line) for line in forgery.rows]
    public_id = forgery.first["mandate_id"]
    return [
        signed(unsigned_receipt(row, public_id, CHAIN_ID, factory, SERVICE.address))
        for row in rows
        if row.reported_by.value == "agent"
    ]


def kept(receipts: Sequence[RecordReceipt]) -> list[KeptReceipt]:
    return [
        KeptReceipt(f"receipts, line {number}", canonical_json(one.to_json()))
        for number, one in enumerate(receipts, start=1)
    ]


def _altered(forgery: Forgery, _: list[RecordReceipt]) -> None:
    forgery.bodies[-1]["payload"]["why"] = "I never sold."


def _dropped(forgery: Forgery, _: list[RecordReceipt]) -> None:
    del forgery.rows[-2]


def _cut_off(forgery: Forgery, _: list[RecordReceipt]) -> None:
    del forgery.rows[-1]


def _never_written(forgery: Forgery, receipts: list[RecordReceipt]) -> None:
    """Receipts were given out, and no row was ever in the ledger."""
    last = receipts[-1]
    receipts.append(signed(replace(last, seq=last.seq + 1, row_hash="0x" + "ab" * 32)))


def _signed_twice(_: Forgery, receipts: list[RecordReceipt]) -> None:
    """Two callers were told two different rows of one number."""
    receipts.append(signed(replace(receipts[-1], row_hash="0x" + "ab" * 32)))


def _another_hour(_: Forgery, receipts: list[RecordReceipt]) -> None:
    receipts[-1] = signed(replace(receipts[-1], epoch=receipts[-1].epoch + 1))


RECEIPT_KINDS: dict[str, ReceiptKind] = {
    "taken row altered": ReceiptKind(
        "changes a report that the service took", "receipt.differs", _altered
    ),
    "taken row dropped": ReceiptKind(
        "leaves out a report, and numbers the rest again", "receipt.differs", _dropped
    ),
    "taken row cut off": ReceiptKind(
        "ends the record before the newest report, an hour later", "receipt.omitted", _cut_off
    ),
    "taken row never written": ReceiptKind(
        "signs for a report and drops it", "receipt.omitted", _never_written
    ),
    "number signed twice": ReceiptKind(
        "signs for two different rows of one number", "receipt.differs", _signed_twice
    ),
    "another hour signed": ReceiptKind(
        "signs for a later hour than the row's", "receipt.differs", _another_hour
    ),
}
NOT_ANCHORED = ReceiptKind(
    "signs for a row, and posts its hour without it", "receipt.not_anchored", _never_written
)
