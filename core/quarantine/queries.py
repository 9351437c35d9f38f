"""All SQL of quarantined facts: what a ledger does not say yet (core.quarantine.tables).

Laws
- A ledger's facts are held and taken in the order in which they came, which is that of their ids:
  nearly always the chain's, but a reverted call that is explained later, or a note of the factory,
  comes after facts of newer blocks. A gap begins at the lowest block of them all.
- What is held is released when the ledger says it, or withdrawn when its block is orphaned; nothing
  is deleted.
- A fact that comes again in another block takes the place of the one that is held: the chain has it
  once.
- Whether a ledger is held is asked by the partial index of what is held: with nothing held that
  costs nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, any_, cast, exists, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, insert
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.types import BigInteger, Text

from core.db.arrays import table_of
from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.quarantine.tables import HELD, QuarantinedFact

MANDATE, ACCOUNT = "mandate", "account"  # kinds of ledgers
IS_HELD = text(HELD)


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
class HeldFact:
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


def is_held(
    ledger: str, ledger_id: InstrumentedAttribute[int] | InstrumentedAttribute[int | None]
) -> ColumnElement[bool]:
    """Of a query about ledgers of this kind: whether the one in that column lacks facts."""
    return exists().where(
        QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == ledger_id, IS_HELD
    )


def held_among(session: Session, ledger: str, ledger_ids: Collection[int]) -> set[int]:
    """Which of these ledgers are held."""
    if not ledger_ids:
        return set()
    wanted = (
        func.unnest(cast(list(ledger_ids), ARRAY(BigInteger)))
        .table_valued("id")
        .render_derived("wanted")
    )
    is_held = exists().where(
        QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == wanted.c.id, IS_HELD
    )
    return set(session.scalars(select(wanted.c.id).where(is_held)))


def hold(
    session: WriteSession,
    chain_id: int,
    ledger: str,
    ledger_id: int,
    facts: Sequence[NewHeld],
    now: datetime,
) -> None:
    """Hold these back, in their order.

    One that is held already stays as it is; from another block, that one is withdrawn.
    """
    replaced = _withdraw_replaced(session, ledger, ledger_id, facts, now)
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
            "fact": fact.fact,
            "created_at": now,
            **(
                replaced.get(fact.base_key)
                or {"reason": fact.reason, "note": fact.note, "tries": fact.tries}
            ),
        }
        for fact in facts
    ]
    session.execute(insert(QuarantinedFact).on_conflict_do_nothing(), rows)


def _withdraw_replaced(
    session: WriteSession, ledger: str, ledger_id: int, facts: Sequence[NewHeld], now: datetime
) -> dict[str, dict[str, Any]]:
    """By name what was held from another block, and why it was: which it still is in its new
    one.
    """
    hashes = [bytes_of(fact.block_hash) for fact in facts]
    again = table_of(
        "again",
        {"base_key": (Text, [fact.base_key for fact in facts]), "block_hash": (BYTEA, hashes)},
    )
    fact = QuarantinedFact
    of_another = and_(fact.base_key == again.c.base_key, fact.block_hash != again.c.block_hash)
    statement = (
        update(fact)
        .where(fact.ledger == ledger, fact.ledger_id == ledger_id, of_another, IS_HELD)
        .values(withdrawn_at=now)
    )
    found = session.execute(statement.returning(fact.base_key, fact.reason, fact.note, fact.tries))
    return {
        row.base_key: {"reason": row.reason, "note": row.note, "tries": row.tries} for row in found
    }


def held_facts(session: Session, ledger: str, ledger_id: int, limit: int) -> list[HeldFact]:
    """The first facts that a ledger lacks, in their order."""
    query = select(QuarantinedFact).where(
        QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == ledger_id, IS_HELD
    )
    return [
        HeldFact(
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


def held_counts(session: Session) -> tuple[int, int]:
    """(ledgers, facts) that are held."""
    ledgers = func.count(
        func.distinct(QuarantinedFact.ledger + ":" + cast(QuarantinedFact.ledger_id, Text))
    )
    found = session.execute(
        select(ledgers, func.count()).select_from(QuarantinedFact).where(IS_HELD)
    ).one()
    return found[0], found[1]


def release(session: WriteSession, ids: Sequence[int], now: datetime) -> None:
    """The ledger says these now."""
    if ids:
        session.execute(
            update(QuarantinedFact).where(QuarantinedFact.id.in_(ids)).values(released_at=now)
        )


def refuse_again(session: WriteSession, id_: int, reason: str, note: str) -> None:
    """It was tried and is refused, perhaps for another reason than before."""
    changed = {"reason": reason, "note": note, "tries": QuarantinedFact.tries + 1}
    session.execute(update(QuarantinedFact).where(QuarantinedFact.id == id_).values(changed))


def withdraw(
    session: WriteSession, chain_id: int, block_hashes: Iterable[str], now: datetime
) -> list[tuple[str, int]]:
    """The blocks were orphaned: what they said is held no longer.

    The ledger, as (kind, id), of each such fact.
    """
    orphaned = cast([bytes_of(block_hash) for block_hash in block_hashes], ARRAY(BYTEA))
    mine = and_(
        QuarantinedFact.chain_id == chain_id, QuarantinedFact.block_hash == any_(orphaned), IS_HELD
    )
    return _withdraw(session, mine, now)


def withdraw_facts(session: WriteSession, ids: Sequence[int], now: datetime) -> None:
    """The chain has other blocks where these stood."""
    if ids:
        _withdraw(session, QuarantinedFact.id.in_(ids), now)


def withdraw_keys(
    session: WriteSession, ledger: str, ledger_id: int, base_keys: Collection[str], now: datetime
) -> int:
    """What is held of a ledger under these names was not the chain's; how many there were."""
    of_it = and_(QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == ledger_id)
    named = QuarantinedFact.base_key == any_(cast(list(base_keys), ARRAY(Text)))
    return len(_withdraw(session, and_(of_it, named, IS_HELD), now))


def _withdraw(
    session: WriteSession, which: ColumnElement[bool], now: datetime
) -> list[tuple[str, int]]:
    statement = update(QuarantinedFact).where(which).values(withdrawn_at=now)
    return [
        (row.ledger, row.ledger_id)
        for row in session.execute(
            statement.returning(QuarantinedFact.ledger, QuarantinedFact.ledger_id)
        )
    ]
