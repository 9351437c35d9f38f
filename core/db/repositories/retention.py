"""All SQL that drops what need not be kept for ever, in bounded batches. The books are never touched (they can't be)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import and_, delete, exists, func, or_, select, true, tuple_
from sqlalchemy.orm import Session, aliased, class_mapper

from core.db.engine import WriteSession
from core.db.repositories.keeper import NOT_SENT, TERMINAL
from core.db.repositories.outbox_queue import SETTLED
from core.db.tables.credits import FreeReadCount, FreeReadPool
from core.db.tables.custody import CustodialTransfer
from core.db.tables.identity import IdempotencyRecord
from core.db.tables.keeper import GasDay, KeeperIntent, KeeperTx, Outbox, OutboxQueue, VaultMark
from core.db.tables.payments import GuardSignature

KEPT_KINDS = ("stop", "second_stop")  # why a mandate was stopped is owed to its owner for as long as there is a record
DayFigure = type[GasDay | FreeReadCount | FreeReadPool]
DAY_FIGURES: tuple[DayFigure, ...] = (GasDay, FreeReadCount, FreeReadPool)  # each row counts in one UTC day


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


def drop_finished_intents(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` intents that ended before then, with their attempts. How many went.

    Kept are stops, each vault's newest mark that the chain had, and what requests of the outbox led to (drop_finished_requests).
    """
    later = aliased(KeeperIntent)
    is_replaced = exists().where(
        later.vault == KeeperIntent.vault, later.chain_id == KeeperIntent.chain_id, later.kind == "mark",
        later.state.not_in(NOT_SENT), later.id > KeeperIntent.id,
    )  # fmt: skip
    is_needed = and_(KeeperIntent.kind == "mark", KeeperIntent.state.not_in(NOT_SENT), ~is_replaced)
    old = (
        select(KeeperIntent.id)
        .where(KeeperIntent.state.in_(TERMINAL), KeeperIntent.updated_at < before, KeeperIntent.outbox_id.is_(None))
        .where(KeeperIntent.kind.not_in(KEPT_KINDS), ~is_needed)
        .order_by(KeeperIntent.id)
        .limit(limit)
    )
    return _drop_intents(session, session.scalars(old).all())


def drop_finished_requests(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` requests of the outbox whose intents all ended before then, with these and their attempts. How many went.

    A request goes with everything that it led to, since one without intents would be planned anew. Those of custodial transfers are
    an account's history, and stay.
    """
    of_it = KeeperIntent.outbox_id == Outbox.id
    is_answered = exists().where(of_it, KeeperIntent.state.in_(SETTLED))
    is_recent = exists().where(of_it, or_(KeeperIntent.state.not_in(TERMINAL), KeeperIntent.updated_at >= before))
    is_kept = or_(exists().where(CustodialTransfer.outbox_id == Outbox.id), exists().where(OutboxQueue.outbox_id == Outbox.id))
    old = select(Outbox.id).where(Outbox.created_at < before, is_answered, ~is_recent, ~is_kept).order_by(Outbox.id).limit(limit)
    ids = session.scalars(old).all()
    _drop_intents(session, session.scalars(select(KeeperIntent.id).where(KeeperIntent.outbox_id.in_(ids))).all())
    return len(session.scalars(delete(Outbox).where(Outbox.id.in_(ids)).returning(Outbox.id)).all())


def _drop_intents(session: WriteSession, ids: Sequence[int]) -> int:
    session.execute(delete(KeeperTx).where(KeeperTx.intent_id.in_(ids)))
    return len(session.scalars(delete(KeeperIntent).where(KeeperIntent.id.in_(ids)).returning(KeeperIntent.id)).all())


def drop_idempotency_records(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` first answers that were given before then. How many went."""
    key = (IdempotencyRecord.scope, IdempotencyRecord.key)
    old = select(*key).where(IdempotencyRecord.created_at < before).limit(limit).with_for_update(skip_locked=True)
    statement = delete(IdempotencyRecord).where(tuple_(*key).in_(old))
    return len(session.execute(statement.returning(IdempotencyRecord.key)).all())


def drop_day_figures(session: WriteSession, figure: DayFigure, before: date, limit: int) -> int:
    """Drop at most `limit` figures of days before that one. How many went."""
    key = class_mapper(figure).primary_key
    old = select(*key).where(figure.day < before).limit(limit)
    return len(session.execute(delete(figure).where(tuple_(*key).in_(old)).returning(figure.day)).all())


def drop_guard_signatures(session: WriteSession, before_s: int, limit: int) -> int:
    """Drop at most `limit` signatures of the guard whose deadline (unix seconds) was before then. How many went."""
    key = (GuardSignature.vault, GuardSignature.nonce)
    old = select(*key).where(GuardSignature.deadline < before_s).limit(limit)
    return len(session.execute(delete(GuardSignature).where(tuple_(*key).in_(old)).returning(GuardSignature.nonce)).all())
