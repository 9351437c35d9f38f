"""All SQL that drops what need not be kept for ever, in bounded batches.

The ledgers are never touched (they can't be).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Exists, SQLColumnExpression, and_, delete, exists, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.keeper.rules import ENDS_OF_REQUEST, NOT_SENT, TERMINAL
from core.keeper.tables import KeeperIntent, KeeperTx, Outbox, OutboxQueue, VaultMark

# why a mandate was stopped is owed to its owner for as long as there is a record
KEPT_KINDS = ("stop",)


@dataclass(frozen=True, slots=True)
class MarkRow:
    """A judgement as thinning sees it."""

    id: int
    chain_id: int
    vault: bytes
    at: datetime


def marks_after(session: Session, after_id: int, limit: int) -> list[MarkRow]:
    """The next `limit` judgements, oldest first."""
    query = select(VaultMark.id, VaultMark.chain_id, VaultMark.vault, VaultMark.at).where(
        VaultMark.id > after_id
    )
    return [MarkRow(*row) for row in session.execute(query.order_by(VaultMark.id).limit(limit))]


def drop_marks(session: WriteSession, ids: Sequence[int]) -> int:
    """Drop these judgements but for a vault's newest, and but for the one that each intent was
    decided from. How many went.

    An intent was decided from the newest judgement at or below its trigger block.
    """
    mark, later = aliased(VaultMark), aliased(VaultMark)
    is_later = (
        later.chain_id == mark.chain_id,
        later.vault == mark.vault,
        later.block_number > mark.block_number,
    )
    following = (
        select(func.min(later.block_number).label("block")).where(*is_later).lateral("following")
    )
    decided_from = exists().where(
        KeeperIntent.chain_id == mark.chain_id,
        KeeperIntent.vault == mark.vault,
        KeeperIntent.trigger_block_number >= mark.block_number,
        KeeperIntent.trigger_block_number < following.c.block,
    )
    # A newest judgement has none that follows.
    dropped = (
        select(mark.id)
        .join(following, true())
        .where(mark.id.in_(ids), following.c.block.is_not(None), ~decided_from)
    )
    return len(
        session.scalars(
            delete(VaultMark).where(VaultMark.id.in_(dropped)).returning(VaultMark.id)
        ).all()
    )


def drop_finished_intents(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` intents that ended before then, with their attempts. How many went.

    Kept are stops, each vault's newest mark that the chain had, and what requests of the outbox led
    to (drop_finished_requests).
    """
    later = aliased(KeeperIntent)
    is_replaced = exists().where(
        later.vault == KeeperIntent.vault, later.chain_id == KeeperIntent.chain_id,
            later.kind == "mark",
        later.state.not_in(NOT_SENT), later.id > KeeperIntent.id,
    )  # fmt: skip
    is_needed = and_(KeeperIntent.kind == "mark", KeeperIntent.state.not_in(NOT_SENT), ~is_replaced)
    old = (
        select(KeeperIntent.id)
        .where(
            KeeperIntent.state.in_(TERMINAL),
            KeeperIntent.updated_at < before,
            KeeperIntent.outbox_id.is_(None),
        )
        .where(KeeperIntent.kind.not_in(KEPT_KINDS), ~is_needed)
        .order_by(KeeperIntent.id)
        .limit(limit)
    )
    return _drop_intents(session, session.scalars(old).all())


def drop_finished_requests(
    session: WriteSession,
    before: datetime,
    limit: int,
    stays: Callable[[SQLColumnExpression[int]], Exists],
) -> int:
    """Drop at most `limit` requests of the outbox whose intents all ended before then, with these
    and their attempts. How many went.

    A request goes with everything that it led to, since one without intents would be planned again.
    Kept are those that still queue, and those of whose ids `stays` is true.
    """
    of_it = KeeperIntent.outbox_id == Outbox.id
    is_answered = exists().where(of_it, KeeperIntent.state.in_(ENDS_OF_REQUEST))
    is_recent = exists().where(
        of_it, or_(KeeperIntent.state.not_in(TERMINAL), KeeperIntent.updated_at >= before)
    )
    is_kept = or_(stays(Outbox.id), exists().where(OutboxQueue.outbox_id == Outbox.id))
    old = (
        select(Outbox.id)
        .where(Outbox.created_at < before, is_answered, ~is_recent, ~is_kept)
        .order_by(Outbox.id)
        .limit(limit)
    )
    ids = session.scalars(old).all()
    _drop_intents(
        session,
        session.scalars(select(KeeperIntent.id).where(KeeperIntent.outbox_id.in_(ids))).all(),
    )
    return len(session.scalars(delete(Outbox).where(Outbox.id.in_(ids)).returning(Outbox.id)).all())


def _drop_intents(session: WriteSession, ids: Sequence[int]) -> int:
    session.execute(delete(KeeperTx).where(KeeperTx.intent_id.in_(ids)))
    return len(
        session.scalars(
            delete(KeeperIntent).where(KeeperIntent.id.in_(ids)).returning(KeeperIntent.id)
        ).all()
    )
