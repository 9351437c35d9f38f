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
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, Final

from sqlalchemy import select, text

from api.areas.hall.jobs import HallJob
from api.areas.hall.tables import HallAgent
from api.worker import COLLECT_AFTER
from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import NewRow
from core.mandate.tables import Mandate
from tests.bench import strips
from tests.bench.load import load, request, seconds_of
from tests.bench.place import CHAIN_ID, migrated, product, served, twin, url_of, vacuum
from tests.bench.twin import HALL_ROWS
from tests.world import mandates, seed

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
COPIES, DAYS, NEW_ROWS, ROUNDS, CLIENTS, SECONDS = 40, 166, 1_000, 3, 8, 5.0
APART = 10_000_000  # between the ids of one copy and the next
PLACE = mandates.Place(CHAIN_ID, *(f"0x{n:040x}" for n in range(0x10, 0x13)))
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
    vacuum(database, "mandate, mandate_event, mandate_head, account")
    return rows * copies


def more_rows(database: Database, count: int) -> None:
    """Marks of mandates that work, each of another one, by the ledger's writer."""
    with database.write() as session:
        working = select(Mandate.id).where(Mandate.status == "working").limit(count)
        ids = session.scalars(working).all()
        rows: dict[int, list[NewRow]] = {id_: [] for id_ in ids}
        for number in range(count):
            rows[ids[number % len(ids)]].append(mandates.marked(1_000 * mandates.USDC, NOW, number))
        mandate_ledger.append_ledgers(session, rows, NOW)


def builds(database: Database) -> dict[str, float]:
    hall = HallJob(database, run_s=inf)
    full = seconds_of(lambda: print(f"full build: {dict(hall.run(NOW))}", flush=True))
    more_rows(database, NEW_ROWS)
    incremental = seconds_of(lambda: hall.run(NOW + timedelta(minutes=2)))
    return {"rebuild_full_s": round(full, 1), "rebuild_incremental_s": round(incremental, 2)}


def p99_ratio(product_port: int, twin_port: int) -> float:
    reads = {
        "bare": (twin_port, "/bare/hall"),
        "hall": (product_port, f"/mandate-wallet/hall?limit={HALL_ROWS}"),
    }
    p99_ms = dict[str, list[float]]()
    for _ in range(ROUNDS):
        for name, (port, path) in reads.items():
            one = load(port, [request("GET", path)], CLIENTS, SECONDS)
            p99_ms.setdefault(name, []).append(one["p99_ms"])
            print(f"{name}: {one}", flush=True)
    return round(statistics.median(p99_ms["hall"]) / statistics.median(p99_ms["bare"]), 2)


def measure(copies: int = COPIES, days: int = DAYS) -> dict[str, Any]:
    gc.set_threshold(COLLECT_AFTER)  # as the worker's process does
    with served() as server, migrated(server) as database:
        rows = fill(database, copies, days)
        print(f"{50 * copies} agents, {rows:,} rows", flush=True)
        figures: dict[str, Any] = {"ledger_rows": rows, **builds(database)}
        url = url_of(database)
        with product(url) as where, twin(url) as (twin_port, _):
            figures["hall_p99_ratio"] = p99_ratio(where.port, twin_port)
        with database.read() as session:
            ids = session.scalars(select(HallAgent.agent_id).limit(strips.STRIPS)).all()
        figures["strips_sql"] = strips.strips_sql(database, ids)
        figures["what_if_rows_per_s"] = round(strips.what_if_rows_per_s(database))
    return figures


if __name__ == "__main__":
    print(json.dumps(measure()))
