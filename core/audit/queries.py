"""All SQL of the auditor: what it compares with, what it found, how far it has come.

Blocks are drawn by a random 32-byte point: hashes are spread evenly, so the next one in the index
is a fair draw, at the cost of one look-up however long the table is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.audit.rules import REBUILDABLE, Fault
from core.audit.tables import AuditBook, AuditFinding, AuditKey, AuditResolution, AuditState
from core.db.engine import WriteSession
from core.hexes import address_of, bytes_of

# What the record says of a block


# Ledgers in turn


def ledger_verified(session: WriteSession, mandate_id: int, now: datetime) -> None:
    statement = insert(AuditBook).values(mandate_id=mandate_id, verified_at=now)
    session.execute(
        statement.on_conflict_do_update(index_elements=["mandate_id"], set_={"verified_at": now})
    )


# Findings


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that nobody closed yet."""

    id: int
    kind: str
    what: str
    place: dict[str, Any]
    seen_at: datetime


def add_finding(session: WriteSession, chain_id: int, finding: Fault, now: datetime) -> int | None:
    """Write it down; its id, or None when it is written already (open, or acknowledged).

    One that was rebuilt away may come back.
    """
    rebuilt = exists().where(
        AuditResolution.finding_id == AuditFinding.id, AuditResolution.how == "rebuilt"
    )
    again = (
        select(func.count())
        .select_from(AuditFinding)
        .where(AuditFinding.dedupe_key == finding.key, rebuilt)
    )
    statement = insert(AuditFinding).values(
        chain_id=chain_id,
        dedupe_key=finding.key,
        incarnation=session.execute(again).scalar_one() + 1,
        kind=finding.kind.value,
        what=finding.what,
        place=dict(finding.place),
        seen_at=now,
    )
    return session.scalar(statement.on_conflict_do_nothing().returning(AuditFinding.id))


def add_findings(
    session: WriteSession, chain_id: int, findings: Iterable[Fault], now: datetime
) -> dict[int, Fault]:
    """As `add_finding`; those that are new, by id."""
    added = ((add_finding(session, chain_id, one, now), one) for one in findings)
    return {id_: one for id_, one in added if id_ is not None}


def open_findings(session: Session, chain_id: int, limit: int | None = None) -> list[OpenFinding]:
    """The newest first."""
    columns = (
        AuditFinding.id,
        AuditFinding.kind,
        AuditFinding.what,
        AuditFinding.place,
        AuditFinding.seen_at,
    )
    query = (
        select(*columns)
        .where(AuditFinding.chain_id == chain_id, _is_open())
        .order_by(AuditFinding.id.desc())
        .limit(limit)
    )
    return [OpenFinding(*row) for row in session.execute(query)]


def open_counts(session: Session, chain_id: int | None = None) -> dict[str, int]:
    """kind -> findings that nobody closed yet; kinds without one are left out.

    `chain_id` None: of any chain.
    """
    query = select(AuditFinding.kind, func.count()).where(_is_open()).group_by(AuditFinding.kind)
    query = query if chain_id is None else query.where(AuditFinding.chain_id == chain_id)
    return {row.kind: row[1] for row in session.execute(query)}


def _is_open() -> Any:
    return ~exists().where(AuditResolution.finding_id == AuditFinding.id)


def acknowledge(session: WriteSession, finding_id: int, note: str | None, now: datetime) -> bool:
    """Close one finding; False when there is none of that id, or it is closed already."""
    wanted = select(AuditFinding.id).where(AuditFinding.id == finding_id, _is_open())
    return bool(_resolve(session, session.scalars(wanted).all(), "acknowledged", note, now))


def resolve_rebuilt(session: WriteSession, chain_id: int, now: datetime) -> int:
    """Close every open finding of what a rebuild brings right; how many."""
    kinds = [kind.value for kind in REBUILDABLE]
    wanted = select(AuditFinding.id).where(
        AuditFinding.chain_id == chain_id, AuditFinding.kind.in_(kinds), _is_open()
    )
    return _resolve(session, session.scalars(wanted).all(), "rebuilt", None, now)


def resolve_explained(session: WriteSession, ids: Sequence[int], now: datetime) -> int:
    """Close these findings: the rows that they missed are there; how many."""
    return _resolve(session, ids, "explained", None, now)


def resolve_named(session: WriteSession, chain_id: int, key: str, now: datetime) -> int:
    """Close the finding of that name: what it missed is there; how many it was."""
    wanted = select(AuditFinding.id).where(
        AuditFinding.chain_id == chain_id, AuditFinding.dedupe_key == key, _is_open()
    )
    return _resolve(session, session.scalars(wanted).all(), "rebuilt", None, now)


def _resolve(
    session: WriteSession, ids: Sequence[int], how: str, note: str | None, now: datetime
) -> int:
    rows = [{"finding_id": finding_id, "how": how, "note": note, "at": now} for finding_id in ids]
    if rows:
        session.execute(insert(AuditResolution).on_conflict_do_nothing(), rows)
    return len(rows)


# Accounts of ours


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """As table audit_key says, of one address (checksum)."""

    address: str
    role: str
    nonce: int
    block_number: int
    since_id: int = 0


def looked_at(session: Session, chain_id: int) -> dict[str, LookedAt]:
    """By address."""
    rows = session.scalars(select(AuditKey).where(AuditKey.chain_id == chain_id))
    found = (
        LookedAt(
            address=address_of(row.address),
            role=row.role,
            nonce=row.nonce,
            block_number=row.block_number,
            since_id=row.since_id,
        )
        for row in rows
    )
    return {one.address: one for one in found}


def note_looked_at(session: WriteSession, chain_id: int, one: LookedAt) -> None:
    fresh = {
        "role": one.role,
        "nonce": one.nonce,
        "block_number": one.block_number,
        "since_id": one.since_id,
    }
    key = {"chain_id": chain_id, "address": bytes_of(one.address)}
    statement = insert(AuditKey).values(**key, **fresh)
    session.execute(statement.on_conflict_do_update(index_elements=list(key), set_=fresh))


# The auditor's position


@dataclass(frozen=True, slots=True)
class AuditPosition:
    """As table audit_state says."""

    round_at: datetime
    is_same_provider: bool
    blocks_total: int
    books_total: int


def audit_position(session: Session, chain_id: int) -> AuditPosition | None:
    """None: no round ended well yet."""
    columns = (
        AuditState.round_at,
        AuditState.is_same_provider,
        AuditState.blocks_total,
        AuditState.books_total,
    )
    row = session.execute(select(*columns).where(AuditState.chain_id == chain_id)).one_or_none()
    return None if row is None else AuditPosition(*row)


def round_ended(
    session: WriteSession,
    chain_id: int,
    blocks: int,
    ledgers: int,
    *,
    is_same_provider: bool,
    now: datetime,
) -> None:
    """Add what a round looked at."""
    first = {"chain_id": chain_id, "blocks_total": blocks, "books_total": ledgers}
    fresh = {"round_at": now, "is_same_provider": is_same_provider}
    more = {
        "blocks_total": AuditState.blocks_total + blocks,
        "books_total": AuditState.books_total + ledgers,
    }
    statement = insert(AuditState).values(**first, **fresh)
    session.execute(statement.on_conflict_do_update(index_elements=["chain_id"], set_=fresh | more))
