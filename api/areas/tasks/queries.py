"""All SQL of tasks but the joins of views: the rows that moves hold and write. Nothing here commits.

Law: whoever writes to a task, a claim or a proof holds the task's row (`lock_task`) first; whoever
claims what holds its task holds its groups (`lock_groups`) before it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, Text, any_, cast, exists, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from api.areas.tasks.rules import (
    ClaimStage,
    ReviewEvent,
    TaskState,
    VerdictWord,
)
from api.areas.tasks.tables import (
    HAS_LAPSED,
    IS_HELD,
    Task,
    TaskClaim,
    TaskProof,
    TaskReview,
    TaskVerdict,
)
from core.db import locks
from core.db.bounded import count_up_to
from core.db.engine import WriteSession
from core.db.locks import LockClass


def lock_task(session: WriteSession, task_id: int) -> Task | None:
    """The row, held until the transaction ends."""
    return session.get(Task, task_id, with_for_update=True, populate_existing=True)


def task_of_entry(session: Session, entry_id: int) -> int | None:
    return session.scalar(select(Task.id).where(Task.entry_id == entry_id))


def tasks_of_entries(session: Session, entry_ids: Collection[int]) -> list[int]:
    """Their tasks' ids, in their order."""
    wanted = any_(cast(list(entry_ids), ARRAY(BigInteger)))
    return list(session.scalars(select(Task.id).where(Task.entry_id == wanted).order_by(Task.id)))


def claim_by_id(session: Session, claim_id: int) -> TaskClaim | None:
    """As it is committed now, whatever this transaction read before."""
    return session.get(TaskClaim, claim_id, populate_existing=True)


def standing_claim(session: Session, task_id: int, agent_id: int) -> TaskClaim | None:
    """The agent's claim on the task that did not expire: one at most."""
    query = select(TaskClaim).where(
        TaskClaim.task_id == task_id,
        TaskClaim.agent_id == agent_id,
        TaskClaim.stage != ClaimStage.EXPIRED,
    )
    return session.scalar(query)


def has_expired_claim(session: Session, task_id: int, agent_id: int) -> bool:
    query = select(TaskClaim.id).where(
        TaskClaim.task_id == task_id,
        TaskClaim.agent_id == agent_id,
        TaskClaim.stage == ClaimStage.EXPIRED,
    )
    return bool(session.scalar(select(query.exists())))


def holding_claim(session: Session, task_id: int) -> TaskClaim | None:
    """The one claim that holds an exclusive task."""
    query = select(TaskClaim).where(
        TaskClaim.task_id == task_id,
        TaskClaim.is_exclusive,
        TaskClaim.stage.in_([ClaimStage.CLAIMED, ClaimStage.SUBMITTED]),
    )
    return session.scalar(query)


def lock_groups(session: WriteSession, keys: Collection[str]) -> None:
    """Nobody with one of these keys claims meanwhile what holds a task, until the transaction ends."""
    for key in sorted(keys):
        locks.named(LockClass.TASK_CLAIM, (key,)).wait(session)


def count_held(session: Session, key: str, now: datetime, most: int) -> int:
    """How many tasks claims with this key hold now; beyond `most` it does not count on."""
    held = select(TaskClaim.id).where(
        TaskClaim.groups.op("@>")(cast([key], ARRAY(Text))),
        IS_HELD,
        or_(TaskClaim.stage == ClaimStage.SUBMITTED, TaskClaim.expires_at > now),
    )
    return count_up_to(session, held, most)


def last_lapse(session: Session, task_id: int, keys: Collection[str]) -> datetime | None:
    """When the last claim of the task with one of these keys that came to nothing ran out of time."""
    query = select(func.max(TaskClaim.expires_at)).where(
        TaskClaim.task_id == task_id,
        TaskClaim.groups.op("&&")(cast(list(keys), ARRAY(Text))),
        HAS_LAPSED,
    )
    return session.scalar(query)


def person_has_proven(session: Session, task_id: int, person: str) -> bool:
    query = select(TaskProof.id).where(TaskProof.task_id == task_id, TaskProof.person == person)
    return bool(session.scalar(select(exists(query))))


def agents_of_proofs(session: Session, task_id: int) -> list[int]:
    query = select(TaskProof.agent_id).where(TaskProof.task_id == task_id).distinct()
    return list(session.scalars(query))


@dataclass(frozen=True, slots=True)
class ProvenClaim:
    claim: TaskClaim
    proof: TaskProof


def counted_proofs(session: Session, task_id: int) -> list[ProvenClaim]:
    """Those that were filed before the verdict, in the order of receipt, with their claims."""
    query = (
        select(TaskClaim, TaskProof)
        .join(TaskProof, TaskProof.claim_id == TaskClaim.id)
        .where(TaskProof.task_id == task_id, ~TaskProof.is_evidence)
        .order_by(TaskProof.id)
    )
    return [ProvenClaim(claim, proof) for claim, proof in session.execute(query)]


def unproven_claims(session: WriteSession, task_id: int) -> Sequence[TaskClaim]:
    query = select(TaskClaim).where(
        TaskClaim.task_id == task_id, TaskClaim.stage == ClaimStage.CLAIMED
    )
    return session.scalars(query.order_by(TaskClaim.agent_id)).all()


def add_verdict(
    session: WriteSession,
    claim_id: int,
    verdict: VerdictWord,
    note: str,
    operator_id: int,
    now: datetime,
) -> None:
    session.add(
        TaskVerdict(claim_id=claim_id, verdict=verdict, note=note, operator_id=operator_id, at=now)
    )
    session.flush()


def review_event(session: Session, task_id: int, event: ReviewEvent) -> TaskReview | None:
    query = select(TaskReview).where(TaskReview.task_id == task_id, TaskReview.event == event)
    return session.scalar(query)


def lapsed_tasks(session: Session, now: datetime, limit: int) -> list[int]:
    """Tasks whose one claim ran out of time: `expires_at` itself is too late."""
    query = select(TaskClaim.task_id).where(
        TaskClaim.is_exclusive,
        TaskClaim.stage == ClaimStage.CLAIMED,
        TaskClaim.expires_at <= now,
    )
    return list(session.scalars(query.order_by(TaskClaim.expires_at).limit(limit)))


def overdue_tasks(session: Session, now: datetime, limit: int) -> list[int]:
    """Tasks that no open claim may keep from settling any longer."""
    query = select(Task.id).where(Task.state == TaskState.CLOSING, Task.settles_at <= now)
    return list(session.scalars(query.order_by(Task.settles_at).limit(limit)))
