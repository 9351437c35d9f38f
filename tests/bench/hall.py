"""What the Hall costs: a build over a million rows and after a thousand new ones, reads of its list,
strips of records, and rows that a what-if replays.

    python -m tests.bench.hall

A simulated world of 50 agents is written by the ledger and copied by SQL until there are 2,000
agents with a million rows. Reads are beside a bare SELECT of the same rows, in turn. The last line
is one JSON object.
"""

import gc
import json
import statistics
import time
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, Final

from sqlalchemy import select, text

from api.areas.hall.jobs import HallJob
from api.worker import COLLECT_AFTER
from core.db.engine import Database
from core.hall.tables import HallAgent
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.ledger import NewRow
from core.mandate.tables import Mandate
from tests.bench import bare
from tests.bench.api import head, load, place
from tests.bench.strips import STRIPS, strips_sql, what_if_rows_per_s
from tests.world import mandates, seed

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
COPIES, DAYS, NEW_ROWS, ROUNDS, CLIENTS, SECONDS = 40, 166, 1_000, 3, 8, 5.0
APART = 10_000_000  # between the ids of one copy and the next
PATH = f"/mandate-wallet/hall?limit={bare.HALL_ROWS}"
PLACE = mandates.Place(84532, *(f"0x{n:040x}" for n in range(0x10, 0x13)))
# What tells one copy's row from the next one's; + is so much further.
SHIFTED = {
    "account": {"id": "id +", "owner_id": "owner_id +"},
    "mandate": {
        "id": "id +",
        "owner_id": "owner_id +",
        "agent_id": "agent_id +",
        "public_id": "'m_copy' || copy || substr(public_id, 6)",
        "terms": "jsonb_set(terms, '{agent}', to_jsonb('0x' || lpad(to_hex(agent_id +), 40, '0')))",
    },
    "mandate_head": {"mandate_id": "mandate_id +"},
    "mandate_event": {"mandate_id": "mandate_id +"},
}
COLUMNS = text(
    "select column_name from information_schema.columns where table_name = :table and "
    "table_schema = current_schema() and (table_name, column_name) <> ('mandate_event', 'id') "
    "order by ordinal_position"
)


def fill(database: Database, copies: int, days: int) -> int:
    """Write the worlds; how many rows of ledgers there are."""
    rows = seed.seed(database, PLACE, NOW, days=days)
    with database.write() as session:
        for table, shifted in SHIFTED.items():
            names = list(session.scalars(COLUMNS, {"table": table}))
            cells = [shifted.get(name, name).replace("+", f"+ {APART} * copy") for name in names]
            session.execute(
                text(
                    f"insert into {table} ({', '.join(names)}) select {', '.join(cells)} from "
                    f"{table}, generate_series(1, {copies - 1}) copy"
                )
            )
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("vacuum analyze mandate, mandate_event, mandate_head, account"))
    return rows * copies


def more_rows(database: Database, count: int) -> None:
    """Marks of mandates that work, each of another one, by the ledger's writer."""
    with database.read() as session:
        working = select(Mandate.id).where(Mandate.status == "working").limit(count)
        ids = session.scalars(working).all()
    with database.write() as session:
        rows: dict[int, list[NewRow]] = {id_: [] for id_ in ids}
        for number in range(count):
            rows[ids[number % len(ids)]].append(mandates.marked(1_000 * mandates.USDC, NOW, number))
        mandate_ledger.append_ledgers(session, rows, NOW)


def builds(database: Database) -> dict[str, float]:
    hall = HallJob(database, run_s=inf)
    began = time.perf_counter()
    did = hall.run(NOW)
    full = time.perf_counter() - began
    print(f"full build: {dict(did)} in {full:.1f} s", flush=True)
    more_rows(database, NEW_ROWS)
    began = time.perf_counter()
    did = hall.run(NOW + timedelta(minutes=2))
    incremental = time.perf_counter() - began
    print(f"after {NEW_ROWS} new rows: {dict(did)} in {incremental:.2f} s", flush=True)
    began = time.perf_counter()
    did = hall.run(NOW + timedelta(days=1))
    print(f"first of a day: {dict(did)} in {time.perf_counter() - began:.1f} s", flush=True)
    return {"rebuild_full_s": round(full, 1), "rebuild_incremental_s": round(incremental, 2)}


def p99_ratio(product_port: int, bare_port: int) -> float:
    p99_ms: dict[str, list[float]] = {"bare": [], "hall": []}
    for _ in range(ROUNDS):
        reads = ("bare", bare_port, bare.HALL_PATH), ("hall", product_port, PATH)
        for name, port, path in reads:
            one = load(port, [head(path)], CLIENTS, SECONDS)
            p99_ms[name].append(one["p99_ms"])
            print(f"{name}: {one}", flush=True)
    hall_ms, bare_ms = (statistics.median(p99_ms[name]) for name in ("hall", "bare"))
    return round(hall_ms / bare_ms, 2)


def measure(copies: int = COPIES, days: int = DAYS) -> dict[str, Any]:
    gc.set_threshold(COLLECT_AFTER)  # as the worker's process does
    with place() as where:
        database = Database(where.database_url)
        try:
            began = time.perf_counter()
            rows = fill(database, copies, days)
            took = time.perf_counter() - began
            print(f"{50 * copies} agents, {rows:,} rows in {took:.0f} s", flush=True)
            figures: dict[str, Any] = {"ledger_rows": rows, **builds(database)}
            figures["hall_p99_ratio"] = p99_ratio(where.product_port, where.bare_port)
            with database.read() as session:
                ids = session.scalars(select(HallAgent.agent_id).limit(STRIPS)).all()
            figures["strips_sql"] = strips_sql(database, ids)
            figures["what_if_rows_per_s"] = round(what_if_rows_per_s(database))
        finally:
            database.close()
    return figures


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
