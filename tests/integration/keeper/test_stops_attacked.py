"""Who wants a vault not to stop, or the keeper to burn its ETH: nodes that lie, lag, hang or refuse."""

from collections.abc import Callable

import pytest

from keeper.stops import MOST_ALONE, STOPS_A_TURN, TRIES
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, Stage
from tests.integration.keeper.liars import (
    Call,
    counts,
    refused,
    says,
    together,
)
from tests.integration.keeper.lies import TWO, head, higher, refusal_of
from tests.integration.keeper.sent import Sent, contracts_that_take_any_call
from tests.integration.keeper.test_keeper_receipts import made_up
from tests.personas import STRANGER

ABOVE: Callable[[Call], Call] = refusal_of("AboveStopLine", 951, 950)


def is_trial(call: Call) -> bool:
    return call["method"] == "eth_call" and "from" in call["params"][0]


def trials_say_above(call: Call, _: Call) -> Call | None:
    return ABOVE(call) if is_trial(call) else None


# Nodes that are slow, or do not answer


@pytest.mark.slow
@pytest.mark.parametrize("paths", [("/a",), ("/a", "/b")])
def test_every_node_takes_two_seconds_for_an_answer__the_stop_goes_out(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    sent = Sent(stage, {}, paths, slow=dict.fromkeys(paths, 2.0))
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(0)
    assert stage.status() == "stopped"


def test_a_node_that_does_not_answer_the_trial__is_not_held_to_refuse_it(stage: Stage) -> None:
    def trouble(call: Call, _: Call) -> Call | None:
        return refused(call, "internal", -32603) if is_trial(call) else None

    sent = Sent(stage, {"/a": trouble, "/b": trials_say_above})
    stage.set_price(PRICE_AT_FLOOR)
    for _ in range(4):
        sent.ask(0)
        sent.pass_time()
    sent.wire.lies.clear()
    sent.ask(0)
    assert stage.status() == "stopped"


@pytest.mark.parametrize(("behind", "status"), [(5, "stopped"), (100, "working")])
def test_backends_that_lag_answer_the_trial_first__it_is_asked_again_at_once(
    stage: Stage, behind: int, status: str
) -> None:
    asked = 0

    def lags(call: Call, answer: Call) -> Call | None:
        nonlocal asked
        asked += is_trial(call)
        return ABOVE(call) if is_trial(call) and asked <= behind else None

    sent = Sent(stage, {"/a": lags, "/b": lags})
    stage.set_price(PRICE_AT_FLOOR)
    sent.ask(0)
    assert stage.status() == status


@pytest.mark.slow
def test_one_lens_calls_a_thousand_vaults_fallen_that_no_node_lets_stop__a_few_are_tried(
    stage: Stage,
) -> None:
    sent = Sent(stage, {"/a": trials_say_above, "/b": trials_say_above})
    vaults = contracts_that_take_any_call(stage, 1_000)
    for _ in range(3):
        sent.ask(0, vaults=vaults)
    tried = sum(method == "eth_call" for _, method in sent.wire.asked)
    assert 0 < tried <= len(TWO) * TRIES * STOPS_A_TURN
    sent.wire.lies.clear()
    sent.ask(1, vaults=vaults[:STOPS_A_TURN])
    assert sent.count() == STOPS_A_TURN


# Receipts


@pytest.mark.parametrize("status", [0, 1])
def test_receipts_that_one_node_invents_in_blocks_above_the_others__end_and_count_nothing(
    stage: Stage, status: int
) -> None:
    invents = together(made_up(stage, status, 10**6), higher(10**8), trials_say_above)
    sent = Sent(stage, {"/a": invents})
    stage.set_price(PRICE_AT_FLOOR)
    with stage.no_blocks():
        sent.ask(1)
        assert stage.states() == [("stop", "broadcast")]
        for _ in range(3):
            stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(100 * GWEI)])
            sent.pass_time()
            sent.ask(1)
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])
    assert sent.keeper.stops._spent == {}


@pytest.mark.slow
def test_receipts_that_one_node_withholds__stop_no_later_stop_and_burn_next_to_nothing(
    stage: Stage,
) -> None:
    withholds = together(says("eth_getTransactionReceipt", None), trials_say_above)
    sent = Sent(stage, {"/a": withholds})
    vaults = contracts_that_take_any_call(stage, MOST_ALONE + 2)
    for vault in vaults:
        sent.ask(1, vaults=[vault])
        sent.pass_time()
    stopped = {tx.hash for tx in stage.txs() if stage.receipt_of(tx).status == 1}
    assert len({i.vault for i in stage.intents()}) == len(vaults) <= len(stopped)
    for _ in range(20):
        sent.keeper.follow()
        sent.pass_time()
    assert sent.count() <= 6 * len(vaults)


# Nonces, keys and fees


def test_counts_of_one_node_too_high_and_then_too_low__no_stop_waits_for_good(
    stage: Stage,
) -> None:
    stage.chain.anvil.rpc.call("anvil_setNonce", [STRANGER.address, hex(100)])
    sent = Sent(stage, {"/a": counts(1_000)})
    vaults = contracts_that_take_any_call(stage, 3)
    for vault, count in zip(vaults, (1_000, 0, 5_000), strict=True):
        sent.wire.lies["/a"] = counts(count)
        before = sent.count()
        for _ in range(4):
            sent.ask(1, vaults=[vault])
            sent.pass_time()
        assert sent.count() > before, count


def test_one_node_calls_the_empty_key_for_stops_rich__the_keepers_key_stops(stage: Stage) -> None:
    sent = Sent(stage, {"/a": says("eth_getBalance", hex(10**24))})
    stage.chain.anvil.rpc.call("anvil_setBalance", [STRANGER.address, "0x0"])
    stage.set_price(PRICE_AT_FLOOR)
    for _ in range(4):
        sent.ask(1)
        sent.pass_time()
    assert stage.status() == "stopped"


@pytest.mark.slow
def test_a_head_of_the_future_when_it_was_signed__and_a_restart__it_is_raised_all_the_same(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    newest = stage.chain.anvil.rpc.call("eth_getBlockByNumber", ["latest", False])
    future = newest | {"number": hex(int(newest["number"], 16) + 1_800)}
    sent = Sent(stage, {"/a": head(lambda _: future)})
    with stage.no_blocks():
        sent.ask(1)
        sent.keeper.die()
        again = Sent(stage, {"/a": head(lambda _: future)})
        for _ in range(4):
            stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(100 * GWEI)])
            again.pass_time()
            again.ask(1)
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(100 * GWEI)])
        again.pass_time()
    assert stage.status() == "stopped"
