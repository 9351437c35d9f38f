"""`make bench-economy`: what the work economy costs when it is large, and what many accounts earn.

    drain        10,000 items of 2,000 persons that wait are paid under a raised budget; then as many
                 that a cap stops are looked at, and looked at again
    feed         pages of the public ledger over 1,000,000 rows by those over 1,000
    tasks        64 agents that claim one task at once; pages of a million open tasks
    farms        what members earn who make up the work that is paid, beside what is honest

The last line is one JSON object. Figures are shown, not judged.
"""

import json
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import text

from api.areas.earn import queries
from api.areas.earn.ledger import awards
from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.writes import feed
from api.areas.tasks.rules import REOBSERVE, TaskFault, TaskRefusedError
from api.areas.tasks.views import open_tasks, participants_of
from api.areas.tasks.writes import market
from api.areas.tasks.writes.claims import Claimant, claim
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database, WriteSession
from core.identity.names import names_of_agents
from core.identity.tables import Account
from tests.bench import economy_farms
from tests.bench.load import p99_ratio
from tests.bench.place import migrated, served, vacuum

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
ITEMS, PERSONS, CREDITS_AN_ITEM = 10_000, 2_000, 20
RAISED: Final = PayoutLimits(day_budget=ITEMS * CREDITS_AN_ITEM)
PAGE: Final = 50
FEW, MANY = 1_000, 1_000_000
KINDS: Final = (
    None,
    FeedKind.PAID,
    FeedKind.DEBT,
)  # of ten rows of an agent nine are paid, one a debt

_PERSONS = text("""
insert into account (kind, name, registered_from, created_at)
select 'agent', 'agent ' || n, '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256, :now
from generate_series(1, :persons) n returning id
""")
_AWARDS = text("""
insert into earn_award (ref, kind, account_id, source, tenths, credits, repaid_credits, paid_credits, queued_credits, at)
select :name || ':' || n, 'award', cast(:first as bigint) + n % :persons, 'mining', :amount / 2, :amount, 0, 0, :amount, :now
from generate_series(1, :items) n
""")
_QUEUE = text("""
insert into earn_queue (award_id, account_id, is_room, left_credits, not_before)
select id, account_id, false, credits, cast(:now as date) from earn_award a
where not exists (select from earn_queue q where q.award_id = a.id) and ref like :name || ':%'
""")
_TOTALS = text("""
update earn_total set n = case name when 'queued' then (select count(*) from earn_queue)
                          else (select coalesce(sum(left_credits), 0) from earn_queue) end
""")
_FEED = text("""
insert into earn_feed (kind, account_id, ref, at, credits)
select case when n % 10 = 0 then 'debt' else 'paid' end, cast(:first as bigint) + n % :persons, 'mining:entry:' || n, :now, 20
from generate_series(1, :rows) n
""")


def add_persons(database: Database, count: int) -> int:
    """Unowned agents of as many network addresses; the first one's id, the others' follow."""
    with database.write() as session:
        return min(map(int, session.scalars(_PERSONS, {"persons": count, "now": NOW})))


def enqueue(database: Database, first: int, name: str) -> None:
    values = {
        "name": name,
        "first": first,
        "persons": PERSONS,
        "items": ITEMS,
        "amount": CREDITS_AN_ITEM,
        "now": NOW,
    }
    with database.write() as session:
        session.execute(_AWARDS, values)
        session.execute(_QUEUE, values)
        session.execute(_TOTALS)
    vacuum(database, "earn_award, earn_queue")


def drain_s(database: Database, limits: PayoutLimits) -> float:
    """Seconds of one drain, in one transaction, commit included."""
    began = time.perf_counter()
    with database.write() as session:
        drained = awards.drain(session, limits, NOW)
    took = time.perf_counter() - began
    print(f"{drained.items:,} items, {drained.paid_credits:,} credits in {took:.2f} s", flush=True)
    return took


def drains(database: Database) -> dict[str, float]:
    """Errors: AssertionError when a drain paid something else than it should."""
    first = add_persons(database, PERSONS)
    enqueue(database, first, "paid")
    paid_s = drain_s(database, RAISED)
    with database.read() as session:
        assert queries.totals(session) == (0, 0)
        owes = credit_ledger.trial_balance(session)["service:issuance"]
        assert owes == -ITEMS * CREDITS_AN_ITEM
        assert credit_ledger.verify(session, first) == []
    enqueue(database, first, "capped")
    # each person was paid 100 today: nobody has room under this cap
    capped = replace(RAISED, day_budget=2 * RAISED.day_budget, new_account=100)
    stopped_s = drain_s(database, capped)
    waiting_s = drain_s(database, capped)
    with database.read() as session:
        assert queries.totals(session) == (ITEMS, ITEMS * CREDITS_AN_ITEM)
    return {
        "drain_10000_s": round(paid_s, 2),
        "drain_stopped_10000_s": round(stopped_s, 2),
        "drain_waiting_10000_s": round(waiting_s, 4),
    }


def fill_feed(database: Database, rows: int) -> int:
    """The first of the agents that it is of."""
    first = add_persons(database, PERSONS)
    with database.write() as session:
        session.execute(text("set local statement_timeout = 0"))
        values = {"first": first, "persons": PERSONS, "rows": rows, "now": NOW}
        session.execute(_FEED, values)
    vacuum(database, "earn_feed, account")
    return first


def page_of_feed(database: Database, first: int, rows: int) -> Callable[[], None]:
    """Reads a page from some place on, now and then of one kind, or of one agent."""
    chosen = random.Random(23)

    def read() -> None:
        kind = chosen.choice(KINDS)
        agent_id = chosen.choice((None, first + chosen.randrange(PERSONS)))
        before = chosen.choice((None, chosen.randint(1, rows + 1)))
        with database.read() as session:
            found = feed.rows_before(session, before, PAGE + 1, kind, agent_id)
            names_of_agents(session, {row.account_id for row in found[:PAGE]})

    return read


def feed_p99_ratio(few: Database, many: Database) -> float:
    return p99_ratio(
        page_of_feed(few, fill_feed(few, FEW), FEW),
        page_of_feed(many, fill_feed(many, MANY), MANY),
    )


# Tasks


CLAIMANTS, CLIENTS = 64, 16
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


def fill_tasks(database: Database, tasks: int) -> None:
    """Open tasks, of which some are claimed."""
    with database.write() as session:
        session.execute(text("set local statement_timeout = 0"))
        ids = agents(session, 10)
        session.execute(_TASKS, {"tasks": tasks, "submitter": str(ids[0]), "now": NOW})
        session.execute(_CLAIMS, {"agents": ids, "now": NOW})
    vacuum(database, "task, task_claim")


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


def main() -> None:
    figures: dict[str, object] = dict(economy_farms.report())
    with served() as server:
        with migrated(server, "drains") as database:
            figures |= drains(database)
        with migrated(server, "few") as few, migrated(server, "many") as many:
            figures["feed_p99_ratio"] = feed_p99_ratio(few, many)
            figures["claims_64_winners"] = claims_64_winners(few)
            fill_tasks(few, FEW)
            fill_tasks(many, MANY)
            figures["browse_p99_ratio"] = p99_ratio(page_of_tasks(few), page_of_tasks(many))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
