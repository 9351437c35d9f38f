"""What the record says of an agent over all its mandates on the chain.

Law: paper is nobody's record: an agent alone tells of it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import BigInteger, select, text, true
from sqlalchemy.orm import Session

from core.db.arrays import table_of
from core.mandate.rows import ledger_row, standing
from core.mandate.rules.ledger import LedgerRow, ReportedBy
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.tables import Mandate, MandateEvent, MandateHead

MANDATES_READ: Final = 200

# Rows that move own cash, or tell of a payment for a service or of a mark.
OF_A_RUN = text(
    "(kind in ('move', 'deposit', 'withdraw', 'payout') or (kind = 'fee' and jsonb_exists(payload, "
    "'adapter')) or (kind = 'note' and jsonb_exists_any(payload, array['mark', 'unwound', "
    "'proceeds'])))"
)


@dataclass(frozen=True, slots=True)
class RunRows:
    """The newest rows of a mandate that a replay reads, oldest first; after them there is this
    cash. `is_whole`: there are no older ones.
    """

    cash_usdc_e6: int
    rows: list[LedgerRow]
    is_whole: bool


def last_active(session: Session, agent_id: int, most_rows: int) -> tuple[list[int], bool]:
    """The agent's mandates on the chain, the ones that were written last first, until they have
    so many rows; and whether there are no others.
    """
    query = (
        select(Mandate.id, MandateHead.seq)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .where(Mandate.agent_id == agent_id, Mandate.market_mode == MarketMode.TESTNET)
        .where(Mandate.vault_address.is_not(None))
        .order_by(MandateHead.updated_at.desc(), Mandate.id.desc())
        .limit(MANDATES_READ + 1)
    )
    found = session.execute(query).all()
    ids, rows = list[int](), 0
    for mandate_id, seq in found[:MANDATES_READ]:
        if rows >= most_rows:
            break
        ids.append(mandate_id)
        rows += seq
    return ids, len(ids) == len(found)


def run_rows(
    session: Session, mandate_ids: Collection[int], most_rows: int
) -> Mapping[int, RunRows]:
    """By mandate its newest rows of a run, at most so many each, in one statement."""
    asked = table_of("asked", {"mandate_id": (BigInteger, [*mandate_ids])})
    event = MandateEvent.__table__
    newest = (
        select(event)
        .where(event.c.mandate_id == asked.c.mandate_id, OF_A_RUN, standing())
        .where(event.c.reported_by.in_([ReportedBy.CHAIN.value, ReportedBy.KEEPER.value]))
        .order_by(event.c.seq.desc())
        .limit(most_rows + 1)
        .lateral("newest")
    )
    head = MandateHead.__table__
    query = (
        select(head.c.cash_usdc_e6, newest)
        .select_from(asked)
        .join(head, head.c.mandate_id == asked.c.mandate_id)
        .join(newest, true())
    )
    cash, rows = dict[int, int](), dict[int, list[LedgerRow]]()
    for row in session.execute(query):
        cash[row.mandate_id] = int(row.cash_usdc_e6)
        rows.setdefault(row.mandate_id, []).append(ledger_row(row))
    return {
        mandate_id: RunRows(
            cash[mandate_id],
            sorted(found, key=lambda one: one.seq)[-most_rows:],
            len(found) <= most_rows,
        )
        for mandate_id, found in rows.items()
    }
