"""Notes as resources: their index, pages, reads, and what a read counts."""

from typing import Any

import pytest

from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, TestClient, connect
from tests.integration.api.tools.conftest import message, send
from tests.market_rows import ListedPair, MarketIds, add_market, add_pairs


@pytest.fixture
def market(database: Database, clock: Clock) -> MarketIds:
    with database.write() as session:
        return add_market(session, clock.now)


def result(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def error(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()["error"]


def read(client: TestClient, uri: str, headers: dict[str, str] | None = None) -> Any:
    return send(client, message("resources/read", uri=uri), headers)


def test_the_list__begins_with_the_index__then_every_token(
    client: TestClient, market: MarketIds
) -> None:
    found = result(send(client, message("resources/list")))
    assert [one["uri"] for one in found["resources"]] == [
        "kg://index", "kg://notes/BTC", "kg://notes/DUST", "kg://notes/LINK",
    ]  # fmt: skip
    assert {one["mimeType"] for one in found["resources"]} == {"text/markdown"}
    assert found.get("nextCursor") is None


def test_the_list__comes_in_pages(client: TestClient, database: Database, clock: Clock) -> None:
    with database.write() as session:
        add_pairs(
            session,
            (ListedPair("okx", f"T{n:03}", "USDT", 1.0, 1e6) for n in range(201)),
            clock.now,
        )
    first = result(send(client, message("resources/list")))
    assert (len(first["resources"]), first["nextCursor"]) == (201, "T199")
    second = result(send(client, message("resources/list", cursor="T199")))
    assert [one["name"] for one in second["resources"]] == ["T200"]
    assert second.get("nextCursor") is None


def test_a_note__reads_as_by_its_route(client: TestClient, market: MarketIds) -> None:
    found = result(read(client, "kg://notes/btc"))
    by_route = client.get("/kg/btc.md").text
    assert found["contents"] == [
        {"uri": "kg://notes/btc", "mimeType": "text/markdown", "text": by_route}
    ]


def test_the_index__reads_as_by_its_route(client: TestClient, market: MarketIds) -> None:
    found = result(read(client, "kg://index"))["contents"][0]["text"]
    assert found == client.get("/kg/index").text
    assert "[[BTC]]" in found


def test_a_note_read_with_a_key__is_pro__and_is_one_call_of_its_day(
    client: TestClient, market: MarketIds
) -> None:
    key = {KEY: str(connect(client)["api_key"])}
    answer = read(client, "kg://notes/BTC", key)
    assert "\ntier: pro\n" in result(answer)["contents"][0]["text"]
    assert answer.headers["X-RateLimit-Remaining"] == "1999"


def test_reads_without_a_key__are_counted_with_those_of_routes(
    client: TestClient, market: MarketIds
) -> None:
    for _ in range(15):
        assert client.get("/kg/BTC.md").status_code == 200
        result(read(client, "kg://notes/BTC"))
    refused = error(read(client, "kg://notes/BTC"))
    assert refused["code"] == -32600
    assert refused["data"]["service"]["reason"] == "rate_limited"
    assert client.get("/kg/BTC.md").status_code == 429


def test_the_template__names_any_ticker(client: TestClient) -> None:
    found = result(send(client, message("resources/templates/list")))["resourceTemplates"]
    assert [one["uriTemplate"] for one in found] == ["kg://notes/{token}"]


@each(
    "uri",
    ["kg://other", "file:///etc/passwd", "kg://index/", "kg://notes/BTC?x=1", "kg://notes/BTC#x"],
)
def test_what_is_no_resource__is_told_so(client: TestClient, uri: str) -> None:
    refused = error(read(client, uri))
    assert refused["code"] == -32602
    assert "kg://index" in refused["message"]


@each("token", ["..%2F..%2Fetc", "%00", "A" * 33, ""])
def test_what_is_no_ticker__is_refused_as_by_its_route(client: TestClient, token: str) -> None:
    refused = error(read(client, f"kg://notes/{token}"))
    assert refused["code"] == -32602
    assert refused["data"] == {"detail": refused["message"]}


def test_an_unknown_key__is_refused(client: TestClient) -> None:
    refused = error(read(client, "kg://notes/BTC", {KEY: "sk_unknown"}))
    assert refused["data"]["service"]["reason"] == "auth_invalid"
