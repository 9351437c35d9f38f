"""What a read of a mandate costs when its ledger is long: the same questions of a ledger of 1,000
rows and one of 100,000.

Both ledgers hold the same rows in the week that is asked for and in the last day; the long one has
a hundred times as many before. A ratio near 1 says that the work grows with what is asked. The last
line is one JSON object.
"""

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import NewRow
from core.mandate.rules.weeks import week_of
from tests.bench.load import caller, p99_ratio
from tests.bench.mandates import add_mandates, executed, owner_session
from tests.bench.place import CENT, KEY, migrated, product, served, url_of

SHORT, LONG = 1_000, 100_000
WEEK_ROWS: Final = 200  # in the week that is asked for
CALLS: Final = 200


def rows(count: int, now: datetime) -> list[NewRow]:
    """Actions of the agent: most of them over the weeks before, WEEK_ROWS in this one; what goes
    out comes back.
    """
    week = week_of(now).start_at
    before, within = count - WEEK_ROWS, (now - week) / (WEEK_ROWS + 1)
    old = timedelta(weeks=50) / max(1, before)
    times = [week - timedelta(weeks=50) + n * old for n in range(before)]
    times += [week + (n + 1) * within for n in range(WEEK_ROWS)]
    return [executed(n, at, CENT if n % 2 == 0 else -CENT) for n, at in enumerate(times)]


def fill(database: Database, mandate_id: int, count: int, now: datetime) -> None:
    listed = rows(count, now)
    for first in range(0, count, 5_000):
        with database.write() as session:
            mandate_ledger.append_ledgers(session, {mandate_id: listed[first : first + 5_000]}, now)


def measure() -> dict[str, Any]:
    """{statement_p99_ratio, progress_p99_ratio, limits_p99_ratio}: long over short."""
    found, now = dict[str, Any](), datetime.now(UTC)
    with served() as server, migrated(server) as database, product(url_of(database)) as where:
        (agent,) = where.agents(1)
        (short, long), owner_id = add_mandates(database, agent.id, 2)
        print(f"writing ledgers of {SHORT} and {LONG} rows", flush=True)
        for mandate, count in ((short, SHORT), (long, LONG)):
            fill(database, mandate.id, count, now)
        by_agent = caller(where.port, {KEY: agent.key})
        by_owner = caller(where.port, owner_session(database, owner_id))
        for name, ask, end in (
            ("statement", by_owner, "/statement"),
            ("progress", by_owner, ""),
            ("limits", by_agent, ""),
        ):
            paths = [f"/mandate-wallet/mandates/{one.public_id}{end}" for one in (short, long)]
            of_short, of_long = (partial(ask, path) for path in paths)
            found[f"{name}_p99_ratio"] = p99_ratio(of_short, of_long, CALLS)
    return found


if __name__ == "__main__":
    print(json.dumps(measure()))
