"""The one way in: every HTTP route and every tool enters through `perform`.

    secret guard -> who calls -> ceiling -> scope -> command -> idempotency -> [ savepoint: service ] -> count -> commit

Laws
- One call is one transaction, committed here and nowhere else. The service runs in a savepoint: a refusal undoes what it
  wrote, unless it says `keeps_write`; the count of the call survives either way (law 8).
- A GET reads one read-only snapshot; its count is a transaction of its own after it.
- Whatever happens, a caller gets a body that says what to do. Bodies, keys and tokens are never logged.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

import structlog
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from api.catalog import Family
from api.kernel import idempotency
from api.kernel.caller import AgentCaller, Caller, Nobody
from api.kernel.credentials import Credentials, Proven, caller_for, prove
from api.kernel.operation import Answer, Call, Command, Deps, Operation, Outcome, Refusal
from api.kernel.quota import Quota
from api.kernel.refusals import path_ids, refusal_of, refused
from api.kernel.scopes import require_scope
from api.kernel.secrets_guard import refuse_secrets
from api.kernel.validation import command_of
from core.db.engine import WriteSession
from core.domain.errors import MandateError, OutsideError

log = structlog.get_logger("api")

UNDEFINED_TABLE, UNDEFINED_COLUMN = "42P01", "42703"


@dataclass(slots=True)
class _Run:
    """One call on its way through the pipeline; `caller` and `quota` fill in as they become known."""

    operation: Operation
    credentials: Credentials
    fields: Mapping[str, Any]
    deps: Deps
    idempotency_key: str | None
    request_id: str
    unreadable: Refusal | None
    now: datetime
    caller: Caller = field(default_factory=Nobody)
    quota: Quota | None = None

    @property
    def ids(self) -> dict[str, str]:
        ids = path_ids(self.operation.row.path, self.fields)
        return ids | {"agents": str(self.caller.account_id)} if isinstance(self.caller, AgentCaller) else ids


def perform(
    operation: Operation,
    credentials: Credentials,
    fields: Mapping[str, Any],
    deps: Deps,
    *,
    idempotency_key: str | None = None,
    request_id: str,
    unreadable: Refusal | None = None,
) -> Outcome:
    """Serve one call. `fields` are path, query and body merged, as api.kernel.body read them.

    `unreadable`: why the body could not be read; the caller hears it after credentials and ceiling, like any bad input.

    Errors: none that a caller can cause; what is left (a defect of ours) is the edge's to answer.
    """
    began = time.monotonic()
    run = _Run(operation, credentials, fields, deps, idempotency_key, request_id, unreadable, deps.clock())
    outcome = _served(run)
    _log(run, outcome, time.monotonic() - began)
    return outcome


def _served(run: _Run) -> Outcome:
    try:
        if run.operation.row.family is Family.WALLET:
            refuse_secrets(run.fields)
        return _read(run) if run.operation.row.method == "GET" else _write(run)
    except Refusal as refusal:
        return _refused(run, refusal)
    except SQLAlchemyError as error:
        return _refused(run, _database_refusal(error, run))


def _read(run: _Run) -> Outcome:
    with run.deps.database.read() as session:
        # The snapshot stands where services expect a session; the database itself refuses a write on it.
        outcome = _settle(run, lambda: _answer_read(run, cast("WriteSession", session)))
    if run.quota is None:
        return outcome
    with run.deps.database.write() as counting:
        return _counted(run.quota, counting, outcome)


def _write(run: _Run) -> Outcome:
    with run.deps.database.write() as session:
        outcome = _settle(run, lambda: _answer_write(run, session))
        return outcome if run.quota is None else _counted(run.quota, session, outcome)


def _settle(run: _Run, answer: Callable[[], Outcome]) -> Outcome:
    """The outcome of a call whose transaction goes on: refusals become answers here, so that the call is still counted."""
    try:
        return answer()
    except Refusal as refusal:
        return _refused(run, refusal)


def _answer_read(run: _Run, session: WriteSession) -> Outcome:
    _admit(run, session)
    command = _command(run)
    return _outcome(_serve(run, session, command))


def _answer_write(run: _Run, session: WriteSession) -> Outcome:
    _admit(run, session)
    command = _command(run)
    slot = idempotency.slot_of(run.operation, run.caller, run.ids, command, run.idempotency_key)
    kept = None if slot is None else idempotency.claim(session, slot)
    if kept is not None:
        return kept
    with session.begin_nested():
        outcome = _serve_in_savepoint(run, session, command)
        if slot is not None:
            slot.keep(session, outcome, run.now)
    return outcome


def _admit(run: _Run, session: WriteSession) -> None:
    """Who calls, and whether they may: credentials, ceiling, route, scope. Errors: Refusal."""
    proven = Proven(None, None, None)
    if run.credentials.key is not None or run.credentials.bearer is not None:
        proven = prove(session, run.credentials, run.deps, run.now)
    if proven.key_id is not None:
        quota = Quota(proven.key_id, run.deps.limits.daily_calls, run.now)
        quota.require_left(session)
        run.quota = quota
    run.caller = caller_for(run.operation.row, proven, run.deps.operator_addresses)
    require_scope(run.operation.row, run.caller)


def _command(run: _Run) -> Command:
    if run.unreadable is not None:
        raise run.unreadable
    return command_of(run.operation.command_type, run.fields)


def _serve_in_savepoint(run: _Run, session: WriteSession, command: Command) -> Outcome:
    """A refusal that keeps what it wrote ends the savepoint like an answer; any other leaves it by raising."""
    try:
        return _outcome(_serve(run, session, command))
    except Refusal as refusal:
        if not refusal.keeps_write:
            raise
        return _refused(run, refusal)


def _serve(run: _Run, session: WriteSession, command: Command) -> Answer:
    call = Call(db=session, now=run.now, deps=run.deps, request_id=run.request_id, client=run.credentials.client)
    try:
        return run.operation.service(call, run.caller, command)
    except MandateError as error:
        raise refusal_of(error) from error
    except OutsideError as error:
        log.warning("outside", operation=run.operation.key, request_id=run.request_id, error=str(error))
        raise Refusal("temporarily_unavailable", "A part outside this service does not answer; send the call again later.") from error


def _counted(quota: Quota, session: WriteSession, outcome: Outcome) -> Outcome:
    """Errors: Refusal rate_limited, which undoes the whole call: another one took the day's last place meanwhile."""
    left = quota.count(session)
    return replace(outcome, headers={**outcome.headers, **quota.headers(left)})


def _outcome(answer: Answer) -> Outcome:
    return Outcome(answer.status, answer.body, answer.headers, answer.lines)


def _refused(run: _Run, refusal: Refusal) -> Outcome:
    return refused(refusal, run.operation.row, run.ids, run.now)


def _database_refusal(error: SQLAlchemyError, run: _Run) -> Refusal:
    log.error("database", operation=run.operation.key, request_id=run.request_id, error=type(error).__name__, cause=_sqlstate(error))
    if _sqlstate(error) in (UNDEFINED_TABLE, UNDEFINED_COLUMN):
        return Refusal("schema_not_applied", "The database lacks this version's tables; its operator applies the migrations.")
    return Refusal("temporarily_unavailable", "The database does not answer or is busy; send the call again in a moment.")


def _sqlstate(error: SQLAlchemyError) -> str | None:
    return getattr(error.orig, "sqlstate", None) if isinstance(error, DBAPIError) else None


def _log(run: _Run, outcome: Outcome, took_s: float) -> None:
    service = outcome.body.get("service")
    log.info(
        "call",
        operation=run.operation.key,
        status=outcome.status,
        reason=service.get("reason") if isinstance(service, Mapping) else None,
        agent_id=run.caller.account_id if isinstance(run.caller, AgentCaller) else None,
        request_id=run.request_id,
        ms=round(took_s * 1000, 1),
    )
