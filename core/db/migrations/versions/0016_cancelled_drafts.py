"""A cancelled draft has its row: `cancelled`, by the owner, at the time that the mandate says.

Heads and weeks of these ledgers are folded again when they are read. A ledger's rows are never
deleted, so there is no way back.
"""

import hashlib
from typing import Any

from alembic import op
from sqlalchemy import text

from core.canonical import canonical_json, chain_hash
from core.times import exact_instant_text

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

DROPPED = """
    select m.id, m.public_id, m.ended_at, now() as noted_at, coalesce(h.seq, 0) as seq,
           h.row_hash
      from mandate m left join mandate_head h on h.mandate_id = m.id
     where m.status = 'cancelled' and m.signed_at is null and m.ended_at is not null
       and coalesce(h.status, 'draft') = 'draft'
     order by m.id
"""
ROW = """
    insert into mandate_event (mandate_id, seq, kind, reported_by, base_key, incarnation,
                               cash_delta_usdc_e6, payload, occurred_at, created_at,
                               prev_hash, row_hash)
    values (:mandate_id, :seq, 'note', 'owner', 'cancelled', 1, 0, '{"cancelled": true}',
            :ended_at, :noted_at, :prev_hash, :row_hash)
"""
HEAD = """
    insert into mandate_head (mandate_id, seq, row_hash, status, paused, cash_usdc_e6,
                              deposited_usdc_e6, spent_usdc_e6, received_usdc_e6,
                              withdrawn_usdc_e6, paid_out_usdc_e6, state, updated_at)
    values (:mandate_id, :seq, :row_hash, 'cancelled', false, 0, 0, 0, 0, 0, 0,
            '{"version": 0}', :noted_at)
    on conflict (mandate_id) do update
       set seq = excluded.seq, row_hash = excluded.row_hash, status = excluded.status,
           state = excluded.state, updated_at = excluded.updated_at
"""
OLD_WEEKS = """
    update mandate_week set state = '{"version": 0}' where mandate_id = :mandate_id
"""
WEEK = """
    insert into mandate_week (mandate_id, starts_at, state)
    values (:mandate_id, date_trunc('week', cast(:ended_at as timestamptz), 'UTC'),
            '{"version": 0}')
    on conflict do nothing
"""


def upgrade() -> None:
    connection = op.get_bind()
    for dropped in connection.execute(text(DROPPED)).all():
        values = _row(dropped)
        for statement in (ROW, HEAD, OLD_WEEKS, WEEK):
            connection.execute(text(statement), values)


def _row(dropped: Any) -> dict[str, Any]:
    """The row, hashed as docs/record.md says."""
    genesis = hashlib.sha256(f"mandate-ledger:v1:{dropped.public_id}".encode()).digest()
    prev_hash = genesis if dropped.row_hash is None else bytes(dropped.row_hash)
    body = {
        "seq": dropped.seq + 1,
        "kind": "note",
        "reported_by": "owner",
        "base_key": "cancelled",
        "incarnation": 1,
        "reverses_seq": None,
        "amount_usdc": None,
        "cash_delta_usdc": "0.000000",
        "chain_id": None,
        "tx_hash": None,
        "log_index": None,
        "block_number": None,
        "block_hash": None,
        "payload": {"cancelled": True},
        "occurred_at": exact_instant_text(dropped.ended_at),
        "created_at": exact_instant_text(dropped.noted_at),
    }
    return {
        "mandate_id": dropped.id,
        "seq": dropped.seq + 1,
        "ended_at": dropped.ended_at,
        "noted_at": dropped.noted_at,
        "prev_hash": prev_hash,
        "row_hash": chain_hash(prev_hash, canonical_json(body)),
    }


def downgrade() -> None:
    raise NotImplementedError("Rows of a ledger are not deleted.")
