"""What the record says of an agent over all its mandates on the chain.

Law: paper is nobody's record: an agent alone tells of it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Integer, and_, func, select, text, true
from sqlalchemy.orm import Session

from core.db.arrays import table_of
from core.mandate.rows import ledger_row, standing
from core.mandate.rules.conduct import (
    ENDED_AFTER_WORK,
    Conduct,
    ConfirmedRefusal,
    EndedMandate,
)
from core.mandate.rules.ledger import LedgerRow, ReportedBy
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.state import STATE_VERSION
from core.mandate.tables import CONFIRMED_REFUSALS, Mandate, MandateEvent, MandateHead
from core.quarantine.queries import MANDATE, is_held

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


# Strips: of many agents, in one statement each


def conduct_of(session: Session, agent_ids: Collection[int]) -> dict[int, Conduct]:
    """By agent, of those with a signed mandate on the chain."""
    asked = _asked(agent_ids)
    refusals, violations = _counted("refusals_confirmed_count"), _counted("violations_count")
    is_ended = _worked() & Mandate.status.in_(ENDED_AFTER_WORK)
    is_known = MandateHead.state["version"].astext.cast(Integer) == STATE_VERSION
    query = (
        select(
            Mandate.agent_id,
            func.count().label("mandates"),
            func.sum(refusals).label("refusals"),
            func.sum(violations).label("violations"),
            func.count().filter(is_ended).label("ended"),
            func.count().filter(is_ended, refusals + violations == 0).label("kept"),
            func.bool_and(is_known & ~is_held(MANDATE, Mandate.id)).label("is_readable"),
        )
        .join(asked, Mandate.agent_id == asked.c.agent_id)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .where(Mandate.market_mode == MarketMode.TESTNET)
        .group_by(Mandate.agent_id)
    )
    return {
        row.agent_id: Conduct(
            mandates=row.mandates,
            refusals=row.refusals,
            violations=row.violations,
            ended=row.ended,
            kept=row.kept,
            is_readable=row.is_readable,
        )
        for row in session.execute(query)
    }


def ended_of(
    session: Session, agent_ids: Collection[int], most: int
) -> dict[int, list[EndedMandate]]:
    """By agent its mandates that ended after work, the newest first; those that came by the open
    board are left out.
    """
    asked = _asked(agent_ids)
    breaches = _counted("refusals_confirmed_count") + _counted("violations_count")
    newest = (
        select(Mandate.public_id, Mandate.status, Mandate.ended_at, breaches.label("breaches"))
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .where(Mandate.agent_id == asked.c.agent_id, Mandate.status.in_(ENDED_AFTER_WORK))
        .where(Mandate.market_mode == MarketMode.TESTNET, Mandate.open_board.is_(False), _worked())
        .order_by(Mandate.ended_at.desc(), Mandate.id.desc())
        .limit(most)
        .lateral("newest")
    )
    found = dict[int, list[EndedMandate]]()
    for row in session.execute(select(asked.c.agent_id, newest).join(newest, true())):
        one = EndedMandate(
            mandate_id=row.public_id,
            status=Status(row.status),
            ended_at=row.ended_at,
            breaches=row.breaches,
        )
        found.setdefault(row.agent_id, []).append(one)
    return found


def confirmed_refusals_of(
    session: Session, agent_ids: Collection[int], most: int
) -> dict[int, list[ConfirmedRefusal]]:
    """By agent the last refusals that the chain or the service confirms, the newest first."""
    asked, event = _asked(agent_ids), MandateEvent.__table__
    refused = (
        select(event.c.occurred_at, event.c.payload["refusal"]["reason"].astext.label("reason"))
        .where(event.c.mandate_id == Mandate.id, text(f"({CONFIRMED_REFUSALS})"), standing())
        .order_by(event.c.occurred_at.desc())
        .limit(most)
        .lateral("refused")
    )
    newest = (
        select(Mandate.public_id, Mandate.open_board, refused.c.occurred_at, refused.c.reason)
        .join(refused, true())
        .where(Mandate.agent_id == asked.c.agent_id, Mandate.market_mode == MarketMode.TESTNET)
        .order_by(refused.c.occurred_at.desc(), Mandate.id.desc())
        .limit(most)
        .lateral("newest")
    )
    found = dict[int, list[ConfirmedRefusal]]()
    for row in session.execute(select(asked.c.agent_id, newest).join(newest, true())):
        one = ConfirmedRefusal(
            at=row.occurred_at,
            mandate_id=None if row.open_board else row.public_id,
            reason=row.reason,
        )
        found.setdefault(row.agent_id, []).append(one)
    return found


def _asked(agent_ids: Collection[int]) -> Any:
    return table_of("asked_agents", {"agent_id": (BigInteger, [*agent_ids])})


def _counted(name: str) -> ColumnElement[int]:
    """A count of the fold, from the head's state."""
    count: ColumnElement[int] = MandateHead.state[name].astext.cast(Integer)
    return count


def _worked() -> ColumnElement[bool]:
    """Its vault has held the whole budget."""
    return and_(
        Mandate.vault_address.is_not(None),
        MandateHead.deposited_usdc_e6 >= Mandate.budget_usdc_e6,
    )
