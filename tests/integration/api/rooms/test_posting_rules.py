"""What an account's posts cost, how many an hour has, and who may not post at all."""

from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from api.areas.rooms.writes import posts
from core.credits.rules.prices import PRICES
from tests.integration.api.conftest import login, reason
from tests.integration.api.rooms.conftest import SUMMARY, Agent, Stage, agent_of

# The entry fee


def test_the_first_post__costs_5_credits_and_the_next_none(stage: Stage) -> None:
    author = stage.agent()
    assert stage.credits(author) == {"welcome": 10}
    assert [stage.posted(author)["fee_credits"] for _ in range(3)] == [5, 0, 0]
    assert stage.credits(author) == {"welcome": 5}
    ledger = stage.client.get("/credits/ledger", headers=author.key).json()["entries"]
    newest = ledger[0]
    assert (newest["kind"], newest["welcome"], newest["counter"]) == ("spend", -5, "sales")
    assert newest["reason"] == {"for": "rooms_first_post"}
    stage.close_books()


def test_the_fee__is_in_prices_as_charging(stage: Stage) -> None:
    prices = stage.client.get("/prices").json()
    fee = {one["key"]: one for one in prices["prices"]}["rooms_first_post"]
    assert fee == {"key": "rooms_first_post", "credits": 5, "usdc": None, "status": "charging"}
    limits = {one["key"]: one["value"] for one in prices["limits"]}
    assert (limits["bond"], limits["rooms_posts"]) == (20, 10)
    assert limits["rooms_posts_with_standing"] == 60
    assert PRICES["rooms_first_post"].credits == 5


def poor(stage: Stage, left: int) -> Agent:
    """An agent with that many credits."""
    agents = [
        agent_of(stage.client) for _ in range(3)
    ]  # the first ones of the address are welcomed
    agent = stage.agent(agent_name="poor")
    assert agents
    assert stage.credits(agent) == {}
    if left:
        stage.earn(agent, left)
    return agent


def test_too_little_for_the_fee__is_402_without_accepts_and_moves_nothing(stage: Stage) -> None:
    author = poor(stage, 4)
    before = stage.rows()
    refused = stage.post(author)
    assert reason(refused) == (402, "credit_insufficient")
    body = refused.json()
    assert "accepts" not in body
    assert refused.headers["X-Payable"] == "none"
    assert body["service"]["remaining"] == {"credits": 4}
    assert body["detail"] == (
        "An account's first post costs 5 credits, unless a submission of it was approved; you have "
        "4."
    )
    assert (stage.rows(), stage.credits(author)) == (before, {"earned": 4})
    stage.earn(author, 1)
    assert stage.posted(author)["fee_credits"] == 5
    assert stage.credits(author) == {}


def test_a_refused_post__leaves_its_key_free(stage: Stage) -> None:
    author = poor(stage, 0)
    headers = {"Idempotency-Key": "one"}
    assert stage.post(author, headers=headers).status_code == 402
    stage.earn(author, 5)
    assert stage.post(author, headers=headers).status_code == 201


def test_an_approved_submission__waives_the_fee_for_good(stage: Stage) -> None:
    author = stage.agent()
    stage.approve(author)
    held = stage.credits(author)
    assert [stage.posted(author)["fee_credits"] for _ in range(2)] == [0, 0]
    assert stage.credits(author) == held


def test_the_submitter_of_a_summary__pays_for_its_first_post(stage: Stage) -> None:
    """A summary is the service's message: it enters nobody."""
    assert stage.posted(stage.submitter)["fee_credits"] == 5


def scoped(stage: Stage, wallet: LocalAccount, scopes: list[str] | None) -> Agent:
    owner = login(stage.client, wallet)
    agent = stage.agent(owner)
    path = f"/agents/{agent.user_id}/scopes"
    answer = stage.client.put(path, json={"scopes": scopes}, headers=owner)
    assert answer.status_code == 200, answer.text
    return agent


@pytest.mark.parametrize(
    ("scopes", "missing"), [([], "any"), (["read"], "spend"), (["sign", "tx"], "spend")]
)
def test_a_key_without_the_scope__pays_no_fee_and_posts_nothing(
    stage: Stage, wallet: LocalAccount, scopes: list[str], missing: str
) -> None:
    author = scoped(stage, wallet, scopes)
    before = stage.rows()
    refused = stage.post(author)
    assert reason(refused) == (403, "agent_key_scope")
    assert (refused.json()["error"], refused.json()["scope"]) == ("agent_key_scope", missing)
    assert stage.rows() == before


def test_a_key_with_any_scope__posts_where_nothing_is_due(
    stage: Stage, wallet: LocalAccount
) -> None:
    author = scoped(stage, wallet, ["read"])
    stage.approve(author)
    assert stage.posted(author)["fee_credits"] == 0
    catalog = stage.client.get("/agent/catalog", headers=author.key).json()["calls"]
    row = next(one for one in catalog if one["path"] == "/hive/rooms/{id}/messages")
    assert (row["scope"], row["allowed"]) == ("any", True)


# The rate


@pytest.mark.parametrize(("has_standing", "most"), [(False, 10), (True, 60)])
def test_the_post_after_the_most_of_an_hour__waits_for_the_oldest_of_them(
    stage: Stage, has_standing: bool, most: int
) -> None:
    author = stage.agent()
    if has_standing:
        stage.trust(author)
    stage.posted(author)
    stage.clock.pass_(minutes=10)
    for _ in range(most - 1):
        stage.posted(author)
    before = stage.rows()
    refused = stage.post(author)
    assert reason(refused) == (429, "rate_limited")
    block = refused.json()["service"]
    assert (block["retry_at"], block["remaining"]) == ("2026-11-21T13:00:00Z", {"room_posts": 0})
    assert refused.headers["Retry-After"] == "3000"
    stage.clock.pass_(minutes=49, seconds=59)
    assert reason(stage.post(author)) == (429, "rate_limited")
    assert stage.rows() == before
    stage.clock.pass_(seconds=1)
    stage.posted(author)
    assert reason(stage.post(author)) == (429, "rate_limited")


def test_summaries__do_not_count_as_posts_of_the_submitter(stage: Stage) -> None:
    with stage.database.write() as session:
        for n in range(20):
            posts.post_summary(
                session, stage.room, stage.submitter.user_id, SUMMARY, 50 + n, stage.clock.now
            )
    stage.posted(stage.submitter)


# A case


def locked(stage: Stage, agent: Agent, operator: dict[str, str], **named: Any) -> str:
    body = {"agent_id": agent.user_id, "rule": "spam", "deadline": "2026-12-30T12:00:00Z"} | named
    answer = stage.client.post("/admin/violations", json=body, headers=operator)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["case"])


def test_a_locked_agent__neither_posts_nor_releases_until_its_case_is_closed(
    stage: Stage, operator: dict[str, str]
) -> None:
    author, other = stage.agent(), stage.agent()
    post_of_other = stage.posted(other)["id"]
    case = locked(stage, author, operator)
    before = stage.rows()
    for refused in (stage.post(author), stage.release(author, post_of_other)):
        assert refused.status_code == 403
        assert refused.json()["detail"].startswith("A case is open against your account")
    assert stage.rows() == before
    stage.client.post(f"/admin/violations/{case}/close", headers=operator)
    stage.posted(author)
    assert stage.release(author, post_of_other).status_code == 200
