"""How rows of the ledger, heads and mandates are stored.

A row of the mandate ledger as COPY takes it.

What a head and its mandate show of the fold's state: columns by name.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import BigInteger, Text
from sqlalchemy.dialects.postgresql import BYTEA

from core.canonical import canonical_json
from core.db.base import Timestamp
from core.db.copying import NULL, hex_cell, json_cell, number_cell, text_cell, time_cell
from core.mandate.rules.lifecycle import ENDED, Status
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import MandateState, state_to_json
from core.mandate.tables import MandateEvent

COPIED = tuple(column.name for column in MandateEvent.__table__.columns if column.name != "id")


def line_of(row: LedgerRow, payload: bytes) -> str:
    """A row as COPY takes it: the columns of COPIED in their order."""
    return "\t".join(
        (
            str(row.mandate_id),
            str(row.seq),
            row.kind.value,
            row.reported_by.value,
            text_cell(row.base_key),
            str(row.incarnation),
            number_cell(row.reverses_id),
            number_cell(row.amount_usdc_e6),
            str(row.cash_delta_usdc_e6),
            number_cell(row.chain_id),
            hex_cell(row.tx_hash),
            number_cell(row.log_index),
            number_cell(row.block_number),
            hex_cell(row.block_hash),
            json_cell(payload.decode()),
            NULL if row.author is None else json_cell(canonical_json(asdict(row.author)).decode()),
            time_cell(row.occurred_at),
            time_cell(row.created_at),
            hex_cell(row.prev_hash),
            hex_cell(row.row_hash),
        )
    )


AMOUNTS = (
    "cash_usdc_e6",
    "deposited_usdc_e6",
    "spent_usdc_e6",
    "received_usdc_e6",
    "withdrawn_usdc_e6",
    "paid_out_usdc_e6",
)
PROJECTED: Mapping[str, Any] = {
    "status": Text,
    "vault_address": BYTEA,
    "signed_at": Timestamp,
    "ended_at": Timestamp,
    "ends_in_block": BigInteger,
}  # columns of the mandate that follow the state


def head_columns(state: MandateState) -> dict[str, Any]:
    """The head's columns that follow the state."""
    return state_columns(state) | {"state": state_to_json(state)}


def state_columns(state: MandateState) -> dict[str, Any]:
    return {
        "status": state.status.value,
        "paused": state.paused,
        **{name: getattr(state, name) for name in AMOUNTS},
    }


def projections(status: str, state: MandateState) -> dict[str, Any]:
    """The mandate's columns that follow the state; `status`: what the mandate's row says now.

    An end of unfunded terms is said once its block is safe (`deferred.say_safe`), and is not
    taken back by a later row.
    """
    waits = state.unfunded_end_block is not None and status not in ENDED
    before_the_end = Status.DRAFT if state.signed_at is None else Status.SIGNED
    return {
        "status": (before_the_end if waits else state.status).value,
        "vault_address": None
        if state.vault_address is None
        else bytes.fromhex(state.vault_address.removeprefix("0x")),
        "signed_at": state.signed_at,
        "ended_at": None if waits else state.ended_at,
        "ends_in_block": state.unfunded_end_block if waits else None,
    }
