"""Whether each part works, with its lag and what to do: /health/live and /health/ready.

A part is `down` when the service can't do its job without it, `degraded` when it works late. One
part's failure never hides another's: what can't be read is null, and its part says why.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from api.areas.discovery.schemas import HealthPart, HealthParts, Live, Ready, SlowJob
from api.kernel.caller import Nobody
from api.kernel.operation import Access, Answer, Call, NoInput
from core.chain.reader import LATEST
from core.db import revisions
from core.db.leadership import leader_row
from core.db.outage import SAYS, OutageError
from core.db.replicas import ForeignReplicaError
from core.errors import OutsideError
from core.health import views as health
from core.health.rules import (
    BEAT_DOWN_S,
    FOREIGN_REPLICA,
    Health,
    HealthVerdict,
    judge_head,
    judge_indexer,
    judge_replica,
)
from core.jobs import queries as jobs
from core.jobs.rules import LastRun, troubles
from core.market.scans import IMPORTING, troubled
from core.times import instant_text

KEEPER_LEADER = "keeper"
SCANNER_LEADER = "scanner"


def live(call: Call, caller: Nobody, command: NoInput) -> Answer[Live]:
    return Answer(Live(status="ok"))


def ready(call: Call, caller: Nobody, command: NoInput) -> Answer[Ready]:
    """200 while every part is ok or degraded, 503 while one is down."""
    head, chain_part = _chain(call)
    parts = HealthParts(
        database=_checked(call, _database),
        migrations=_checked(call, _migrations),
        indexer=_checked(call, partial(_indexer, head=head)),
        keeper=_checked(call, _keeper),
        scanner=_checked(call, _scanner),
        chain=chain_part,
    )
    found = {part.status for _, part in parts}
    worst = next(
        (health for health in (Health.DOWN, Health.DEGRADED) if health in found), Health.OK
    )
    return Answer(Ready(status=worst, parts=parts), 503 if worst is Health.DOWN else 200)


def _part(
    status: Health, lag_s: int | None = None, lag_blocks: int | None = None, note: str | None = None
) -> HealthPart:
    return HealthPart(status=status, lag_s=lag_s, lag_blocks=lag_blocks, note=note)


def _judged(verdict: HealthVerdict) -> HealthPart:
    return _part(verdict.health, verdict.lag_s, verdict.lag_blocks, verdict.note)


def _checked(call: Call, check: Callable[[Call], HealthPart]) -> HealthPart:
    try:
        return check(call)
    except SQLAlchemyError as error:
        # a failed statement ends its transaction; the next part asks in a new one
        call.db.rollback()
        if isinstance(error, OutageError):
            return _part(Health.DOWN, note=str(error))
        return _part(
            Health.DOWN,
            note=f"The database did not answer ({type(error).__name__}); check DATABASE_URL and "
            "that Postgres runs.",
        )


def _database(call: Call) -> HealthPart:
    """Of the primary, which the call itself need not be read from; a replica in trouble makes it
    degraded.
    """
    replicas = call.deps.database.replicas
    with nullcontext(call.db) if replicas is None else call.deps.database.read() as primary:
        health.recorded_revisions(primary)
        kind = health.outage(primary)
    if kind is not None:
        return _part(Health.DOWN, note=f"The database is unavailable: {SAYS[kind]}.")
    try:
        note = None if replicas is None else judge_replica(replicas.lag_s(), replicas.most_lag_s)
    except ForeignReplicaError:
        note = FOREIGN_REPLICA
    return _part(Health.OK if note is None else Health.DEGRADED, 0, note=note)


def _migrations(call: Call) -> HealthPart:
    found = health.recorded_revisions(call.db)
    why = revisions.behind(found) or revisions.ahead(found)
    return _part(Health.OK) if why is None else _part(Health.DOWN, note=f"The database: {why}.")


def _chain(call: Call) -> tuple[int | None, HealthPart]:
    """The node's height, and its part.

    `lag_s`: how long ago the newest block was mined, by this machine's clock.
    """
    try:
        chain_id = call.deps.chain.chain_id()
        header = call.deps.chain.header(LATEST)
    except OutsideError as error:
        return None, _part(
            Health.DOWN, note=f"No node in RPC_URLS answers ({type(error).__name__}); check them."
        )
    if chain_id != call.deps.chain_id:
        return None, _part(
            Health.DOWN,
            note=f"The node is on chain {chain_id}, not {call.deps.chain_id}; check RPC_URLS and "
            "CHAIN_ID.",
        )
    if header is None:
        return None, _part(
            Health.DOWN, note="The node returns no latest block; check that it is synced."
        )
    return header.number, _judged(
        judge_head(header.timestamp, call.now, is_local=call.deps.parts.of(Access).is_local)
    )


def _keeper(call: Call) -> HealthPart:
    """Its tick first; a slow job in trouble makes it degraded, and each trouble says what to do."""
    runs = jobs.last_runs(call.db)
    part = _loop(call, KEEPER_LEADER, "python -m keeper.main run")
    found = troubles(runs, call.now)
    if found and part.status is not Health.DOWN:
        part = part.model_copy(
            update={
                "status": Health.DEGRADED,
                "note": " ".join([*([part.note] if part.note else []), *found]),
            }
        )
    return part.model_copy(update={"jobs": [_slow_job(run, call.now) for run in runs]})


def _scanner(call: Call) -> HealthPart:
    """Never down: mandates do their work without it. `lag_s`: since its last heartbeat."""
    part = _loop(call, SCANNER_LEADER, "python -m indexer.main scan")
    late = [f"{one.exchange} is {one.state} ({one.reason})" for one in troubled(call.db)]
    if part.status is Health.DOWN:
        return part.model_copy(update={"status": Health.DEGRADED})
    row = leader_row(call.db, SCANNER_LEADER)
    if row is not None and row.status.get("state") == IMPORTING:
        return part.model_copy(
            update={"status": Health.DEGRADED, "note": "It is importing the simulated past."}
        )
    if late:
        note = f"{'; '.join(late)}; the others go on."
        return part.model_copy(update={"status": Health.DEGRADED, "note": note})
    return part


def _slow_job(run: LastRun, now: datetime) -> SlowJob:
    """`outcome` is null while it is under way. How long a run took is a metric alone: one of the paper
    follower takes longer where it trades on a live signal.
    """
    return SlowJob(
        name=run.name,
        last_start=instant_text(run.started_at),
        age_s=run.age_s(now),
        next_due=instant_text(run.due_at),
        outcome=run.outcome,
        note=run.trouble(now),
    )


def _loop(call: Call, name: str, command: str) -> HealthPart:
    row = leader_row(call.db, name)
    if row is None:
        return _part(Health.DOWN, note=f"It has never run on this database; start `{command}`.")
    lag_s = row.silent_s(call.now)
    if lag_s >= BEAT_DOWN_S:
        return _part(
            Health.DOWN,
            lag_s,
            note=f"No heartbeat for {lag_s} s; check its log and start `{command}` again.",
        )
    state = row.status.get("state")
    if state == "degraded":
        return _part(
            Health.DEGRADED,
            lag_s,
            note="Its last round failed and it is retrying; its log says why.",
        )
    return _part(Health.OK, lag_s)


def _indexer(call: Call, head: int | None) -> HealthPart:
    """`lag_s`: how old the newest committed block is, by this machine's clock; `lag_blocks`: what
    the node has beyond it.
    """
    facts = health.indexer_facts(call.db, call.now, head)
    if facts.cursor is not None and facts.is_suspect:
        facts = replace(facts, next_block_at=_mined_at(call, facts.cursor + 1))
    return _judged(judge_indexer(facts))


def _mined_at(call: Call, number: int) -> int | None:
    try:
        header = call.deps.chain.header(number)
    except OutsideError:
        return None
    return None if header is None else header.timestamp
