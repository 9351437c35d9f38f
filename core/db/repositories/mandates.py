"""All SQL of mandates but the book's INSERTs, which core.books owns.

Laws
- Nothing here commits; sessions belong to the edge.
- Lists are newest first and paged by the last id or seq seen (exclusive).
- A reversed row and its reversal are both returned: the domain leaves them out (core.domain.mandate.ledger.effective).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import BigInteger, ColumnElement, Select, and_, bindparam, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.db.engine import WriteSession
from core.db.repositories.chain import not_orphaned
from core.db.tables.chain import Adapter, ChainBlock
from core.db.tables.mandate import Mandate, MandateEvent
from core.domain.mandate.ledger import Kind, LedgerRow, ReportedBy
from core.domain.money import UsdcE6

LIVE = ("signed", "working")
ENDED = ("stopped", "settled")


# Mandates


def find_mandate(session: Session, public_id: str) -> Mandate | None:
    return session.scalar(select(Mandate).where(Mandate.public_id == public_id))


def lock_mandate(session: WriteSession, mandate_id: int) -> Mandate | None:
    """The row, held until the transaction ends: moves of one mandate come one after the other."""
    query = select(Mandate).where(Mandate.id == mandate_id).with_for_update(key_share=True).execution_options(populate_existing=True)
    return session.scalar(query)


def public_id_is_taken(session: Session, public_id: str) -> bool:
    return session.scalar(select(Mandate.id).where(Mandate.public_id == public_id)) is not None


def add_mandate(session: WriteSession, mandate: Mandate) -> Mandate:
    session.add(mandate)
    session.flush()
    return mandate


# Lists are what programs poll: each form of a list is built once, with names for its values, and not anew for every call.


@cache
def _list(of: str, by_status: bool, is_later_page: bool) -> Select[Mandate]:
    """The newest first. Values: who, statuses, before_id, limit, as far as the form has them."""
    who = bindparam("who", type_=BigInteger)
    wanted: dict[str, ColumnElement[bool]] = {
        "owner": Mandate.owner_id == who,
        "agent": or_(Mandate.agent_id == who, Mandate.proposed_by_agent_id == who),
        "offers": and_(Mandate.agent_id == who, Mandate.accepted_at.is_(None)),
        "board": and_(Mandate.open_board.is_(True), Mandate.agent_id.is_(None)),
    }
    query = select(Mandate).where(wanted[of])
    if by_status:
        query = query.where(Mandate.status.in_(bindparam("statuses", expanding=True)))
    if is_later_page:
        query = query.where(Mandate.id < bindparam("before_id", type_=BigInteger))
    return query.order_by(Mandate.id.desc()).limit(bindparam("limit", type_=BigInteger))


def _page(session: Session, of: str, who: int | None, statuses: Sequence[str] | None, before_id: int | None, limit: int) -> list[Mandate]:
    given = {"who": who, "statuses": statuses, "before_id": before_id, "limit": limit}
    values = {name: value for name, value in given.items() if value}
    return list(session.scalars(_list(of, bool(statuses), before_id is not None), values))


def mandates_of_owner(session: Session, owner_id: int, statuses: Sequence[str] | None, before_id: int | None, limit: int) -> list[Mandate]:
    return _page(session, "owner", owner_id, statuses, before_id, limit)


def mandates_of_agent(session: Session, agent_id: int, statuses: Sequence[str] | None, before_id: int | None, limit: int) -> list[Mandate]:
    """Mandates naming the agent, and drafts that it proposed."""
    return _page(session, "agent", agent_id, statuses, before_id, limit)


def ended_mandates_of_agent(session: Session, agent_id: int, limit: int) -> list[Mandate]:
    query = select(Mandate).where(Mandate.agent_id == agent_id, Mandate.status.in_(ENDED))
    return list(session.scalars(query.order_by(Mandate.ended_at.desc(), Mandate.id.desc()).limit(limit)))


def offers_of_agent(session: Session, agent_id: int, before_id: int | None, limit: int) -> list[Mandate]:
    """Signed or working mandates that name the agent and that it has not accepted."""
    return _page(session, "offers", agent_id, LIVE, before_id, limit)


def open_board(session: Session, before_id: int | None, limit: int) -> list[Mandate]:
    return _page(session, "board", None, LIVE, before_id, limit)


# The book, read


def ledger_row(row: MandateEvent) -> LedgerRow:
    return LedgerRow(
        id=row.id,
        mandate_id=row.mandate_id,
        seq=row.seq,
        kind=Kind(row.kind),
        reported_by=ReportedBy(row.reported_by),
        base_key=row.base_key,
        incarnation=row.incarnation,
        reverses_id=row.reverses_id,
        amount_usdc_e6=None if row.amount_usdc_e6 is None else UsdcE6(int(row.amount_usdc_e6)),
        cash_delta_usdc_e6=int(row.cash_delta_usdc_e6),
        chain_id=row.chain_id,
        tx_hash=_hex(row.tx_hash),
        log_index=row.log_index,
        block_number=row.block_number,
        block_hash=_hex(row.block_hash),
        payload=row.payload,
        occurred_at=row.occurred_at,
        created_at=row.created_at,
        prev_hash="0x" + row.prev_hash.hex(),
        row_hash="0x" + row.row_hash.hex(),
    )


def _hex(value: bytes | None) -> str | None:
    return None if value is None else "0x" + value.hex()


def ledger_rows(session: Session, mandate_id: int) -> list[LedgerRow]:
    """The whole book of a mandate, oldest first."""
    query = select(MandateEvent).where(MandateEvent.mandate_id == mandate_id).order_by(MandateEvent.seq)
    return [ledger_row(row) for row in session.scalars(query)]


def ledger_rows_before(session: Session, mandate_id: int, before_seq: int | None, limit: int) -> list[LedgerRow]:
    """A page of the book, newest first."""
    query = select(MandateEvent).where(MandateEvent.mandate_id == mandate_id)
    if before_seq is not None:
        query = query.where(MandateEvent.seq < before_seq)
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq.desc()).limit(limit))]


def ledger_rows_since(session: Session, mandate_id: int, after: datetime, kinds: Iterable[Kind]) -> list[LedgerRow]:
    """Rows of some kinds that happened after `after` (exclusive), and what reversed them; oldest first."""
    wanted = select(MandateEvent.id).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.occurred_at > after,
        MandateEvent.kind.in_([kind.value for kind in kinds]),
    )
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id, or_(MandateEvent.id.in_(wanted), MandateEvent.reverses_id.in_(wanted))
    )
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq))]


def ledger_rows_of_tx(session: Session, mandate_id: int, tx_hash: str) -> list[LedgerRow]:
    query = select(MandateEvent).where(
        MandateEvent.mandate_id == mandate_id, MandateEvent.tx_hash == bytes.fromhex(tx_hash.removeprefix("0x"))
    )
    return [ledger_row(row) for row in session.scalars(query.order_by(MandateEvent.seq))]


def count_refusal_reports(session: Session, mandate_id: int, since: datetime) -> int:
    """Refusals that the agent reported from `since` on (inclusive)."""
    query = select(func.count()).where(
        MandateEvent.mandate_id == mandate_id,
        MandateEvent.kind == Kind.NOTE.value,
        MandateEvent.reported_by == ReportedBy.AGENT.value,
        MandateEvent.payload["refusal"]["check"].astext == "reported",
        MandateEvent.created_at >= since,
    )
    return session.scalar(query) or 0


# What the chain said


def listed_adapters(session: Session, chain_id: int) -> list[tuple[str, list[Any]]]:
    """Adapters that the factory lists now, on the canonical chain: (lower-case address, published rules)."""
    delisted_hash = cast("InstrumentedAttribute[Any]", Adapter.delisted_block_hash)
    delisted = and_(delisted_hash.is_not(None), not_orphaned(Adapter.chain_id, delisted_hash))
    query = select(Adapter).where(Adapter.chain_id == chain_id, not_orphaned(Adapter.chain_id, Adapter.listed_block_hash), ~delisted)
    return [("0x" + row.address.hex(), row.rules) for row in session.scalars(query.order_by(Adapter.address))]


def latest_block(session: Session, chain_id: int) -> tuple[int, int] | None:
    """(height, unix seconds) of the newest canonical block that the indexer has taken in; None before the first."""
    query = select(ChainBlock.number, ChainBlock.ts).where(ChainBlock.chain_id == chain_id, ChainBlock.canonical.is_(True))
    row = session.execute(query.order_by(ChainBlock.number.desc()).limit(1)).first()
    return None if row is None else (row[0], row[1])
