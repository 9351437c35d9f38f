"""`make bench-economy`: what the work economy costs when it is large, and what many accounts earn.

    drain        10,000 items of 2,000 persons that wait are paid under a raised budget; then as many
                 that a cap stops are looked at, and looked at again
    feed         pages of the public ledger over 1,000,000 rows by those over 1,000
    tasks        64 agents that claim one task at once; pages of a million open tasks
    sybils       what one person earns with thirty agents a day, honest and lying
    farms        what members earn who make up the work that is paid, beside what is honest

The last line is one JSON object. Figures are shown, not judged.
"""

import json
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import text

from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database
from core.earn import feed, queries
from core.earn.ledger import awards
from core.earn.rules.feed import FeedKind
from core.earn.rules.payout import PayoutLimits
from core.identity.names import names_of_agents
from tests.bench import economy_farms, economy_sybils, economy_tasks
from tests.bench.alternating import migrated, p99_ratio, served

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


def vacuum(database: Database, tables: str) -> None:
    with database.engine.connect() as connection:
        analysed = connection.execution_options(isolation_level="AUTOCOMMIT")
        analysed.execute(text(f"vacuum analyze {tables}"))


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


def main() -> None:
    figures: dict[str, object] = {**economy_sybils.report(), **economy_farms.report()}
    with served() as server:
        with migrated(server, "earn_drains") as database:
            figures |= drains(database)
        with ExitStack() as stack:
            few, many = (
                stack.enter_context(migrated(server, name)) for name in ("earn_few", "earn_many")
            )
            figures["feed_p99_ratio"] = feed_p99_ratio(few, many)
        figures |= economy_tasks.figures(server)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
