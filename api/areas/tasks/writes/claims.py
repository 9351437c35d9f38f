"""Claims on tasks, their proofs, and the verdicts on those that hold their task (docs/tasks.md).

Laws
- As of all moves: api/areas/tasks/writes/holding.py.
- Nothing here commits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.areas.earn.ledger import awards
from api.areas.earn.rules.payout import Payee, PayoutLimits, Source
from api.areas.earn.views import standing
from api.areas.earn.views.people import payees_of
from api.areas.earn.writes import feed
from api.areas.earn.writes.feed import FeedKind
from api.areas.tasks import queries
from api.areas.tasks.rules import (
    ClaimBounds,
    ClaimMove,
    ClaimStage,
    ProofVerdict,
    TaskFault,
    TaskMove,
    TaskRefusedError,
    TaskState,
    UnknownTaskError,
    VerdictWord,
    claim_after,
    is_exclusive,
    task_after,
    tenths_on_approval,
)
from api.areas.tasks.tables import Task, TaskClaim, TaskProof
from api.areas.tasks.writes.holding import (
    bond_key,
    claim_with_task,
    give_bonds_back,
    held_task,
    is_overdue,
    lapse,
    move,
    ref_of_claim,
    row_of,
    settle_closing,
)
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession
from core.times import instant_text

DEFAULT_BOUNDS: Final = ClaimBounds()


@dataclass(frozen=True, slots=True)
class Claimant:
    """`person`: as persons are counted, api.areas.earn.rules.payout.person_of."""

    agent_id: int
    person: str


def claim(
    session: WriteSession,
    task_id: int,
    by: Claimant,
    bond_credits: int,
    holds_for: timedelta,
    now: datetime,
    bounds: ClaimBounds = DEFAULT_BOUNDS,
) -> int:
    """Claim the task; the claim's id.

    `bond_credits`: held until the claim settles or expires; 0: none. `holds_for`: how long a claim
    that holds its task waits for a proof, and its person before it claims the same task again.
    Errors: UnknownTaskError; TaskRefusedError own_subject, task_closed, already_claimed,
    already_submitted, claim_lapsed, too_many_claims; NotEnoughCreditsError for the bond.
    """
    unheld = session.get(Task, task_id)
    if unheld is None:
        raise UnknownTaskError("task", task_id)
    concerned = {by.agent_id, unheld.submitter_id or by.agent_id}
    payees = payees_of(session, concerned, bounds.shared_funders)
    payee, holds = payees[by.agent_id], is_exclusive(unheld.category)
    if holds:
        queries.lock_groups(session, payee.keys)
    task = held_task(session, task_id)
    _release_lapsed(session, task, now)
    _require_claimable(session, task, by, payees)
    if holds:
        _require_no_lapse(session, task, payee, holds_for, now)
        _require_room(session, payee, bounds, now)
    made = TaskClaim(
        task_id=task.id,
        agent_id=by.agent_id,
        person=by.person,
        groups=sorted(payee.keys),
        is_exclusive=is_exclusive(task.category),
        stage=claim_after(ClaimStage.OPEN, ClaimMove.CLAIM),
        tenths=0,
        bond_credits=bond_credits,
        is_bond_held=bond_credits > 0,
        claimed_at=now,
        expires_at=now + holds_for if is_exclusive(task.category) else None,
        changed_at=now,
    )
    session.add(made)
    task.open_claims += 1
    task.participants += 1
    if made.is_exclusive:
        task.state = task_after(TaskState(task.state), TaskMove.HOLD)
    session.flush()
    if bond_credits:
        about = {"task": task.id, "claim": made.id}
        credit_ledger.hold(session, by.agent_id, bond_credits, bond_key(made.id), about, now)
    feed.note(session, row_of(FeedKind.TASK_CLAIMED, task, made, now))
    return made.id


def _require_claimable(
    session: WriteSession, task: Task, by: Claimant, payees: Mapping[int, Payee]
) -> None:
    """`payees`: the claimant, and the submitter if there is one. Errors: TaskRefusedError."""
    if task.submitter_person == by.person or _is_of_own_group(task, by, payees):
        raise TaskRefusedError(
            TaskFault.OWN_SUBJECT,
            f"Task {task.id} re-observes a value of your own, or of another agent of your owner, "
            "network address or funding wallet; somebody else has to look.",
        )
    if queries.standing_claim(session, task.id, by.agent_id) is not None:
        raise TaskRefusedError(
            TaskFault.ALREADY_CLAIMED,
            f"You have claimed task {task.id}; an agent claims a task once.",
        )
    if task.state in (TaskState.CLOSING, TaskState.SETTLED):
        raise TaskRefusedError(
            TaskFault.TASK_CLOSED, f"Task {task.id} has been decided and takes no new claim."
        )
    if task.state == TaskState.HELD:
        raise TaskRefusedError(
            TaskFault.ALREADY_CLAIMED,
            f"Another agent has claimed task {task.id}, which takes one claim at a time.",
        )
    if queries.person_has_proven(session, task.id, by.person):
        raise _already_submitted(task)


def _already_submitted(task: Task) -> TaskRefusedError:
    return TaskRefusedError(
        TaskFault.ALREADY_SUBMITTED,
        f"A proof of yours for task {task.id} is on file; a person files one, whichever of its "
        "agents does.",
    )


def _is_of_own_group(task: Task, by: Claimant, payees: Mapping[int, Payee]) -> bool:
    if task.submitter_id is None:
        return False
    return not payees[by.agent_id].keys.isdisjoint(payees[task.submitter_id].keys)


def _require_no_lapse(
    session: WriteSession, task: Task, payee: Payee, holds_for: timedelta, now: datetime
) -> None:
    """Errors: TaskRefusedError."""
    lapsed_at = queries.last_lapse(session, task.id, payee.keys)
    if lapsed_at is not None and now < lapsed_at + holds_for:
        again = lapsed_at + holds_for
        raise TaskRefusedError(
            TaskFault.CLAIM_LAPSED,
            f"A claim of yours or of your group let task {task.id} lapse; claim it again from "
            f"{instant_text(again)} on.",
            until=again,
        )


def _require_room(session: WriteSession, payee: Payee, bounds: ClaimBounds, now: datetime) -> None:
    """Errors: TaskRefusedError."""
    for key in sorted(payee.keys):
        is_person = key == payee.person
        most = bounds.of_person if is_person else bounds.of_address
        if queries.count_held(session, key, now, most) >= most:
            whose = "network address" if key.startswith("address:") else "funding wallet"
            who = "You hold" if is_person else f"The agents of your {whose} hold"
            raise TaskRefusedError(
                TaskFault.TOO_MANY_CLAIMS,
                f"{who} {most} tasks, the most at once; file the proofs, or wait until one is "
                "decided or expires.",
            )


def _release_lapsed(session: WriteSession, task: Task, now: datetime) -> bool:
    """Let the task's one claim expire if its time is up. Whether it did."""
    if task.state != TaskState.HELD:
        return False
    holding = queries.holding_claim(session, task.id)
    if holding is None or not _has_lapsed(holding, now):
        return False
    lapse(session, task, [holding], now)
    task.state = task_after(TaskState.HELD, TaskMove.RELEASE)
    session.flush()
    return True


def _has_lapsed(found: TaskClaim, now: datetime) -> bool:
    is_unproven = found.stage == ClaimStage.CLAIMED
    return is_unproven and found.expires_at is not None and found.expires_at <= now


# Proofs


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProof:
    """`verdict`: of a re-observation alone."""

    verdict: ProofVerdict | None
    observed_at: datetime
    observed_result: str
    source_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofReceipt:
    claim_id: int
    proof_id: int
    is_evidence: bool


def submit_proof(
    session: WriteSession, task_id: int, by: Claimant, proof: NewProof, now: datetime
) -> ProofReceipt:
    """File the proof of the agent's claim. After the verdict it is evidence, and pays nothing.

    Errors: UnknownTaskError; TaskRefusedError not_claimed, claim_expired, already_submitted,
    task_closed.
    """
    task = held_task(session, task_id)
    found = _provable(session, task, by, now)
    is_evidence = task.state == TaskState.CLOSING
    filed = TaskProof(
        claim_id=found.id,
        task_id=task.id,
        agent_id=by.agent_id,
        person=by.person,
        verdict=proof.verdict,
        observed_at=proof.observed_at,
        observed_result=proof.observed_result,
        source_url=proof.source_url,
        is_evidence=is_evidence,
        received_at=now,
    )
    session.add(filed)
    move(found, claim_after(ClaimStage(found.stage), ClaimMove.SUBMIT), 0, now)
    task.open_claims -= 1
    task.proofs += 1
    session.flush()
    feed.note(session, row_of(FeedKind.TASK_SUBMITTED, task, found, now))
    submitted = ProofReceipt(claim_id=found.id, proof_id=filed.id, is_evidence=is_evidence)
    if is_evidence:
        _keep_as_evidence(session, task, found, now)
    return submitted


def _keep_as_evidence(session: WriteSession, task: Task, proven: TaskClaim, now: datetime) -> None:
    """The claim is done; with the last open one the task settles."""
    give_bonds_back(session, [proven], now)
    stage = claim_after(ClaimStage(proven.stage), ClaimMove.VOID)
    move(proven, stage, 0, now)
    if task.open_claims == 0:
        settle_closing(session, task, now)


def _provable(session: WriteSession, task: Task, by: Claimant, now: datetime) -> TaskClaim:
    """The claim that the proof is filed for. Errors: TaskRefusedError."""
    found = queries.standing_claim(session, task.id, by.agent_id)
    if found is None or _has_lapsed(found, now):
        if found is not None or queries.has_expired_claim(session, task.id, by.agent_id):
            raise TaskRefusedError(
                TaskFault.CLAIM_EXPIRED,
                f"Your claim of task {task.id} has expired without a proof; look for another task.",
            )
        raise TaskRefusedError(
            TaskFault.NOT_CLAIMED, f"You have not claimed task {task.id}; claim it first."
        )
    has_proven = found.stage != ClaimStage.CLAIMED
    if has_proven or queries.person_has_proven(session, task.id, by.person):
        raise _already_submitted(task)
    if task.state == TaskState.SETTLED or is_overdue(task, now):
        raise TaskRefusedError(
            TaskFault.TASK_CLOSED, f"Task {task.id} has settled; it takes no further proof."
        )
    return found


# Verdicts on exclusive tasks


def give_verdict(
    session: WriteSession,
    claim_id: int,
    verdict: VerdictWord,
    note: str,
    operator_id: int,
    limits: PayoutLimits,
    now: datetime,
) -> None:
    """Decide on the proof of a claim, or take back that it was verified.

    A verified one is granted its points; after a rejection the task opens again.
    Errors: UnknownTaskError; TaskRefusedError wrong_status.
    """
    task, found = claim_with_task(session, claim_id)
    stage = ClaimStage(found.stage)
    needed = ClaimStage.POINTS_RECORDED if verdict is VerdictWord.REVERSED else ClaimStage.SUBMITTED
    if not found.is_exclusive:
        raise TaskRefusedError(
            TaskFault.WRONG_STATUS,
            f"Claim {claim_id} is a re-observation; the review of the submission decides on it.",
        )
    if stage is not needed:
        raise TaskRefusedError(
            TaskFault.WRONG_STATUS,
            f"Claim {claim_id} is {stage.value}; {verdict.value} is given to one that is "
            f"{needed.value}.",
        )
    awards.take_turn(session)
    queries.add_verdict(session, claim_id, verdict, note, operator_id, now)
    match verdict:
        case VerdictWord.VERIFIED:
            _verify(session, task, found, limits, now)
        case VerdictWord.REJECTED:
            _refuse(session, task, found, ClaimMove.REJECT, now)
        case VerdictWord.REVERSED:
            awards.reverse(session, ref_of_claim(found.id), note, now)
            standing.take_back_verified_claims(session, [ref_of_claim(found.id)], now)
            _refuse(session, task, found, ClaimMove.REVERSE, now)


def _verify(
    session: WriteSession, task: Task, found: TaskClaim, limits: PayoutLimits, now: datetime
) -> None:
    tenths, ref = tenths_on_approval(task.category, task.tenths), ref_of_claim(found.id)
    row = row_of(FeedKind.TASK_VERIFIED, task, found, now, tenths)
    give_bonds_back(session, [found], now)
    awards.award(session, found.agent_id, Source.TASK, ref, tenths, limits, now)
    standing.note_verified_claims(session, {ref: found.agent_id}, now)
    verified = claim_after(ClaimStage(found.stage), ClaimMove.VERIFY)
    recorded = claim_after(verified, ClaimMove.RECORD)
    move(found, recorded, tenths, now)
    task.state = task_after(TaskState(task.state), TaskMove.SETTLE)
    feed.note(session, row)


def _refuse(
    session: WriteSession, task: Task, found: TaskClaim, by: ClaimMove, now: datetime
) -> None:
    row = row_of(FeedKind.TASK_REJECTED, task, found, now)
    give_bonds_back(session, [found], now)
    stage = claim_after(ClaimStage(found.stage), by)
    move(found, stage, 0, now)
    task.state = task_after(TaskState(task.state), TaskMove.RELEASE)
    feed.note(session, row)


# What time ends


def end_in_time(session: WriteSession, task_id: int, now: datetime) -> bool:
    """Let what has run out of time end: the one claim of a held task, or a closing task itself.
    Whether anything did.
    """
    task = queries.lock_task(session, task_id)
    if task is None:
        return False
    if is_overdue(task, now):
        settle_closing(session, task, now)
        return True
    return _release_lapsed(session, task, now)
