"""New tasks, and the settlement of re-observations (docs/tasks.md): what other contexts call.

Laws
- As of all moves: api/areas/tasks/writes/holding.py. Whoever reviews several entries at once holds all their
  tasks first (`lock_reobservations`).
- What a re-observation pays is decided once, at the end of the review, in its transaction.
- Nothing here commits.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Charge
from api.areas.earn.rules.payout import PayoutLimits, Source
from api.areas.earn.views import standing
from api.areas.earn.views.people import payees_of
from api.areas.earn.writes import feed
from api.areas.earn.writes.feed import FeedKind
from api.areas.tasks import queries
from api.areas.tasks.queries import ProvenClaim
from api.areas.tasks.rules import (
    CLOSING_FOR,
    PAID_RE_OBSERVERS,
    REOBSERVE,
    REOBSERVE_TENTHS,
    ClaimMove,
    ClaimStage,
    FiledProof,
    ProofOutcome,
    ProofVerdict,
    ReviewEvent,
    TaskMove,
    TaskState,
    Truth,
    claim_after,
    is_exclusive,
    settle,
    task_after,
)
from api.areas.tasks.tables import Task, TaskReview
from api.areas.tasks.writes.holding import give_bonds_back, move, ref_of_proof, row_of, task_of
from core.db.engine import WriteSession


def open_reobservation(
    session: WriteSession,
    entry_id: int,
    token_id: str,
    field_name: str,
    submitter_id: int,
    submitter_person: str,
    now: datetime,
) -> int:
    """The task of a submission's entry, made once; its id."""
    found = queries.task_of_entry(session, entry_id)
    if found is not None:
        return found
    return _add(
        session,
        Task(
            category=REOBSERVE,
            title=f"Re-observe {field_name} of {token_id}",
            tenths=REOBSERVE_TENTHS,
            entry_id=entry_id,
            token_id=token_id,
            field_name=field_name,
            submitter_id=submitter_id,
            submitter_person=submitter_person,
            created_at=now,
        ),
    )


def create_task(
    session: WriteSession,
    category: str,
    title: str,
    tenths: int,
    subject: str,
    operator_id: int,
    now: datetime,
) -> int:
    """A task of any category but reobserve; its id."""
    assert is_exclusive(category), "a re-observation is opened with its submission"
    return _add(
        session,
        Task(
            category=category,
            title=title,
            tenths=tenths,
            subject=subject,
            created_by=operator_id,
            created_at=now,
        ),
    )


def _add(session: WriteSession, task: Task) -> int:
    task.state = TaskState.OPEN
    task.open_claims = task.proofs = task.participants = 0
    session.add(task)
    session.flush()
    return task.id


# Re-observations and the review of what they look at


def lock_reobservations(session: WriteSession, entry_ids: Collection[int]) -> None:
    """Hold the tasks of all entries that one review decides on, before it pays anything."""
    for task_id in queries.tasks_of_entries(session, entry_ids):
        queries.lock_task(session, task_id)


def re_observers(session: WriteSession, entry_id: int) -> list[int]:
    """The agents that filed a proof on the entry."""
    task_id = queries.task_of_entry(session, entry_id)
    return [] if task_id is None else queries.agents_of_proofs(session, task_id)


def review_ended(
    session: WriteSession,
    entry_id: int,
    truth: Truth,
    limits: PayoutLimits,
    now: datetime,
    places: int = PAID_RE_OBSERVERS,
) -> int:
    """Pay and charge the proofs that were filed before the verdict, once; with no claim open the
    task settles. What was granted to all together, in tenths of a point. `places`: that are paid.

    Errors: UnknownTaskError.
    """
    task = task_of(session, entry_id)
    if task.truth is not None:
        return 0
    proven = queries.counted_proofs(session, task.id)
    outcomes = _settled(session, task, proven, truth, limits, places)
    if proven:
        awards.take_turn(session)
        _settle_payouts(session, task, list(zip(proven, outcomes, strict=True)), limits, now)
    rows = [
        row_of(
            FeedKind.REOBSERVE_SETTLED,
            task,
            one.claim,
            now,
            None if outcome.tenths < 0 or outcome.stage is ClaimStage.VOID else outcome.tenths,
            ref_of_proof(one.proof.id),
        )
        for one, outcome in zip(proven, outcomes, strict=True)
    ]
    feed.note_all(session, rows)
    give_bonds_back(session, [one.claim for one in proven], now)
    for one, outcome in zip(proven, outcomes, strict=True):
        move(one.claim, outcome.stage, outcome.tenths, now)
    _close(session, task, truth, now)
    _add_review(session, task, ReviewEvent.ENDED, truth, outcomes, now)
    return sum(one.tenths for one in outcomes if one.is_paid)


def review_reversed(session: WriteSession, entry_id: int, now: datetime) -> None:
    """Take back what the end of the review paid and charged, once: what the truth was is not known
    any more.

    Errors: UnknownTaskError.
    """
    task = task_of(session, entry_id)
    is_reversed = queries.review_event(session, task.id, ReviewEvent.REVERSED) is not None
    if task.truth is None or is_reversed:
        return
    awards.take_turn(session)
    proven = queries.counted_proofs(session, task.id)
    known = [one for one in proven if one.claim.stage != ClaimStage.VOID]
    for one in known:
        if one.claim.tenths:  # granted or owed
            awards.reverse(session, ref_of_proof(one.proof.id), "the review was reversed", now)
        move(one.claim, claim_after(ClaimStage(one.claim.stage), ClaimMove.VOID), 0, now)
    standing.take_back_verified_claims(session, [ref_of_proof(one.proof.id) for one in known], now)
    before, task.truth = Truth(task.truth), Truth.VOID.value
    _add_review(session, task, ReviewEvent.REVERSED, before, (), now)


def _settle_payouts(
    session: WriteSession,
    task: Task,
    settled: Sequence[tuple[ProvenClaim, ProofOutcome]],
    limits: PayoutLimits,
    now: datetime,
) -> None:
    """Few are paid; anybody may have been wrong, or verified."""
    rests_on = [task.submitter_id] if task.submitter_id is not None else []
    wrong, verified = list[Charge](), dict[str, int]()
    for proven, outcome in settled:
        agent_id, ref = proven.claim.agent_id, ref_of_proof(proven.proof.id)
        if outcome.is_paid:
            source, tenths = Source.REOBSERVE, outcome.tenths
            awards.award(session, agent_id, source, ref, tenths, limits, now, rests_on)
            rests_on.append(agent_id)
        elif outcome.tenths < 0:
            wrong.append(Charge(agent_id, ref, -outcome.tenths))
        if outcome.stage in (ClaimStage.VERIFIED, ClaimStage.POINTS_RECORDED):
            verified[ref] = agent_id
    awards.charge_all(session, wrong, Source.REOBSERVE, now)
    standing.note_verified_claims(session, verified, now)


def _close(session: WriteSession, task: Task, truth: Truth, now: datetime) -> None:
    task.truth, task.reviewed_at = truth.value, now
    if task.open_claims:
        task.state = task_after(TaskState(task.state), TaskMove.CLOSE)
        task.settles_at = now + CLOSING_FOR
    else:
        task.state = task_after(TaskState(task.state), TaskMove.SETTLE)
    session.flush()


def _add_review(
    session: WriteSession,
    task: Task,
    event: ReviewEvent,
    truth: Truth,
    outcomes: Sequence[ProofOutcome],
    now: datetime,
) -> None:
    tenths = [outcome.tenths for outcome in outcomes]
    session.add(
        TaskReview(
            task_id=task.id,
            event=event,
            truth=truth,
            granted_tenths=sum(one for one in tenths if one > 0),
            owed_tenths=-sum(one for one in tenths if one < 0),
            at=now,
        )
    )
    session.flush()


def _settled(
    session: WriteSession,
    task: Task,
    proven: Sequence[ProvenClaim],
    truth: Truth,
    limits: PayoutLimits,
    places: int,
) -> Sequence[ProofOutcome]:
    """An agent counts as the person that filed, too, if it got an owner since; so does the
    submitter.
    """
    agents = {one.proof.agent_id for one in proven}
    submitters = {task.submitter_id} if task.submitter_id is not None else set[int]()
    payees = payees_of(session, agents | submitters, limits.shared_funders) if proven else {}
    filed = list[FiledProof]()
    for proof in (one.proof for one in proven):
        assert proof.verdict is not None, "a re-observation's proof has one"
        groups = payees[proof.agent_id].keys | {proof.person}
        filed.append(FiledProof(place=proof.id, verdict=ProofVerdict(proof.verdict), groups=groups))
    own = {key for id_ in submitters & payees.keys() for key in payees[id_].keys}
    return settle(filed, truth, frozenset(own | {task.submitter_person or ""}), places)
