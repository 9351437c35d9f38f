"""All SQL of quarantined facts: what a ledger does not say yet (core.quarantine.tables).

Laws
- A ledger's facts are held and taken in the order in which they came, which is that of their ids:
  nearly always the chain's, but a reverted call that is explained later, or a note of the factory,
  comes after facts of newer blocks. A gap begins at the lowest block of them all.
- What is held is released when the ledger says it, or withdrawn when its block is orphaned; nothing
  is deleted.
- Whether a ledger is held is asked by the partial index of what is held: with nothing held that
  costs nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, any_, bindparam, exists, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, insert
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.types import BigInteger, Text

from core.db.engine import WriteSession
from core.hexes import bytes_of
from core.quarantine.tables import HELD, QuarantinedFact

MANDATE, ACCOUNT = "mandate", "account"  # kinds of ledgers
IS_HELD = text(HELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHeld:
    """A fact to be held back, as the table has it; `fact`: what it can be tried again from."""

    base_key: str
    block_number: int
    block_hash: bytes
    tx_hash: bytes
    log_index: int | None
    address: bytes | None
    topic: bytes | None
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
    wanted = any_(bindparam("ids", list(ledger_ids), ARRAY(BigInteger)))
    query = select(QuarantinedFact.ledger_id).distinct()
    mine = query.where(QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == wanted)
    return set(session.scalars(mine.where(IS_HELD)))


def held_counts(session: Session) -> tuple[int, int]:
    """(ledgers, facts) that are held."""
    fact = QuarantinedFact
    ledgers = func.count(func.distinct(func.row(fact.ledger, fact.ledger_id)))
    found = session.execute(select(ledgers, func.count(fact.id)).where(IS_HELD)).one()
    return found[0], found[1]


def hold(
    session: WriteSession,
    chain_id: int,
    ledger: str,
    ledger_id: int,
    facts: Sequence[NewHeld],
    now: datetime,
) -> None:
    """Hold these back, in their order. One that is held already stays as it is."""
    of_it = {"ledger": ledger, "ledger_id": ledger_id, "chain_id": chain_id, "created_at": now}
    rows = [asdict(fact) | of_it for fact in facts]
    session.execute(insert(QuarantinedFact).on_conflict_do_nothing(), rows)


def held_facts(
    session: Session, ledger: str, ledger_id: int, limit: int
) -> Sequence[QuarantinedFact]:
    """The first facts that a ledger lacks, in their order."""
    query = select(QuarantinedFact).where(
        QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == ledger_id, IS_HELD
    )
    return session.scalars(query.order_by(QuarantinedFact.id).limit(limit)).all()


def release(session: WriteSession, ids: Sequence[int], now: datetime) -> None:
    """The ledger says these now."""
    mine = update(QuarantinedFact).where(QuarantinedFact.id.in_(ids))
    session.execute(mine.values(released_at=now))


def refuse_again(session: WriteSession, id_: int, reason: str, note: str) -> None:
    """It was tried and is refused, perhaps for another reason than before."""
    changed = {"reason": reason, "note": note, "tries": QuarantinedFact.tries + 1}
    session.execute(update(QuarantinedFact).where(QuarantinedFact.id == id_).values(changed))


def withdraw(
    session: WriteSession, chain_id: int, block_hashes: Iterable[str] | None, now: datetime
) -> list[tuple[str, int]]:
    """The blocks were orphaned, or (None) the chain is read from its beginning again: what they said
    is held no longer.

    The ledger, as (kind, id), of each such fact.
    """
    mine = QuarantinedFact.chain_id == chain_id
    if block_hashes is not None:
        orphaned = bindparam("orphaned", list(map(bytes_of, block_hashes)), ARRAY(BYTEA))
        mine = and_(mine, QuarantinedFact.block_hash == any_(orphaned))
    return _withdraw(session, mine, now)


def withdraw_keys(
    session: WriteSession, ledger: str, ledger_id: int, base_keys: Collection[str], now: datetime
) -> int:
    """What is held of a ledger under these names was not the chain's; how many there were."""
    of_it = and_(QuarantinedFact.ledger == ledger, QuarantinedFact.ledger_id == ledger_id)
    named = QuarantinedFact.base_key == any_(bindparam("names", list(base_keys), ARRAY(Text)))
    return len(_withdraw(session, and_(of_it, named), now))


def _withdraw(
    session: WriteSession, which: ColumnElement[bool], now: datetime
) -> list[tuple[str, int]]:
    ended = update(QuarantinedFact).where(which, IS_HELD).values(withdrawn_at=now)
    found = session.execute(ended.returning(QuarantinedFact.ledger, QuarantinedFact.ledger_id))
    return [(row.ledger, row.ledger_id) for row in found]
