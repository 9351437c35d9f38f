"""Submissions: what is taken, what is refused with nothing written, and what follows."""

from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import select, text
from starlette.testclient import TestClient

from api.areas.earn.tables import EarnFeedRow
from api.areas.rooms.tables import RoomMessage
from core.listings.queries import add_listings
from core.listings.rules import Symbol
from tests.each import each
from tests.integration.api.conftest import Clock, connect, login
from tests.integration.api.mining.conftest import (
    CHAIN,
    CONTRACT,
    EVIDENCE,
    LINK,
    OTHER,
    Mine,
    Rebuild,
    entry,
    key,
)


def test_the_fields_of_a_listing__say_what_each_pays(mine: Mine) -> None:
    shown = mine.fields()
    assert {name: value for name, value in shown.items() if name != "groups"} == {
        "token_id": "binance_link_usdt",
        "total_empty": 9,
        "total_points": "15.5",
        "total_credit_on_approval": 310,
        "total_credit": 310,
    }
    assert [group["key"] for group in shown["groups"]] == [
        "chain_identity",
        "project",
        "supply",
        "venue",
    ]
    assert shown["groups"][0]["fields"][1] == {
        "field": "contract_address",
        "points": "5.0",
        "credit_on_approval": 100,
        "credit": 100,
        "current_value": None,
        "pending": False,
    }


def test_the_example_of_a_first_loop__pays_what_a_listing_pays(mine: Mine) -> None:
    loop = mine.client.get("/earn/first-loop").json()
    assert loop["example"] is True
    fields = [one for group in mine.fields()["groups"] for one in group["fields"]]
    [paid] = [one for one in fields if one["field"] == loop["field_name"]]
    _, approved, last = loop["steps"]
    assert (approved["points"], approved["credits"]) == (paid["points"], paid["credit_on_approval"])
    assert last["credits"] == paid["credit_on_approval"]


def test_a_simulated_listing__says_so_and_another_does_not(mine: Mine) -> None:
    simulated = mine.fields("upbit", "LINK_KRW")
    assert (simulated["simulated"], simulated["total_empty"]) == (True, 10)
    assert "simulated" not in mine.fields()


def test_a_submission__opens_a_task_an_entry_and_tells_the_room_and_the_feed_in_part(
    mine: Mine,
) -> None:
    made = mine.submit(mine.agent, CHAIN, CONTRACT)
    assert [(one["field_name"], one["status"]) for one in made["entries"]] == [
        ("blockchain", "pending"),
        ("contract_address", "pending"),
    ]
    task = mine.client.get(f"/tasks/{made['entries'][1]['task_id']}").json()
    assert task["category"] == "reobserve"
    with mine.database.read() as session:
        rows = session.scalars(select(EarnFeedRow).order_by(EarnFeedRow.id)).all()
        said = session.scalars(select(RoomMessage.text).order_by(RoomMessage.id)).all()
    assert [(row.kind, row.shown_value, row.evidence_host) for row in rows] == [
        ("mine_submit", None, "docs.chain.link"),
        ("mine_submit", "0x51…86CA", "docs.chain.link"),
    ]
    assert rows[1].ref == f"mining:entry:{made['entries'][1]['entry_id']}"
    assert said[1] == (
        "Submitted for binance_link_usdt: contract_address is 0x51…86CA. Evidence: docs.chain.link."
    )
    assert LINK not in "".join(said)
    assert mine.field("contract_address")["pending"] is True
    assert mine.field("website_url")["pending"] is False


def test_ones_own_submissions__show_whole_values_and_their_reviews(mine: Mine) -> None:
    made = mine.submit(mine.agent, entry("contract_address", LINK.lower()), CHAIN)
    shown = mine.submissions(mine.agent)[0]
    assert (shown["status"], shown["symbol"], shown["room_id"]) == (
        "pending",
        "LINK/USDT",
        made["room_id"],
    )
    assert shown["entries"][0] == {
        "entry_id": made["entries"][0]["entry_id"],
        "field_name": "contract_address",
        "field_value": LINK,
        "chain": "ethereum",
        "evidence_url": EVIDENCE,
        "status": "pending",
        "reason_code": None,
        "points": "5.0",
        "credit_on_approval": 100,
        "task_id": made["entries"][0]["task_id"],
        "review": None,
    }
    mine.approve(made, 1)
    mine.reject(made, "evidence_insufficient", 0)
    shown = mine.submissions(mine.agent)[0]
    assert shown["status"] == "approved"
    assert shown["entries"][1]["review"] == {
        "verdict": "approved",
        "reviewed_by": "operator:1",
        "method": "reproduced",
        "source": EVIDENCE,
        "observed_at": "2026-11-21T11:59:00Z",
        "observed_result": "The page names it.",
        "note": None,
        "at": "2026-11-21T12:00:00Z",
    }
    assert shown["entries"][0]["reason_code"] == "evidence_insufficient"


def test_submissions__are_paged_newest_first(mine: Mine) -> None:
    names = ("website_url", "audit_url", "supply_url")
    ids = [
        mine.submit(mine.agent, entry(name, "https://a.example/"))["submission_id"]
        for name in names
    ]
    path, who = "/agent/mining/submissions", key(mine.agent)
    first = mine.client.get(path, params={"limit": 2}, headers=who).json()
    assert [one["submission_id"] for one in first["submissions"]] == [ids[2], ids[1]]
    last = mine.client.get(
        path, params={"limit": 2, "cursor": first["next_cursor"]}, headers=who
    ).json()
    assert [one["submission_id"] for one in last["submissions"]] == [ids[0]]
    assert last["next_cursor"] is None
    for limit, status in ((0, 400), (1, 200), (200, 200), (201, 400)):
        answer = mine.client.get(path, params={"limit": limit}, headers=who)
        assert answer.status_code == status
    assert mine.submissions(connect(mine.client, agent_name="other")) == []


BAD: list[tuple[dict[str, Any], str]] = [
    ({"exchange": "Binance"}, "exchange: write binance, the id of this exchange"),
    ({"exchange": "nyse"}, "exchange: write the id of an exchange: binance"),
    ({"symbol": "LINK_USDT"}, "symbol: write LINK/USDT; in a body or query a pair is"),
    ({"entries": []}, "entries: "),
    ({"entries": [CHAIN] * 11}, "entries: "),
    ({"entries": [entry("colour", "blue")]}, "entries.0.field_name: write a field of this"),
    (
        {"entries": [CHAIN, entry("contract_address", LINK.replace("CA", "Ca"))]},
        "entries.1.field_value: on ethereum, its EIP-55 checksum",
    ),
    (
        {"entries": [entry(evidence_url="https://me:word@docs.chain.link/")]},
        "entries.0.evidence_url: write an https URL",
    ),
    ({"entries": [entry(value="ethereum\u202e")]}, "entries.0.field_value: leave out U+202E"),
    ({"entries": [CHAIN | {"points": 900}]}, "entries.0.points: "),
    ({"reviewer": "me"}, "reviewer: "),
]


@each(("changes", "detail"), BAD, ids=range(len(BAD)))
def test_bad_input__is_refused_by_name_with_nothing_written_and_nothing_charged(
    mine: Mine, changes: dict[str, Any], detail: str
) -> None:
    agent, before = mine.agent, mine.rows()
    refused = mine.submit(agent, **({"entries": [CHAIN]} | changes), status=400)
    assert refused["detail"].startswith(detail), refused["detail"]
    assert mine.rows() == before


@each(
    ("path", "status", "detail"),
    [
        ("Binance/LINK_USDT", 400, "exchange: write binance"),
        ("binance/LINK-USDT", 400, "symbol: write LINK_USDT; in a path"),
        ("binance/link_usdt", 400, "symbol: write LINK_USDT"),
        ("binance/NONE_USDT", 404, "symbol: the service has no listing binance_none_usdt"),
        ("binance/LINK%E2%80%AE_USDT", 400, "symbol: leave out U+202E"),
    ],
)
def test_a_listing_that_is_misnamed__is_refused(
    mine: Mine, path: str, status: int, detail: str
) -> None:
    answer = mine.client.get(f"/agent/mining/fields/{path}")
    assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (status, detail)


def test_a_listing_that_is_unknown__takes_no_submission(mine: Mine) -> None:
    agent, before = mine.agent, mine.rows()
    mine.submit(agent, CHAIN, symbol="NONE/USDT", status=404)
    assert mine.rows() == before


@pytest.mark.parametrize("again", [LINK, LINK.lower(), "0x" + LINK[2:].upper()])
def test_the_same_value__is_a_duplicate_in_any_case_whoever_sends_it(
    mine: Mine, again: str
) -> None:
    mine.submit(mine.agent, CHAIN, CONTRACT)
    before = mine.rows()
    other = connect(mine.client, agent_name="other")
    sent = (entry(value="base"), entry("contract_address", again))
    mine.submit(other, *sent)  # on another chain it is another value
    after = mine.rows()
    refused = mine.submit(other, entry("contract_address", again), CHAIN, status=409)
    assert "is submitted already and waits for its review" in refused["detail"]
    assert mine.rows() == after != before


def test_a_field_that_is_filled__takes_no_value(mine: Mine) -> None:
    mine.approve(mine.submit(mine.agent, CHAIN))
    before = mine.rows()
    refused = mine.submit(mine.agent, entry(value="base"), status=400)
    assert refused["detail"] == "entries.0.field_name: leave it out; this field is filled already."
    assert mine.rows() == before
    mine.submit(mine.agent, CONTRACT)  # its chain is stated now


def test_a_value_that_was_rejected__may_be_submitted_again(mine: Mine) -> None:
    mine.reject(mine.submit(mine.agent, CHAIN))
    mine.submit(mine.agent, CHAIN)


def test_the_submissions_of_a_person__are_bounded_in_a_day(
    mine_with: Rebuild, clock: Clock, wallet: LocalAccount
) -> None:
    mine = mine_with(mining_submissions_per_person_per_day=2)
    owner = login(mine.client, wallet)
    first, second = (connect(mine.client, owner, agent_name=name) for name in ("a", "b"))
    mine.submit(first, CHAIN)
    mine.submit(second, entry("website_url", "https://a.example/"))
    before = mine.rows()
    refused = mine.submit(first, entry("audit_url", "https://a.example/"), status=429)
    assert refused["detail"] == (
        "This owner's agents had 2 submissions today, the most in a UTC day; submit again from "
        "2026-11-22T00:00:00Z on."
    )
    assert refused["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    assert mine.rows() == before
    mine.submit(connect(mine.client, agent_name="c"), entry("audit_url", "https://a.example/"))
    clock.pass_(hours=11, minutes=59, seconds=59)
    mine.submit(first, entry("supply_url", "https://a.example/"), status=429)
    clock.pass_(seconds=1)
    mine.submit(first, entry("supply_url", "https://a.example/"))


def test_the_agents_of_a_network_address__share_a_bound(
    mine_with: Rebuild, wallet: LocalAccount
) -> None:
    mine = mine_with(mining_submissions_per_address_per_day=1)
    mine.submit(connect(mine.client, agent_name="a"), CHAIN)
    website = entry("website_url", "https://a.example/")
    refused = mine.submit(connect(mine.client, agent_name="b"), website, status=429)
    assert refused["detail"].startswith("The agents of your network address had 1 submissions")
    owned = connect(mine.client, login(mine.client, wallet), agent_name="c")
    mine.submit(owned, website)  # owners share a bound of their own


def test_a_locked_agent__submits_nothing(mine: Mine) -> None:
    case = {
        "agent_id": mine.agent["user_id"],
        "rule": "Values are observed.",
        "deadline": "2026-12-01T00:00:00Z",
    }
    opened = mine.client.post("/admin/violations", json=case, headers=mine.operator)
    assert opened.status_code == 201, opened.text
    before = mine.rows()
    mine.submit(mine.agent, CHAIN, status=403)
    assert mine.rows() == before


def test_the_landscape__agrees_with_a_recount_after_every_move(mine: Mine) -> None:
    def agrees() -> dict[str, Any]:
        shown = dict(mine.client.get("/kg/landscape").json())
        with mine.database.read() as session:
            facts = session.scalar(text("select count(*) from mining_fact"))
            listings, tokens = session.execute(
                text("select count(*), count(distinct base) from listing")
            ).one()
            known = session.scalar(
                text(
                    "select count(distinct l.base) from mining_fact f join listing l on l.id = f.listing_id"
                )
            )
        assert (shown["listings"], shown["tokens"]) == (listings, tokens)
        assert (shown["filled"], shown["tokens"] - shown["tokens_zero_facts"]) == (facts, known)
        for part in ("slots", "filled", "facts_24h"):
            assert sum(group[part] for group in shown["groups"]) == shown[part]
        return shown

    empty = agrees()
    assert (empty["slots"], empty["listings"], empty["simulated_listings"]) == (38, 4, 2)
    assert (empty["percent_filled"], empty["tokens"], empty["tokens_zero_facts"]) == ("0.0", 2, 2)
    made = mine.submit(mine.agent, CHAIN, CONTRACT)
    assert agrees()["filled"] == 0
    mine.approve(made, 0)
    assert agrees()["percent_filled"] == "2.6"  # 1 of 38
    mine.approve(made, 1)
    upbit = mine.submit(mine.agent, CHAIN, exchange="upbit", symbol="LINK/KRW")
    mine.approve(upbit)
    shown = agrees()
    assert (shown["filled"], shown["facts_24h"], shown["tokens_zero_facts"]) == (3, 3, 1)
    mine.decide(
        "reverse", made["submission_id"], entry_id=made["entries"][1]["entry_id"], reason="No."
    )
    assert agrees()["filled"] == 2
    mine.decide("reverse", upbit["submission_id"], reason="No.")
    assert (agrees()["filled"], agrees()["tokens_zero_facts"]) == (1, 1)
    with mine.database.write() as session:  # two listings more, and one token
        add_listings(
            session,
            "upbit",
            [Symbol("BTC", "USDT"), Symbol("NEW", "KRW"), Symbol("LINK", "KRW")],
            is_simulated=False,
            now=mine.clock.now,
        )
    more = agrees()
    assert (more["listings"], more["simulated_listings"]) == (6, 2)
    assert (more["tokens"], more["tokens_zero_facts"]) == (3, 2)
    mine.clock.pass_(hours=23, minutes=59, seconds=59)
    assert agrees()["facts_24h"] == 1
    mine.clock.pass_(seconds=1)
    assert agrees()["facts_24h"] == 0
    mine.decide(
        "reverse", made["submission_id"], entry_id=made["entries"][0]["entry_id"], reason="No."
    )
    assert (agrees()["filled"], agrees()["tokens_zero_facts"]) == (0, 3)


def test_the_landscape_of_no_listings__is_unknown_not_zero(client: TestClient) -> None:
    assert client.get("/kg/landscape").json()["percent_filled"] is None


def test_conflicting_values__are_taken_and_one_approval_rejects_the_rest(mine: Mine) -> None:
    other = connect(mine.client, agent_name="other")
    right, wrong = mine.submit(mine.agent, CHAIN, CONTRACT), mine.submit(other, entry(value="base"))
    wrong_address = mine.submit(other, entry("contract_address", OTHER), entry(value="bsc"))
    approved = mine.approve(right)
    ended = [wrong["entries"][0], *wrong_address["entries"]]
    assert sorted(approved["superseded"]) == sorted(one["entry_id"] for one in ended)
    shown = [one for made in mine.submissions(other) for one in made["entries"]]
    assert {(one["status"], one["reason_code"]) for one in shown} == {("rejected", "superseded")}
    assert mine.approve(right, 1)["credits"] == 100
    assert mine.field("contract_address")["current_value"] == LINK
