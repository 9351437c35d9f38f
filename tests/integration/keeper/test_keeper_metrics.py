"""What a scrape shows of the keeper's rows, and what it shows while the database is away."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from prometheus_client import start_http_server
from sqlalchemy import text

from core.blocks.tables import ChainBlock
from core.db.engine import Bounds, Database
from core.hexes import bytes_of
from core.jobs import queries as job_rows
from core.keeper import gas
from core.keeper.tables import KeeperTx
from keeper.metrics import PREFIX, KeeperMetrics
from tests.integration.keeper.conftest import intent
from tests.personas import KEEPER

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CHAIN_ID = 84532


@pytest.fixture
def metrics(database: Database) -> KeeperMetrics:
    made = KeeperMetrics(lambda: 0.0)
    made.read_rows(database, CHAIN_ID, lambda: NOW)
    return made


def value(metrics: KeeperMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(PREFIX + name, labels)


def add_intent(
    database: Database,
    kind: str,
    state: str,
    trigger: int = 100,
    age_s: int = 0,
    mined: int | None = None,
) -> None:
    """`mined`: the height of the block that has it."""
    vault = bytes([len(kind), trigger % 256]) + state.encode()[:18].ljust(18, b"\0")
    with database.write() as session:
        decided = intent(
            vault, kind=kind, state=state, trigger=trigger, at=NOW - timedelta(seconds=age_s)
        )
        session.add(decided)
        session.flush()
        if mined is not None:
            found = bytes([mined % 256]) * 32
            session.merge(
                ChainBlock(
                    chain_id=CHAIN_ID,
                    hash=found,
                    number=mined,
                    parent_hash=b"\0" * 32,
                    ts=mined,
                    canonical=True,
                    seen_at=NOW,
                )
            )
            session.add(
                KeeperTx(
                    intent_id=decided.id,
                    signer=bytes_of(KEEPER.address),
                    nonce=decided.id,
                    attempt=1,
                    raw=b"",
                    hash=bytes([decided.id]) * 32,
                    max_fee_wei=1,
                    max_priority_fee_wei=1,
                    offered_block=1,
                    is_filler=False,
                    state="mined",
                    mined_block_hash=found,
                    mined_block=mined,
                    created_at=decided.created_at,
                )
            )


def record(
    database: Database, name: str, outcome: str | None, did: dict[str, Any] | None = None
) -> None:
    with database.write() as session:
        run_id = job_rows.begin(session, name, 30, "test", NOW)
        if outcome is not None:
            job_rows.end(
                session, run_id, outcome, None, did or {}, NOW + timedelta(milliseconds=1_500)
            )


def test_intents__by_kind_and_state_with_the_oldest_age(
    metrics: KeeperMetrics, database: Database
) -> None:
    add_intent(database, "stop", "planned", 1, age_s=3)
    add_intent(database, "stop", "planned", 2, age_s=21)
    add_intent(database, "mark", "broadcast", 3, age_s=5)
    add_intent(database, "mark", "done", 4, age_s=500)
    assert value(metrics, "intents_live", kind="stop", state="planned") == 2
    assert value(metrics, "intents_live_oldest_seconds", kind="stop", state="planned") == 21
    assert value(metrics, "intents_live_oldest_seconds", kind="mark", state="broadcast") == 5
    assert value(metrics, "intents_live", kind="mark", state="done") is None


def test_stop_latency__counts_blocks_from_the_trigger_to_the_mined_block(
    metrics: KeeperMetrics, database: Database
) -> None:
    for trigger, mined in ((100, 101), (110, 111), (120, 123), (130, 130)):
        add_intent(database, "stop", "done", trigger, mined=mined)
    add_intent(database, "mark", "done", 140, mined=150)
    buckets = {
        bound: value(metrics, "stop_latency_blocks_bucket", le=bound)
        for bound in ("0.0", "1.0", "2.0", "3.0", "+Inf")
    }
    assert buckets == {"0.0": 1, "1.0": 3, "2.0": 3, "3.0": 4, "+Inf": 4}
    assert (
        value(metrics, "stop_latency_blocks_sum"),
        value(metrics, "stop_latency_blocks_count"),
    ) == (5, 4)


@pytest.mark.parametrize(
    ("state", "waits"), [("planned", 7), ("signed", 7), ("broadcast", 7), ("mined", 0), ("done", 0)]
)
def test_stop_waits__is_the_oldest_trigger_below_the_keepers_head(
    metrics: KeeperMetrics, database: Database, state: str, waits: int
) -> None:
    with database.write() as session:
        said = text(
            "insert into leader values ('keeper', 1, 'x', 1, :now, :now, '{\"head\": 107}')"
        )
        session.execute(said, {"now": NOW})
    add_intent(database, "stop", state, 100)
    add_intent(database, "stop", state, 103)
    add_intent(database, "mark", "planned", 50)
    assert value(metrics, "stop_waits_blocks") == waits


def test_stop_waits__head_unknown__is_absent(metrics: KeeperMetrics, database: Database) -> None:
    assert value(metrics, "stop_waits_blocks") == 0
    add_intent(database, "stop", "planned", 100)
    assert value(metrics, "stop_waits_blocks") is None


def test_jobs__show_start_period_failures_and_duration(
    metrics: KeeperMetrics, database: Database
) -> None:
    for outcome in ("ok", "failed", "failed"):
        record(database, "prune", outcome)
    assert value(metrics, "job_last_start_timestamp_seconds", job="prune") == NOW.timestamp()
    assert value(metrics, "job_every_seconds", job="prune") == 30
    assert value(metrics, "job_failures", job="prune") == 2
    assert value(metrics, "job_duration_seconds", job="prune") == 1.5
    record(database, "prune", None)
    assert value(metrics, "job_duration_seconds", job="prune") is None


def test_balances__are_those_of_the_newest_run_and_absent_when_it_failed(
    metrics: KeeperMetrics, database: Database
) -> None:
    balance = {
        "role": "keeper",
        "address": KEEPER.address,
        "balance_wei": 10**18,
        "stop_cost_wei": None,
        "stops_left": None,
        "nonce_gap": 0,
    }
    stop = balance | {"role": "stop", "stops_left": 19, "nonce_gap": 2}
    record(database, "balances", "ok", {"signers": [balance, stop], "is_named_by_factory": False})
    assert value(metrics, "signer_balance_wei", role="keeper") == 10**18
    assert (
        value(metrics, "stops_left", role="keeper"),
        value(metrics, "stops_left", role="stop"),
    ) == (None, 19)
    assert (value(metrics, "nonce_gap", role="stop"), value(metrics, "is_named_by_factory")) == (
        2,
        0,
    )
    record(database, "balances", "failed")
    assert value(metrics, "signer_balance_wei", role="keeper") is None
    assert value(metrics, "is_named_by_factory") is None


def test_the_gas_of_requests__is_what_is_spent_and_kept_of_the_day_and_the_days_cap(
    metrics: KeeperMetrics, database: Database
) -> None:
    metrics.gas_budget.set(1_000)
    budget = {gas.TOTAL: 1_000}
    with database.write() as session:
        for at in (NOW, NOW - timedelta(days=1)):
            assert gas.reserve(session, gas.day_of(at), budget, 300) is None
        gas.settle(session, [gas.SettledGas(gas.day_of(NOW), gas.scopes_of(None, None), 100, 70)])
    assert [value(metrics, "requests_gas_wei", state=state) for state in ("spent", "kept")] == [
        70,
        200,
    ]
    assert value(metrics, "requests_gas_budget_wei") == 1_000


def test_a_scrape__is_served_and_says_nothing_of_rows_while_the_database_is_away() -> None:
    gone = Database(
        "postgresql+psycopg://nobody@127.0.0.1:9/none", bounds=Bounds(connect_s=1, pool_wait_s=1)
    )
    metrics = KeeperMetrics(lambda: 0.0)
    metrics.read_rows(gone, CHAIN_ID, lambda: NOW)
    server, thread = start_http_server(0, "127.0.0.1", metrics.registry)
    answer = httpx.get(f"http://127.0.0.1:{server.server_port}/metrics", timeout=5, trust_env=False)
    server.shutdown()
    server.server_close()
    thread.join()
    gone.close()
    assert answer.status_code == 200
    assert f"{PREFIX}leads 0.0" in answer.text
    assert f"{PREFIX}intents_live" not in answer.text
    assert math.isnan(value(metrics, "tick_age_seconds") or 0)
