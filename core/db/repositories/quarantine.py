"""All SQL of quarantined facts: what a ledger does not say yet (core.db.tables.quarantine).

Laws
- A ledger's facts are held in the order of the chain, which is that of their ids.
- What is held is released when the ledger says it, or withdrawn when its block is orphaned; nothing is deleted.
- Whether a ledger is held is asked by the partial index of what is held: with nothing held that costs nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import and_, any_, cast, exists, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, insert
from sqlalchemy.orm import Session
from sqlalchemy.types import BigInteger, Text

from core.db.engine import WriteSession
from core.db.repositories.chain import bytes_of, hex_of
from core.db.tables.chain import ChainBlock
from core.db.tables.quarantine import HELD, QuarantinedFact
from core.domain.mandate.short import ShortLedger

MANDATE, ACCOUNT = "mandate", "account"  # kinds of ledgers
IS_HELD = text(HELD)
LAST_SECOND = 253_402_300_799  # of the year 9999, with which calendars end


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHeld:
    """A fact to be held back. Forms as in chain.py; `fact`: what it can be tried again from."""

    base_key: str
    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int | None
    address: str | None
    topic: str | None
    reason: str
    note: str
    fact: bytes
    tries: int


@dataclass(frozen=True, slots=True)
class Held:
    """A fact that is held back."""

    id: int
    base_key: str
    chain_id: int
    block_number: int
    block_hash: str
    tx_hash: str
    reason: str
    note: str
    fact: bytes
    tries: int


@dataclass(frozen=True, slots=True)
class HeldLedger:
    """A ledger that is held back: how many facts, since which block, and why the first of them is.

    `from_at`: that block's unix second; None: the block is not kept.
    """

    ledger: str
    ledger_id: int
    facts: int
    from_block: int
    since: datetime
    reason: str
    note: str
    from_at: int | None


def held_among(session: Session, ledger: str, ledger_ids: Collection[int]) -> set[int]:
    """Which of these ledgers are held."""
    if not ledger_ids:
        return set()
    wanted = func.unnest(cast(list(ledger_ids), ARRAY(BigInteger))).table_valued("id").render_derived("wanted")
    is_held = exists().where(QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == wanted.c.id, IS_HELD)
    return set(session.scalars(select(wanted.c.id).where(is_held)))


def hold(session: WriteSession, chain_id: int, ledger: str, ledger_id: int, facts: Sequence[NewHeld], now: datetime) -> None:
    """Hold these back, in their order; one that is held already stays as it is."""
    rows = [
        {
            "ledger": ledger,
            "ledger_id": ledger_id,
            "base_key": fact.base_key,
            "chain_id": chain_id,
            "block_number": fact.block_number,
            "block_hash": bytes_of(fact.block_hash),
            "tx_hash": bytes_of(fact.tx_hash),
            "log_index": fact.log_index,
            "address": None if fact.address is None else bytes_of(fact.address),
            "topic": None if fact.topic is None else bytes_of(fact.topic),
            "reason": fact.reason,
            "note": fact.note,
            "fact": fact.fact,
            "created_at": now,
            "tries": fact.tries,
        }
        for fact in facts
    ]
    session.execute(insert(QuarantinedFact).on_conflict_do_nothing(), rows)


def held_facts(session: Session, ledger: str, ledger_id: int, limit: int) -> list[Held]:
    """The first facts that a ledger lacks, in their order."""
    query = select(QuarantinedFact).where(QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == ledger_id, IS_HELD)
    return [
        Held(
            row.id,
            row.base_key,
            row.chain_id,
            row.block_number,
            hex_of(row.block_hash),
            hex_of(row.tx_hash),
            row.reason,
            row.note,
            row.fact,
            row.tries,
        )
        for row in session.scalars(query.order_by(QuarantinedFact.id).limit(limit))
    ]


def held_keys(session: Session, ledger: str, ledger_ids: Collection[int]) -> dict[int, set[str]]:
    """ledger id -> the names of the facts that it lacks; ledgers that lack none are left out."""
    wanted = cast(list(ledger_ids), ARRAY(BigInteger))
    query = select(QuarantinedFact.ledger_id, QuarantinedFact.base_key)
    query = query.where(QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == any_(wanted), IS_HELD)
    found: dict[int, set[str]] = {}
    for ledger_id, base_key in session.execute(query):
        found.setdefault(ledger_id, set()).add(base_key)
    return found


def held_ledgers(session: Session, ledger: str | None = None, ledger_ids: Collection[int] | None = None) -> list[HeldLedger]:
    """Every ledger that is held, or those among the given ones; the one that is held longest first."""
    fact = QuarantinedFact
    counted = select(fact.ledger, fact.ledger_id, func.count().label("facts"), func.min(fact.id).label("first")).where(IS_HELD)
    if ledger is not None:
        counted = counted.where(fact.ledger == ledger)
    if ledger_ids is not None:
        counted = counted.where(fact.ledger_id == any_(cast(list(ledger_ids), ARRAY(BigInteger))))
    queues = counted.group_by(fact.ledger, fact.ledger_id).subquery()
    query = select(
        queues.c.ledger, queues.c.ledger_id, queues.c.facts, fact.block_number, fact.created_at, fact.reason, fact.note, ChainBlock.ts
    )
    of_block = and_(ChainBlock.chain_id == fact.chain_id, ChainBlock.hash == fact.block_hash)
    query = query.select_from(queues).join(fact, fact.id == queues.c.first).outerjoin(ChainBlock, of_block).order_by(fact.id)
    return [HeldLedger(*row) for row in session.execute(query)]


def shorts_of(session: Session, ledger: str, ledger_ids: Collection[int]) -> dict[int, ShortLedger]:
    """By ledger of this kind what it lacks; those that lack nothing are left out."""
    if not ledger_ids:
        return {}
    found = held_ledgers(session, ledger, ledger_ids)
    return {one.ledger_id: ShortLedger(one.facts, one.from_block, _instant(one.from_at)) for one in found}


def _instant(at: int | None) -> datetime | None:
    """None also for what no calendar has."""
    return datetime.fromtimestamp(at, UTC) if at is not None and at <= LAST_SECOND else None


def held_counts(session: Session) -> tuple[int, int]:
    """(ledgers, facts) that are held."""
    ledgers = func.count(func.distinct(QuarantinedFact.ledger + ":" + cast(QuarantinedFact.ledger_id, Text)))
    found = session.execute(select(ledgers, func.count()).select_from(QuarantinedFact).where(IS_HELD)).one()
    return found[0], found[1]


def release(session: WriteSession, ids: Sequence[int], now: datetime) -> None:
    """The ledger says these now."""
    if ids:
        session.execute(update(QuarantinedFact).where(QuarantinedFact.id.in_(ids)).values(released_at=now))


def refuse_again(session: WriteSession, id_: int, reason: str, note: str) -> None:
    """It was tried and is refused, perhaps for another reason than before."""
    changed = {"reason": reason, "note": note, "tries": QuarantinedFact.tries + 1}
    session.execute(update(QuarantinedFact).where(QuarantinedFact.id == id_).values(changed))


def withdraw(session: WriteSession, chain_id: int, block_hashes: Iterable[str], now: datetime) -> int:
    """The blocks were orphaned: what they said is held no longer; how many facts."""
    orphaned = cast([bytes_of(block_hash) for block_hash in block_hashes], ARRAY(BYTEA))
    mine = and_(QuarantinedFact.chain_id == chain_id, QuarantinedFact.block_hash == any_(orphaned), IS_HELD)
    return len(session.scalars(update(QuarantinedFact).where(mine).values(withdrawn_at=now).returning(QuarantinedFact.id)).all())
