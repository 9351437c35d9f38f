"""A fee that somebody submits before its buy is handed in is not lost
(docs/sponsored-buys.md#states).
"""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from core.reserve.rules import token_text
from core.sponsored import queries
from tests.integration.api.sponsored.conftest import BUY, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_refusals import again, told


def fee_of(quote: dict[str, Any]) -> int:
    return int(quote["fee"]["message"]["value"])


def test_a_fee_submitted_early__leads_to_the_purchase_once_it_is_handed_in(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    stage.submit_fee_alone(quote, body)
    answer = stage.hand_in(agent, body)
    refusal, calls = told(answer, "sponsor_unavailable")
    assert refusal.startswith("id: its fee was submitted alone")
    assert "hand both in again" in refusal
    assert answer.json()["service"]["retry_at"] < quote["expires_at"]
    assert [one["path"] for one in calls] == [f"{BUY}/{quote['id']}"]
    stage.index()
    said = again(stage, agent, calls[0]).json()
    assert (said["state"], said["sending"]) == ("fee_paid", None)
    assert "before the buy was handed in" in said["next"]
    assert stage.hand_in(agent, body).status_code == 202
    stage.processes[0].run()
    stage.be_safe()
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)
    assert token_text(stage.tokens(stage.buyer.address)) == said["transfers"][0]["tokens"]


def owed_for(stage: SponsoredStage, agent: dict[str, str], quote: dict[str, Any]) -> None:
    """The next quote asks for that much less, and uses it up once."""
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("fee_owed", True)
    assert int(said["owed_usdc"].replace(".", "")) == fee_of(quote)
    after = stage.prepared(agent)
    assert stage.hand_in(agent, stage.signed(after)).status_code == 202
    again = stage.prepared(agent)
    lowered = [int(one["credit_usdc"].replace(".", "")) for one in (after, again)]
    assert lowered[0] > 0
    assert sum(lowered) == fee_of(quote)


def test_a_fee_submitted_early_and_never_handed_in__is_owed(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    stage.submit_fee_alone(quote, stage.signed(quote))
    stage.index()
    with stage.database.read() as session:
        buyer = stage.buyer.address
        assert queries.owed_usdc_e6(session, stage.chain.chain_id, buyer) == 0
    stage.pass_time(2_000)
    stage.be_safe()
    for _ in range(2):
        stage.pass_time(90_000)
        stage.work()  # drops old quotes, and not this one
    stage.index()
    stage.processes[0].run()
    owed_for(stage, agent, quote)


def test_a_fee_submitted_early__that_the_record_never_saw_is_found_before_its_quote_goes(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """As when the indexer read those blocks as a range, which holds no uses."""
    quote = stage.prepared(agent)
    stage.submit_fee_alone(quote, stage.signed(quote))
    stage.index()
    with stage.database.write() as session:
        session.execute(text("delete from sponsored_use"))
    stage.pass_time(90_000)
    stage.work()
    stage.be_safe()
    assert count(stage, "sponsored_use") == 1
    stage.processes[0].run()
    owed_for(stage, agent, quote)


def test_a_quote_whose_fee_was_never_taken__is_dropped_once_that_is_confirmed(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    stage.prepared(agent)
    stage.pass_time(90_000)
    stage.work()
    assert count(stage, "sponsored_buy") == 1
    stage.be_safe()
    stage.work()
    assert count(stage, "sponsored_buy") == 0


def test_a_quote_whose_purchase_was_submitted_alone__leaves_nothing_when_it_is_dropped(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    stage.submit_purchase_alone(quote, stage.signed(quote), quote["salt"])
    is_dropped_whole(stage)


def test_a_quote_whose_fee_was_cancelled__is_dropped_too(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """It was kept for ever: nobody took its fee, and nobody can."""
    stage.cancel(stage.prepared(agent), "fee")
    is_dropped_whole(stage)


def is_dropped_whole(stage: SponsoredStage) -> None:
    stage.index()
    stage.be_safe()
    assert count(stage, "sponsored_use") == 1
    stage.pass_time(90_000)
    stage.be_safe()
    stage.work()
    assert [count(stage, table) for table in ("sponsored_buy", "sponsored_use")] == [0, 0]


@pytest.mark.parametrize("seconds", [299, 301])
def test_a_purchase_submitted_early__shows_whenever_it_is_read(
    stage: SponsoredStage, agent: dict[str, str], seconds: int
) -> None:
    quote = stage.prepared(agent)
    stage.submit_purchase_alone(quote, stage.signed(quote), quote["salt"])
    stage.index()
    stage.clock.now += timedelta(seconds=seconds)
    seen = stage.state(agent, quote)
    assert (seen["state"], seen["is_final"], seen["sending"]) == ("bought", False, None)
    assert seen["next"].startswith("Nothing is left to hand in")
    assert seen["transfers"][0]["state"] == "paid"


def count(stage: SponsoredStage, table: str) -> int:
    with stage.database.read() as session:
        return int(session.scalar(text(f"select count(*) from {table}")) or 0)
