"""`make bench-economy`: what the work economy costs when it is large, and what many accounts earn.

    drain        10,000 items of 2,000 persons that wait are paid under a raised budget; then as many
                 that a cap stops are looked at, and looked at again
    feed         pages of the public ledger over 1,000,000 rows by those over 1,000
    tasks        64 agents that claim one task at once; pages of a million open tasks
    sybils       what one person earns with thirty agents a day, honest and lying (printed)

The last line is one JSON object. Figures are shown, not judged.
"""

import gc
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import make_url, text

from core.credits.ledger import writer as credit_ledger
from core.db import migrate
from core.db.embedded import EmbeddedPostgres, start
from core.db.engine import Bounds, Database
from core.earn import feed, queries
from core.earn.ledger import awards
from core.earn.rules.feed import FeedKind
from core.earn.rules.payout import PayoutLimits
from core.identity.names import names_of_agents
from tests.bench import economy_sybils, economy_tasks

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
ITEMS, PERSONS, CREDITS_AN_ITEM = 10_000, 2_000, 20
RAISED: Final = PayoutLimits(day_budget=ITEMS * CREDITS_AN_ITEM)
ROUNDS, CALLS, PAGE = 5, 2_000, 50
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


def p99_ratio(few: Callable[[], None], many: Callable[[], None]) -> float:
    """The 99th percentile of `many` by that of `few`: the median of rounds, each of 2,000 calls to
    either, in turn.
    """
    ratios = []
    for turn in range(ROUNDS + 1):
        times: dict[Callable[[], None], list[float]] = {few: [], many: []}
        gc.collect()
        gc.disable()
        for _ in range(CALLS if turn else 200):
            for call in (few, many):
                began = time.perf_counter()
                call()
                times[call].append(time.perf_counter() - began)
        gc.enable()
        if turn:  # the first one warms up
            in_few, in_many = (statistics.quantiles(times[call], n=100)[98] for call in (few, many))
            print(f"p99 {in_few * 1000:.2f} ms, {in_many * 1000:.2f} ms over many", flush=True)
            ratios.append(in_many / in_few)
    return round(statistics.median(ratios), 2)


def feed_p99_ratio(few: Database, many: Database) -> float:
    return p99_ratio(
        page_of_feed(few, fill_feed(few, FEW), FEW),
        page_of_feed(many, fill_feed(many, MANY), MANY),
    )


def tasks(server: EmbeddedPostgres) -> dict[str, float]:
    with economy_tasks.databases(server) as (few, many):
        winners = economy_tasks.claims_64_winners(few)
        economy_tasks.fill(few, economy_tasks.FEW)
        economy_tasks.fill(many, economy_tasks.MANY)
        ratio = economy_tasks.browse_p99_ratio(few, many)
    return {"claims_64_winners": winners, "browse_p99_ratio": round(ratio, 2)}


@contextmanager
def migrated(server: EmbeddedPostgres, name: str) -> Iterator[Database]:
    """A database of its own."""
    with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    url = make_url(server.url).set(database=name).render_as_string(hide_password=False)
    migrate.upgrade(url)
    database = Database(url, bounds=Bounds(trust_s=5))
    try:
        yield database
    finally:
        database.close()


@contextmanager
def served() -> Iterator[EmbeddedPostgres]:
    """A server that writes to disk, as the service's does."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = start(Path(folder) / "postgres")
        try:
            yield server
        finally:
            server.stop()


def main() -> None:
    economy_sybils.report()
    with served() as server:
        with migrated(server, "earn_drains") as database:
            figures = drains(database)
        with ExitStack() as stack:
            few, many = (
                stack.enter_context(migrated(server, name)) for name in ("earn_few", "earn_many")
            )
            figures["feed_p99_ratio"] = feed_p99_ratio(few, many)
        figures |= tasks(server)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
