"""What the moves of the market share: the rows that they hold, bonds, and lines of the feed.

Laws
- A claim that holds its task holds its groups first. A move holds the task's row, then, where points
  move or bonds are given back, the turn of payouts, then heads of the credit ledger.
- Nothing here commits.
"""

from collections.abc import Sequence
from datetime import datetime

from api.areas.earn.ledger import awards
from api.areas.earn.rules.points import credits_of
from api.areas.earn.writes.feed import FeedKind, FeedRow
from api.areas.tasks import queries
from api.areas.tasks.rules import (
    ClaimMove,
    ClaimStage,
    TaskMove,
    TaskState,
    UnknownTaskError,
    claim_after,
    task_after,
)
from api.areas.tasks.tables import Task, TaskClaim
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession


def ref_of_claim(claim_id: int) -> str:
    return f"task:claim:{claim_id}"


def ref_of_proof(proof_id: int) -> str:
    return f"reobserve:proof:{proof_id}"


def bond_key(claim_id: int) -> str:
    return f"bond:task:claim:{claim_id}"


def held_task(session: WriteSession, task_id: int) -> Task:
    """Errors: UnknownTaskError."""
    task = queries.lock_task(session, task_id)
    if task is None:
        raise UnknownTaskError("task", task_id)
    return task


def task_of(session: WriteSession, entry_id: int) -> Task:
    """Errors: UnknownTaskError."""
    task_id = queries.task_of_entry(session, entry_id)
    if task_id is None:
        raise UnknownTaskError("re-observation of entry", entry_id)
    return held_task(session, task_id)


def claim_with_task(session: WriteSession, claim_id: int) -> tuple[Task, TaskClaim]:
    """The claim as it is once its task is held. Errors: UnknownTaskError."""
    found = queries.claim_by_id(session, claim_id)
    if found is None:
        raise UnknownTaskError("claim", claim_id)
    task = held_task(session, found.task_id)
    session.refresh(found)
    return task, found


def move(found: TaskClaim, stage: ClaimStage, tenths: int, now: datetime) -> None:
    """`tenths`: what becomes of it, in tenths of a point."""
    found.stage, found.tenths, found.changed_at = stage.value, tenths, now


def give_bonds_back(session: WriteSession, claims: Sequence[TaskClaim], now: datetime) -> None:
    """In the order of accounts, in the turn of payouts, since others are paid there meanwhile."""
    bonded = sorted((one for one in claims if one.is_bond_held), key=lambda one: one.agent_id)
    if bonded:
        awards.take_turn(session)
    for one in bonded:
        credit_ledger.release(session, one.agent_id, bond_key(one.id), now)
        one.is_bond_held = False


def row_of(
    kind: FeedKind,
    task: Task,
    found: TaskClaim,
    now: datetime,
    tenths: int | None = None,
    ref: str | None = None,
) -> FeedRow:
    return FeedRow(
        kind=kind,
        account_id=found.agent_id,
        ref=ref or ref_of_claim(found.id),
        at=now,
        token_id=task.token_id,
        field_name=task.field_name,
        tenths=tenths,
        credits=None if tenths is None else credits_of(tenths),
        task_id=task.id,
    )


def lapse(session: WriteSession, task: Task, unproven: Sequence[TaskClaim], now: datetime) -> None:
    """Claims without a proof expire; they count no more."""
    give_bonds_back(session, unproven, now)
    for one in unproven:
        move(one, claim_after(ClaimStage(one.stage), ClaimMove.LAPSE), 0, now)
    task.open_claims -= len(unproven)
    task.participants -= len(unproven)


def settle_closing(session: WriteSession, task: Task, now: datetime) -> None:
    lapse(session, task, queries.unproven_claims(session, task.id), now)
    task.state, task.settles_at = task_after(TaskState(task.state), TaskMove.SETTLE), None
    session.flush()


def is_overdue(task: Task, now: datetime) -> bool:
    """Whether the time of a closing task is up, so that it is settled, whatever its row says."""
    return task.settles_at is not None and task.settles_at <= now
