"""Whether each part works, with its lag and what to do: /health/live and /health/ready.

A part is `down` when the service can't do its job without it, `degraded` when it works late. One part's failure never
hides another's: what can't be read is null, and its part says why.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from sqlalchemy.exc import SQLAlchemyError

from api.areas.discovery.schemas import Live, Ready
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call, NoInput
from core.chain.reader import LATEST
from core.db import migrate
from core.db.leader import leader_row
from core.errors import OutsideError
from core.health import views as health
from core.health.rules import BEAT_DOWN_S, Verdict, judge_head, judge_indexer
from core.jobs import queries as jobs
from core.jobs.rules import LastRun, troubles
from core.times import instant_text

KEEPER_LEADER = "keeper"


@dataclass(frozen=True, slots=True)
class Part:
    status: str  # ok, degraded, down
    lag_s: int | None = None
    lag_blocks: int | None = None
    note: str | None = None
    jobs: tuple[dict[str, Any], ...] | None = None  # the keeper's slow jobs by their last runs; None for every other part

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        return cls(verdict.health.value, verdict.lag_s, verdict.lag_blocks, verdict.note)

    def as_json(self) -> dict[str, Any]:
        shown = {"status": self.status, "lag_s": self.lag_s, "lag_blocks": self.lag_blocks, "note": self.note}
        return shown if self.jobs is None else shown | {"jobs": list(self.jobs)}


def live(call: Call, caller: Nobody, command: NoInput) -> Answer[Live]:
    return Answer({"status": "ok"})


def ready(call: Call, caller: Nobody, command: NoInput) -> Answer[Ready]:
    """200 while every part is ok or degraded, 503 while one is down."""
    head, chain_part = _chain(call)
    checks: dict[str, Callable[[], Part]] = {
        "database": lambda: _database(call),
        "migrations": lambda: _migrations(call),
        "indexer": lambda: _indexer(call, head),
        "keeper": lambda: _keeper(call),
    }
    parts = {name: _checked(call, check) for name, check in checks.items()} | {"chain": chain_part}
    worst = next((status for status in ("down", "degraded") if any(part.status == status for part in parts.values())), "ok")
    body = {"status": worst, "parts": {name: part.as_json() for name, part in parts.items()}}
    return Answer(body, 503 if worst == "down" else 200)


def _checked(call: Call, check: Callable[[], Part]) -> Part:
    try:
        return check()
    except SQLAlchemyError as error:
        call.db.rollback()  # a failed statement ends its transaction; the next part asks in a new one
        return Part("down", note=f"The database did not answer ({type(error).__name__}); check DATABASE_URL and that Postgres runs.")


def _database(call: Call) -> Part:
    health.revision(call.db)
    return Part("ok", lag_s=0)


def _migrations(call: Call) -> Part:
    found, wanted = health.revision(call.db), migrate.head()
    if found == wanted:
        return Part("ok")
    return Part("down", note=f"The database is at revision {found or 'none'}, the code needs {wanted}; run core.db.migrate upgrade.")


def _chain(call: Call) -> tuple[int | None, Part]:
    """The node's height, and its part. `lag_s`: how long ago the newest block was mined, by this machine's clock."""
    try:
        chain_id = call.deps.chain.chain_id()
        header = call.deps.chain.header(LATEST)
    except OutsideError as error:
        return None, Part("down", note=f"No node of RPC_URLS answers ({type(error).__name__}); check them.")
    if chain_id != call.deps.chain_id:
        return None, Part("down", note=f"The node is on chain {chain_id}, not {call.deps.chain_id}; check RPC_URLS and CHAIN_ID.")
    if header is None:
        return None, Part("down", note="The node has no newest block; check that it is in sync.")
    return header.number, Part.of(judge_head(header.timestamp, call.now, is_local=call.deps.is_local))


def _keeper(call: Call) -> Part:
    """Its tick first; a slow job in trouble makes it degraded, and each trouble says what to do."""
    runs = jobs.last_runs(call.db)
    part = _loop(call, KEEPER_LEADER, "python -m keeper.main run")
    found = troubles(runs, call.now)
    if found and part.status != "down":
        part = replace(part, status="degraded", note=" ".join([*([part.note] if part.note else []), *found]))
    return replace(part, jobs=tuple(_run_as_json(run, call.now) for run in runs))


def _run_as_json(run: LastRun, now: datetime) -> dict[str, Any]:
    """`outcome` and `duration_ms` are null while it is under way."""
    return {
        "name": run.name,
        "last_start": instant_text(run.started_at),
        "age_s": run.age_s(now),
        "next_due": instant_text(run.due_at),
        "outcome": run.outcome,
        "duration_ms": run.duration_ms,
        "note": run.trouble(now),
    }


def _loop(call: Call, name: str, command: str) -> Part:
    row = leader_row(call.db, name)
    if row is None:
        return Part("down", note=f"It never ran on this database; start `{command}`.")
    lag_s = row.silent_s(call.now)
    if lag_s >= BEAT_DOWN_S:
        return Part("down", lag_s, note=f"No heartbeat for {lag_s} s; look at its log and start `{command}` again.")
    state = row.status.get("state")
    if state == "degraded":
        return Part("degraded", lag_s, note="It keeps trying: its last round failed; its log says why.")
    return Part("ok", lag_s)


def _indexer(call: Call, head: int | None) -> Part:
    """`lag_s`: how old the newest committed block is, by this machine's clock; `lag_blocks`: what the node has beyond it."""
    facts = health.indexer_facts(call.db, call.now, head)
    if facts.cursor is not None and facts.is_suspect:
        facts = replace(facts, next_block_at=_mined_at(call, facts.cursor + 1))
    return Part.of(judge_indexer(facts))


def _mined_at(call: Call, number: int) -> int | None:
    try:
        header = call.deps.chain.header(number)
    except OutsideError:
        return None
    return None if header is None else header.timestamp
