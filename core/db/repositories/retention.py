"""All SQL that drops what need not be kept for ever, in bounded batches. The books are never touched (they can't be)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, exists, func, select, true, tuple_
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.db.tables.identity import IdempotencyRecord
from core.db.tables.keeper import KeeperIntent, VaultMark


@dataclass(frozen=True, slots=True)
class MarkRow:
    """A judgement as thinning sees it."""

    id: int
    chain_id: int
    vault: bytes
    at: datetime


def marks_after(session: Session, after_id: int, limit: int) -> list[MarkRow]:
    """The next `limit` judgements, oldest first."""
    query = select(VaultMark.id, VaultMark.chain_id, VaultMark.vault, VaultMark.at).where(VaultMark.id > after_id)
    return [MarkRow(*row) for row in session.execute(query.order_by(VaultMark.id).limit(limit))]


def drop_marks(session: WriteSession, ids: Sequence[int]) -> int:
    """Drop these judgements but for a vault's newest, and but for the one that each intent was decided from. How many went.

    An intent was decided from the newest judgement at or below its trigger block.
    """
    mark, later = aliased(VaultMark), aliased(VaultMark)
    is_later = (later.chain_id == mark.chain_id, later.vault == mark.vault, later.block_number > mark.block_number)
    following = select(func.min(later.block_number).label("block")).where(*is_later).lateral("following")
    decided_from = exists().where(
        KeeperIntent.chain_id == mark.chain_id,
        KeeperIntent.vault == mark.vault,
        KeeperIntent.trigger_block_number >= mark.block_number,
        KeeperIntent.trigger_block_number < following.c.block,
    )
    # A newest judgement has none that follows.
    dropped = select(mark.id).join(following, true()).where(mark.id.in_(ids), following.c.block.is_not(None), ~decided_from)
    return len(session.scalars(delete(VaultMark).where(VaultMark.id.in_(dropped)).returning(VaultMark.id)).all())


def drop_idempotency_records(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` first answers that were given before then. How many went."""
    key = (IdempotencyRecord.scope, IdempotencyRecord.key)
    old = select(*key).where(IdempotencyRecord.created_at < before).limit(limit).with_for_update(skip_locked=True)
    statement = delete(IdempotencyRecord).where(tuple_(*key).in_(old))
    return len(session.execute(statement.returning(IdempotencyRecord.key)).all())
