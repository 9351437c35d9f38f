"""What the service signs of a row that it wrote, so that it cannot leave the row out later.

    the row is written -> its number, hash and hour are signed -> commit -> the caller has the receipt
    the hour ends      -> the root of all heads is posted: it must hold the row

Laws
- A receipt is made of the row alone and signed deterministically (RFC 6979): whoever asks again gets
  the very same bytes.
- One form: what `to_json` writes, and nothing else, is read.
Source: docs/record.md#receipts.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from core.anchors.rules import epoch_of
from core.errors import InvalidParameterError
from core.hexes import checksum_address
from core.mandate.rules.record_file import CHECKSUM_FORM, HASH_FORM, MOST_SEQUENCE
from core.mandate.rules.rows import LedgerRow

MANDATE_FORM: Final = re.compile("[A-Za-z0-9_-]{1,64}")
KEY_SIGNATURE_FORM: Final = re.compile("0x[0-9a-f]{130}")
_TEXTS: Final = {
    "mandate_id": MANDATE_FORM,
    "row_hash": HASH_FORM,
    "factory": CHECKSUM_FORM,
    "signer": CHECKSUM_FORM,
    "signature": KEY_SIGNATURE_FORM,
}
_NUMBERS: Final = {"chain_id": 1, "seq": 1, "epoch": 0}  # and the least that each may be


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReceipt:
    """`epoch`: the hour whose anchor must hold the row. `factory`: the contract of the EIP-712
    domain, as in the terms. Addresses checksum, hashes and signature 0x lower-case hex.
    """

    mandate_id: str
    chain_id: int
    factory: str
    seq: int
    row_hash: str
    epoch: int
    signer: str
    signature: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, found: object) -> "RecordReceipt":
        """Errors: InvalidParameterError naming the key that is missing, unknown or of another form."""
        if not isinstance(found, Mapping):
            raise InvalidParameterError("receipt", "an object")
        for key in sorted({one.name for one in fields(cls)} ^ found.keys(), key=str):
            raise InvalidParameterError("receipt", f"{key} is missing, or is not in a receipt")
        for key, form in _TEXTS.items():
            if not (isinstance(found[key], str) and form.fullmatch(found[key])):
                raise InvalidParameterError(key, "has another form than a receipt's")
        for key, least in _NUMBERS.items():
            if type(found[key]) is not int or not least <= found[key] <= MOST_SEQUENCE:
                raise InvalidParameterError(key, "has another form than a receipt's")
        for key in ("factory", "signer"):
            if checksum_address(found[key]) != found[key]:
                raise InvalidParameterError(key, "a checksum address")
        return cls(**found)


def unsigned_receipt(
    row: LedgerRow, mandate_id: str, chain_id: int, factory: str, signer: str
) -> RecordReceipt:
    """The receipt of a row before it is signed: `signature` is empty."""
    return RecordReceipt(
        mandate_id=mandate_id,
        chain_id=chain_id,
        factory=factory,
        seq=row.seq,
        row_hash=row.row_hash,
        epoch=epoch_of(row.created_at),
        signer=signer,
        signature="",
    )
