"""Whoever writes and reads at once reads what was written, of each read that keeps something.

A call with a credential goes through the pipeline, so that its answer is of now; one without may get an
answer as old as its max-age. What a process keeps beside that, it finds by the version of what it was
made of (core/kept.py).
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import text

from api.catalogue import catalogue
from core.market.scan_tables import MarketGap
from tests.each import each
from tests.integration.api.mandates.stage import USDC, Stage
from tests.market_rows import add_market

ROOT: Final = Path(__file__).resolve().parents[4]
GAP: Final = MarketGap.__tablename__
Write = Callable[[Stage], object]


def sql(*statements: str) -> Write:
    def write(stage: Stage) -> None:
        with stage.database.write() as session:
            session.execute(text("set local session_replication_role = replica"))
            for statement in statements:
                session.execute(text(statement))

    return write


def node_is_down(stage: Stage) -> None:
    stage.chain.is_down = not stage.chain.is_down


PRICE: Final = sql("update listing_state set mid = 2 * mid, price_usd = 2 * price_usd")
WARNING: Final = sql(
    "update warning_event set at = at - interval '1 minute'",
    "update warning_standing set issued_at = issued_at - interval '1 minute'",
)
GRADE: Final = sql(
    "update asset_state set gpa_7d = gpa_7d + 0.1, grade_worst = 'F', "
    "grade = case grade when 'D' then 'C' else 'D' end"
)
SHADOW: Final = sql(
    "insert into shadow_book (id, episode_id, unplaced_usd_e6, is_simulated, computed_at) "
    "values (1, 0, 0, true, now()) on conflict (id) do update "
    "set computed_at = shadow_book.computed_at + interval '1 minute'"
)
VAULT: Final = sql(
    "insert into vault (chain_id, address, created_block_hash, created_number, created_at, factory, "
    "terms_digest, public_id, owner, mandate_id) select chain_id, terms_digest, terms_digest, 1, 1, "
    "'\\xfa', terms_digest, public_id, '\\x01', id from mandate"
)
INSIGHT: Final = sql(
    "insert into market_insight (key, kind, exchange, day, headline, evidence, is_suppressed, "
    "is_simulated, at, updated_at) select 'k' || n, 'venue_drain', 'binance', "
    "date '2026-11-21', 'Closed.', '{}', false, true, now(), now() "
    "from (select 1 + count(*) as n from market_insight) counted"
)
GAPS: Final = sql(f"update {GAP} set gross_bps = gross_bps + 1, net_1k_bps = net_1k_bps + 1")

# Of each operation whose answers this process keeps: a path, and a write that changes the answer.
KEPT_ANSWERS: Final[Mapping[str, tuple[str, Write]]] = {
    "board.rows": ("/board", PRICE),
    "board.warnings": ("/board/warnings", WARNING),
    "board.timeline": ("/board/token/timeline?token=DUST", WARNING),
    "discovery.overview": ("/overview", VAULT),
    "discovery.ready": ("/health/ready", node_is_down),
    "notes.read": ("/kg/BTC.md", GRADE),
    "notes.list": ("/kg/notes", GRADE),
    "notes.index": ("/kg/index", sql("update asset_state set token = 'LINQ' where token = 'LINK'")),
    "notes.export": (
        "/kg/export",
        sql("update kg_export set content = 'new', made_at = made_at + interval '1 second'"),
    ),
    "shadow.fund": ("/arb/shadow/fund", SHADOW),
    "shadow.quartermaster": ("/arb/shadow/quartermaster", SHADOW),
    "shadow.attribution": ("/arb/shadow/attribution", SHADOW),
    "shadow.insights": ("/arb/insights", INSIGHT),
    "stats.summary": ("/stats/summary", sql("update venue_state set listings = listings + 1")),
    "stats.watchlist": ("/stats/critical_watchlist", GRADE),
    "stats.arbitrage": ("/stats/arbitrage_snapshot", GAPS),
    "stats.arb_reel": ("/stats/arb_reel", sql("update arb_change set gross_bps = gross_bps + 1")),
    "tokens.search": ("/tokens/search?q=BTC", PRICE),
    "tokens.read": ("/tokens/binance_btc_usdt", PRICE),
    "tokens.price": ("/tokens/binance_btc_usdt/price", PRICE),
    "tokens.price_stats": ("/tokens/binance_btc_usdt/price/stats", sql("delete from snap_2h")),
}
# What the release alone says: nothing is asked for it, so that nobody can change it.
OF_THE_RELEASE: Final = {
    "discovery.catalog": "/agent/catalog",
    "discovery.service": "/.well-known/service.json",
    "rules.mandate_vault": "/rules/mandate-vault",
}


def trade(stage: Stage) -> None:
    stage.executed(stage.mandate_id, 10 * USDC)


# The same of what is kept inside of a read: by the class or the function that keeps it.
KEPT_PARTS: Final[Mapping[str, tuple[str, Write]]] = {
    "KeptSteps": ("/mandate-wallet/mandates/{id}/steps", trade),
    "KeptDays": ("/mandate-wallet/mandates/{id}", trade),
    "KeptWeeks": ("/mandate-wallet/mandates/{id}/statement", trade),
    "KeptRows": ("/board", PRICE),
    "KeptZip": KEPT_ANSWERS["notes.export"],
    "_parsed": (  # the terms of a mandate
        "/mandate-wallet/mandates/{id}",
        sql('update mandate set terms = terms || \'{"dailyCap": "20000000"}\''),
    ),
    "_row": ("/mandate-wallet/hall", sql("update hall_agent set days_live = 400")),
}
NO_READS: Final = {
    "_catalog": "made of the release alone",
    "_page": "a statement, and nothing of what it finds",
    "UsedUp": "which free reads are used up: that stays so until the day ends",
}


@pytest.fixture
def world(stage: Stage) -> Stage:
    with stage.database.write() as session:
        add_market(session, stage.clock.now)
    stage.mandate_id = stage.working()
    agent = int(stage.agent_id)
    sql(
        "insert into kg_export (id, made_at, notes, content) values (1, now() - interval '1 hour', 1, 'old')",
        "insert into hall_agent (agent_id, is_listed, ranked, rank, days_live, trades, sorts, record, "
        f"as_of) values ({agent}, true, false, null, 3, 5, '{{}}', null, now())",
    )(stage)
    return stage


def shown(stage: Stage, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    answer = stage.client.get(path.format(id=stage.mandate_id), headers=dict(headers or {}))
    assert answer.status_code in (200, 503), answer.text
    return answer.status_code, answer.content


@each("key", KEPT_ANSWERS)
def test_a_kept_answer__is_of_now_with_a_key_and_as_old_as_its_max_age_without_one(
    world: Stage, key: str
) -> None:
    path, write = KEPT_ANSWERS[key]
    (operation,) = (one for one in catalogue().operations if one.key == key)
    assert operation.cache is not None
    before, of_key = shown(world, path), shown(world, path, world.agent)
    write(world)
    assert shown(world, path, world.agent) != of_key
    world.clock.now += timedelta(seconds=operation.cache.max_age_s - 1)
    assert shown(world, path) == before
    world.clock.now += timedelta(seconds=1)
    assert shown(world, path) != before


@each("name", KEPT_PARTS)
def test_what_is_kept_of_a_read__is_read_anew_once_it_is_written(world: Stage, name: str) -> None:
    path, write = KEPT_PARTS[name]
    caller = world.owner if name == "KeptWeeks" else world.agent
    before = shown(world, path, caller)
    assert shown(world, path, caller) == before
    write(world)
    assert shown(world, path, caller) != before


def test_the_tables__have_each_read_that_keeps_something() -> None:
    kept = {one.key for one in catalogue().operations if one.cache and one.cache.keeps}
    assert kept == KEPT_ANSWERS.keys() | OF_THE_RELEASE.keys()
    keeping, used = set[str](), set[str]()
    for file in (*ROOT.glob("api/**/*.py"), *ROOT.glob("core/**/*.py")):
        source = file.read_text()
        used |= set(re.findall(r"parts\.of\((\w+)\)", source))
        if "from core.kept import" in source:
            keeping |= set(re.findall(r"^class (\w+)", source, re.MULTILINE))
        is_pure = {"rules", "rendering"} & {*file.parts}
        if not is_pure and {"areas", "shared"} & {*file.parts}:
            used |= (cached := set(re.findall(r"^@lru_cache.*\ndef (\w+)", source, re.MULTILINE)))
            keeping |= cached
    assert used & keeping == KEPT_PARTS.keys() | NO_READS.keys()


def test_what_the_release_says__asks_the_database_nothing(
    world: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {path: shown(world, path)[1] for path in OF_THE_RELEASE.values()}
    world.clock.now += timedelta(days=1)

    def ask(*_: Any) -> None:
        raise AssertionError("the database is asked")

    monkeypatch.setattr(type(world.database.engine), "connect", ask)
    assert {path: shown(world, path)[1] for path in OF_THE_RELEASE.values()} == first
