"""`make bench-notes`: what a note costs, and the vault of 6,000 of them.

    notes     notes a second from rows that are at hand, the two tiers in turn: values, then text; median of rounds
    p99       GET /kg/{token}.md over HTTP, of 2,000 tokens in turn, so that each is read anew, beside a route that does
              one SELECT: the 99th percentile by that one's, the median of rounds
    kept      the same of 16 tokens, which the service keeps for a minute
    export    the slow job, from rows to the stored zip; its files are then read by YAML 1.1 and 1.2 and markdown

The last line is one JSON object.
"""

import json
import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle
from types import SimpleNamespace
from typing import Any, Final, cast

from sqlalchemy import text

from api.areas.notes import jobs as job
from api.areas.notes import queries, views
from api.areas.notes.rendering.markdown import note_text
from api.areas.notes.rules.facts import NoteTier
from api.kernel.jobs import JobPlace
from core.db.engine import Database
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from tests.bench.load import caller, p99_ratio
from tests.bench.place import HEAP, migrated, product, served, twin, url_of, vacuum
from tests.vaults import faults_of, newer_yaml_faults_of

TOKENS, RENDERED, ROUNDS = 6_000, 1_000, 5
READ_IN_TURN, KEPT = 2_000, 16
READ_CALLS, KEPT_CALLS = 1_000, 300  # a round

# Each token at two exchanges, on two chains, with an event and every second one with a warning's worth of figures.
_ROWS: Final = """
insert into market_asset (ticker) select 'T' || n from generate_series(1, :n) n;
insert into listing (token_id, exchange, base, quote, is_simulated, created_at)
select lower(e || '_' || ticker || '_usdt'), e, ticker, 'USDT', true, now()
from market_asset, unnest(array['binance', 'okx']) e;
insert into listing_state (listing_id, asset_id, exchange, native_id, native_base, token, symbol, token_id, source,
    is_simulated, status, asset_class,
    first_seen_at, every_s, sampled_at, mid, price_usd, spread_bps, bid_2_usd, ask_2_usd, slip_buy_10k_bps,
    slip_sell_10k_bps, imbalance, volume_24h_usd, grade, score, is_provisional, in_depth_usd, in_spread_bps, in_uptime,
    gpa_7d, strong_group, order_usd, updated_at)
select l.id, a.id, l.exchange, l.base || 'USDT', l.base, l.base, l.base || '/USDT', l.token_id, 'simulated', true, 'trading', 'crypto',
    now(), 60, now(), 1.5, 1.5, 4.25, 51234.5, 61234.5, 8.5, 9.5, -0.05, 1234567, 'B', 70.5, false, 51234.5, 4.25, 1, 3.2,
    'eip155:1:0x' || lpad(to_hex(a.id), 40, '0'), 1234567, now()
from listing l join market_asset a on a.ticker = l.base;
insert into asset_state (asset_id, token, grade, grade_worst, gpa_7d, graded_venues, identity, transfer, exchanges, contracts,
    groups, is_simulated, updated_at)
select id, ticker, 'B', 'C', 3.2, 2, 'verified_same', 'open', array['binance', 'okx'],
    jsonb_build_array(jsonb_build_object('chain', 'eip155:1', 'address', '0x' || lpad(to_hex(id), 40, '0'), 'exchanges',
        array['binance', 'okx'])),
    jsonb_build_array(jsonb_build_object('id', 'eip155:1:0x' || lpad(to_hex(id), 40, '0'), 'coins',
        array['binance:' || ticker, 'okx:' || ticker])), true, now()
from market_asset;
insert into network_status (exchange, native_base, chain, asset_id, can_deposit, can_withdraw, is_native, withdraw_fee,
    deposit_since, withdraw_since, scans, seen_at)
select e, ticker, c, id, true, id % 3 > 0, false, 1.5, now(), now(), 3, now()
from market_asset, unnest(array['binance', 'okx']) e, unnest(array['eip155:1', 'tron:0x2b6653dc']) c;
insert into transfer_event (exchange, native_base, chain, asset_id, direction, was_open, is_open, at)
select 'okx', ticker, 'eip155:1', id, 'withdraw', true, id % 3 > 0, now() from market_asset where id % 3 = 0;
insert into onchain_day (asset_id, chain, day, supply, holders, top10_share, transfers_24h, at)
select id, 'eip155:1', current_date, 1e9, 12345, 0.31, 777, now() from market_asset
"""


def fill(database: Database) -> None:
    with database.write() as session:
        for statement in _ROWS.split(";\n"):
            session.execute(text(statement), {"n": TOKENS} if ":n" in statement else {})
    vacuum(database)


def notes_per_s(database: Database, now: datetime) -> float:
    with database.read() as session:
        since = views._since(now)
        tokens = views.tokens(session)[:RENDERED]
        rows = session.execute(views._PAGE, {"tokens": tokens, **since}).all()
    rates = []
    for turn in range(ROUNDS + 1):
        tiers = cycle(NoteTier)
        began = time.perf_counter()
        for row in rows:
            note_text(views.facts_from(row), next(tiers), now)
        if turn:  # the first one warms up
            rates.append(len(rows) / (time.perf_counter() - began))
    return round(statistics.median(rates), 1)


def ratio(bare_port: int, port: int, tokens: Sequence[str], calls: int) -> float:
    """The bare route's call and a note's in turn."""
    bare, ours, paths = caller(bare_port), caller(port), cycle(f"/kg/{one}.md" for one in tokens)
    return p99_ratio(lambda: bare("/bare"), lambda: ours(next(paths)), calls)


def exported(database: Database, now: datetime) -> dict[str, Any]:
    where = JobPlace(
        database=database,
        reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
        mark_retention_days=90,
        intent_retention_days=90,
        limits=CallerLimits(),
    )
    began = time.perf_counter()
    done = job.run(where, now)
    took = time.perf_counter() - began
    with database.read() as session:
        found = queries.export(session)
    faults = [*faults_of(found), *newer_yaml_faults_of(found)]
    assert not faults, faults[:5]
    return {
        "export_6000_s": round(took, 2),
        "export_files": done["notes"],
        "export_mb": round(done["bytes"] / 1e6, 2),
        "export_faults": len(faults),
    }


def figures() -> dict[str, Any]:
    now = datetime.now(UTC)
    with served() as server, migrated(server) as database:
        fill(database)
        found: dict[str, Any] = {"notes_per_s": notes_per_s(database, now)}
        found |= exported(database, now)
        url, tokens = url_of(database), [f"T{n}" for n in range(1, READ_IN_TURN + 1)]
        with product(url, {"NOTES_PER_ADDRESS_PER_MINUTE": HEAP}) as where, twin(url) as (bare, _):
            where.agents(1)  # the row that the bare route reads
            found["note_p99_ratio"] = ratio(bare, where.port, tokens, READ_CALLS)
            found["note_kept_p99_ratio"] = ratio(bare, where.port, tokens[:KEPT], KEPT_CALLS)
    return found


if __name__ == "__main__":
    print(json.dumps(figures()))
