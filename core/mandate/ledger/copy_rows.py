"""A row of the mandate ledger as COPY takes it."""

from dataclasses import asdict

from core.canonical import canonical_json
from core.db.copying import NULL, hex_cell, json_cell, number_cell, text_cell, time_cell
from core.mandate.rules.rows import LedgerRow
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
