"""What a thief tries at sponsored buys: quotes in bulk, records that lag, nodes that leave out what
stands beside a use, buys that wait in front of others'.
"""

from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account
from sqlalchemy import text

from api.areas.sponsored import jobs as job
from core.mandate.chain.decode import TRANSFER_TOPIC
from core.sponsored import queries
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import USDC, SponsoredStage
from tests.integration.chain_fixtures import CHAIN_ID

FINAL_BLOCKS = 120


def by_the_stages_clock(stage: SponsoredStage) -> None:
    """A fresh indexer whose clock is the chain's."""
    stage.follower.tip.close()
    stage.follower.clock = stage.now
    stage.follower.restart()


def bought_unseen(stage: SponsoredStage, agent: dict[str, str]) -> dict[str, Any]:
    """A buy that is in a block which the indexer has not read, far below what is final."""
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.chain.anvil.mine(FINAL_BLOCKS)
    return quote


def read_on(stage: SponsoredStage) -> None:
    by_the_stages_clock(stage)
    stage.index()
    stage.follower.tip.note_finality()
    stage.prove()
    stage.tell_time()


def test_a_record_that_lags_for_days__still_sees_what_was_paid(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = bought_unseen(stage, agent)
    stage.pass_time(3 * 86_400)
    stage.chain.anvil.mine(FINAL_BLOCKS)
    read_on(stage)
    state = stage.state(agent, quote)
    assert stage.tokens(stage.buyer.address) > 0
    assert (state["state"], state["is_final"]) == ("paid", True)


@pytest.mark.parametrize("left_out", ["Transfer", "all of the token"])
def test_a_node_that_leaves_out_what_a_use_paid__spoils_no_buy(
    stage: SponsoredStage,
    agent: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    left_out: str,
) -> None:
    quote = bought_unseen(stage, agent)
    reader, contracts = type(stage.follower.chain.reader), stage.chain.contracts
    whole = reader.range_logs

    def is_left_out(log: Any) -> bool:
        if left_out == "Transfer":
            return bool(log.address == contracts["usdc"] and log.topics[0] == TRANSFER_TOPIC)
        return bool(log.address == contracts["reserve_token"])

    def omitting(self: Any, *args: Any) -> Any:
        logs, newest = whole(self, *args)
        return [one for one in logs if not is_left_out(one)], newest

    monkeypatch.setattr(reader, "range_logs", omitting)
    read_on(stage)
    assert stage.state(agent, quote)["state"] == "paid"


def test_quotes_that_nobody_may_hand_in_any_more__cost_a_range_nothing(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    for _ in range(3):
        stage.prepared(agent)
    kept = stage.bought(agent)
    late = stage.clock.now + timedelta(seconds=301)
    with stage.database.read() as session:
        since = int(stage.clock.now.timestamp())
        assert len(queries.open_nonces(session, CHAIN_ID, since, stage.clock.now).nonces) == 8
        found = queries.open_nonces(session, CHAIN_ID, since, late)
    assert set(found.nonces) == {kept[part]["message"]["nonce"] for part in ("purchase", "fee")}
    assert found.purchases == {kept["purchase"]["message"]["nonce"]}


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
    assert "whom the fee is paid to" in found["sponsor_reason"]
