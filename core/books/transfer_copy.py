"""An entry of the transfer book as it is hashed and as COPY takes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any

from core.db.copying import hex_cell, json_cell, number_cell, text_cell, time_cell
from core.domain.canonical import canonical_text
from core.domain.mandate.record import utc_text
from core.domain.transfers import FourStates

STATES = ("idle", "reserved", "in_transit", "delivered")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTransfer:
    """What a writer hands to the book. `tx_hash` is 0x hex; the payload holds no float."""

    kind: str
    base_key: str
    chain_id: int
    asset: str
    deltas: FourStates
    reported_by: str
    tx_hash: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


of_states = attrgetter(*(f"{state}_e6" for state in STATES))

COPIED = (
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


def canonical_entry(transfer: NewTransfer, seq: int, incarnation: int, created_at: datetime, payload: bytes, *, is_reversal: bool) -> bytes:
    """What is hashed of an entry: the canonical JSON of its body, written at once, since its keys are known and sorted."""
    deltas = transfer.deltas
    return b"".join(
        (
            b'{"asset":',
            canonical_text(transfer.asset),
            b',"base_key":',
            canonical_text(transfer.base_key),
            b',"chain_id":%d,"created_at":"%b"' % (transfer.chain_id, utc_text(created_at).encode()),
            b',"delivered_delta_e6":"%d","idle_delta_e6":"%d"' % (deltas.delivered_e6, deltas.idle_e6),
            b',"in_transit_delta_e6":"%d","incarnation":%d' % (deltas.in_transit_e6, incarnation),
            b',"is_reversal":true,"kind":' if is_reversal else b',"is_reversal":false,"kind":',
            canonical_text(transfer.kind),
            b',"payload":',
            payload,
            b',"reported_by":',
            canonical_text(transfer.reported_by),
            b',"reserved_delta_e6":"%d","seq":%d,"tx_hash":' % (deltas.reserved_e6, seq),
            b"null" if transfer.tx_hash is None else canonical_text(transfer.tx_hash.lower()),
            b"}",
        )
    )


@dataclass(frozen=True, slots=True)
class Linked:
    """An entry with its place in a book."""

    account_id: int
    seq: int
    incarnation: int
    reverses_id: int | None
    transfer: NewTransfer
    payload: bytes  # canonical JSON
    created_at: datetime
    prev_hash: bytes
    row_hash: bytes


def line_of(entry: Linked) -> str:
    """The entry as COPY takes it: the columns of COPIED in their order."""
    transfer = entry.transfer
    return "\t".join(
        (
            str(entry.account_id),
            str(entry.seq),
            text_cell(transfer.kind),
            text_cell(transfer.base_key),
            str(entry.incarnation),
            number_cell(entry.reverses_id),
            str(transfer.chain_id),
            text_cell(transfer.asset),
            *map(str, of_states(transfer.deltas)),
            hex_cell(transfer.tx_hash),
            text_cell(transfer.reported_by),
            json_cell(entry.payload.decode()),
            time_cell(entry.created_at),
            hex_cell("0x" + entry.prev_hash.hex()),
            hex_cell("0x" + entry.row_hash.hex()),
        )
    )
