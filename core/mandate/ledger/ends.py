"""Ends of signed terms that hold no money, said once nobody can take them back: by a chain's row in
a safe block, or by its time.

    TermsCancelled, or a stop before the budget was there --> in the ledger at once --> the status says it when its block is safe
    ends_at is past by a safe block's time, and no vault  --> the ledger's note     --> the status says it at once

Laws
- Until then the mandate stays what it was: a reorg can bring back the signature's power, and the
  owner must not think it gone.
- Both take the mandates by rising id, as every writer does. Nothing here commits.
Source: MandateVaultFactory.createVault, which makes no vault of terms that were cancelled or are
past endsAt; docs/decisions/0003.
"""

from datetime import UTC, datetime

from sqlalchemy import DateTime, cast, select, text, update

from core.db.engine import WriteSession
from core.mandate.ledger.topics import notify_ends
from core.mandate.rules.ledger import NewRow, expired_note
from core.mandate.tables import UNVAULTED, Mandate, MandateHead
from core.quarantine.queries import MANDATE, is_held

MOST_AT_ONCE = 500


def say_safe(session: WriteSession, chain_id: int, safe_block: int, now: datetime) -> int:
    """Let the statuses say the ends that stand in blocks up to that height; how many did."""
    waiting = (
        select(Mandate.id, Mandate.owner_id)
        .where(Mandate.ends_in_block <= safe_block, Mandate.chain_id == chain_id)
        .order_by(Mandate.id)
    )
    found = session.execute(waiting.limit(MOST_AT_ONCE).with_for_update(key_share=True)).all()
    ids = [mandate_id for mandate_id, _ in found]
    if ids:
        ended_at = cast(MandateHead.state["ended_at"].astext, DateTime(timezone=True))
        values = {
            "status": MandateHead.status,
            "ended_at": ended_at,
            "ends_in_block": None,
            "updated_at": now,
        }
        statement = (
            update(Mandate)
            .where(Mandate.id.in_(ids), MandateHead.mandate_id == Mandate.id)
            .values(values)
        )
        session.execute(statement.execution_options(synchronize_session=False))
        notify_ends(session, ((mandate_id, owner_id) for mandate_id, owner_id in found))
    return len(ids)


def expired(
    session: WriteSession, chain_id: int, safe_block: int, safe_at: int
) -> dict[int, list[NewRow]]:
    """By mandate the note that its terms expired: past by the safe block's time (unix seconds), and
    without a vault in the record, which must have taken in that block. A record that lacks facts
    may lack the vault, and waits.
    """
    query = select(Mandate.id, Mandate.ends_at).where(
        text(UNVAULTED),
        Mandate.chain_id == chain_id,
        Mandate.ends_at <= datetime.fromtimestamp(safe_at, UTC),
        Mandate.ends_in_block.is_(None),
        ~is_held(MANDATE, Mandate.id),
    )
    found = session.execute(query.order_by(Mandate.ends_at, Mandate.id).limit(MOST_AT_ONCE)).all()
    return {row.id: [expired_note(row.ends_at, safe_block=safe_block)] for row in found}
