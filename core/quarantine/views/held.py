"""Ledgers that are held back, beside the blocks that their facts stand in."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Text, and_, any_, bindparam, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.orm import Session
from sqlalchemy.types import BigInteger

from core.blocks.tables import ChainBlock
from core.quarantine.queries import IS_HELD
from core.quarantine.rules import ShortLedger
from core.quarantine.tables import QuarantinedFact

LAST_SECOND = 253_402_300_799  # of the year 9999, with which calendars end


@dataclass(frozen=True, slots=True)
class HeldLedger:
    """A ledger that is held back: the id of the first fact in the queue, how many there are, the
    lowest block of them, and since when and why the first one is held.

    `from_at`: that lowest block's unix second; None: the block is not kept.
    """

    first: int
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
    ids = None if ledger_ids is None else list(ledger_ids)
    found = session.execute(_HELD_LEDGERS, {"of_ledger": ledger, "of_ids": ids})
    return sorted((HeldLedger(*row) for row in found), key=lambda one: one.first)


_FACT: Final = QuarantinedFact
_LEDGER: Final = (_FACT.ledger, _FACT.ledger_id)
_OF_LEDGER: Final = bindparam("of_ledger", type_=Text)
_OF_IDS: Final = bindparam("of_ids", type_=ARRAY(BigInteger))
_HELD_LEDGERS: Final = (
    select(
        _FACT.id,
        *_LEDGER,
        func.count().over(partition_by=_LEDGER),
        func.min(_FACT.block_number).over(partition_by=_LEDGER),
        _FACT.created_at,
        _FACT.reason,
        _FACT.note,
        func.first_value(ChainBlock.ts).over(partition_by=_LEDGER, order_by=_FACT.block_number),
    )
    .outerjoin(
        ChainBlock,
        and_(ChainBlock.chain_id == _FACT.chain_id, ChainBlock.hash == _FACT.block_hash),
    )
    .where(IS_HELD, or_(_OF_LEDGER.is_(None), _FACT.ledger == _OF_LEDGER))
    .where(or_(_OF_IDS.is_(None), _FACT.ledger_id == any_(_OF_IDS)))
    .ext(distinct_on(*_LEDGER))
    .order_by(*_LEDGER, _FACT.id)
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
