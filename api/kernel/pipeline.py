"""The one way in: every HTTP route and every tool enters through `perform`.

    key and count -> secret guard -> other credentials -> scope -> command -> idempotency -> service -> commit

Laws
- A key is proven and its call counted by one statement that commits at once, before anything else:
  whatever becomes of the call, it is counted once, and a call over the ceiling reaches no service
  (docs/rules.md#calls-per-day). Of a stream that is opened again the first one in an hour is
  (docs/api-guide.md#events).
- What follows is one transaction, committed here and nowhere else; a refusal undoes it, unless it
  says `keeps_write` (law 8). A GET reads one read-only snapshot. A write that is one statement may
  run by itself (WriteCall.runs), as the last thing that can be refused.
- A read that has a price is charged when its answer is ready (api/payments/metered.py), a
  refused one never. Where a payment is to be settled, that is left to other threads (Unsettled): it
  waits for a chain.
- Whatever happens, a caller gets a body that says what to do. Bodies, keys and tokens are never
  logged.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from pydantic import BaseModel
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from api.kernel import idempotency, quota
from api.kernel.built import BuiltBody, encoded
from api.kernel.caller import AgentCaller, Caller, Nobody, OperatorCaller, OwnerCaller
from api.kernel.credentials import (
    Credentials,
    Proven,
    caller_for,
    prove_bearer,
    prove_key,
)
from api.kernel.idempotency import SecretSlot
from api.kernel.metrics import Served, log_call
from api.kernel.operation import (
    Access,
    Answer,
    Command,
    Deps,
    Family,
    Operation,
    ReadCall,
    Refusal,
    Settle,
    ShownSecrets,
    Sold,
    WriteCall,
)
from api.kernel.outcome import JSON, Outcome
from api.kernel.quota import Quota
from api.kernel.refusals import path_ids, refusal_of, refused, url_of
from api.kernel.sale import NO_PAYMENT, MeteredRead, OneSale, SentPayment
from api.kernel.scopes import require_scope
from api.kernel.secrets_guard import refuse_secrets
from api.kernel.streams import Holder, OpenedStream
from api.kernel.tokens import mint
from api.kernel.validation import command_of
from core.db.engine import ReadSession, WriteSession
from core.errors import MandateError, OutsideError

log = structlog.get_logger("api")

UNDEFINED_TABLE, UNDEFINED_COLUMN = "42P01", "42703"


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A call whose answer is ready, and whose payment is still to be looked up or settled: one of
    the two ends it.
    """

    settle: Callable[[], Outcome]
    refuse: Callable[[Refusal], Outcome]


@dataclass(frozen=True, slots=True)
class SentFields:
    """What a caller sent for an operation, as api.kernel.body read it: path, query and body merged, and
    why they are not whole, if so; the caller hears it after credentials and ceiling, like any bad input.

    What could be read is given in either case.
    """

    fields: Mapping[str, Any]
    unreadable: Refusal | None = None
    idempotency_key: str | None = None


@dataclass(slots=True, kw_only=True)
class Run:
    """One call on its way through the pipeline; what it proves fills in as it becomes known.

    A list that has more than `most_characters` is read with a smaller limit.
    """

    operation: Operation
    credentials: Credentials
    sent: SentFields
    deps: Deps
    request_id: str
    payment: SentPayment = NO_PAYMENT
    most_characters: int | None = None
    now: datetime = field(init=False)
    measuring: ExitStack = field(default_factory=ExitStack)
    served: Served = field(default_factory=Served)
    by_key: AgentCaller | OperatorCaller | None = None
    quota: Quota | None = None
    caller: Caller = field(default_factory=Nobody)

    def __post_init__(self) -> None:
        self.now = self.deps.clock()

    @property
    def ids(self) -> dict[str, str]:
        ids = path_ids(self.operation.path, self.sent.fields)
        return (
            ids | {"agents": str(self.caller.account_id)}
            if isinstance(self.caller, AgentCaller)
            else ids
        )


def perform(run: Run) -> Outcome | Unsettled:
    """Serve one call. Errors: none that a caller can cause; what is left (a defect of ours) is the edge's
    to answer.
    """
    run.served = run.measuring.enter_context(run.deps.metrics.serving(run.operation.key))
    outcome = _step(run, _answered)
    if isinstance(outcome, Outcome):
        return outcome
    settle = outcome
    return Unsettled(
        lambda: _last_step(run, lambda _: settle()),
        lambda refusal: _last_step(run, partial(_raise, refusal)),
    )


def _step(run: Run, step: Callable[[Run], Outcome | Settle]) -> Outcome | Settle:
    """The call's outcome, measured and logged, or what is left to do for it."""
    with ExitStack() as ends:
        ends.push(run.measuring)
        outcome = _served(run, step)
        if not isinstance(outcome, Outcome):
            ends.pop_all()
            return outcome
        if run.quota is not None:
            outcome = replace(outcome, headers={**outcome.headers, **run.quota.headers()})
        run.served.answered(outcome.status, outcome.body)
    agent_id = run.by_key.account_id if isinstance(run.by_key, AgentCaller) else None
    log_call(run.operation.key, run.served, run.request_id, agent_id)
    return outcome


def _last_step(run: Run, step: Callable[[Run], Outcome]) -> Outcome:
    outcome = _step(run, step)
    assert isinstance(outcome, Outcome), "a payment is settled in one go"
    return outcome


def _raise(refusal: Refusal, run: Run) -> Outcome:
    run.now = run.deps.clock()  # it has waited, and Retry-After counts from now
    raise refusal


def _served(run: Run, step: Callable[[Run], Outcome | Settle]) -> Outcome | Settle:
    try:
        with _outside(run):
            return step(run)
    except Refusal as refusal:
        return _refused(run, refusal)
    except SQLAlchemyError as error:
        return _refused(run, _database_refusal(error, run))


def _answered(run: Run) -> Outcome | Settle:
    secret = _secret(run)
    if run.credentials.key is not None:
        try:
            run.by_key, run.quota = prove_key(
                run.credentials.key, run.deps, run.now, opens_stream=run.operation.streams
            )
            run.quota.require_admitted()
        except Refusal as refusal:
            raise secret or refusal from None
    if secret is not None:
        raise secret
    return _read(run) if run.operation.method == "GET" else _write(run)


def _secret(run: Run) -> Refusal | None:
    """Why a wallet route does not look at this call at all, if so; it is the answer whatever the
    credentials are.
    """
    if run.operation.family is Family.WALLET:
        try:
            refuse_secrets(run.sent.fields)
        except Refusal as refusal:
            return refusal
    return None


def _read(run: Run) -> Outcome | Settle:
    answer = run.deps.database.reading(partial(_answer_read, run))
    outcome = _outcome(run, answer)
    sale = answer.sale
    if run.operation.sold is None or (sale is not None and sale.is_covered):
        return outcome
    return _charged(run, run.operation.sold, outcome, sale)


def _charged(run: Run, sold: Sold[Any], outcome: Outcome, sale: OneSale | None) -> Outcome | Settle:
    resource = url_of(run.deps.base_url, run.operation, run.sent.fields)
    slot = idempotency.slot_of(
        run.operation, run.caller, run.ids, _command(run), run.sent.idempotency_key
    )
    read = MeteredRead(
        operation=run.operation,
        caller=run.caller,
        resource=resource,
        payment=run.payment,
        client=run.credentials.client,
        idempotency_key=run.sent.idempotency_key,
        slot=slot,
        deps=run.deps,
        now=run.now,
        sale=sale,
    )
    return sold.charged(read, outcome)


def _write(run: Run) -> Outcome:
    with run.deps.database.write() as session:
        return _answer_write(run, session)


def _answer_read(run: Run, session: ReadSession) -> Answer[BaseModel]:
    _admit(run, session)
    command = _command(run)
    call = ReadCall(
        db=session,
        now=run.now,
        deps=run.deps,
        request_id=run.request_id,
        client=run.credentials.client,
    )
    answer = run.operation.handler(call, run.caller, command)
    while (smaller := _smaller(run, command, answer)) is not None:
        command = smaller
        answer = run.operation.handler(call, run.caller, command)
    return answer


def _smaller(run: Run, command: Command, answer: Answer[BaseModel]) -> Command | None:
    """What to read instead of a page that is too long; None: it is not, or it is no page."""
    limit: int | None = getattr(command, "limit", None)
    if run.most_characters is None or limit is None or limit <= 1:
        return None
    size = len(encoded(_body(answer)))
    if size <= run.most_characters:
        return None
    fitting = limit * run.most_characters // size  # the page may have fewer rows than its limit
    return command.model_copy(update={"limit": max(1, min(limit // 2, fitting))})


def _answer_write(run: Run, session: WriteSession) -> Outcome:
    """A refusal that keeps what it wrote ends the transaction like an answer; any other undoes it
    by raising.
    """
    _admit(run, session)
    command = _command(run)
    slot = idempotency.slot_of(
        run.operation, run.caller, run.ids, command, run.sent.idempotency_key
    )
    if slot is not None and run.operation.secrets is not None:
        is_known = run.operation.secrets is ShownSecrets.TO_SENDER or not isinstance(
            run.caller, Nobody
        )
        shown_to = None if is_known else run.credentials.client
        slot = idempotency.secret_slot(slot, run.deps.pepper, run.now, shown_to)
    kept = None if slot is None else idempotency.claim(session, slot)
    if kept is not None:
        return kept
    call = WriteCall(
        db=session,
        now=run.now,
        deps=run.deps,
        request_id=run.request_id,
        client=run.credentials.client,
        mint=slot.mint if isinstance(slot, SecretSlot) else mint,
        keeps_answer=slot is not None,
    )
    try:
        outcome, keeps_key = _outcome(run, run.operation.handler(call, run.caller, command)), True
        if run.operation.bounds.adds_rows and isinstance(run.caller, OwnerCaller):
            quota.count_write(session, run.caller, run.deps.limits, run.now)
    except Refusal as refusal:
        if not refusal.keeps_write:
            raise
        outcome, keeps_key = _refused(run, refusal), refusal.keeps_key
    if slot is not None and keeps_key:
        slot.keep(session, outcome, run.now)
    return outcome


def _admit(run: Run, session: Session) -> None:
    """Who calls, and whether they may: the other credentials, route, scope. Errors: Refusal."""
    bearer = run.credentials.bearer
    by_bearer = None if bearer is None else prove_bearer(session, bearer, run.deps, run.now)
    run.caller = caller_for(
        run.operation, Proven(run.by_key, by_bearer), run.deps.parts.of(Access).operator_addresses
    )
    require_scope(run.operation, run.caller)


def _command(run: Run) -> Command:
    if run.sent.unreadable is not None:
        raise run.sent.unreadable
    return command_of(run.operation.command, run.sent.fields)


@contextmanager
def _outside(run: Run) -> Iterator[None]:
    """Errors: Refusal, for the domain's rules and for parts outside this service."""
    try:
        yield
    except MandateError as error:
        raise refusal_of(error) from error
    except OutsideError as error:
        log.warning(
            "outside", operation=run.operation.key, request_id=run.request_id, error=str(error)
        )
        raise Refusal(
            "temporarily_unavailable",
            "A part outside this service does not answer; send the call again later.",
        ) from error


def _outcome(run: Run, answer: Answer[BaseModel]) -> Outcome:
    file = None if answer.file is None else answer.file()
    body = _body(answer)
    is_json = run.operation.media[0] == JSON and file is None and answer.lines is None
    if is_json and not isinstance(body, BuiltBody):
        body = BuiltBody(body)
    stream = None if answer.events is None else OpenedStream(answer.events, _holder(run))
    return Outcome(
        answer.status, body, answer.headers, run.operation.media[0], answer.lines, file, stream
    )


def _body(answer: Answer[BaseModel]) -> Mapping[str, Any]:
    if isinstance(answer.body, BuiltBody):
        return answer.body
    return answer.body.model_dump(mode="json", exclude_unset=True, by_alias=True)


def _holder(run: Run) -> Holder:
    caller, scope = run.caller, run.operation.scope
    if isinstance(caller, OwnerCaller):
        return Holder(counts_as=("owner", caller.account_id), session_id=caller.session_id)
    assert isinstance(caller, AgentCaller), "streams are for keys and owners"
    key_id, generation = caller.key_id, caller.generation
    return Holder(counts_as=("key", key_id), key_id=key_id, generation=generation, scope=scope)


def _refused(run: Run, refusal: Refusal) -> Outcome:
    return refused(refusal, run.operation, run.ids, run.now, run.deps.catalogue)


def _database_refusal(error: SQLAlchemyError, run: Run) -> Refusal:
    log.error(
        "database",
        operation=run.operation.key,
        request_id=run.request_id,
        error=type(error).__name__,
        cause=_sqlstate(error),
    )
    if _sqlstate(error) in (UNDEFINED_TABLE, UNDEFINED_COLUMN):
        return Refusal(
            "schema_not_applied",
            "The database lacks this version's tables; its operator must apply the migrations.",
        )
    return Refusal(
        "temporarily_unavailable",
        "The database is busy, accepts no writes or does not answer; try again in a moment.",
    )


def _sqlstate(error: SQLAlchemyError) -> str | None:
    return getattr(error.orig, "sqlstate", None) if isinstance(error, DBAPIError) else None
