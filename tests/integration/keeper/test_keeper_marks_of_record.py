"""Marks that the record lacks: after the first call that spent, and after a party's stop, which
measures nothing.
"""

from datetime import timedelta
from typing import Any

from core.mandate.chain import calldata
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import Marked
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, Stage
from tests.personas import AGENT

SPENT = {"spent_usdc_e6": 100 * USDC}


def marks(stage: Stage) -> list[Marked]:
    logs = [log for tx in stage.txs() for log in stage.receipt_of(tx).logs]
    return [event for event in map(decode_log, logs) if isinstance(event, Marked)]


def stopped(stage: Stage, **state: Any) -> None:
    """By the agent, on chain and in the record."""
    stage.chain.succeed(AGENT, stage.vault, calldata.stop("enough"))
    at = stage.now().isoformat()
    stage.record("stopped", state={"stopped_at": at, "stop_worth_usdc_e6": None, **state}, **SPENT)


def test_money_went_out_and_no_mark_stands__one_is_sent_whatever_the_worth(stage: Stage) -> None:
    stage.record("working", **SPENT)
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert marks(stage) == [Marked(1_000 * USDC, 0)]
    assert stage.intents()[0].reason["why"] == "first"


def test_a_vault_that_never_spent__is_not_marked(stage: Stage) -> None:
    keeper = stage.keeper()
    stage.record("working")
    keeper.run()
    stopped(stage)
    stage.record("stopped", state={"stopped_at": stage.now().isoformat()})
    keeper.run()
    assert stage.intents() == []


def test_a_party_stops__one_mark_says_what_the_end_was_worth(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    stopped(stage)
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert marks(stage) == [Marked(950 * USDC, 0)]
    assert (stage.states(), stage.status()) == ([("mark", "done")], "stopped")


def test_an_end_that_cannot_be_valued__is_marked_as_soon_as_it_can_be(stage: Stage) -> None:
    keeper, adapter = stage.keeper(), stage.chain.contracts["test_venue_adapter"]
    stopped(stage)
    code = stage.chain.rpc.call("eth_getCode", [adapter, "latest"])
    stage.chain.rpc.call("anvil_setCode", [adapter, "0xfe"])
    for _ in range(2):
        keeper.run()
        stage.make_safe()
    assert stage.intents() == []
    stage.chain.rpc.call("anvil_setCode", [adapter, code])
    stage.pass_time(stage.chain.now + 30)
    keeper.run()
    assert marks(stage) == [Marked(1_000 * USDC, 0)]


def test_a_stop_at_the_line__needs_no_mark_after_it(stage: Stage) -> None:
    stopped(stage, stop_worth_usdc_e6=950 * USDC)
    stage.keeper().run()
    assert stage.intents() == []


def test_a_mark_from_before_the_stop__is_none_of_the_end(stage: Stage) -> None:
    stage.record("working", **SPENT)
    keeper = stage.keeper()
    keeper.run()
    stage.chain.anvil.mine()
    keeper.run()
    stopped(stage, stopped_at=(stage.now() + timedelta(seconds=1)).isoformat())
    keeper.run()
    assert [intent.reason["why"] for intent in stage.intents()] == ["first", "ended"]
