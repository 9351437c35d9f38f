"""All SQL of the auditor: what it compares with, what it found, how far it has come.

Blocks are drawn by a random 32-byte point: hashes are spread evenly, so the next one in the index is a fair draw, at the
cost of one look-up however long the table is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from eth_utils.address import to_checksum_address
from sqlalchemy import and_, exists, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.repositories.chain import bytes_of, hex_of, not_orphaned
from core.db.repositories.quarantine import IS_HELD, MANDATE
from core.db.tables.audit import AuditBook, AuditFinding, AuditResolution, AuditState
from core.db.tables.chain import Adapter, ChainBlock, RawLog, RevertedTx, Vault, VaultAgent
from core.db.tables.mandate import Mandate, MandateHead
from core.db.tables.quarantine import QuarantinedFact
from core.domain.audit import REBUILDABLE, Finding
from core.domain.blocks import BlockHeader

Written = type[RawLog] | type[RevertedTx]

# What the record says of a block


@dataclass(frozen=True, slots=True)
class KeptVault:
    """A vault as the block that created it says."""

    address: str
    owner: str
    public_id: str | None
    terms_digest: str


def height_after(session: Session, table: Written, chain_id: int, point: bytes, first: int, last: int) -> int | None:
    """The height of the canonical block in [first, last] with rows in that table whose hash comes next after `point`, in a circle."""
    mine = and_(ChainBlock.chain_id == table.chain_id, ChainBlock.hash == table.block_hash, ChainBlock.canonical)
    query = select(table.number).join(ChainBlock, mine).where(table.chain_id == chain_id, table.number.between(first, last))
    query = query.order_by(table.block_hash).limit(1)
    found = session.scalar(query.where(table.block_hash >= point))
    return session.scalar(query) if found is None else found


def kept_header(session: Session, chain_id: int, number: int) -> BlockHeader | None:
    """Hash, parent and time of our canonical block at a height, without bloom and transactions; None: we keep none."""
    query = select(ChainBlock).where(ChainBlock.chain_id == chain_id, ChainBlock.canonical, ChainBlock.number == number)
    row = session.scalar(query)
    return None if row is None else BlockHeader(number, hex_of(row.hash), hex_of(row.parent_hash), row.ts, 0, ())


def vaults_of_block(session: Session, chain_id: int, block_hash: str) -> set[KeptVault]:
    """The vaults that the record says this block created."""
    query = select(Vault).where(Vault.chain_id == chain_id, Vault.created_block_hash == bytes_of(block_hash))
    return {
        KeptVault(to_checksum_address(row.address), to_checksum_address(row.owner), row.public_id, hex_of(row.terms_digest))
        for row in session.scalars(query)
    }


def agents_since(session: Session, chain_id: int) -> dict[tuple[str, str], int]:
    """(vault, agent) -> the height that first named it."""
    query = select(VaultAgent.vault, VaultAgent.agent, func.min(VaultAgent.since_number)).where(VaultAgent.chain_id == chain_id)
    query = query.where(not_orphaned(VaultAgent.chain_id, VaultAgent.since_block_hash)).group_by(VaultAgent.vault, VaultAgent.agent)
    return {(to_checksum_address(vault), to_checksum_address(agent)): number for vault, agent, number in session.execute(query)}


def adapters_since(session: Session, chain_id: int) -> dict[str, int]:
    """Adapter -> the height that first listed it."""
    query = select(Adapter.address, func.min(Adapter.listed_number)).where(Adapter.chain_id == chain_id)
    query = query.where(not_orphaned(Adapter.chain_id, Adapter.listed_block_hash)).group_by(Adapter.address)
    return {to_checksum_address(address): number for address, number in session.execute(query)}


# Books in turn


@dataclass(frozen=True, slots=True)
class BookToVerify:
    """A mandate with a book. `vault` None: the chain holds none for it up to the height that was asked for."""

    mandate_id: int
    public_id: str
    vault: str | None


def books_in_turn(session: Session, chain_id: int, height: int, limit: int) -> list[BookToVerify]:
    """The books that were verified longest ago, those never verified first. One that is short of facts says so itself, and is left out."""
    mine = and_(Vault.mandate_id == Mandate.id, Vault.chain_id == chain_id, Vault.created_number <= height)
    query = (
        select(Mandate.id, Mandate.public_id, Vault.address)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .outerjoin(Vault, and_(mine, not_orphaned(Vault.chain_id, Vault.created_block_hash)))
        .outerjoin(AuditBook, AuditBook.mandate_id == Mandate.id)
        .where(~exists().where(QuarantinedFact.ledger == MANDATE, QuarantinedFact.ledger_id == Mandate.id, IS_HELD))
        .order_by(AuditBook.verified_at.nulls_first(), Mandate.id)
        .limit(limit)
    )
    return [
        BookToVerify(id_, public_id, None if vault is None else to_checksum_address(vault))
        for id_, public_id, vault in session.execute(query)
    ]


def book_verified(session: WriteSession, mandate_id: int, now: datetime) -> None:
    statement = insert(AuditBook).values(mandate_id=mandate_id, verified_at=now)
    session.execute(statement.on_conflict_do_update(index_elements=["mandate_id"], set_={"verified_at": now}))


# Findings


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that nobody closed yet."""

    id: int
    kind: str
    what: str
    place: dict[str, Any]
    seen_at: datetime


def add_finding(session: WriteSession, chain_id: int, finding: Finding, now: datetime) -> int | None:
    """Write it down; its id, or None when it stands already (open, or acknowledged). One that was rebuilt away may come back."""
    rebuilt = exists().where(AuditResolution.finding_id == AuditFinding.id, AuditResolution.how == "rebuilt")
    again = select(func.count()).select_from(AuditFinding).where(AuditFinding.dedupe_key == finding.key, rebuilt)
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


def open_findings(session: Session, chain_id: int, limit: int | None = None) -> list[OpenFinding]:
    """The newest first."""
    columns = (AuditFinding.id, AuditFinding.kind, AuditFinding.what, AuditFinding.place, AuditFinding.seen_at)
    query = select(*columns).where(AuditFinding.chain_id == chain_id, _is_open()).order_by(AuditFinding.id.desc()).limit(limit)
    return [OpenFinding(*row) for row in session.execute(query)]


def open_counts(session: Session, chain_id: int | None = None) -> dict[str, int]:
    """kind -> findings that nobody closed yet; kinds without one are left out. `chain_id` None: of any chain."""
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
    wanted = select(AuditFinding.id).where(AuditFinding.chain_id == chain_id, AuditFinding.kind.in_(kinds), _is_open())
    return _resolve(session, session.scalars(wanted).all(), "rebuilt", None, now)


def _resolve(session: WriteSession, ids: Sequence[int], how: str, note: str | None, now: datetime) -> int:
    rows = [{"finding_id": finding_id, "how": how, "note": note, "at": now} for finding_id in ids]
    if rows:
        session.execute(insert(AuditResolution).on_conflict_do_nothing(), rows)
    return len(rows)


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
    columns = (AuditState.round_at, AuditState.is_same_provider, AuditState.blocks_total, AuditState.books_total)
    row = session.execute(select(*columns).where(AuditState.chain_id == chain_id)).one_or_none()
    return None if row is None else AuditPosition(*row)


def round_ended(session: WriteSession, chain_id: int, blocks: int, books: int, *, is_same_provider: bool, now: datetime) -> None:
    """Add what a round looked at."""
    first = {"chain_id": chain_id, "blocks_total": blocks, "books_total": books}
    fresh = {"round_at": now, "is_same_provider": is_same_provider}
    more = {"blocks_total": AuditState.blocks_total + blocks, "books_total": AuditState.books_total + books}
    statement = insert(AuditState).values(**first, **fresh)
    session.execute(statement.on_conflict_do_update(index_elements=["chain_id"], set_=fresh | more))
