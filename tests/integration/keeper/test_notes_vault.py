"""The vault of notes: what note apps make of it, and what its links are."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Engine, delete, event, text

from api.areas.claims.tables import KgClaim
from api.areas.notes import queries, views
from api.areas.notes.jobs import is_kept, run
from api.areas.notes.queries import LastVault
from api.areas.notes.rendering import vault
from api.areas.notes.rendering.markdown import note_text
from api.areas.notes.rules.facts import NoteTier
from api.areas.notes.rules.names import HubKind, hub_file
from api.areas.notes.tables import KgExport
from api.kernel.jobs import JobPlace
from core.db.engine import Database
from core.identity.tables import Account
from core.jobs.schedule import JobSkippedError
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from core.market import queries as queries_market
from core.market.facts import DataSource
from core.market.tables import MarketAsset, MarketAssetState, MarketListingState
from tests.integration.core.market.conftest import market as market_of
from tests.integration.lent import lent_during
from tests.market_rows import MarketIds, add_market
from tests.vaults import (
    faults_of,
    front_and_body,
    newer_yaml_faults_of,
    notes_of,
    wikilinks_of,
)

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
HOSTILE = (
    "CON", "NUL", "COM1", "nul", "Nul", "aux.md", "NO", "ON", "1E5", "0X1F", "btc", "Btc",
    "비트코인", "ビット", "🚀", "..", "../x", "a/b", "a\\b", "C:", "- x", "# h", "[[X]]", "]] |",
    "<img src=x onerror=alert(1)>", "`code`", "*b*", "~", "null", "'", '"', "a: b", "{x: 1}",
    "!!python/object", "&a", "*a", "%%x%%", "$x$", "\u202eRTL", "_INDEX", "index", "\u2028",
)  # fmt: skip


def place_of(database: Database) -> JobPlace:
    return JobPlace(
        database=database,
        reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
        mark_retention_days=90,
        intent_retention_days=90,
        limits=CallerLimits(),
    )


@pytest.fixture
def market(database: Database) -> MarketIds:
    with database.write() as session:
        return add_market(session, NOON)


def made(database: Database, at: datetime = NOON) -> bytes:
    run(place_of(database), at)
    with database.read() as session:
        return queries.export(session)


def add_assets(database: Database, tickers: tuple[str, ...], **more: Any) -> None:
    with database.write() as session:
        for ticker in tickers:
            asset = MarketAsset(ticker=ticker)
            session.add(asset)
            session.flush()
            values: dict[str, Any] = {
                "exchanges": ["binance"], "is_simulated": True, "updated_at": NOON, **more,
            }  # fmt: skip
            session.add(MarketAssetState(asset_id=asset.id, token=ticker, **values))


def test_the_vault__has_every_note_and_what_they_lead_to(
    database: Database, market: MarketIds
) -> None:
    notes = notes_of(made(database))
    assert sorted(notes) == [
        "BTC.md", "DUST.md", "LINK.md", "_index.md", "chain/eip155-1.md", "chain/eip155-10.md",
        "class/crypto.md", "event/delist_notice.md", "event/depth_collapse.md",
        "event/transfer_halt.md", "event/withdraw_closed.md",
    ]  # fmt: skip
    hub = front_and_body(notes["chain/eip155-1.md"])[1]
    assert wikilinks_of(hub) == ["DUST", "LINK", "_index"]
    assert wikilinks_of(front_and_body(notes["_index.md"])[1]) == ["BTC", "DUST", "LINK"]
    assert "\ntier: free\n" in notes["BTC.md"]


def test_the_vault_of_hostile_names__is_read_by_everybody(
    database: Database, market: MarketIds
) -> None:
    contract = {"chain": "unknown:<b>]]\n---", "address": "0x`|\n# h", "exchanges": ["<i>"]}
    add_assets(database, HOSTILE, contracts=[contract], identity="collision", transfer="open")
    content = made(database)
    assert faults_of(content) == []
    assert newer_yaml_faults_of(content) == []
    notes = notes_of(content)
    titles = {
        front_and_body(note)[0].splitlines()[0] for path, note in notes.items() if "/" not in path
    }
    assert len(titles - {"type: index"}) == len(HOSTILE) + 3
    assert len(wikilinks_of(front_and_body(notes["flag/collision.md"])[1])) == len(HOSTILE) + 1


def test_tickers_of_one_contract__lead_to_each_other(database: Database, market: MarketIds) -> None:
    with database.write() as session:
        for token_id in ("binance_btc_usdt", "binance_link_usdt"):
            state = session.get_one(MarketListingState, market.listings[token_id])
            state.strong_group = "eip155:1:0x51"
    notes = notes_of(made(database))
    assert "- Same contract under another ticker: [[LINK]]" in notes["BTC.md"]
    assert "- Same contract under another ticker: [[BTC]]" in notes["LINK.md"]
    with database.read() as session:
        back = views.listed(session, prefix="", links_to="BTC", after="", limit=9)
    assert [one.token for one in back] == ["LINK"]


def test_links__are_those_of_the_newest_vault(database: Database, market: MarketIds) -> None:
    def to_the_class() -> list[str]:
        with database.read() as session:
            rows = views.listed(session, prefix="", links_to="class/crypto", after="", limit=9)
            return [one.token for one in rows]

    made(database)
    assert to_the_class() == ["BTC", "DUST", "LINK"]
    with database.write() as session:
        state = session.get_one(MarketListingState, market.listings["mexc_dust_usdt"])
        state.asset_class = None
    made(database, NOON + HOUR)
    assert to_the_class() == ["BTC", "LINK"]


def test_the_same_facts_and_time__are_the_same_bytes(database: Database, market: MarketIds) -> None:
    first = made(database)
    with database.write() as session:
        session.execute(delete(KgExport))
    assert made(database) == first


def test_within_the_hour__only_tokens_that_are_new_give_another_vault(database: Database) -> None:
    assert list(notes_of(made(database))) == ["_index.md"]
    with pytest.raises(JobSkippedError):
        run(place_of(database), NOON + MINUTE)
    add_assets(database, ("BTC",))
    assert list(notes_of(made(database, NOON + MINUTE))) == ["BTC.md", "_index.md"]
    with pytest.raises(JobSkippedError):
        run(place_of(database), NOON + MINUTE + HOUR - timedelta(microseconds=1))
    assert run(place_of(database), NOON + MINUTE + HOUR)["notes"] == 2


@pytest.mark.parametrize(
    ("files", "tokens", "kept_for"),
    [
        (11, 10, HOUR),
        (11, 11, timedelta(seconds=1.1)),
        (1, 20_000, timedelta(seconds=0.1)),
        (6_000, 6_000, timedelta(minutes=10)),
        (6_000, 5_999, HOUR),
        (100_000, 100_000, HOUR),
    ],
)
def test_a_vault_that_lacks_tokens__is_kept_the_longer_the_more_it_has(
    files: int, tokens: int, kept_for: timedelta
) -> None:
    last = LastVault(NOON, files)
    assert is_kept(last, tokens, NOON)
    assert is_kept(last, tokens, NOON + kept_for - timedelta(microseconds=1))
    assert not is_kept(last, tokens, NOON + kept_for)
    assert not is_kept(last, tokens, NOON - timedelta(microseconds=1))


@pytest.mark.parametrize("a_minute", [1, 60, 1_000, 20_000])
def test_a_market_that_grows_all_day__has_files_written_a_fiftieth_of_it(a_minute: int) -> None:
    """A thousand notes are written a second, and a vault has a hub and the index beside its tokens."""
    last, written = LastVault(NOON, 1), 0
    for minute in range(24 * 60):
        tokens, now = min(minute * a_minute, views.MOST_NOTES), NOON + minute * MINUTE
        if not is_kept(last, tokens, now):
            last = LastVault(now, tokens + 2)
            written += last.notes
    assert 24 <= written / 1_000 <= 24 * 60 * 60 / 50


def test_two_hubs_of_one_path__are_one_file(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 bits of a hash are found again in minutes: two chains that a venue made up may share them."""
    monkeypatch.setattr(
        "api.areas.notes.rules.names.hashlib.sha256",
        lambda _: SimpleNamespace(hexdigest=lambda: "0" * 64),
    )
    chains = ("a b:1", "a/b:1")
    assert len({hub_file(HubKind.CHAIN, one) for one in chains}) == 1
    for ticker, chain in zip(("AAA", "BBB"), chains, strict=True):
        contract = {"chain": chain, "address": "0x1", "exchanges": ["binance"]}
        add_assets(database, (ticker,), contracts=[contract])
    content = made(database)
    assert faults_of(content) == []
    assert wikilinks_of(front_and_body(notes_of(content)["chain/a_b_1--00000000.md"])[1]) == [
        "AAA", "BBB", "_index",
    ]  # fmt: skip


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-Infinity", "1e300"])
def test_a_figure_that_is_none__is_left_out_and_holds_no_note_up(
    database: Database, market: MarketIds, figure: str
) -> None:
    with database.write() as session:
        for statement in (
            "update arb_observation set gross_bps = cast(:f as float8), net_1k_bps = cast(:f as float8)",
            "update asset_state set gpa_7d = cast(:f as float8)",
            "update network_status set withdraw_fee = cast(:f as float8)",
            (
                "update listing_state set price_usd = cast(:f as float8), spread_bps = cast(:f as float8), "
                "in_spread_bps = cast(:f as float8), in_uptime = cast(:f as float8), score = cast(:f as float8)"
            ),
            (
                "insert into onchain_day (asset_id, chain, day, supply, top10_share, at) select asset_id, 'eip155:1', "
                "current_date, cast(:f as float8), cast(:f as float8), now() from asset_state"
            ),
        ):
            session.execute(text(statement), {"f": figure})
    with database.read() as session:
        for token in market.assets:
            note = note_text(views.facts_of(session, token, NOON), NoteTier.PRO, NOON)
            assert not re.search(r"\b(nan|inf|infinity)\b", note, re.IGNORECASE)
    assert faults_of(made(database)) == []


def test_chains_that_a_venue_makes_up__have_one_hub(database: Database) -> None:
    """200 names a coin of 20,000 coins were four million files."""
    for ticker in ("AAA", "BBB"):
        names = [f"unknown:{ticker} {n} ]]" for n in range(50)]
        contracts = [{"chain": one, "address": "0x1", "exchanges": ["binance"]} for one in names]
        add_assets(database, (ticker,), contracts=contracts)
    content = made(database)
    assert faults_of(content) == []
    notes = notes_of(content)
    assert sorted(notes) == ["AAA.md", "BBB.md", "_index.md", "chain/unknown--926067f4.md"]
    assert wikilinks_of(front_and_body(notes["chain/unknown--926067f4.md"])[1]) == [
        "AAA",
        "BBB",
        "_index",
    ]
    assert notes["AAA.md"].count("[[chain/unknown--926067f4|unknown:AAA ") == 50


@pytest.mark.slow
def test_a_contract_of_a_thousand_tickers__gives_each_note_a_hundred_links(
    database: Database, market: MarketIds
) -> None:
    tickers = tuple(f"S{n:04}" for n in range(1_000))
    with database.write() as session:
        queries_market.learn_markets(
            session,
            "kucoin",
            [market_of("kucoin", one) for one in tickers],
            DataSource.SIMULATED,
            NOON,
        )
        session.execute(text("update listing_state set strong_group = 'eip155:1:0x51'"))
    facts = {one.token: one for one in views.all_facts(database.read, NOON)}
    with database.read() as session:
        assert len(facts) == 1_003
        assert all(90 < len(one.related) <= 100 for one in facts.values())
        assert views.facts_of(session, "BTC", NOON).related == facts["BTC"].related
        assert facts["BTC"].related[:3] == ("DUST", "LINK", "S0000")


def test_a_ticker_of_hundreds_of_contracts__has_a_note_of_64(database: Database) -> None:
    """What a venue tells of contracts is bounded for the board; a note, which 20,000 have, is less."""
    keys = [f"0x{n:040x}" for n in range(256)]
    contracts = [{"chain": "eip155:1", "address": one, "exchanges": ["binance"]} for one in keys]
    coins = [f"binance:S{n}" for n in range(128)]
    groups = [{"id": f"eip155:1:{one}", "coins": coins} for one in keys[::4]]
    add_assets(database, ("AAA",), contracts=contracts, groups=groups, identity="collision")
    with database.read() as session:
        facts = views.facts_of(session, "AAA", NOON)
    assert len(facts.contracts) == 64
    assert [one.id for one in facts.groups] == [one["id"] for one in groups[:16]]
    assert {len(one.coins) for one in facts.groups} == {20}
    content = made(database)
    assert faults_of(content) == []
    assert len(notes_of(content)["AAA.md"]) < 40_000


def test_of_more_tokens_than_a_vault_holds__those_stay_that_most_exchanges_list(
    database: Database, market: MarketIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_NOTES", 3)
    add_assets(database, ("ALSO",), exchanges=["binance", "mexc", "okx", "kraken"])
    add_assets(database, tuple(f"AA{n}" for n in range(9)))
    with database.read() as session:
        assert (views.count(session), views.count_kept(session)) == (13, 3)
        assert len(views.tokens(session)) == 3
        assert {"ALSO", "BTC", "LINK"} == set(views.tokens(session))
    assert faults_of(made(database)) == []


def test_the_vaults_claims__are_read_by_one_query_a_page_of_250(
    database: Database, market: MarketIds
) -> None:
    tickers = tuple(f"T{n:03d}" for n in range(260))
    add_assets(database, tickers)
    claimed = (*tickers[::37], "BTC")
    with database.write() as session:
        agent = Account(kind="agent", name="A", created_at=NOON)
        session.add(agent)
        session.flush()
        for ticker in claimed:
            session.add(
                KgClaim(
                    token=ticker,
                    kind="other",
                    claim=f"{ticker} <b>is</b> [[fine]].",
                    words=f"{ticker} is fine.",
                    source_url="https://blog.example/post",
                    agent_id=agent.id,
                    person="agent:1",
                    state="unverified",
                    made_at=NOON,
                )
            )
    queries_sent = list[str]()

    def on_query(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "kg_claim" in statement:
            queries_sent.append(statement)

    event.listen(Engine, "before_cursor_execute", on_query)
    try:
        found = list(views.all_facts(database.read, NOON))
    finally:
        event.remove(Engine, "before_cursor_execute", on_query)
    assert len(found) == 263
    assert len(queries_sent) == 2
    assert {one.token for one in found if one.claims} == set(claimed)
    with database.read() as reading:
        assert views.facts_of(reading, "T037", NOON) in found
    notes = notes_of(made(database))
    assert "- *Unverified.* other: T037 \\<b\\>is\\</b\\> \\[\\[fine\\]\\]" in notes["T037.md"]
    assert "**Not facts.**" in notes["T037.md"]
    assert "Community intel" not in notes["T036.md"]


def test_notes__are_written_outside_of_transactions(
    database: Database, market: MarketIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To write 20,000 notes takes longer than a transaction may be idle: none was ever made."""
    written = lent_during(monkeypatch, database, vault, "note_text")
    read = lent_during(monkeypatch, database, views, "facts_from")
    assert run(place_of(database), NOON)["notes"] > 3
    assert (set(written), set(read)) == ({0}, {0})
