"""Ledgers whose state an older fold wrote, folded again: after an upgrade their heads say what
today's fold says, and so do their weeks.
"""

from sqlalchemy import Integer, select
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.mandate.ledger import weeks as mandate_weeks
from core.mandate.ledger.projections import head_columns, projections
from core.mandate.rows import load_rows, mandate_facts
from core.mandate.rules.fold import fold
from core.mandate.rules.state import STATE_VERSION
from core.mandate.tables import Mandate, MandateHead


def older_ledgers(session: Session) -> list[int]:
    """The mandates whose head an older version of the fold wrote.

    Reads every head: once a process.
    """
    version = MandateHead.state["version"].astext.cast(Integer)
    return list(
        session.scalars(
            select(MandateHead.mandate_id)
            .where(version < STATE_VERSION)
            .order_by(MandateHead.mandate_id)
        )
    )


def refold(session: WriteSession, mandate_id: int) -> None:
    """One ledger, from its rows. Does not commit. Errors: NoResultFound."""
    mandate = session.scalars(
        select(Mandate).where(Mandate.id == mandate_id).with_for_update(key_share=True)
    ).one()
    head = session.scalars(
        select(MandateHead)
        .where(MandateHead.mandate_id == mandate_id)
        .with_for_update(key_share=True)
    ).one()
    rows, facts = load_rows(session, mandate_id), mandate_facts(mandate)
    state = fold(rows, facts)
    for name, value in head_columns(state).items():
        setattr(head, name, value)
    for name, value in projections(mandate.status, state).items():
        setattr(mandate, name, value)
    mandate_weeks.save(session, {mandate_id: mandate_weeks.folded(rows, facts)})
