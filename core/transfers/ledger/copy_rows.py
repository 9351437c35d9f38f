"""An entry of the transfer ledger as it is hashed and as COPY takes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from core.canonical import canonical_text
from core.db.copying import bytes_cell, hex_cell, json_cell, number_cell, text_cell, time_cell
from core.times import exact_instant_text
from core.transfers.rules import FourStates

STATES = ("idle", "reserved", "in_transit", "delivered")


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


def canonical_entry(
    transfer: NewTransfer,
    seq: int,
    incarnation: int,
    created_at: datetime,
    payload: bytes,
    *,
    is_reversal: bool,
) -> bytes:
    """What is hashed of an entry: the canonical JSON of its body, written at once, since its keys
    are known and sorted.
    """
    deltas = transfer.deltas
    return b"".join(
        (
            b'{"asset":',
            canonical_text(transfer.asset),
            b',"base_key":',
            canonical_text(transfer.base_key),
            b',"chain_id":%d,"created_at":"%b"'
            % (transfer.chain_id, exact_instant_text(created_at).encode()),
            b',"delivered_delta_e6":"%d","idle_delta_e6":"%d"'
            % (deltas.delivered_e6, deltas.idle_e6),
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


class Linked(NamedTuple):
    """An entry's place in a ledger."""

    account_id: int
    seq: int
    incarnation: int
    reverses_id: int | None
    prev_hash: bytes
    row_hash: bytes


def line_of(at: Linked, transfer: NewTransfer, payload: bytes, created_at: datetime) -> str:
    """The entry as COPY takes it: the columns of COPIED in their order.

    `payload` is canonical JSON.
    """
    idle_e6, reserved_e6, in_transit_e6, delivered_e6 = of_states(transfer.deltas)
    return (
        f"{at.account_id}\t{at.seq}\t{text_cell(transfer.kind)}\t{text_cell(transfer.base_key)}\t{at.incarnation}\t"
        f"{number_cell(at.reverses_id)}\t{transfer.chain_id}\t{text_cell(transfer.asset)}\t"
        f"{idle_e6}\t{reserved_e6}\t{in_transit_e6}\t{delivered_e6}\t"
        f"{hex_cell(transfer.tx_hash)}\t{text_cell(transfer.reported_by)}\t{json_cell(payload.decode())}\t{time_cell(created_at)}\t"
        f"{bytes_cell(at.prev_hash)}\t{bytes_cell(at.row_hash)}"
    )
