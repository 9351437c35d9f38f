"""Marks that the record lacks: after the first call that spent, and after a party's stop, which
measures nothing.
"""

from datetime import UTC, datetime
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


def now_of(stage: Stage) -> str:
    """The newest block's time, as a state has it."""
    return datetime.fromtimestamp(stage.chain.now, UTC).isoformat()


def stopped(stage: Stage, **state: Any) -> None:
    """By the agent, on chain and in the record."""
    stage.chain.succeed(AGENT, stage.vault, calldata.stop("enough"))
    at = now_of(stage)
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
    stage.record("stopped", state={"stopped_at": now_of(stage)})
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
    stage.pass_time(stage.chain.now + 5)
    stopped(stage)
    keeper.run()
    assert [intent.reason["why"] for intent in stage.intents()] == ["first", "ended"]


def test_what_comes_back_after_an_end__is_marked_while_adapters_value_something(
    stage: Stage,
) -> None:
    keeper = stage.keeper()
    stopped(stage)
    keeper.run()
    stage.pass_time(stage.chain.now + 5)
    back = {"last_return_at": now_of(stage), "valued_out_usdc_e6": 10**15}
    for _ in range(2):
        stopped_before = {"stopped_at": now_of(stage), "stop_worth_usdc_e6": 1}
        stage.record("settled", state=stopped_before | back, **SPENT)
        keeper.run()
        stage.chain.anvil.mine()
    assert [intent.reason["why"] for intent in stage.intents()] == ["ended", "ended"]
    stage.pass_time(stage.chain.now + 5)
    nothing_left = {"last_return_at": now_of(stage), "valued_out_usdc_e6": 0}
    stage.record("settled", state=stopped_before | nothing_left, **SPENT)
    keeper.run()
    assert len(stage.intents()) == 2


def test_the_terms_end_while_a_position_is_out__one_mark_and_then_the_settlement(
    stage: Stage,
) -> None:
    """After it the vault takes no mark, whatever comes back."""
    out = {"valued_out_usdc_e6": 100 * USDC}
    stage.record("working", state=out, **SPENT)
    keeper = stage.keeper()
    keeper.run()
    stage.pass_time(stage.ends_at)
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert [intent.reason["why"] for intent in stage.intents()] == ["first", "terms_ended", "ended"]
    assert (stage.states()[-1][0], stage.status()) == ("settle", "settled")

    stage.record("settled", state=out | {"last_return_at": now_of(stage)}, **SPENT)
    keeper.run()
    assert len(stage.intents()) == 3
