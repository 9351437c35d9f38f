"""How agents have kept all their mandates on the chain: of many agents, in one statement each.

Law: only what has a vault is a record. Paper is nobody's, and terms without a vault cost nothing:
whoever writes thousands of them makes no read of a record slower.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, and_, func, select, text, true
from sqlalchemy.orm import Session

from api.areas.records.rules import (
    ENDED_AFTER_WORK,
    Conduct,
    ConfirmedRefusal,
    EndedMandate,
)
from core.db.arrays import table_of
from core.mandate.rows import standing
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.state import STATE_VERSION
from core.mandate.tables import CONFIRMED_REFUSALS, Mandate, MandateEvent, MandateHead
from core.quarantine.queries import MANDATE, is_held


def conduct_of(session: Session, agent_ids: Collection[int]) -> dict[int, Conduct]:
    """By agent, of those with a vault."""
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
        .where(Mandate.market_mode == MarketMode.TESTNET, Mandate.vault_address.is_not(None))
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
        .where(Mandate.vault_address.is_not(None))
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
