"""The gallery: what is offered, by whom, and what becomes of it."""

from dataclasses import replace
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import event, select, text
from starlette.testclient import TestClient

from api.areas.gallery import service
from api.areas.gallery.operations import EXAMPLE
from api.areas.gallery.tables import GalleryOffer, GalleryShelf, GalleryStatusEvent
from api.areas.records.views.strip import RecordStrip, strips_of
from api.kernel.operation import Call, Deps
from api.kernel.workers import CALLS, CALLS_OF_ONE, Pools, Workers
from api.main import create_app
from core.db.engine import Database
from core.house import House
from tests.each import each
from tests.integration.api.conftest import BASE_URL, KEY, Clock, Limit, connect, login, reason
from tests.integration.api.in_process import AppClient

PATH = "/mandate-wallet/gallery"
OFFERED: dict[str, Any] = dict(EXAMPLE)
PLAIN = {
    "product_type": "model",
    "title": "A model",
    "summary": "It says what units will cost.",
    "price_model": "paid_read",
}


def key(agent: dict[str, Any]) -> dict[str, str]:
    return {KEY: agent["api_key"]}


def offer(client: TestClient, who: dict[str, str], **changes: Any) -> Any:
    return client.post(PATH, json=PLAIN | changes, headers=who)


def made(client: TestClient, who: dict[str, str], **changes: Any) -> dict[str, Any]:
    answer = offer(client, who, **changes)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["listings"]]


@pytest.mark.row(
    "2.20 status", "2.20 a listing's status is its latest event's", "3.4 draft listed withdrawn"
)
def test_a_listing__is_drafted_listed_and_withdrawn_for_good(
    client: TestClient, database: Database, clock: Clock, agent: dict[str, Any]
) -> None:
    draft = client.post(PATH, json=OFFERED, headers=key(agent))
    assert draft.status_code == 201, draft.text
    path = f"{PATH}/{draft.json()['id']}"
    assert client.get(path).json() == draft.json()
    assert ids(client.get(PATH)) == []
    clock.pass_(seconds=5)
    listed = client.post(f"{path}/list", headers=key(agent)).json()
    assert listed == draft.json() | {"status": "listed", "status_at": "2026-11-21T12:00:05Z"}
    assert client.get(PATH).json() == {"listings": [listed], "next_cursor": None}
    assert reason(client.post(f"{path}/list", headers=key(agent))) == (409, "wrong_status")
    gone = client.post(f"{path}/withdraw", headers=key(agent)).json()
    assert (gone["status"], ids(client.get(PATH))) == ("withdrawn", [])
    for move in ("list", "withdraw"):
        assert reason(client.post(f"{path}/{move}", headers=key(agent))) == (409, "wrong_status")
    with database.read() as session:
        events = select(GalleryStatusEvent.status).order_by(GalleryStatusEvent.id)
        assert [*session.scalars(events)] == ["draft", "listed", "withdrawn"]
        assert session.scalar(select(GalleryOffer.status)) == "draft"
        newest = select(GalleryStatusEvent.id).order_by(GalleryStatusEvent.id.desc()).limit(1)
        assert session.scalar(select(GalleryShelf.event_id)) == session.scalar(newest)


@pytest.mark.row("2.20 editable_params", "2.20 cited")
def test_a_listing__says_what_its_seller_wrote(client: TestClient, agent: dict[str, Any]) -> None:
    shown = made(client, key(agent), **OFFERED)
    assert shown["editable_params"] == [
        {"name": "parts", "type": "int", "min": 1, "max": 24, "default": 6},
        {
            "name": "hold_ratio",
            "type": "float",
            "min": "0.000000",
            "max": "1.000000",
            "default": "0.250000",
        },
    ]
    assert shown["cited"] == OFFERED["cited"]
    assert (shown["agent_id"], shown["operator"], shown["ref_vault_id"]) == (
        str(agent["user_id"]),
        "quant",
        None,
    )


@pytest.mark.row("2.20 product_type", "2.20 ref_vault_id")
def test_the_list__runs_newest_first_by_pages_and_product_type(
    client: TestClient, agent: dict[str, Any]
) -> None:
    who = key(agent)
    models = [made(client, who, status="listed")["id"] for _ in range(3)]
    deposit = made(
        client, who, status="listed", product_type="vault_deposit", ref_vault_id="fund-1"
    )["id"]
    assert ids(client.get(PATH)) == [deposit, *reversed(models)]
    first = client.get(PATH, params={"product_type": "model", "limit": 2})
    assert ids(first) == [models[2], models[1]]
    cursor = first.json()["next_cursor"]
    made(client, who, status="listed")
    last = client.get(PATH, params={"product_type": "model", "limit": 2, "cursor": cursor})
    assert (ids(last), last.json()["next_cursor"]) == ([models[0]], None)
    other = client.get(PATH, params={"cursor": cursor})
    assert other.json()["detail"].startswith("cursor: ")
    assert client.get(PATH, params={"limit": 51}).status_code == 400
    assert client.get(PATH, params={"product_type": "fund"}).status_code == 400


def test_an_owner__offers_for_an_agent_of_its_own(client: TestClient, wallet: LocalAccount) -> None:
    owner = login(client, wallet)
    agent = connect(client, owner)
    assert offer(client, owner).json()["detail"].startswith("agent_id: ")
    draft = made(client, owner, agent_id=agent["user_id"])
    path = f"{PATH}/{draft['id']}"
    assert client.post(f"{path}/list", headers=key(agent)).json()["status"] == "listed"
    assert client.post(f"{path}/withdraw", headers=owner).json()["status"] == "withdrawn"


def test_another_owners_agent__is_not_owner_and_an_unknown_one_not_found(
    client: TestClient, wallet: LocalAccount, agent: dict[str, Any]
) -> None:
    owner, mine = login(client, wallet), made(client, key(agent))
    for who in (owner, key(connect(client, agent_name="other"))):
        assert reason(offer(client, who, agent_id=agent["user_id"])) == (403, "not_owner")
        assert reason(offer(client, who, agent_id="999999")) == (404, "not_found")
        for move in ("list", "withdraw"):
            answer = client.post(f"{PATH}/{mine['id']}/{move}", headers=who)
            assert reason(answer) == (403, "not_owner")
    assert client.get(f"{PATH}/{mine['id']}").json()["status"] == "draft"


@each("listing_id", ["l_aaaaaaaaaa", "m_aaaaaaaaaa", "l_1", "x" * 10_000])
def test_an_unknown_listing__is_not_found(
    client: TestClient, agent: dict[str, Any], listing_id: str
) -> None:
    answer = client.get(f"{PATH}/{listing_id}")
    assert reason(answer) == (404, "not_found")
    assert answer.json()["service"]["next"][0]["path"] == PATH
    for move in ("list", "withdraw"):
        answer = client.post(f"{PATH}/{listing_id}/{move}", headers=key(agent))
        assert reason(answer) == (404, "not_found")


@each(("title", "summary"), [("AB", ""), ("A" * 80, "A" * 140)])
def test_title_and_summary__are_taken_at_their_bounds(
    client: TestClient, agent: dict[str, Any], title: str, summary: str
) -> None:
    shown = made(client, key(agent), title=title, summary=summary)
    assert (shown["title"], shown["summary"]) == (title, summary)


@pytest.mark.row("2.20 record at read time")
def test_a_listing__shows_the_record_of_the_agent_that_runs_it_as_it_is_read(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, agent: dict[str, Any]
) -> None:
    """The strips of a page are read once, for all agents."""
    asked: list[set[int]] = []

    def strips(call: Call, agent_ids: set[int], *, is_runner: bool) -> dict[int, RecordStrip]:
        asked.append(agent_ids)
        return strips_of(call, agent_ids, is_runner=is_runner)

    monkeypatch.setattr(service, "strips_of", strips)
    other = connect(client, agent_name="other")
    for seller in (agent, other):
        record = made(client, key(seller), status="listed")["record"]
        assert (record["runner"], record["posting_tier"]) == (True, None)
    asked.clear()
    shown = [one["record"]["agent_name"] for one in client.get(PATH).json()["listings"]]
    assert shown == ["other", "quant"]
    assert asked == [{agent["user_id"], other["user_id"]}]


def test_a_listing_of_the_house__shows_whose_record_it_is(client: TestClient, deps: Deps) -> None:
    seller, runner = connect(client), connect(client, agent_name="runner")
    shown = made(client, key(seller))
    house = House(house_agents=(seller["user_id"],), record_runner=runner["user_id"])
    own = replace(deps, workers=Pools(Workers(CALLS, CALLS_OF_ONE))).with_part(House, house)
    with AppClient(create_app(own), base_url=BASE_URL) as of_the_house:
        read = of_the_house.get(f"{PATH}/{shown['id']}").json()
    assert (shown["house"], shown["runner_agent_id"]) == (False, str(seller["user_id"]))
    assert (read["house"], read["runner_agent_id"]) == (True, str(runner["user_id"]))
    assert read["agent_id"] == str(seller["user_id"])


CITED: dict[str, Any] = OFFERED["cited"][0]
PARAM: dict[str, Any] = OFFERED["editable_params"][0]
STRATEGY: dict[str, Any] = {"product_type": "strategy_template"}


def without(part: str) -> dict[str, Any]:
    return {"cited": [{name: value for name, value in CITED.items() if name != part}]}


def param(**changes: Any) -> dict[str, Any]:
    return STRATEGY | {"editable_params": [PARAM | changes]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"title": "A"}, "title"),
    ({"title": "A" * 81}, "title"),
    ({"title": "a\u202eb"}, "title"),
    ({"title": "\u3164\u3164"}, "title"),
    ({"title": "<img src=x onerror=alert(1)>"}, "title"),
    ({"summary": "A" * 141}, "summary"),
    ({"product_type": "fund"}, "product_type"),
    ({"price_model": "auction"}, "price_model"),
    ({"status": "withdrawn"}, "status"),
    ({"product_type": "vault_deposit"}, "ref_vault_id"),
    ({"markets": ["a"] * 17}, "markets"),
    ({"cited": [CITED] * 21}, "cited"),
    *((without(part), f"cited.0.{part}") for part in CITED),
    ({"cited": [CITED | {"as_of_date": "2026-02-30"}]}, "cited.0.as_of_date"),
    ({"cited": [CITED | {"as_of_date": "2026-11-22"}]}, "cited.0.as_of_date"),
    ({"cited": [CITED | {"claim_text": "A" * 10_000}]}, "cited.0.claim_text"),
    (param(min=24, max=1), "editable_params.0.max"),
    (param(default="NaN"), "editable_params.0.default"),
    (param(max="Infinity"), "editable_params.0.max"),
    (param(max="1e3"), "editable_params.0.max"),
    (param(max="1000000000001"), "editable_params.0.max"),
    (param(min=True), "editable_params.0.min"),
    (param(type="text"), "editable_params.0.type"),
    (param(name="Parts!"), "editable_params.0.name"),
    (STRATEGY | {"editable_params": [PARAM] * 33}, "editable_params"),
    ({"rank": 1}, "rank"),
]


@pytest.mark.row("2.20 title", "2.20 summary", "2.20 price_model", "8 listing title and summary")
def test_a_hostile_body__is_refused_by_its_field(
    client: TestClient, database: Database, agent: dict[str, Any]
) -> None:
    named = []
    for changes, field in REFUSED:
        refused = offer(client, key(agent), **changes)
        assert refused.status_code == 400, (changes, refused.text)
        named.append((refused.json()["detail"].split(": ")[0], field))
    assert [pair for pair in named if pair[0] != pair[1]] == []
    with database.read() as session:
        assert session.scalar(select(GalleryOffer.id)) is None


def test_open_listings_of_an_agent__are_bounded_and_the_refusal_says_which_to_withdraw(
    limited: Limit,
) -> None:
    client = limited(open_listings=2)
    who, other = key(connect(client)), key(connect(client, agent_name="other"))
    first, _ = made(client, who), made(client, who, status="listed")
    full = offer(client, who)
    assert reason(full) == (409, "gallery_full")
    path = full.json()["service"]["next"][0]["path"]
    assert path == f"{PATH}/{first['id']}/withdraw"
    made(client, other)
    assert client.post(path, headers=who).status_code == 200
    made(client, who)


def test_listings_of_24_hours__are_bounded_until_the_oldest_is_a_day_old(
    limited: Limit, clock: Clock
) -> None:
    client = limited(listings_in_24_hours=2)
    who = key(connect(client))
    made(client, who)
    clock.pass_(hours=1)
    withdrawn = made(client, who)
    client.post(f"{PATH}/{withdrawn['id']}/withdraw", headers=who)
    refused = offer(client, who)
    assert reason(refused) == (429, "rate_limited")
    assert refused.json()["service"]["retry_at"] == "2026-11-22T12:00:00Z"
    clock.pass_(hours=22, minutes=59, seconds=59)
    assert offer(client, who).status_code == 429
    clock.pass_(seconds=1)
    made(client, who)


def test_the_list__costs_the_same_statements_whatever_is_in_it(
    client: TestClient, database: Database, agent: dict[str, Any]
) -> None:
    counted: list[str] = []

    def count(*args: Any) -> None:
        counted.append(args[2])

    def statements() -> int:
        counted.clear()
        assert client.get(PATH).status_code == 200
        return len(counted)

    event.listen(database.engine, "before_cursor_execute", count)
    try:
        empty = statements()
        for _ in range(3):
            made(client, key(agent), status="listed")
        assert statements() == empty
    finally:
        event.remove(database.engine, "before_cursor_execute", count)


@each(
    ("where", "index"),
    [
        ("status = 'listed' and event_id < 9", "ix_gallery_shelf_listed"),
        (
            "status = 'listed' and product_type = 'model' and event_id < 9",
            "ix_gallery_shelf_listed_product_type",
        ),
    ],
)
def test_a_page__is_found_by_an_index(database: Database, where: str, index: str) -> None:
    with database.read() as session:
        session.execute(text("set local enable_seqscan = off"))
        session.execute(text("set local enable_sort = off"))
        query = f"explain select * from gallery_shelf where {where} order by event_id desc limit 9"
        plan = "\n".join(session.scalars(text(query)))
    assert f"using {index} on" in plan
