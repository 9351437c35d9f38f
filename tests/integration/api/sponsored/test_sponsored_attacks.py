"""What a thief tries at sponsored buys: quotes in bulk, records that lag, nodes that leave out what
stands beside a use, buys that wait in front of others'.
"""

from typing import Any

import pytest
from eth_account import Account
from sqlalchemy import text

from api.areas.sponsored import jobs as job
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import USDC, LyingWire, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_verdicts import final, follow_by

FINAL_BLOCKS = 120


def by_the_stages_clock(stage: SponsoredStage) -> None:
    """A fresh indexer whose clock is the chain's."""
    stage.follower.tip.close()
    stage.follower.clock = stage.now
    stage.follower.restart()


def read_on(stage: SponsoredStage) -> None:
    by_the_stages_clock(stage)
    stage.index()
    stage.follower.tip.note_finality()
    stage.confirm()
    stage.tell_time()


def test_a_record_that_lags_for_days__still_sees_what_was_paid(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.chain.anvil.mine(FINAL_BLOCKS)
    stage.pass_time(3 * 86_400)
    stage.chain.anvil.mine(FINAL_BLOCKS)
    read_on(stage)
    state = stage.state(agent, quote)
    assert stage.tokens(stage.buyer.address) > 0
    assert (state["state"], state["is_final"]) == ("paid", True)


def test_many_quotes_of_a_wallet__make_a_range_no_dearer_than_one(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """Handed in or not, until their authorizations end; without any no node is asked for a log."""
    asked = list[dict[str, Any]]()

    def counting(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getLogs" and "topics" in call["params"][0]:
            asked.append(call["params"][0])
        return result

    follow_by(stage, LyingWire(counting), LyingWire())
    final(stage)
    assert asked == []
    for _ in range(3):
        stage.prepared(agent)
    stage.bought(agent)
    stage.buyer = Account.create()
    stage.chain.mint(stage.buyer.address, 100 * USDC)
    stage.prepared(agent)
    final(stage)
    assert {len(one["topics"][1]) for one in asked} == {2}
    ranges = [one["fromBlock"] for one in asked]
    assert len(ranges) == len(set(ranges)), "one request of each node for each range"
    stage.pass_time(2_000)
    final(stage)
    asked.clear()
    final(stage)
    assert asked == []


def test_buys_that_cannot_be_sent__hold_up_no_purchase_whose_fee_is_paid(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thief hands in what never can be sent, and it ends before the others."""
    victim, stage.buyer = stage.buyer, Account.create()
    thiefs = stage.buyer.address
    stage.chain.mint(thiefs, 100 * USDC)
    thief = stage.agent()
    for _ in range(3):
        stage.bought(thief)
    stage.pass_time(5)
    stage.index()
    stage.buyer = victim
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    assert stage.hand_in(agent, body).status_code == 202
    stage.submit_fee_alone(quote, body)
    stage.chain.rpc.call("anvil_setCode", [thiefs, "0x00"])  # its buys wait
    stage.index()
    stage.processes[0].run()
    monkeypatch.setattr(job, "A_PAGE", 1)
    stage.work()
    stage.processes[0].run()
    assert stage.tokens(victim.address) > 0


def test_prepare__while_the_record_names_no_treasury__is_refused(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """One node's word alone says whom a buyer pays."""
    with stage.database.write() as session:
        session.execute(text("delete from chain_cursor where name = 'reserve_followed'"))
    assert reason(stage.prepare(agent)) == (503, "sponsor_unavailable")
    found = stage.client.get("/reserve/config").json()
    assert found["sponsor_enabled"] is False
    assert "the payee of the fee" in found["sponsor_reason"]
