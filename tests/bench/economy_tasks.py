"""What the task market does under a rush, and what its list costs over a million tasks.

    python -m tests.bench.economy_tasks

Two databases, of 1,000 and of 1,000,000 open tasks, are read in turn: of every third page the
category is named, and each page begins at another place. The last line is one JSON object.
"""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import text

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database, WriteSession
from core.identity.tables import Account
from core.tasks import market
from core.tasks.claims import Claimant, claim
from core.tasks.rules import REOBSERVE, TaskFault, TaskRefusedError
from core.tasks.views import open_tasks, participants_of
from tests.bench.alternating import migrated, p99_ratio, served

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
CLAIMANTS, CLIENTS = 64, 16
PAGE: Final = 50
FEW, MANY = 1_000, 1_000_000
CATEGORIES: Final = (None, REOBSERVE, "translation")
# Of four tasks three are re-observations; every fifth task has claims of ten agents.
_TASKS = text("""
insert into task (category, title, tenths, subject, created_by, entry_id, token_id, field_name, submitter_id,
                  submitter_person, state, open_claims, proofs, participants, created_at)
select case when n % 4 = 0 then 'translation' else 'reobserve' end, 'Task ' || n, 30,
       case when n % 4 = 0 then 'Translate a notice.' end, null, case when n % 4 <> 0 then n end,
       case when n % 4 <> 0 then 'binance_t' || n || '_usdt' end, case when n % 4 <> 0 then 'website_url' end,
       case when n % 4 <> 0 then cast(:submitter as bigint) end, case when n % 4 <> 0 then 'agent:' || :submitter end, 'open',
       case when n % 5 = 0 and n % 4 <> 0 then 10 else 0 end, 0, case when n % 5 = 0 and n % 4 <> 0 then 10 else 0 end, :now
from generate_series(1, :tasks) n
""")
_CLAIMS = text("""
insert into task_claim (task_id, agent_id, person, is_exclusive, stage, tenths, bond_credits, is_bond_held, claimed_at, changed_at)
select t.id, a.id, 'agent:' || a.id, false, 'claimed', 0, 0, false, :now, :now
from task t cross join unnest(cast(:agents as bigint[])) a(id) where t.participants = 10
""")


def agents(session: WriteSession, count: int) -> list[int]:
    rows = [Account(kind="agent", name=f"agent {n}", created_at=NOW) for n in range(count)]
    session.add_all(rows)
    session.flush()
    return [row.id for row in rows]


def claims_64_winners(database: Database) -> int:
    """How many of 64 agents that claim one exclusive task at once get it.

    Errors: AssertionError when a re-observation does not admit all 64.
    """
    with database.write() as session:
        ids = agents(session, CLAIMANTS + 1)
        exclusive = market.create_task(session, "translation", "A", 25, "B", ids[-1], NOW)
        submitter = ids.pop()
        shared = market.open_reobservation(
            session, 2**40, "binance_a_usdt", "website_url", submitter, f"agent:{submitter}", NOW
        )
    admitted = _claims_at_once(database, shared, ids).count(None)
    assert admitted == CLAIMANTS, f"a re-observation admitted {admitted} of {CLAIMANTS}"
    answers = _claims_at_once(database, exclusive, ids)
    assert set(answers) <= {None, TaskFault.ALREADY_CLAIMED}, answers
    return answers.count(None)


def _claims_at_once(database: Database, task_id: int, ids: list[int]) -> list[TaskFault | None]:
    def attempt(agent_id: int) -> TaskFault | None:
        by = Claimant(agent_id, f"agent:{agent_id}")
        try:
            with database.write() as session:
                claim(session, task_id, by, 0, timedelta(hours=24), NOW)
        except TaskRefusedError as refused:
            return refused.fault
        return None

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(attempt, ids))


def fill(database: Database, tasks: int) -> None:
    """Open tasks, of which some are claimed."""
    with database.write() as session:
        session.execute(text("set local statement_timeout = 0"))
        ids = agents(session, 10)
        session.execute(_TASKS, {"tasks": tasks, "submitter": str(ids[0]), "now": NOW})
        session.execute(_CLAIMS, {"agents": ids, "now": NOW})
    with database.engine.connect() as connection:
        analysed = connection.execution_options(isolation_level="AUTOCOMMIT")
        analysed.execute(text("vacuum analyze task, task_claim"))


def page_of_tasks(database: Database) -> Callable[[], None]:
    """Reads a page from some place on, now and then of one category."""
    chosen = random.Random(23)
    with database.read() as session:
        newest = int(session.execute(text("select max(id) from task")).scalar_one())

    def read() -> None:
        category = chosen.choice(CATEGORIES)
        before = chosen.choice((None, chosen.randint(1, newest + 1)))
        with database.read() as session:
            found = open_tasks(session, category, before, PAGE + 1)
            participants_of(session, [task.id for task in found[:PAGE]])

    return read


def figures(server: EmbeddedPostgres) -> dict[str, float]:
    with migrated(server, "tasks_few") as few, migrated(server, "tasks_many") as many:
        winners = claims_64_winners(few)
        fill(few, FEW)
        fill(many, MANY)
        ratio = p99_ratio(page_of_tasks(few), page_of_tasks(many))
    return {"claims_64_winners": winners, "browse_p99_ratio": ratio}


def main() -> None:
    with served() as server:
        print(json.dumps(figures(server)))


if __name__ == "__main__":
    main()
