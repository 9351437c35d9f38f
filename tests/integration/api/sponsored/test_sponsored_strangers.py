"""What a hostile client or node tries at one buy, by the documented calls alone."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from core.keeper import gas
from core.money import usdc_text
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import LyingWire, SponsoredStage

Body = dict[str, str]


def of_nothing(body: Body) -> Body:
    return body | {"purchase_signature": "0x" + "00" * 64 + "1b"}


def above_the_order(body: Body) -> Body:
    return body | {"purchase_signature": "0x" + "ff" * 32 + "00" * 31 + "01" + "1b"}


@pytest.mark.parametrize("forged", [of_nothing, above_the_order])
def test_a_signature_that_usdc_would_refuse__is_refused_and_nothing_is_written(
    stage: SponsoredStage, agent: dict[str, str], forged: Callable[[Body], Body]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    assert reason(stage.hand_in(agent, forged(body))) == (400, "signature_invalid")
    with stage.database.read() as session:
        assert session.scalar(text("select count(accepted_at) from sponsored_buy")) == 0
        assert session.scalar(text("select count(*) from gas_day")) == 0
    assert stage.hand_in(agent, body).status_code == 202


def test_a_wallet__spends_its_last_base_unit_and_not_one_more(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    fee = int(stage.prepared(agent)["fee"]["message"]["value"])
    most = stage.usdc(stage.buyer.address) - fee
    assert reason(stage.prepare(agent, usdc_text(most + 1))) == (409, "insufficient_usdc")
    quote = stage.bought(agent, usdc_text(most))
    stage.processes[0].run()
    assert stage.usdc(stage.buyer.address) == 0
    assert stage.tokens(stage.buyer.address) >= int(quote["min_tokens_base"])


def test_a_quote__can_be_handed_in_until_its_end_exclusive(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    first, second = stage.prepared(agent), stage.prepared(agent)
    end = datetime.fromisoformat(first["expires_at"])
    stage.pass_time(int((end - stage.clock.now).total_seconds()) - 2)
    stage.index()
    stage.processes[0].run()
    stage.clock.now = end
    assert reason(stage.hand_in(agent, stage.signed(second))) == (409, "quote_expired")
    stage.clock.now = end - timedelta(microseconds=1)
    assert stage.hand_in(agent, stage.signed(first)).status_code == 202


@pytest.mark.slow
def test_a_node_that_tells_of_dear_receipts__uses_up_no_more_than_was_kept(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """One buy would have used up everybody's day."""

    def dear(call: dict[str, Any], result: Any) -> Any:
        is_receipt = call["method"] == "eth_getTransactionReceipt" and result
        much = {"effectiveGasPrice": hex(10**18), "l1Fee": hex(10**24)}
        return {**result, **much} if is_receipt else result

    quote = stage.bought(agent)
    stage.processes.pop().die()
    keeper = stage.keeper(LyingWire(dear))
    keeper.run()
    stage.chain.anvil.mine(100)
    stage.index()
    for _ in range(3):
        keeper.run()
    with stage.database.read() as session:
        used = gas.used_wei(session, gas.day_of(stage.clock.now), gas.SPONSORS)
    assert used == (int(quote["gas"]["covers_wei"]), 0)
