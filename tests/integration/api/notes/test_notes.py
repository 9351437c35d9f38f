"""Notes over HTTP: tiers, order, caches, the rate, and what is no ticker."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from api.areas.notes import queries, views
from api.areas.notes.rendering.vault import vault_of
from api.areas.notes.rules.facts import NoteFacts
from api.areas.notes.rules.names import HubKind, hub_file
from core.db.engine import Database
from core.market.tables import MarketAssetState, MarketNetwork
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, Limit, TestClient
from tests.integration.api.notes.conftest import front_of, sections_of
from tests.market_rows import MarketIds

FREE_SECTIONS = [
    "Identity", "Grade by exchange", "Deposit / Withdrawal", "Related", "Events",
    "Backers & Project", "Deep intelligence", "Sources",
]  # fmt: skip
PRO_SECTIONS = [
    *FREE_SECTIONS[:6], "One Price", "Market Makers / microstructure", "On-chain",
    *FREE_SECTIONS[6:],
]  # fmt: skip


def read(client: TestClient, token: str, headers: dict[str, str] | None = None) -> str:
    answer = client.get(f"/kg/{token}.md", headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    return str(answer.text)


def test_a_free_note__has_its_keys_in_order__and_a_locked_teaser(
    client: TestClient, market: MarketIds
) -> None:
    note = read(client, "LINK")
    front = front_of(note)
    assert list(front) == [
        "token", "type", "grade", "grade_worst", "identity", "contracts", "exchanges", "transfer",
        "asset_class", "updated", "source", "tier", "simulated",
    ]  # fmt: skip
    assert front["contracts"] == [
        {"chain": "eip155:1", "address": "0x" + "51" * 20},
        {"chain": "eip155:10", "address": "0x" + "71" * 20},
    ]
    assert (front["token"], front["type"], front["source"], front["tier"]) == (
        "LINK", "token", "kg", "free",
    )  # fmt: skip
    assert (front["updated"], front["simulated"]) == ("2026-11-21T12:00:00Z", True)
    assert sections_of(note) == FREE_SECTIONS
    assert "\nLocked. " in note


def test_a_pro_note__adds_keys_and_sections__and_is_open(
    client: TestClient, market: MarketIds, agent: dict[str, str], database: Database
) -> None:
    with database.write() as session:
        session.execute(text("update listing_state set strong_group = 'g' where token = 'BTC'"))
    note = read(client, "btc", agent)
    front = front_of(note)
    assert list(front)[-5:] == ["tier", "grade_7d", "arb_hits_24h", "mm_venues", "simulated"]
    assert (front["tier"], front["grade_7d"], front["arb_hits_24h"]) == ("pro", "A", 0)
    assert front["mm_venues"] == ["binance", "kraken", "upbit"]
    assert sections_of(note) == PRO_SECTIONS
    assert "Locked" not in note
    assert "35.50 bps, 12.25 bps after fees for 1,000 USD; transfer open; **actionable**" in note


def test_a_collision__is_flagged__with_each_assets_contracts(
    client: TestClient, market: MarketIds, database: Database
) -> None:
    with database.write() as session:
        state = session.get_one(MarketAssetState, market.assets["LINK"])
        state.identity = "collision"
        state.contracts = [
            {"chain": "eip155:1", "address": "0xaa", "exchanges": ["binance"]},
            {"chain": "eip155:1", "address": "0xbb", "exchanges": ["bithumb"]},
        ]
        state.groups = [
            {"id": "eip155:1:0xaa", "coins": ["binance:LINK"]},
            {"id": "eip155:1:0xbb", "coins": ["bithumb:LINK"]},
        ]
    note = read(client, "LINK")
    assert note.count("[[flag/collision|collision]]") == 2
    one, two = note.index("### Asset 1"), note.index("### Asset 2")
    assert one < note.index("`0xaa`") < two < note.index("`0xbb`")
    assert "verified" not in note


def test_events_and_chains__are_links__and_exchanges_are_not(
    client: TestClient, market: MarketIds
) -> None:
    note = read(client, "DUST")
    assert "MX (mexc): [[event/withdraw_closed|withdrawals closed]] on `eip155:1`" in note
    assert "[[event/delist_notice|delisting notice]]" in note
    assert "- Chain: [[chain/eip155-1|eip155:1]]" in note
    assert "- Class: [[class/crypto|crypto]]" in note
    assert "[[mexc" not in note


def test_what_a_venue_writes__is_text(
    client: TestClient, market: MarketIds, database: Database, clock: Clock
) -> None:
    chain = "unknown:]] <img src=x onerror=alert(1)> [x](javascript:1) |`"
    with database.write() as session:
        session.add(
            MarketNetwork(
                exchange="binance",
                native_base="LINK",
                chain=chain,
                is_native=False,
                asset_id=market.assets["LINK"],
                scans=1,
                seen_at=clock.now,
                deposit_since=clock.now,
                withdraw_since=clock.now,
            )
        )
    note = read(client, "LINK")
    assert "`unknown:]] <img src=x onerror=alert(1)> [x](javascript:1) ¦'`" in note
    (line,) = [one for one in note.splitlines() if one.startswith("- Chain: [[chain/unknown")]
    target, label = line.removeprefix("- Chain: [[").removesuffix("]]").split("|")
    assert target == hub_file(HubKind.CHAIN, "unknown:another")  # one for all that are not known
    assert not set(label) & set("[]|<>`")


@each(
    "token",
    ["NO", "ON", "1E5", "0X1F", "NULL", "비트코인", "A" * 32, "🚀", "12:30", "- X", "[[X]]"],
)
def test_an_unknown_token__has_a_valid_note(client: TestClient, token: str) -> None:
    note = read(client, token)
    assert front_of(note) == {
        "token": token, "type": "token", "grade": None, "updated": "2026-11-21T12:00:00Z",
        "source": "kg", "tier": "free",
    }  # fmt: skip
    assert "Coverage is limited" in note
    assert sections_of(note) == ["Deep intelligence", "Sources"]


@each(
    "path",
    [
        "/kg/..%2fBTC.md", "/kg/%2e%2e.md", "/kg/%2e%2e%2f%2e%2e%2fetc%2fpasswd.md", "/kg/..md",
        "/kg/a%00b.md", f"/kg/{'A' * 33}.md", "/kg/%20.md", "/kg/a%5Cb.md", "/kg/a%2fb.md",
        "/kg/a%E2%80%AEb.md", "/kg/.md", "/kg/%FF.md", "/kg/a..b.md",
    ],
)  # fmt: skip
def test_what_is_no_ticker__is_refused(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400, answer.text
    assert list(answer.json()) == ["detail"]


def test_a_letter_that_becomes_an_ascii_one__is_another_ticker(
    client: TestClient, market: MarketIds
) -> None:
    """U+017F in upper case is S, so that with it a note of another ticker was that of DUST."""
    assert "Coverage is limited" in read(client, "DU%C5%BFT")


def test_the_31st_read_of_a_minute__is_refused__until_the_first_is_60_s_old(
    client: TestClient, market: MarketIds, clock: Clock
) -> None:
    for number in range(30):
        read(client, "BTC" if number % 2 else f"T{number}")
    refused = client.get("/kg/BTC.md")
    assert refused.status_code == 429
    assert refused.json()["service"]["retry_at"] == "2026-11-21T12:01:00Z"
    assert refused.headers["Retry-After"] == "60"
    clock.pass_(seconds=59)
    assert client.get("/kg/BTC.md").status_code == 429
    clock.pass_(seconds=1)
    read(client, "BTC")


def test_an_index_of_some__says_how_many_tokens_there_are(
    client: TestClient, market: MarketIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_NOTES", 2)
    index = client.get("/kg/index").text
    assert (
        "\n3 tokens have a note. These are 2 of them; `GET /kg/notes` lists all in pages.\n"
        in index
    )
    assert index.count("[[") == 2


def test_index_and_vault__are_counted_with_notes(market: MarketIds, limited: Limit) -> None:
    client = limited(notes_per_address_per_minute=2)
    read(client, "BTC")
    assert client.get("/kg/index").status_code == 200
    assert client.get("/kg/export").status_code == 429
    assert client.get("/kg/notes").status_code == 200


def test_reads_with_a_key__are_not_counted_by_address(
    market: MarketIds, agent: dict[str, str], limited: Limit
) -> None:
    client = limited(notes_per_address_per_minute=1)
    for _ in range(3):
        read(client, "BTC", agent)
    read(client, "BTC")
    assert client.get("/kg/BTC.md").status_code == 429


def test_a_free_note__may_be_kept_a_minute__and_is_not_sent_twice(
    client: TestClient, market: MarketIds, clock: Clock
) -> None:
    first = client.get("/kg/BTC.md")
    assert first.headers["Cache-Control"] == "public, max-age=60"
    clock.pass_(seconds=59)
    again = client.get("/kg/BTC.md", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    clock.pass_(seconds=1)
    later = client.get("/kg/BTC.md", headers={"If-None-Match": first.headers["ETag"]})
    assert later.status_code == 200
    assert front_of(later.text)["updated"] == "2026-11-21T12:01:00Z"


def test_a_pro_note__may_be_kept_ten_seconds_by_its_reader(
    client: TestClient, market: MarketIds, agent: dict[str, str], clock: Clock
) -> None:
    clock.now = datetime(2026, 11, 21, 12, 0, 7, tzinfo=UTC)
    first = client.get("/kg/BTC.md", headers=agent)
    assert first.headers["Cache-Control"] == "private, max-age=10"
    assert KEY in first.headers["Vary"]
    clock.pass_(seconds=2)
    again = client.get("/kg/BTC.md", headers={**agent, "If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    clock.pass_(seconds=1)
    later = client.get("/kg/BTC.md", headers={**agent, "If-None-Match": first.headers["ETag"]})
    assert later.status_code == 200


def test_the_list__finds_by_how_tickers_begin(client: TestClient, market: MarketIds) -> None:
    def tokens(query: str) -> list[str]:
        return [one["token"] for one in client.get(f"/kg/notes?{query}").json()["notes"]]

    assert tokens("") == ["BTC", "DUST", "LINK"]
    assert tokens("q=d") == ["DUST"]
    assert tokens("q=%25") == []
    assert tokens("after=BTC&limit=1") == ["DUST"]
    assert client.get("/kg/notes?limit=2").json()["next_after"] == "DUST"
    assert client.get("/kg/notes?limit=501").status_code == 400


def test_the_vault__is_what_the_job_made__kept_an_hour(
    client: TestClient, market: MarketIds, database: Database, clock: Clock
) -> None:
    early = client.get("/kg/export")
    assert (early.status_code, early.json()["detail"][:9]) == (503, "The notes")

    made = vault_of([NoteFacts(token="BTC", is_known=True)], clock.now)
    with database.write() as session:
        queries.keep_export(session, made.content, made.notes, clock.now)
    answer = client.get("/kg/export")
    assert answer.content == made.content
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="notes.zip"'
    assert answer.headers["Cache-Control"] == "public, max-age=3600"
    again = client.get("/kg/export", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_backlinks__are_the_notes_that_lead_to_one(
    client: TestClient, market: MarketIds, database: Database
) -> None:
    with database.write() as session:
        added = {("class/crypto", "LINK"), ("class/crypto", "BTC")}
        queries.change_links(session, gone=(), added=added)
    found = client.get("/kg/notes?links_to=class/crypto").json()["notes"]
    assert [one["token"] for one in found] == ["BTC", "LINK"]
    assert client.get("/kg/notes?links_to=class/other").json()["notes"] == []


@pytest.mark.parametrize("named", ["con", "CON", "CON--a3dbc4b6"])
def test_backlinks_of_a_ticker_whose_file_has_another_name__are_found_by_either(
    client: TestClient, market: MarketIds, database: Database, named: str
) -> None:
    """The console asks by ticker, and told of no link to CON."""
    with database.write() as session:
        queries.change_links(session, gone=(), added={("CON--a3dbc4b6", "LINK")})
    found = client.get(f"/kg/notes?links_to={named}").json()["notes"]
    assert [one["token"] for one in found] == ["LINK"]
