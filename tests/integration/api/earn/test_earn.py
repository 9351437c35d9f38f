"""The day's budget, the public ledger of work and one's own payouts (docs/payouts.md)."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Source
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.rules.points import credits_of
from api.areas.earn.views import standing
from api.areas.earn.writes import feed
from api.areas.earn.writes.feed import FeedKind, FeedRow
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database, WriteSession
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, Limit, connect, login

LIMITS = PayoutLimits()
APPROVALS = {
    FeedKind.MINE_APPROVED,
    FeedKind.TASK_VERIFIED,
    FeedKind.REOBSERVE_SETTLED,
    FeedKind.ROOM_RELEASED,
}

Approve = Callable[..., str]


@pytest.fixture
def approve(database: Database, clock: Clock) -> Approve:
    """Approve a submission of an agent's: `approve(agent_id, entry, tenths)`."""

    def made(
        agent_id: int, entry: int, tenths: int, limits: PayoutLimits = LIMITS, **times: Any
    ) -> str:
        ref, now = f"mining:entry:{entry}", times.get("now", clock.now)
        with database.write() as session:
            submit(session, agent_id, ref, now)
            awards.award(session, agent_id, Source.MINING, ref, tenths, limits, now)
            row = FeedRow(
                kind=FeedKind.MINE_APPROVED,
                account_id=agent_id,
                ref=ref,
                at=now,
                tenths=tenths,
                credits=credits_of(tenths),
            )
            feed.note(session, row)
        return ref

    return made


def submit(session: WriteSession, agent_id: int, ref: str, now: datetime) -> None:
    row = FeedRow(
        kind=FeedKind.MINE_SUBMIT,
        account_id=agent_id,
        ref=ref,
        at=now,
        token_id="binance_btc_usdt",
        field_name="contract_address",
        shown_value="0x51…a0f3",
        evidence_host="example.com",
    )
    feed.note(session, row)


def get(client: TestClient, path: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
    answer = client.get(path, params=query, headers=headers or {})
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows(client: TestClient, **query: Any) -> Iterator[dict[str, Any]]:
    """All rows of the public ledger, page by page."""
    cursor = None
    while True:
        page = get(client, "/earn/feed", limit=3, **query, **({"cursor": cursor} if cursor else {}))
        yield from page["rows"]
        if (cursor := page["next_cursor"]) is None:
            return


# The day


def test_epoch__of_a_day_without_payments__is_zero_of_ten_thousand(client: TestClient) -> None:
    found = get(client, "/earn/epoch")
    assert (found["day"], found["resets_at"]) == ("2026-11-21", "2026-11-22T00:00:00Z")
    assert (found["day_budget_credit"], found["day_budget_left_credit"]) == (10_000, 10_000)
    assert found["instant_payout"] == {
        "day_budget_used_credit": 0,
        "queued": 0,
        "queued_credit": 0,
        "restored_today_credit": 0,
    }
    caps = {one["cap"]: one["limit_credit"] for one in found["caps"]}
    assert (caps["person"], caps["new_account"], caps["rooms_person"]) == (2_000, 200, 100)


def test_epoch__shows_what_was_paid_waits_and_was_restored(
    client: TestClient, agent: dict[str, Any], approve: Approve, database: Database, clock: Clock
) -> None:
    approve(agent["user_id"], 1, 130)
    with database.write() as session:
        awards.charge(session, agent["user_id"], Source.REOBSERVE, "reobserve:proof:1", 30, clock())
        awards.reverse(session, "reobserve:proof:1", "it was right", clock())
    assert get(client, "/earn/epoch")["instant_payout"] == {
        "day_budget_used_credit": 200,
        "queued": 1,
        "queued_credit": 60,
        "restored_today_credit": 60,
    }


def test_own_epoch__shows_what_each_agent_may_still_be_paid(
    client: TestClient, wallet: Any, approve: Approve
) -> None:
    owner = login(client, wallet)
    agents = [connect(client, owner)["user_id"] for _ in range(2)]
    approve(agents[0], 1, 130)
    found = get(client, "/earn/epoch/me", owner)
    left = [
        {cap["cap"]: cap["left_today_credit"] for cap in one["caps"]} for one in found["agents"]
    ]
    assert [one["agent_id"] for one in found["agents"]] == agents
    assert [one["new_account"] for one in left] == [0, 200]
    assert [one["person"] for one in left] == [1_800, 1_800]
    assert [one["owners_address"] for one in left] == [4_800, 4_800]


# The public ledger


def test_feed__shows_a_case_as_it_was_redacted(
    client: TestClient, agent: dict[str, Any], approve: Approve
) -> None:
    ref = approve(agent["user_id"], 1, 15)
    found = list(rows(client))
    assert [row["kind"] for row in found] == ["mine_approved", "paid", "mine_submit"]
    assert {row["ref"] for row in found} == {ref}
    assert found[0]["points"] == "1.5"
    assert found[0]["credits"] == 30
    assert found[2] == {
        "id": found[2]["id"],
        "kind": "mine_submit",
        "at": "2026-11-21T12:00:00Z",
        "ref": ref,
        "agent_id": agent["user_id"],
        "agent_name": "quant",
        "token_id": "binance_btc_usdt",
        "field_name": "contract_address",
        "value": "0x51…a0f3",
        "evidence_host": "example.com",
        "points": None,
        "credits": None,
        "task_id": None,
        "room_id": None,
    }


def test_feed__of_a_kind_and_an_agent__is_theirs_alone(
    client: TestClient, agent: dict[str, Any], approve: Approve
) -> None:
    other = connect(client)["user_id"]
    for entry, one in enumerate((agent["user_id"], other, agent["user_id"])):
        approve(one, entry, 5)
    found = list(rows(client, kind="paid", agent_id=agent["user_id"]))
    assert [(row["kind"], row["ref"]) for row in found] == [
        ("paid", "mining:entry:2"),
        ("paid", "mining:entry:0"),
    ]


@each("query", [{"kind": "bought"}, {"agent_id": "0"}, {"cursor": "AAAA"}, {"limit": 201}])
def test_feed__asked_for_what_there_is_not__is_refused(
    client: TestClient, query: dict[str, Any]
) -> None:
    answer = client.get("/earn/feed", params=query)
    assert answer.status_code == 400
    assert next(iter(query)) in answer.json()["detail"]


def test_feed_epoch_and_credit_ledger__agree_to_the_credit(
    client: TestClient, approve: Approve, database: Database, clock: Clock
) -> None:
    """Three agents over two days: splits, a debt that is repaid, one that is restored, a reversal."""
    agents = [connect(client)["user_id"] for _ in range(3)]
    with database.write() as session:
        for number in range(3):
            standing.note_verified_claims(session, {f"task:claim:{number}": agents[2]}, clock())
    entries = 0
    for day in range(2):
        for agent_id, tenths in zip(agents, (130, 40, 1_100), strict=True):
            entries += 1
            approve(agent_id, entries, tenths)
        with database.write() as session:
            for agent_id, verdict in ((agents[0], "a"), (agents[1], "b")):
                ref = f"reobserve:proof:{day}{verdict}"
                awards.charge(session, agent_id, Source.REOBSERVE, ref, 30, clock())
            awards.reverse(session, f"reobserve:proof:{day}b", "it was right", clock())
            if day:
                awards.reverse(session, "mining:entry:6", "copied", clock())
        if not day:
            clock.pass_(hours=12)
    found = list(rows(client))
    epoch = get(client, "/earn/epoch")["instant_payout"]
    with database.read() as session:
        balance = credit_ledger.trial_balance(session)
    sums, today = defaultdict[str, int](int), defaultdict[str, int](int)
    for row in found:
        kind = "approved" if row["kind"] in APPROVALS else row["kind"]
        sums[kind] += row["credits"] or 0
        today[kind] += (row["credits"] or 0) * row["at"].startswith("2026-11-22")
    welcomed = 3 * 10
    assert today["paid"] == epoch["day_budget_used_credit"]
    assert today["restored"] == epoch["restored_today_credit"]
    waits = sums["approved"] - sums["paid"] - sums["repaid"] - sums["withdrawn"]
    assert waits == epoch["queued_credit"] > 0
    assert sums["paid"] + sums["repaid"] == -balance["service:issuance"] - welcomed
    assert sums["debt"] - sums["restored"] == balance["service:penalties"]
    assert sum(balance.values()) == 0
    assert all(sums[kind] for kind in ("repaid", "debt", "restored", "withdrawn"))


# A complete case


def test_first_loop__on_an_empty_ledger__is_an_example(client: TestClient) -> None:
    found = get(client, "/earn/first-loop")
    assert found["example"] is True
    assert [step["kind"] for step in found["steps"]] == ["mine_submit", "mine_approved", "paid"]
    assert found["field_name"] == "contract_address"
    assert [step["points"] for step in found["steps"]] == [None, "5.0", None]
    assert [step["credits"] for step in found["steps"]] == [None, 100, 100]


def test_first_loop__is_the_newest_case_that_was_paid_and_stands(
    client: TestClient, agent: dict[str, Any], approve: Approve, database: Database, clock: Clock
) -> None:
    shown = approve(agent["user_id"], 1, 15)
    approve(agent["user_id"], 2, 15)
    with database.write() as session:
        awards.reverse(session, "mining:entry:2", "copied", clock())
        row = FeedRow(
            kind=FeedKind.MINE_REVERSED,
            account_id=agent["user_id"],
            ref="mining:entry:2",
            at=clock(),
        )
        feed.note(session, row)
        submit(session, agent["user_id"], "mining:entry:3", clock())
    found = get(client, "/earn/first-loop")
    assert (found["example"], found["ref"]) == (False, shown)
    assert found["token_id"] == "binance_btc_usdt"
    assert [step["kind"] for step in found["steps"]] == ["mine_submit", "mine_approved", "paid"]
    for link in found["links"]:
        assert client.get(link["path"]).status_code == 200


# One's own


def test_payouts__show_place_cap_and_earliest_day(
    client: TestClient, agent: dict[str, Any], approve: Approve
) -> None:
    other = connect(client)["user_id"]
    approve(agent["user_id"], 1, 150)
    approve(other, 2, 130)
    approve(agent["user_id"], 3, 60)
    approve(agent["user_id"], 4, 1)
    found = get(client, "/payouts/mine", {KEY: agent["api_key"]})["payouts"]
    shown = [
        (one["ref"][-1], one["queued_credit"], one["place"], one["cap"], one["earliest_day"])
        for one in found
    ]
    assert shown == [
        ("4", 2, 4, "new_account", "2026-11-23"),
        ("3", 120, 3, "new_account", "2026-11-22"),
        ("1", 100, 1, "new_account", "2026-11-22"),
    ]
    assert {one["status"] for one in found} == {"queued"}


def test_payouts__of_an_owner__are_all_its_agents(
    client: TestClient, wallet: Any, approve: Approve
) -> None:
    owner = login(client, wallet)
    agents = [connect(client, owner) for _ in range(2)]
    approve(agents[0]["user_id"], 1, 5)
    approve(agents[1]["user_id"], 2, 130)
    approve(connect(client)["user_id"], 3, 5)
    found = get(client, "/payouts/mine", owner)["payouts"]
    assert [one["ref"] for one in found] == ["mining:entry:2", "mining:entry:1"]
    queued = get(client, "/payouts/mine", owner, status="queued")["payouts"]
    assert [one["ref"] for one in queued] == ["mining:entry:2"]
    own = get(client, "/payouts/mine", {KEY: agents[0]["api_key"]})["payouts"]
    assert [(one["status"], one["paid_credit"], one["place"]) for one in own] == [
        ("paid", 10, None)
    ]


def test_payouts__behind_a_used_up_budget__wait_for_it(
    client: TestClient, agent: dict[str, Any], limited: Limit, approve: Approve
) -> None:
    approve(agent["user_id"], 1, 5, PayoutLimits(day_budget=4))
    small = limited(payout_credits_per_day=4)
    found = get(small, "/payouts/mine", {KEY: agent["api_key"]})["payouts"][0]
    assert (found["paid_credit"], found["queued_credit"], found["cap"]) == (4, 6, "day_budget")
    assert found["earliest_day"] == "2026-11-22"


def test_payouts__that_were_reversed__say_so(
    client: TestClient, agent: dict[str, Any], approve: Approve, database: Database, clock: Clock
) -> None:
    approve(agent["user_id"], 1, 130)
    with database.write() as session:
        awards.reverse(session, "mining:entry:1", "copied", clock())
    found = get(client, "/payouts/mine", {KEY: agent["api_key"]})["payouts"][0]
    assert (found["status"], found["paid_credit"], found["queued_credit"]) == ("reversed", 200, 0)


def test_payouts__page_by_page__are_each_once(
    client: TestClient, agent: dict[str, Any], approve: Approve
) -> None:
    for entry in range(5):
        approve(agent["user_id"], entry, 60)
    headers, cursor, seen = {KEY: agent["api_key"]}, None, list[tuple[str, str | None]]()
    while True:
        query: dict[str, Any] = {"cursor": cursor} if cursor else {}
        page = get(client, "/payouts/mine", headers, limit=2, **query)
        seen += [(one["ref"][-1], one["earliest_day"]) for one in page["payouts"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [
        ("4", "2026-11-23"),
        ("3", "2026-11-22"),
        ("2", "2026-11-22"),
        ("1", "2026-11-22"),
        ("0", None),
    ]


def test_earnings__of_an_owner__are_those_of_each_agent_and_their_sum(
    client: TestClient, wallet: Any, approve: Approve, database: Database, clock: Clock
) -> None:
    owner = login(client, wallet)
    first, second = (connect(client, owner)["user_id"] for _ in range(2))
    approve(first, 1, 130)
    with database.write() as session:
        awards.charge(session, second, Source.REOBSERVE, "reobserve:proof:1", 30, clock())
    found = get(client, "/earn/me", owner)
    assert found["total"] == {"points": "13.0", "credits": 260, "queued": 1, "queued_credit": 60}
    assert found["agents"][0] == {
        "agent_id": first,
        "agent_name": "quant",
        "points": "13.0",
        "credits": 260,
        "queued": 1,
        "queued_credit": 60,
        "owed_credit": 0,
        "group_owed_credit": 0,
        "verified_task_claims": 0,
        "standing": False,
    }
    assert found["agents"][1]["owed_credit"] == 60


# Prices


def test_prices__say_that_the_caps_of_payouts_are_enforced(client: TestClient) -> None:
    limits = {one["key"]: one["value"] for one in get(client, "/prices")["limits"]}
    enforced = {
        "payout_budget": 10_000,
        "person_payout_cap": 2_000,
        "owners_of_address_payout_cap": 5_000,
        "new_account_payout_cap": 200,
        "rooms_payout_cap": 1_000,
        "rooms_payout_person_cap": 100,
        "rooms_owners_of_address_payout_cap": 250,
    }
    assert {key: limits[key] for key in enforced} == enforced
