"""Receipts: the service's signature over a row that a call wrote (docs/record.md#receipts).

It is signed in the transaction that writes the row and leaves the process after its commit alone
(api/kernel/pipeline.py, law 8): an answer that cannot be committed is never sent, and is not kept
for its idempotency key.
"""

from dataclasses import replace
from typing import Any

from api.areas.mandates.schemas.record import ReceiptView, RecordLine
from api.kernel.operation import Call
from api.shared.signers import OwnSigners
from core.mandate.chain.typed_data import record_receipt_digest
from core.mandate.rules.ledger import LedgerRow
from core.mandate.rules.receipts import RecordReceipt, unsigned_receipt
from core.mandate.rules.record import row_body
from core.mandate.tables import Mandate


def written(call: Call, mandate: Mandate, row: LedgerRow | None) -> dict[str, Any]:
    """The fields of `RowWritten`; without a row both are None."""
    if row is None:
        return {"receipt": None, "record_line": None}
    receipt = _receipt(call, mandate, row)
    return {
        "receipt": None if receipt is None else ReceiptView(**receipt.to_json()),
        "record_line": RecordLine(
            body=row_body(row), prev_hash=row.prev_hash, row_hash=row.row_hash
        ),
    }


def written_json(call: Call, mandate: Mandate, row: LedgerRow) -> dict[str, Any]:
    """The same for the body of a refusal whose row is kept."""
    found = written(call, mandate, row)
    return {name: None if one is None else one.model_dump() for name, one in found.items()}


def _receipt(call: Call, mandate: Mandate, row: LedgerRow) -> RecordReceipt | None:
    """None: the service has no key for receipts."""
    signer = call.deps.parts.of(OwnSigners).receipts
    if signer is None:
        return None
    receipt = unsigned_receipt(
        row, mandate.public_id, mandate.chain_id, call.deps.contracts["factory"], signer.address
    )
    return replace(receipt, signature=signer.sign_digest(record_receipt_digest(receipt)))
