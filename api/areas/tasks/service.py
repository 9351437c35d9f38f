"""The task market: browse, claim, prove, decide (docs/tasks.md)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from api.areas.earn.rules.payout import Source, person_of
from api.areas.earn.rules.points import credits_of, points_text
from api.areas.earn.views.limits import payout_limits
from api.areas.earn.views.standing import has_standing
from api.areas.mining.views.entries import MiningEntry, entries_by_id
from api.areas.mining.writes import gold
from api.areas.safety import queries as safety
from api.areas.safety.checks import require_not_own, require_unlocked
from api.areas.safety.rules import takes_bond
from api.areas.tasks import views
from api.areas.tasks.rules import (
    OPEN_CLAIMS,
    REOBSERVE,
    ClaimBounds,
    ClaimStage,
    ProofVerdict,
    TaskFault,
    TaskRefusedError,
    TaskState,
    UnknownTaskError,
    VerdictWord,
    is_exclusive,
    require_observed,
    tenths_on_approval,
)
from api.areas.tasks.schemas import (
    BrowseQuery,
    ClaimBody,
    ClaimList,
    CreateTask,
    GiveVerdict,
    OwnClaims,
    OwnProof,
    Progress,
    ShownVerdict,
    SubmitProof,
    TaskDetail,
    TaskList,
    TaskPath,
    TaskRow,
    TaskSubject,
)
from api.areas.tasks.tables import Task
from api.areas.tasks.views import Participant, ShownClaim, ShownProof
from api.areas.tasks.writes import claims, market
from api.areas.tasks.writes.claims import Claimant, NewProof
from api.kernel.caller import AgentCaller, Nobody, OperatorCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall, Refusal, WriteCall
from api.kernel.pagination import page_of
from api.kernel.refusals import lacks_credits
from core.credits.rules.buckets import NotEnoughCreditsError
from core.errors import InvalidParameterError, fields_in
from core.house import House
from core.identity import queries as identity
from core.redaction import evidence_host, redact_value
from core.urls import require_https

Reader = Nobody | AgentCaller | OwnerCaller
LEGACY_REWARD: Final = 0

# Read


def browse(call: ReadCall, caller: Nobody, command: BrowseQuery) -> Answer[TaskList]:
    page = page_of(call, "tasks.browse", command)
    found = views.open_tasks(call.db, command.category, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda task: task.id)
    participants = views.participants_of(call.db, [task.id for task in shown])
    entries = _entries_of(call, shown)
    rows = [
        _row(
            task,
            TaskState.OPEN,
            views.furthest_of_open(task),
            participants[task.id],
            _subject(task, entries),
        )
        for task in shown
    ]
    return Answer(TaskList(tasks=rows, next_cursor=next_cursor))


def read(call: ReadCall, caller: Reader, command: TaskPath) -> Answer[TaskDetail]:
    """Errors: Refusal not_found."""
    task = views.find_task(call.db, command.id)
    if task is None:
        raise _no_task(command.id)
    state = views.state_at(call.db, task, call.now)
    row = _row(
        task,
        state,
        views.furthest_of(call.db, task, state),
        views.participants_of(call.db, [task.id])[task.id],
        _subject(task, _entries_of(call, [task]), is_whole=_sees_whole(call, caller, task)),
    )
    return Answer(
        TaskDetail.of(
            task,
            **dict(row),
            proofs_total=task.proofs,
            proofs=_proofs(call, caller, task, state),
        )
    )


def own_claims(call: ReadCall, caller: AgentCaller, command: OwnClaims) -> Answer[ClaimList]:
    page = page_of(call, "tasks.own_claims", command)
    found = views.claims_of(call.db, caller.account_id, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda one: one.claim.id)
    entries = _entries_of(call, [one.task for one in shown])
    own = [_claim(one, entries) for one in shown]
    return Answer(ClaimList(claims=own, next_cursor=next_cursor))


# Write


def claim(call: WriteCall, caller: AgentCaller, command: TaskPath) -> Answer[ClaimBody]:
    """Errors: Refusal not_found, own_subject, already_claimed, already_submitted, task_closed,
    claim_lapsed, too_many_claims, credit_insufficient.
    """
    require_unlocked(call, caller.account_id)
    bond_credits = _bond(call, caller)
    limits = call.deps.limits
    bounds = ClaimBounds(
        limits.open_task_claims_per_person,
        limits.open_task_claims_per_address,
        payout_limits(limits).shared_funders,
    )
    with _named_faults(command.id):
        made = claims.claim(
            call.db,
            command.id,
            _claimant(caller),
            bond_credits,
            timedelta(hours=limits.task_claim_hours),
            call.now,
            bounds,
        )
    return Answer(_shown(call, made), status=201)


def submit_proof(call: WriteCall, caller: AgentCaller, command: SubmitProof) -> Answer[ClaimBody]:
    """Errors: InvalidParameterError; Refusal not_found, not_claimed, claim_expired,
    already_submitted, task_closed.
    """
    task = views.find_task(call.db, command.task_id)
    if task is None:
        raise _no_task(command.task_id, "task_id")
    proof = _new_proof(call, command, task.category)
    with _named_faults(command.task_id):
        filed = claims.submit_proof(call.db, task.id, _claimant(caller), proof, call.now)
    return Answer(_shown(call, filed.claim_id), status=201)


def create(call: WriteCall, caller: OperatorCaller, command: CreateTask) -> Answer[TaskRow]:
    """Errors: InvalidParameterError, InvalidNumberError; Refusal already_submitted."""
    is_gold = command.category == REOBSERVE
    for name in ("gold", "agent_id"):
        _require_sent(command, name, is_gold, "a re-observation")
    for name in ("title", "points", "subject"):
        _require_sent(command, name, not is_gold, "a task of another category")
    task_id = _submit_gold(call, caller, command) if is_gold else _offer(call, caller, command)
    task = views.find_task(call.db, task_id)
    assert task is not None, "it was made just now"
    subject = _subject(task, _entries_of(call, [task]))
    return Answer(_row(task, TaskState.OPEN, ClaimStage.OPEN, (), subject), status=201)


def _require_sent(command: CreateTask, name: str, is_wanted: bool, kind: str) -> None:
    """Errors: InvalidParameterError."""
    is_sent = getattr(command, name) is not None
    if is_wanted and not is_sent:
        raise InvalidParameterError(name, f"send it; {kind} has it")
    if is_sent and not is_wanted:
        raise InvalidParameterError(name, "leave it out; a task of this category has none")


def _offer(call: WriteCall, caller: OperatorCaller, command: CreateTask) -> int:
    """Errors: InvalidParameterError."""
    title, subject, tenths = command.title or "", command.subject or "", command.points or 0
    return market.create_task(
        call.db,
        command.category,
        title,
        tenths,
        subject,
        caller.account_id,
        call.now,
    )


def _submit_gold(call: WriteCall, caller: OperatorCaller, command: CreateTask) -> int:
    """The re-observation of a value that is known to be wrong. Errors: InvalidParameterError."""
    value, agent_id = command.gold, command.agent_id
    if value is None or agent_id is None or not call.deps.parts.of(House).is_house(agent_id):
        raise InvalidParameterError("agent_id", "name an agent that the house runs")
    with fields_in("gold"):
        made = gold.submit(
            call.db,
            agent_id,
            value.exchange,
            value.symbol,
            value.field_name,
            value.field_value,
            value.evidence_url,
            caller.account_id,
            call.now,
        )
    return made.entries[0].task_id


def give_verdict(
    call: WriteCall, caller: OperatorCaller, command: GiveVerdict
) -> Answer[ClaimBody]:
    """Errors: InvalidParameterError; Refusal not_found, conflict_of_interest, wrong_status."""
    found = views.find_claim(call.db, command.id)
    if found is None:
        raise Refusal("not_found", f"There is no claim {command.id}.", next_calls=())
    require_not_own(call, caller, found.claim.agent_id, f"Claim {command.id}")
    with _named_faults(found.task.id):
        claims.give_verdict(
            call.db,
            command.id,
            VerdictWord(command.verdict),
            command.note,
            caller.account_id,
            payout_limits(call.deps.limits),
            call.now,
        )
    return Answer(_shown(call, command.id))


def _bond(call: WriteCall, caller: AgentCaller) -> int:
    """What the claim locks: from defense level 2 on, without standing."""
    if not takes_bond(safety.defense_level(call.db)) or has_standing(call.db, caller.account_id):
        return 0
    return call.deps.limits.bond_credits


def _claimant(caller: AgentCaller) -> Claimant:
    return Claimant(caller.account_id, person_of(caller.account_id, caller.owner_id))


def _new_proof(call: WriteCall, command: SubmitProof, category: str) -> NewProof:
    """Errors: InvalidParameterError."""
    is_reobservation = not is_exclusive(category)
    if is_reobservation and command.verdict is None:
        raise InvalidParameterError("verdict", "write match, mismatch or unverifiable")
    if not is_reobservation and command.verdict is not None:
        raise InvalidParameterError("verdict", "leave it out; a re-observation alone has one")
    if is_reobservation and command.source_url is None:
        raise InvalidParameterError("source_url", "send it; name where you looked")
    require_observed(command.observed_at, call.now)
    if command.source_url is not None:
        require_https("source_url", command.source_url)
    return NewProof(
        verdict=None if command.verdict is None else ProofVerdict(command.verdict),
        observed_at=command.observed_at,
        observed_result=command.observed_result,
        source_url=command.source_url,
    )


# Refusals


@contextmanager
def _named_faults(task_id: int) -> Iterator[None]:
    """What the market refuses, as refusals that say it by name."""
    try:
        yield
    except UnknownTaskError as error:
        raise Refusal("not_found", str(error), next_calls=("tasks.browse",)) from error
    except TaskRefusedError as error:
        calls = _next_calls(error.fault, task_id)
        raise _named(error.fault.value, str(error), calls, error.until) from error
    except NotEnoughCreditsError as error:
        raise _lacks_bond(error) from error


def _next_calls(fault: TaskFault, task_id: int) -> tuple[str | NextCall, ...]:
    if fault is TaskFault.NOT_CLAIMED:
        return (NextCall("tasks.claim", {"id": str(task_id)}),)
    if fault is TaskFault.WRONG_STATUS:
        return (NextCall("tasks.read", {"id": str(task_id)}),)
    if fault is TaskFault.TOO_MANY_CLAIMS:
        return ("tasks.own_claims",)
    return ("tasks.browse", "tasks.own_claims")


def _named(
    reason: str,
    detail: str,
    next_calls: tuple[str | NextCall, ...],
    retry_at: datetime | None = None,
) -> Refusal:
    """With its name beside the sentence: these answers carry no block."""
    extra = {"error": reason}
    return Refusal(reason, detail, extra=extra, retry_at=retry_at, next_calls=next_calls)


def _no_task(task_id: int, field: str = "id") -> Refusal:
    return Refusal(
        "not_found", f"{field}: there is no task {task_id}.", next_calls=("tasks.browse",)
    )


def _lacks_bond(error: NotEnoughCreditsError) -> Refusal:
    needed, available = error.needed, error.available
    return lacks_credits(
        f"Without standing a claim locks a bond of {needed} credits now, earned or converted; you "
        f"have {available} of these. It is given back when the claim settles or expires.",
        needed,
        available,
    )


# Answers


def _row(
    task: Task,
    state: TaskState,
    furthest: ClaimStage,
    participants: Sequence[Participant],
    subject: TaskSubject,
) -> TaskRow:
    tenths = tenths_on_approval(task.category, task.tenths)
    source = Source.TASK if is_exclusive(task.category) else Source.REOBSERVE
    return TaskRow.of(
        task,
        status=state,
        subject=subject,
        points=points_text(tenths),
        points_channel=source.value,
        credit_on_approval=credits_of(tenths),
        credit_reward=LEGACY_REWARD,
        progress=Progress(furthest=furthest.value),
        participants=[one.name for one in participants],
        participant_ids=[one.agent_id for one in participants],
        participants_total=task.participants,
    )


def _entries_of(call: Call, tasks: Sequence[Task]) -> Mapping[int, MiningEntry]:
    """What re-observations look at."""
    ids = [task.entry_id for task in tasks if task.entry_id is not None]
    return entries_by_id(call.db, ids)


def _subject(
    task: Task, entries: Mapping[int, MiningEntry], *, is_whole: bool = False
) -> TaskSubject:
    """`is_whole`: whoever asks may see the value as it was submitted."""
    entry = None if task.entry_id is None else entries.get(task.entry_id)
    return TaskSubject(
        text=task.subject,
        token_id=task.token_id,
        field_name=task.field_name,
        shown_value=None if entry is None else redact_value(entry.value),
        evidence_host=None if entry is None else evidence_host(entry.evidence_url),
        value=entry.value if entry is not None and is_whole else None,
        evidence_url=entry.evidence_url if entry is not None and is_whole else None,
    )


def _sees_whole(call: Call, caller: Reader, task: Task) -> bool:
    """The submitter, and whoever holds an open claim; of an owner one of its agents."""
    if isinstance(caller, Nobody):
        return False
    is_agent, own_id = isinstance(caller, AgentCaller), caller.account_id
    agent_ids = [own_id] if is_agent else identity.agent_ids_of_owner(call.db, own_id)
    return task.submitter_id in agent_ids or views.holds_open_claim(call.db, task.id, agent_ids)


def _proofs(call: Call, caller: Reader, task: Task, state: TaskState) -> list[ShownVerdict]:
    if state is TaskState.SETTLED:
        return [_filed(one) for one in views.proofs_shown(call.db, task)]
    if not isinstance(caller, AgentCaller):
        return []
    return [_filed(one) for one in views.proofs_shown(call.db, task, caller.account_id)]


def _filed(shown: ShownProof) -> ShownVerdict:
    proof = shown.proof
    return ShownVerdict.of(
        proof,
        user_id=proof.agent_id,
        agent_name=shown.agent_name,
        filed_at=proof.received_at,
        stage=shown.stage,
        points=points_text(shown.tenths),
    )


def _shown(call: Call, claim_id: int) -> ClaimBody:
    found = views.find_claim(call.db, claim_id)
    assert found is not None, "it was written just now"
    return _claim(found, _entries_of(call, [found.task]))


def _claim(shown: ShownClaim, entries: Mapping[int, MiningEntry]) -> ClaimBody:
    """As the claimant and operators see it: the whole value while the claim is open."""
    found, filed = shown.claim, shown.proof
    return ClaimBody.of(
        found,
        claim_id=found.id,
        task_id=shown.task.id,
        user_id=found.agent_id,
        category=shown.task.category,
        title=shown.task.title,
        subject=_subject(shown.task, entries, is_whole=shown.stage in OPEN_CLAIMS),
        status=shown.stage,
        points=points_text(found.tenths),
        bond_held=found.is_bond_held,
        proof=None
        if filed is None
        else OwnProof.of(filed, proof_id=filed.id, filed_at=filed.received_at),
    )
