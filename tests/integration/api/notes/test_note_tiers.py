"""What the pro tier knows is nowhere in what is free: no text, tag, size or header tells of it."""

from typing import Any

import pytest
from sqlalchemy import text

from api.areas.notes import views
from api.areas.notes.rendering.vault import vault_of
from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, Limit, TestClient
from tests.integration.api.tools.conftest import message, send
from tests.market_rows import MarketIds

# Of each pro section and key one fact that changes.
PRO_FACTS = """
update asset_state set gpa_7d = 0.25, links = jsonb_build_array(jsonb_build_object('one', 'eip155:1:0xsecret', 'other',
    'eip155:10:0xother', 'exchanges', '[]'::jsonb, 'is_weak', false, 'is_refused', false));
update listing_state set gates = array['secret_gate'], imbalance = 0.77, slip_buy_10k_bps = 66.6, price_usd = 98765.4,
    in_uptime = 0.01, gpa_7d = 0.5, in_spread_bps = 321;
delete from arb_observation;
insert into onchain_day (asset_id, chain, day, supply, holders, at)
select asset_id, 'eip155:1', current_date, 7e9, 4242, now() from asset_state;
insert into arb_asset_hour (asset_id, hour, gaps, actionable)
select asset_id, date_trunc('hour', now()), 24, 3 from asset_state
"""
PATHS = (
    "/kg/BTC.md",
    "/kg/btc.md",
    "/kg/LINK.md",
    "/kg/index",
    "/kg/notes",
    "/kg/notes?links_to=class/crypto",
)


def seen(client: TestClient) -> list[Any]:
    """All that a caller without a key can see of notes: answers, their headers and what names them."""
    found: list[Any] = []
    for path in PATHS:
        for method in ("GET", "HEAD"):
            answer = client.request(method, path)
            headers = {
                name: value for name, value in answer.headers.items() if name != "x-request-id"
            }
            found.append((path, method, answer.status_code, answer.content, headers))
    for method, params in (
        ("resources/list", {}),
        ("resources/read", {"uri": "kg://notes/BTC"}),
        ("resources/read", {"uri": "kg://index"}),
    ):
        found.append(send(client, message(method, **params)).json())
    return found


def test_what_pro_alone_knows__changes_nothing_that_is_free(
    limited: Limit,
    market: MarketIds,
    agent: dict[str, str],
    database: Database,
    clock: Clock,
) -> None:
    before = seen(limited(notes_per_address_per_minute=1_000))
    pro = limited().get("/kg/BTC.md", headers=agent).text
    vault = vault_of(views.all_facts(database.read, clock.now), clock.now)
    with database.write() as session:
        for statement in PRO_FACTS.split(";\n"):
            session.execute(text(statement))
    fresh = limited(notes_per_address_per_minute=1_000)  # which has kept nothing
    assert fresh.get("/kg/BTC.md", headers=agent).text != pro
    assert seen(fresh) == before
    assert vault_of(views.all_facts(database.read, clock.now), clock.now) == vault


def test_a_pro_note__is_kept_for_nobody_else(
    client: TestClient, market: MarketIds, agent: dict[str, str]
) -> None:
    pro = client.get("/kg/BTC.md", headers=agent)
    free = client.get("/kg/BTC.md", headers={"If-None-Match": pro.headers["ETag"]})
    assert (free.status_code, "\ntier: free\n" in free.text) == (200, True)
    again = client.get("/kg/BTC.md", headers={**agent, "If-None-Match": free.headers["ETag"]})
    assert (again.status_code, again.text) == (200, pro.text)
    assert "Age" not in again.headers
    for headers in (
        {KEY: ""},
        {KEY: "sk_unknown"},
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic x"},
    ):
        assert client.get("/kg/BTC.md", headers=headers).status_code == 401


@pytest.mark.parametrize("peer", ["203.0.113.9", "2001:db8::1"])
def test_whoever_lies_of_its_address__has_no_more_reads(
    market: MarketIds, limited: Limit, peer: str
) -> None:
    client = limited(peer, notes_per_address_per_minute=2)
    lies = ("1.1.1.1", "10.0.0.1", "2001:db8:9::1", "", "10.0.0.1, 9.9.9.9")
    answers = [
        client.get("/kg/BTC.md", headers={"X-Forwarded-For": lie}).status_code for lie in lies
    ]
    assert answers == [200, 200, 429, 429, 429]


@each(
    "cursor",
    ["\x00", "a" * 33, "%00", "' or 1=1 --", "ZZZZ", 5, ["a"], {"a": 1}, True, ""],
)
def test_a_hostile_cursor_of_resources__is_a_page_or_an_error(
    client: TestClient, market: MarketIds, cursor: Any
) -> None:
    answer = send(client, message("resources/list", cursor=cursor))
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200 and "result" in answer.json():
        assert len(answer.json()["result"]["resources"]) <= 200
    else:
        assert answer.json()["error"]["code"] in (-32602, -32600, -32700)


@each(
    "uri",
    [
        "kg://notes/../index", "kg://notes/%2e%2e%2fBTC", "kg://notes/", "kg://notes/%00", "kg://notes/%FF",
        "kg://notes/" + "A" * 33, "kg://notes/B%E2%80%8DTC", "file:///etc/passwd", "kg://export", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_a_hostile_uri_of_a_resource__is_an_error(client: TestClient, uri: str) -> None:
    answer = send(client, message("resources/read", uri=uri))
    assert answer.json()["error"]["code"] in (-32602, -32600), answer.text
