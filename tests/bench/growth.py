"""From the first year to a million agents: what a row, an event, a look at a vault and a call cost here
and now, and what each comes to at three sizes: `make growth`.

    rows       bytes a row of every table (row_bytes.py)
    block      CPU of an empty block, and of a ledger's row in one: the indexer's own and Postgres's
    look       CPU of a look at a vault by the keeper, of the second tick
    call       CPU of a read with a key: the API's and Postgres's

It writes docs/operations/growth.json, and from it the tables of docs/operations/growth.md and
retention.md. `--rows` adds the tables that the file lacks and changes no other figure; `--pages` and
`--check`, which says whether they are what the file comes to, measure nothing. CPU seconds count, not
those of a clock: a busy machine does not change them much.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import text

from core.chain.nodes import Nodes
from core.db import embedded
from core.db.engine import Database
from core.db.leadership import Leadership
from core.mandate.ledger import writer as mandate_ledger
from tests.bench import growth_pages, ledgers, many_vaults, row_bytes
from tests.bench.load import load, request
from tests.bench.place import KEY, a_database, cpu_s, product, url_of

FIGURES = growth_pages.FOLDER / "growth.json"
BLOCKS = 40
LEDGERS, ROWS = 400, 10
VAULTS, MARKS = 2_000, 20_000
CALLS_S = 4.0
MS = 1_000


def spent(work: Callable[[], object], server: int) -> tuple[float, float]:
    """CPU seconds of this process and of Postgres."""
    before = time.process_time(), cpu_s(server)
    work()
    after = time.process_time(), cpu_s(server)
    return after[0] - before[0], after[1] - before[1]


def indexed() -> dict[str, float]:
    with ledgers.crowd_of(LEDGERS, ROWS) as crowd:
        pid = _postmaster(crowd.database)
        first = crowd.at.number + 1

        def empty() -> None:
            for number in range(first, first + BLOCKS):
                crowd.take(ledgers.facts_of(number))

        def full() -> None:
            for number in range(first + BLOCKS, first + 2 * BLOCKS):
                crowd.take(ledgers.facts_of(number))
                rows = {id_: [ledgers.moved(number, id_)] for id_ in crowd.ids[: LEDGERS // 10]}
                with crowd.database.write() as session:
                    mandate_ledger.append_ledgers(session, rows, crowd.now)

        bare, loaded = spent(empty, pid), spent(full, pid)
    count = BLOCKS * (LEDGERS // 10)
    return {
        "block_ms": MS * bare[0] / BLOCKS,
        "block_db_ms": MS * bare[1] / BLOCKS,
        "event_ms": MS * (loaded[0] - bare[0]) / count,
        "event_db_ms": MS * max(loaded[1] - bare[1], 0.0) / count,
    }


def _postmaster(database: Database) -> int:
    with database.read() as session:
        backend = session.scalar(text("select pg_backend_pid()"))
    return int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])


def looked() -> dict[str, float]:
    with a_database() as database, many_vaults.node() as url:
        many_vaults.fill(database, VAULTS, MARKS)
        leadership, rpc = Leadership(url_of(database), "keeper", "bench"), Nodes([url])
        assert leadership.try_take(datetime.now(UTC))
        tick = many_vaults.tick_of(database, rpc, leadership)

        def look() -> None:
            report = tick.run(datetime.now(UTC))
            assert (report.vaults, report.unknown) == (VAULTS, 0), report

        look()
        own, theirs = spent(look, _postmaster(database))
        leadership.release()
        rpc.close()
    return {"look_ms": MS * own / VAULTS, "look_db_ms": MS * theirs / VAULTS}


def called() -> dict[str, float]:
    with a_database() as database, product(url_of(database)) as where:
        asked = [request("GET", "/mandate-wallet/mandates", {KEY: where.agents(1)[0].key})]
        load(where.port, asked, 8, 1.0)
        server = _postmaster(database)
        before = cpu_s(where.pid), cpu_s(server)
        answered = int(load(where.port, asked, 8, CALLS_S)["answered"])
        own, theirs = cpu_s(where.pid) - before[0], cpu_s(server) - before[1]
    return {"call_ms": MS * own / answered, "call_db_ms": MS * theirs / answered}


def measured() -> dict[str, Any]:
    costs: dict[str, float] = {}
    for part in (indexed, looked, called):
        found = {name: round(value, 3) for name, value in part().items()}
        print(f"{part.__name__}: {found}", flush=True)
        costs |= found
    bytes_a_row = row_bytes.measured()
    print(f"{len(bytes_a_row)} tables", flush=True)
    return {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Postgres {embedded.POSTGRES_MAJOR}",
        "costs": costs,
        "bytes_a_row": bytes_a_row,
    }


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--rows"], ["--pages"], ["--check"]):
        print("one of --rows, --pages, --check; without one, everything is measured")
        return 2
    if arguments != ["--check"]:
        figures = json.loads(FIGURES.read_text())
        if arguments != ["--pages"]:
            figures = (
                growth_pages.with_new_tables(figures, row_bytes.measured())
                if arguments
                else measured()
            )
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        growth_pages.write(figures)
    if stale := growth_pages.stale(json.loads(FIGURES.read_text())):
        print(f"not what growth.json comes to: {', '.join(stale)}; run `make growth`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
