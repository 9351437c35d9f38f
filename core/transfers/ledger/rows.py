"""The row of an entry of the transfer ledger: as it is made, hashed and copied."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from core.canonical import canonical_plain
from core.db.copying import NULL, bytes_cell, json_cell, number_cell, text_cell, time_cell
from core.times import exact_instant_text
from core.transfers.rules import FourStates

STATES: Final = ("idle", "reserved", "in_transit", "delivered")
COPIED: Final = (
    "account_id",
    "seq",
    "kind",
    "base_key",
    "incarnation",
    "reverses_id",
    "chain_id",
    "asset",
    *(f"{state}_delta_e6" for state in STATES),
    "tx_hash",
    "reported_by",
    "payload",
    "created_at",
    "prev_hash",
    "row_hash",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTransfer:
    """What a writer hands to the ledger. `tx_hash` is 0x hex; the payload holds no float."""

    kind: str
    base_key: str
    chain_id: int
    asset: str
    deltas: FourStates
    reported_by: str
    tx_hash: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


def body_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is hashed of an entry: all but ids and the hashes of the chain.

    Amounts are text: they may pass 2**53.
    """
    names = ("seq", "kind", "base_key", "incarnation", "chain_id", "asset", "reported_by")
    deltas = {f"{state}_delta_e6": str(row[f"{state}_delta_e6"]) for state in STATES}
    tx_hash: bytes | None = row["tx_hash"]
    return {name: row[name] for name in names} | {
        **deltas,
        "payload": row["payload"],
        "tx_hash": None if tx_hash is None else "0x" + tx_hash.hex(),
        "is_reversal": row["reverses_id"] is not None,
        "created_at": exact_instant_text(row["created_at"]),
    }


def line_of(row: Mapping[str, Any]) -> str:
    """The cells of COPIED."""
    tx_hash: bytes | None = row["tx_hash"]
    texts = (text_cell(row[name]) for name in ("kind", "base_key"))
    return "\t".join(
        (
            str(row["account_id"]),
            str(row["seq"]),
            *texts,
            str(row["incarnation"]),
            number_cell(row["reverses_id"]),
            str(row["chain_id"]),
            text_cell(row["asset"]),
            *(str(row[f"{state}_delta_e6"]) for state in STATES),
            NULL if tx_hash is None else bytes_cell(tx_hash),
            text_cell(row["reported_by"]),
            json_cell(canonical_plain(row["payload"]).decode()),
            time_cell(row["created_at"]),
            bytes_cell(row["prev_hash"]),
            bytes_cell(row["row_hash"]),
        )
    )
