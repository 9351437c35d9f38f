"""Ledgers that are held back, beside the blocks that their facts stand in."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import ScalarSelect, Select, Subquery, Text, and_, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased
from sqlalchemy.types import BigInteger

from core.blocks.tables import ChainBlock
from core.quarantine.queries import IS_HELD
from core.quarantine.rules import ShortLedger
from core.quarantine.tables import QuarantinedFact

LAST_SECOND = 253_402_300_799  # of the year 9999, with which calendars end


@dataclass(frozen=True, slots=True)
class HeldLedger:
    """A ledger that is held back: how many facts, the lowest block of them, and since when and why
    the first one in the queue is.

    `from_at`: that lowest block's unix second; None: the block is not kept.
    """

    ledger: str
    ledger_id: int
    facts: int
    from_block: int
    since: datetime
    reason: str
    note: str
    from_at: int | None


def held_ledgers(
    session: Session, ledger: str | None = None, ledger_ids: Collection[int] | None = None
) -> list[HeldLedger]:
    """Every ledger that is held, or those among the given ones; the one that is held longest
    first.
    """
    statement = _statement(of_ledger=ledger is not None, of_ids=ledger_ids is not None)
    ids = None if ledger_ids is None else list(ledger_ids)
    values = {"of_ledger": ledger, "of_ids": ids}
    return [HeldLedger(*row) for row in session.execute(statement, values)]


@cache
def _statement(*, of_ledger: bool, of_ids: bool) -> Select[Any]:
    fact = QuarantinedFact
    first, lowest = (
        func.min(fact.id).label("first"),
        func.min(fact.block_number).label("from_block"),
    )
    counted = select(fact.ledger, fact.ledger_id, func.count().label("facts"), first, lowest).where(
        IS_HELD
    )
    if of_ledger:
        counted = counted.where(fact.ledger == bindparam("of_ledger", type_=Text))
    if of_ids:
        counted = counted.where(
            fact.ledger_id == any_(bindparam("of_ids", type_=ARRAY(BigInteger)))
        )
    queues = counted.group_by(fact.ledger, fact.ledger_id).subquery()
    query = select(
        queues.c.ledger,
        queues.c.ledger_id,
        queues.c.facts,
        queues.c.from_block,
        fact.created_at,
        fact.reason,
        fact.note,
        _time_of_lowest(queues),
    )
    return query.join(fact, fact.id == queues.c.first).order_by(fact.id)


def _time_of_lowest(queues: Subquery) -> ScalarSelect[Any]:
    """The unix second of a queue's lowest block; null: the block is not kept."""
    fact = aliased(QuarantinedFact)
    mine = and_(
        fact.ledger == queues.c.ledger,
        fact.ledger_id == queues.c.ledger_id,
        fact.block_number == queues.c.from_block,
    )
    of_block = and_(ChainBlock.chain_id == fact.chain_id, ChainBlock.hash == fact.block_hash)
    return (
        select(ChainBlock.ts)
        .select_from(fact)
        .join(ChainBlock, of_block)
        .where(mine, IS_HELD)
        .limit(1)
        .scalar_subquery()
    )


def shorts_of(session: Session, ledger: str, ledger_ids: Collection[int]) -> dict[int, ShortLedger]:
    """By ledger of this kind what it lacks; those that lack nothing are left out."""
    if not ledger_ids:
        return {}
    found = held_ledgers(session, ledger, ledger_ids)
    return {
        one.ledger_id: ShortLedger(one.facts, one.from_block, instant(one.from_at)) for one in found
    }


def instant(at: int | None) -> datetime | None:
    """None also for what no calendar has."""
    return datetime.fromtimestamp(at, UTC) if at is not None and at <= LAST_SECOND else None
