"""All SQL of what the chain said: blocks, logs, vaults, agents, adapters, the cursors, unwinds.

Reverted calls stand in reverts.py, what the vaults prove of their logs in log_heads.py.

Laws
- Inserts may be repeated: a block that comes back after a reorg finds its rows and becomes
  canonical again.
- A cursor moves by compare-and-set on its hash; a move that finds another hash raises and the
  transaction goes.
- Canonicity lives in chain_block alone. Whether a row counts is asked through its block; one whose
  block is no longer kept counts.
- Addresses are checksum strings and hashes 0x lower-case hex outside, bytes inside.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    ScalarSelect,
    and_,
    any_,
    bindparam,
    cast,
    delete,
    exists,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, insert
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from core.blocks.tables import ChainBlock, ChainCursor, RawLogRow, Reorg
from core.chain.blocks import BlockHeader, RawLog
from core.db.copying import copy_lines, hex_array_cell, hex_cell
from core.db.engine import WriteSession
from core.errors import OutsideError
from core.hexes import address_of, bytes_of, hex_of

MOST_HEIGHT: Final = 2**62  # above every block
# Names of cursors and marks.
TIP = "tip"  # where the indexer is
# blocks between them still owe their receipts (reverts.py)
REVERTS, REVERTS_UNTIL = "reverts", "reverts_until"
REVERTS_SINCE = "reverts_since"  # name of the mark below which first sight left reverted calls out
DEEP = 192  # blocks: as many as come while Ethereum goes through an epoch
SAFE = "safe"  # names of marks: the node's own tags
# name of the mark up to which the record has every vault of the factory (indexer/chain/log_proof.py)
VAULTS_COUNTED = "vaults_counted"
FINALIZED = "finalized"  # name of the mark below which no reorg is believed
# the mark from which on the reserve token's events come with the blocks (indexer/chain/reserve.py)
RESERVE_FOLLOWED = "reserve_followed"
# up to where nodes agree about what they say of money (indexer/chain/confirmed_range.py)
RESERVE_CONFIRMED, SPONSORED_CONFIRMED = "reserve_confirmed", "sponsored_confirmed"


class CursorMovedError(OutsideError):
    """The cursor is not where this process left it: another one writes, or the row was changed by
    hand.
    """

    def __init__(self, name: str, expected_hash: str) -> None:
        super().__init__(f"cursor {name} is no longer at {expected_hash}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a loop has come: the last block that is whole in the database."""

    number: int
    hash: str


def not_orphaned(
    chain_id: InstrumentedAttribute[int], block_hash: InstrumentedAttribute[Any]
) -> ColumnElement[bool]:
    """True for rows of a block that no reorg has thrown out."""
    block = aliased(ChainBlock)
    return ~exists().where(
        block.chain_id == chain_id, block.hash == block_hash, block.canonical.is_(False)
    )


# Cursors


def cursor(session: Session, name: str) -> Cursor | None:
    """None: the loop has never run."""
    row = session.execute(
        select(ChainCursor.number, ChainCursor.hash).where(ChainCursor.name == name)
    ).one_or_none()
    return None if row is None else Cursor(row.number, hex_of(row.hash))


def cursor_chain(session: Session, name: str) -> int | None:
    """The chain of a loop's position. None: the loop has never run."""
    return session.scalar(select(ChainCursor.chain_id).where(ChainCursor.name == name))


def start_cursor(
    session: WriteSession, name: str, chain_id: int, at: Cursor, epoch: int, now: datetime
) -> None:
    """Set a loop's first position. Errors: CursorMovedError when it has one already."""
    values = {
        "name": name,
        "chain_id": chain_id,
        "number": at.number,
        "hash": bytes_of(at.hash),
        "epoch": epoch,
        "updated_at": now,
    }
    statement = (
        insert(ChainCursor).values(values).on_conflict_do_nothing().returning(ChainCursor.name)
    )
    if session.execute(statement).one_or_none() is None:
        raise CursorMovedError(name, at.hash)


def move_cursor(
    session: WriteSession, name: str, expected: Cursor, to: Cursor, epoch: int, now: datetime
) -> None:
    """Compare-and-set, forward or back.

    An older epoch never writes over a newer one. Errors: CursorMovedError.
    """
    statement = (
        update(ChainCursor)
        .where(
            ChainCursor.name == name,
            ChainCursor.hash == bytes_of(expected.hash),
            ChainCursor.epoch <= epoch,
        )
        .values(number=to.number, hash=bytes_of(to.hash), epoch=epoch, updated_at=now)
        .returning(ChainCursor.name)
    )
    if session.execute(statement).one_or_none() is None:
        raise CursorMovedError(name, expected.hash)


def drop_cursors(session: WriteSession, names: Sequence[str]) -> None:
    """The loops of these names are over."""
    session.execute(delete(ChainCursor).where(ChainCursor.name.in_(names)))


def save_mark(
    session: WriteSession, name: str, chain_id: int, at: Cursor, epoch: int, now: datetime
) -> None:
    """Write down a height that only rises; a lower one, which a lagging node may answer, is
    ignored.
    """
    values = {
        "name": name,
        "chain_id": chain_id,
        "number": at.number,
        "hash": bytes_of(at.hash),
        "epoch": epoch,
        "updated_at": now,
    }
    fresh = {key: values[key] for key in ("number", "hash", "epoch", "updated_at")}
    rises = ChainCursor.number < at.number
    session.execute(
        insert(ChainCursor)
        .values(values)
        .on_conflict_do_update(index_elements=["name"], set_=fresh, where=rises)
    )


def number_of_mark(name: str) -> ScalarSelect[int]:
    """Height of the block that a mark names, for other statements; null while it is not canonical."""
    return _of_mark(name, ChainBlock.number)


def time_of_mark(name: str) -> ScalarSelect[int]:
    """As `number_of_mark`, unix seconds."""
    return _of_mark(name, ChainBlock.ts)


def _of_mark(name: str, column: InstrumentedAttribute[int]) -> ScalarSelect[int]:
    is_same = and_(ChainBlock.chain_id == ChainCursor.chain_id, ChainBlock.hash == ChainCursor.hash)
    of_block = select(column).join(ChainCursor, is_same)
    return of_block.where(ChainCursor.name == name, ChainBlock.canonical).scalar_subquery()


# Blocks and logs


def add_blocks(
    session: WriteSession, chain_id: int, headers: Sequence[BlockHeader], now: datetime
) -> None:
    """Blocks that are canonical; one that was orphaned before is again."""
    rows = [
        {
            "chain_id": chain_id,
            "hash": bytes_of(header.hash),
            "number": header.number,
            "parent_hash": bytes_of(header.parent_hash),
            "ts": header.timestamp,
            "canonical": True,
            "seen_at": now,
        }
        for header in headers
    ]
    statement = insert(ChainBlock).on_conflict_do_update(
        index_elements=["chain_id", "hash"], set_={"canonical": True}
    )
    session.execute(statement, rows)


def insert_new(session: WriteSession, table: type[Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those of the rows that are not there."""
    if rows:
        session.execute(insert(table).on_conflict_do_nothing(), list(rows))


def add_logs(session: WriteSession, chain_id: int, logs: Sequence[RawLog]) -> None:
    insert_new(
        session,
        RawLogRow,
        [
            {
                "chain_id": chain_id,
                "block_hash": bytes_of(log.block_hash),
                "log_index": log.log_index,
                "number": log.block_number,
                "tx_hash": bytes_of(log.tx_hash),
                "tx_index": log.tx_index,
                "address": bytes_of(log.address),
                "topics": [bytes_of(topic) for topic in log.topics],
                "data": bytes_of(log.data),
            }
            for log in logs
        ],
    )


def replace_logs(
    session: WriteSession, chain_id: int, block_hash: str, address: str, logs: Sequence[RawLog]
) -> None:
    """Let a block hold these logs of a contract and no others."""
    session.execute(
        delete(RawLogRow).where(
            RawLogRow.chain_id == chain_id,
            RawLogRow.block_hash == bytes_of(block_hash),
            RawLogRow.address == bytes_of(address),
        )
    )
    add_logs(session, chain_id, logs)


def copy_logs(session: WriteSession, chain_id: int, logs: Iterable[RawLog]) -> None:
    """The logs of blocks that were never seen, by COPY; one that is written already is an error
    (`has_orphans_above`).
    """
    lines = (
        f"{chain_id}\t{hex_cell(log.block_hash)}\t{log.log_index}\t{log.block_number}\t{hex_cell(log.tx_hash)}\t{log.tx_index}"
        f"\t{hex_cell(log.address)}\t{hex_array_cell(log.topics)}\t{hex_cell(log.data)}"
        for log in logs
    )
    columns = (
        "chain_id",
        "block_hash",
        "log_index",
        "number",
        "tx_hash",
        "tx_index",
        "address",
        "topics",
        "data",
    )
    copy_lines(session, RawLogRow.__tablename__, columns, lines)


def has_orphans_above(session: Session, chain_id: int, number: int) -> bool:
    """Whether a block above that height was seen and thrown out: it may come back, and its rows
    stand already.
    """
    orphans = exists().where(
        ChainBlock.chain_id == chain_id, ChainBlock.canonical.is_(False), ChainBlock.number > number
    )
    return bool(session.scalar(select(orphans)))


def logs_of_block(session: Session, chain_id: int, block_hash: str) -> list[RawLog]:
    """The kept logs of one block, in order."""
    query = (
        select(RawLogRow)
        .where(RawLogRow.chain_id == chain_id, RawLogRow.block_hash == bytes_of(block_hash))
        .order_by(RawLogRow.log_index)
    )
    return [raw_log_of(row) for row in session.scalars(query)]


def logs_of_blocks(
    session: Session, chain_id: int, block_hashes: Collection[str], address: str
) -> list[RawLog]:
    """The kept logs that a contract wrote in these blocks."""
    wanted = RawLogRow.block_hash.in_([bytes_of(block_hash) for block_hash in block_hashes])
    query = select(RawLogRow).where(
        RawLogRow.chain_id == chain_id, wanted, RawLogRow.address == bytes_of(address)
    )
    return [
        raw_log_of(row)
        for row in session.scalars(query.order_by(RawLogRow.number, RawLogRow.log_index))
    ]


def newest_log(
    session: Session, chain_id: int, address: str, topic: str, before: int = MOST_HEIGHT
) -> RawLog | None:
    """The last canonical log of that contract with that first topic, below that height."""
    query = (
        select(RawLogRow)
        .where(
            RawLogRow.chain_id == chain_id,
            RawLogRow.address == bytes_of(address),
            RawLogRow.topics[1] == bytes_of(topic),
            RawLogRow.number < before,
        )
        .where(not_orphaned(RawLogRow.chain_id, RawLogRow.block_hash))
        .order_by(RawLogRow.number.desc(), RawLogRow.log_index.desc())
        .limit(1)
    )
    row = session.scalar(query)
    return None if row is None else raw_log_of(row)


def canonical_blocks(session: Session, chain_id: int, above: int, up_to: int) -> list[Cursor]:
    """Our canonical blocks with above < number <= up_to, newest first."""
    values = {"of": chain_id, "above": above, "up_to": up_to}
    found = session.execute(_CANONICAL, values)
    return [Cursor(number, hex_of(raw)) for number, raw in found]


_CANONICAL: Final = (
    select(ChainBlock.number, ChainBlock.hash)
    .where(
        ChainBlock.chain_id == bindparam("of"),
        ChainBlock.canonical,
        ChainBlock.number > bindparam("above"),
        ChainBlock.number <= bindparam("up_to"),
    )
    .order_by(ChainBlock.number.desc())
)


def canonical_hash(session: Session, chain_id: int, number: int) -> str | None:
    """The hash of our canonical block at a height; None when we keep none there."""
    found = canonical_blocks(session, chain_id, number - 1, number)
    return found[0].hash if found else None


def block_time(session: Session, chain_id: int, block_hash: str) -> int | None:
    """Unix second of a block that we keep."""
    return session.scalar(
        select(ChainBlock.ts).where(
            ChainBlock.chain_id == chain_id, ChainBlock.hash == bytes_of(block_hash)
        )
    )


def canonical_times(session: Session, chain_id: int, block_hashes: Iterable[str]) -> dict[str, int]:
    """Unix seconds of several canonical blocks, by hash; a block that we do not keep, or that was
    orphaned, is left out.
    """
    wanted = cast([bytes_of(block_hash) for block_hash in block_hashes], ARRAY(BYTEA))
    query = select(ChainBlock.hash, ChainBlock.ts).where(
        ChainBlock.chain_id == chain_id, ChainBlock.hash == any_(wanted)
    )
    return {
        hex_of(block_hash): at
        for block_hash, at in session.execute(query.where(ChainBlock.canonical))
    }


def agree_time(session: WriteSession, chain_id: int, block_hash: str, at: int) -> None:
    """Let a block of ours be of this unix second, as nodes agree: at the tip it is one node's word."""
    row = ChainBlock
    is_other = (row.chain_id == chain_id, row.hash == bytes_of(block_hash), row.ts != at)
    session.execute(update(row).where(*is_other).values(ts=at))


def oldest_block(session: Session, chain_id: int) -> Cursor:
    """Our lowest canonical block. Errors: NoResultFound when the loop never started."""
    query = select(ChainBlock.number, ChainBlock.hash).where(
        ChainBlock.chain_id == chain_id, ChainBlock.canonical
    )
    number, raw = session.execute(query.order_by(ChainBlock.number).limit(1)).one()
    return Cursor(number, hex_of(raw))


def orphan_blocks(session: WriteSession, chain_id: int, above: int) -> None:
    """Every canonical block above the height becomes an orphan."""
    query = update(ChainBlock).where(
        ChainBlock.chain_id == chain_id, ChainBlock.canonical, ChainBlock.number > above
    )
    session.execute(query.values(canonical=False))


def add_reorg(
    session: WriteSession,
    chain_id: int,
    ancestor_number: int,
    old_head_number: int,
    rows_reversed: int,
    now: datetime,
) -> None:
    session.add(
        Reorg(
            chain_id=chain_id,
            ancestor_number=ancestor_number,
            old_head_number=old_head_number,
            rows_reversed=rows_reversed,
            at=now,
        )
    )
    session.flush()


def raw_log_of(row: RawLogRow) -> RawLog:
    return RawLog(
        address=address_of(row.address),
        topics=tuple(hex_of(topic) for topic in row.topics),
        data=hex_of(row.data),
        block_number=row.number,
        block_hash=hex_of(row.block_hash),
        tx_hash=hex_of(row.tx_hash),
        tx_index=row.tx_index,
        log_index=row.log_index,
    )


def latest_block(session: Session, chain_id: int) -> tuple[int, int] | None:
    """(height, unix seconds) of the newest canonical block that the indexer has taken in; None
    before the first.
    """
    row = session.execute(_LATEST, {"chain": chain_id}).first()
    return None if row is None else (row.number, row.ts)


_LATEST: Final = (
    select(ChainBlock.number, ChainBlock.ts)
    .where(
        ChainBlock.chain_id == bindparam("chain", type_=BigInteger), ChainBlock.canonical.is_(True)
    )
    .order_by(ChainBlock.number.desc())
    .limit(1)
)


def kept_header(session: Session, chain_id: int, number: int) -> BlockHeader | None:
    """Hash, parent and time of our canonical block at a height, without bloom and transactions;
    None: we keep none.
    """
    query = select(ChainBlock).where(
        ChainBlock.chain_id == chain_id, ChainBlock.canonical, ChainBlock.number == number
    )
    row = session.scalar(query)
    return (
        None
        if row is None
        else BlockHeader(number, hex_of(row.hash), hex_of(row.parent_hash), row.ts, 0, ())
    )
