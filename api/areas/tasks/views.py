"""Tasks and claims as they are shown: beside the names of agents, and with what payouts say of
them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Select,
    Text,
    any_,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from api.areas.earn.rules.payout import Source
from api.areas.earn.views.unpaid import unpaid_count, unpaid_of
from api.areas.tasks.queries import holding_claim
from api.areas.tasks.rules import ClaimStage, TaskState, furthest, is_exclusive
from api.areas.tasks.tables import Task, TaskClaim, TaskProof
from api.areas.tasks.writes.holding import is_overdue, ref_of_claim, ref_of_proof
from core.identity.tables import Account

PARTICIPANTS_SHOWN: Final = 5
PROOFS_SHOWN: Final = 50
_OPEN: Final[ColumnElement[str]] = literal_column(
    "'open'"
)  # the words of the partial indexes' predicate, no parameter
_RECORDED: Final[ColumnElement[str]] = literal_column("'points_recorded'")


@dataclass(frozen=True, slots=True)
class Participant:
    agent_id: int
    name: str


@dataclass(frozen=True, slots=True)
class ShownProof:
    """`stage`: of its claim, paid included."""

    proof: TaskProof
    agent_name: str
    stage: ClaimStage
    tenths: int


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """`stage`: paid included. `proof`: None: none was filed."""

    claim: TaskClaim
    task: Task
    proof: TaskProof | None
    stage: ClaimStage


# Tasks


def open_tasks(
    session: Session, category: str | None, before: int | None, limit: int
) -> list[Task]:
    """What takes claims, the newest first, below that id (exclusive; None: the newest)."""
    values = {"category": category, "before": before, "limit": limit}
    query = _open_tasks(of_category=category is not None, is_later_page=before is not None)
    return list(session.scalars(query, values))


@cache
def _open_tasks(*, of_category: bool, is_later_page: bool) -> Select[Task]:
    query = select(Task).where(Task.state == _OPEN)
    if of_category:
        query = query.where(Task.category == bindparam("category", type_=Text))
    if is_later_page:
        query = query.where(Task.id < bindparam("before", type_=BigInteger))
    return query.order_by(Task.id.desc()).limit(bindparam("limit", type_=BigInteger))


def find_task(session: Session, task_id: int) -> Task | None:
    return session.get(Task, task_id)


def state_at(session: Session, task: Task, now: datetime) -> TaskState:
    """The task's state, where time has ended what its row still says."""
    if is_overdue(task, now):
        return TaskState.SETTLED
    if task.state == TaskState.HELD and task.open_claims:
        holding = holding_claim(session, task.id)
        if holding is not None and holding.expires_at is not None and holding.expires_at <= now:
            return TaskState.OPEN
    return TaskState(task.state)


def furthest_of_open(task: Task) -> ClaimStage:
    """The furthest of the claims of an open task, by its counts: none of them was decided."""
    if is_exclusive(task.category) or not task.participants:
        return ClaimStage.OPEN
    return ClaimStage.SUBMITTED if task.proofs else ClaimStage.CLAIMED


def furthest_of(session: Session, task: Task, state: TaskState) -> ClaimStage:
    """The furthest of the task's claims; `state`: of the task now."""
    if state is TaskState.OPEN:
        return furthest_of_open(task)
    if state is TaskState.HELD:
        return ClaimStage.CLAIMED if task.open_claims else ClaimStage.SUBMITTED
    stages = [ClaimStage.SUBMITTED] if task.proofs else []
    refs = _recorded_refs(session, task)
    if refs:
        is_paid = bool(refs - unpaid_of(session, refs))
        stages.append(ClaimStage.PAID if is_paid else ClaimStage.POINTS_RECORDED)
    return furthest(stages)


def _recorded_refs(session: Session, task: Task) -> frozenset[str]:
    """What was granted points: five at most."""
    query = (
        select(TaskClaim.id, TaskProof.id)
        .join(TaskProof, TaskProof.claim_id == TaskClaim.id)
        .where(TaskClaim.task_id == task.id, TaskClaim.stage == _RECORDED)
    )
    return frozenset(
        ref_of(task.category, claim_id, proof_id) for claim_id, proof_id in session.execute(query)
    )


def ref_of(category: str, claim_id: int, proof_id: int) -> str:
    """What is paid for the claim, as payouts name it."""
    return ref_of_claim(claim_id) if is_exclusive(category) else ref_of_proof(proof_id)


def participants_of(
    session: Session, task_ids: Collection[int]
) -> Mapping[int, Sequence[Participant]]:
    """The first agents whose claims stand, by task; of no tasks without asking."""
    found: dict[int, list[Participant]] = {task_id: [] for task_id in task_ids}
    if found:
        for task_id, agent_id, name in session.execute(_PARTICIPANTS, {"task_ids": list(found)}):
            found[task_id].append(Participant(agent_id, name))
    return found


_WANTED: Final = (
    func.unnest(bindparam("task_ids", type_=ARRAY(BigInteger)))
    .table_valued("task_id")
    .render_derived("wanted")
)
_FIRST: Final = (
    select(TaskClaim.id, TaskClaim.agent_id)
    .where(
        TaskClaim.task_id == _WANTED.c.task_id,
        TaskClaim.stage != literal_column("'expired'"),
    )
    .order_by(TaskClaim.id)
    .limit(PARTICIPANTS_SHOWN)
    .lateral("first")
)
_PARTICIPANTS: Final = (
    select(_WANTED.c.task_id, Account.id, Account.name)
    .select_from(_WANTED)
    .join(_FIRST, true())
    .join(Account, Account.id == _FIRST.c.agent_id)
    .order_by(_WANTED.c.task_id, _FIRST.c.id)
)


def holds_open_claim(session: Session, task_id: int, agent_ids: Collection[int]) -> bool:
    """Whether one of these agents has an open claim on the task: without a proof, or with one that
    nobody has decided on.
    """
    query = select(TaskClaim.id).where(
        TaskClaim.task_id == task_id,
        TaskClaim.agent_id == any_(cast(list(agent_ids), ARRAY(BigInteger))),
        TaskClaim.stage.in_([ClaimStage.CLAIMED, ClaimStage.SUBMITTED]),
    )
    return bool(session.scalar(select(query.exists())))


def proofs_shown(session: Session, task: Task, agent_id: int | None = None) -> list[ShownProof]:
    """The first proofs, in the order of receipt; `agent_id`: this agent's own alone."""
    which = TaskProof.task_id == task.id
    if agent_id is not None:
        which &= TaskProof.agent_id == agent_id
    query = (
        select(TaskProof, Account.name, TaskClaim.stage, TaskClaim.tenths)
        .join(Account, Account.id == TaskProof.agent_id)
        .join(TaskClaim, TaskClaim.id == TaskProof.claim_id)
        .where(which)
        .order_by(TaskProof.id)
        .limit(PROOFS_SHOWN)
    )
    rows = session.execute(query).all()
    refs = {row[0].id: ref_of(task.category, row[0].claim_id, row[0].id) for row in rows}
    unpaid = unpaid_of(session, set(refs.values()))
    return [
        ShownProof(proof, name, _stage(stage, refs[proof.id] in unpaid), tenths)
        for proof, name, stage, tenths in rows
    ]


def _stage(stored: str, is_unpaid: bool) -> ClaimStage:
    stage = ClaimStage(stored)
    is_paid = stage is ClaimStage.POINTS_RECORDED and not is_unpaid
    return ClaimStage.PAID if is_paid else stage


# Claims


def claims_of(session: Session, agent_id: int, before: int | None, limit: int) -> list[ShownClaim]:
    """The agent's own, the newest first, below that id (exclusive; None: the newest)."""
    query = (
        select(TaskClaim, Task, TaskProof)
        .join(Task, Task.id == TaskClaim.task_id)
        .outerjoin(TaskProof, TaskProof.claim_id == TaskClaim.id)
        .where(TaskClaim.agent_id == agent_id)
    )
    if before is not None:
        query = query.where(TaskClaim.id < before)
    rows = session.execute(query.order_by(TaskClaim.id.desc()).limit(limit)).all()
    refs = {
        claim.id: ref_of(task.category, claim.id, proof.id)
        for claim, task, proof in rows
        if proof is not None
    }
    unpaid = unpaid_of(session, set(refs.values()))
    return [
        ShownClaim(claim, task, proof, _stage(claim.stage, refs.get(claim.id) in unpaid))
        for claim, task, proof in rows
    ]


def find_claim(session: Session, claim_id: int) -> ShownClaim | None:
    query = (
        select(TaskClaim, Task, TaskProof)
        .join(Task, Task.id == TaskClaim.task_id)
        .outerjoin(TaskProof, TaskProof.claim_id == TaskClaim.id)
        .where(TaskClaim.id == claim_id)
        .execution_options(populate_existing=True)
    )
    row = session.execute(query).one_or_none()
    if row is None:
        return None
    claim, task, proof = row
    ref = "" if proof is None else ref_of(task.category, claim.id, proof.id)
    return ShownClaim(claim, task, proof, _stage(claim.stage, ref in unpaid_of(session, [ref])))


def held_claims(session: Session, stage: ClaimStage, after: int, limit: int) -> list[ShownClaim]:
    """Claims that hold their task, without a proof (claimed) or with one that waits for an operator's
    verdict (submitted), the oldest first, above that id.
    """
    query = (
        select(TaskClaim, Task, TaskProof)
        .join(Task, Task.id == TaskClaim.task_id)
        .outerjoin(TaskProof, TaskProof.claim_id == TaskClaim.id)
        .where(
            TaskClaim.is_exclusive,
            TaskClaim.stage == literal_column(f"'{stage}'"),
            TaskClaim.id > after,
        )
    )
    return [
        ShownClaim(claim, task, proof, ClaimStage(claim.stage))
        for claim, task, proof in session.execute(query.order_by(TaskClaim.id).limit(limit))
    ]


# Figures for other contexts


def stage_counts(session: Session, account_ids: Collection[int]) -> Mapping[str, int]:
    """How many claims of these agents have come to each stage.

    submitted: wait for a verdict. reproduced, re_observed: verified by an operator, and by the review
    of what they re-observed; no_record_on_file: verified without either, which none is.
    points_recorded: of the verified ones those that were granted points; paid: of these those that
    are wholly paid. rejected.
    """
    rows = session.execute(_STAGES, {"account_ids": list(account_ids)}).all()
    counts = {(exclusive, stage): n for exclusive, stage, n in rows}

    def of(stage: ClaimStage, *kinds: bool) -> int:
        return sum(counts.get((kind, stage), 0) for kind in kinds)

    recorded = of(ClaimStage.POINTS_RECORDED, True, False)
    unpaid = counts[None, None]
    return {
        "submitted": of(ClaimStage.SUBMITTED, True, False),
        "reproduced": of(ClaimStage.POINTS_RECORDED, True),
        "re_observed": of(ClaimStage.VERIFIED, False) + of(ClaimStage.POINTS_RECORDED, False),
        "no_record_on_file": 0,
        "points_recorded": recorded,
        "paid": recorded - unpaid,
        "rejected": of(ClaimStage.REJECTED, True, False),
    }


_STAGES: Final[CompoundSelect[Any]] = union_all(
    select(TaskClaim.is_exclusive, TaskClaim.stage, func.count())
    .where(TaskClaim.agent_id == any_(bindparam("account_ids", type_=ARRAY(BigInteger))))
    .group_by(TaskClaim.is_exclusive, TaskClaim.stage),
    select(null(), null(), unpaid_count((Source.TASK, Source.REOBSERVE))),
)


def proofs_of(session: Session, entry_ids: Collection[int]) -> Mapping[int, int]:
    """By entry how many proofs are filed; one without a task: 0."""
    query = select(Task.entry_id, Task.proofs).where(
        Task.entry_id == any_(cast(list(entry_ids), ARRAY(BigInteger)))
    )
    return dict.fromkeys(entry_ids, 0) | {
        id_: n for id_, n in session.execute(query) if id_ is not None
    }
