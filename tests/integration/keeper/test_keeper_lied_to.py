"""What one lying node of two can do to what is sent: a stop goes out within few blocks, and what a
lie burns is bounded.
"""

import pytest

from core.chain.abi import function
from keeper.attempts import STUCK_BLOCKS
from keeper.funds import STOPS_WANTED
from keeper.send import REVERTS_A_DAY
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, KeeperProcess, Stage
from tests.integration.keeper.liars import (
    Lie,
    LyingWire,
    base_fee,
    counts,
    refuses,
    said,
    says,
    together,
    trials_pass,
    trials_revert,
)
from tests.personas import DEPLOYER, KEEPER, OWNER, STRANGER
from tests.slow import few

BOTH = ("/a", "/b")
MOVED = 1_200_000  # 900 + 120: a move of 2 %
STOP_GAS_MOST = 400_000


def lied_to(
    stage: Stage, lie: Lie, path: str = "/a", *, with_stop_key: bool = False
) -> tuple[KeeperProcess, LyingWire]:
    """A keeper of two nodes; the one at `path` lies."""
    wire = LyingWire({path: lie})
    return stage.keeper(
        paths=BOTH, wire=wire, stop_signer=STRANGER.signer if with_stop_key else None
    ), wire


def run(stage: Stage, keeper: KeeperProcess, ticks: int) -> None:
    """So many ticks, a block of two seconds after each."""
    for _ in range(ticks):
        keeper.run()
        stage.pass_time(stage.chain.now + 2)


def set_balance(stage: Stage, address: str, wei: int) -> None:
    stage.chain.anvil.rpc.call("anvil_setBalance", [address, hex(wei)])


def kinds(stage: Stage, kind: str) -> list[str]:
    return [state for found, state in stage.states() if found == kind]


# Nonces


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize("count", [16, 300, 2**40])
def test_a_count_too_high__the_stop_goes_out(stage: Stage, path: str, count: int) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, counts(count), path)
    run(stage, keeper, 2)
    assert stage.status() == "stopped"


@pytest.mark.parametrize("count", [16, 300, 2**40])
def test_a_node_alone_named_a_count_too_high_once__the_stop_is_signed_anew(
    stage: Stage, count: int
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(paths=("/a",), wire=(wire := LyingWire({"/a": counts(count)})))
    keeper.run()
    wire.lies = {}
    run(stage, keeper, 3)
    assert stage.status() == "stopped"


def test_a_mark_beyond_reach__a_stop_does_not_take_its_nonce(stage: Stage) -> None:
    stage.set_price(MOVED)
    keeper = stage.keeper(paths=("/a",), wire=(wire := LyingWire({"/a": counts(2**40)})))
    keeper.run()
    assert [tx.nonce for tx in stage.txs()] == [2**40]
    wire.lies = {}
    stage.set_price(PRICE_AT_FLOOR)
    run(stage, keeper, STUCK_BLOCKS + 1)
    assert stage.status() == "stopped"
    assert stage.states()[0] == ("mark", "nonce_lost")


def test_a_count_too_low_of_an_account_in_use__costs_few_calls(stage: Stage) -> None:
    stage.chain.anvil.rpc.call("anvil_setNonce", [KEEPER.address, hex(3_000)])
    stage.set_price(PRICE_AT_FLOOR)
    keeper, wire = lied_to(stage, lambda *_: None)
    with stage.no_blocks():
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        wire.lies, wire.asked = {"/a": counts(0)}, []
        keeper.run()
    assert [tx.nonce for tx in stage.txs()][:1] == [3_000]
    assert len(wire.asked) < 200


@pytest.mark.slow
@pytest.mark.parametrize("path", BOTH)
def test_a_count_too_low_from_the_first_tick_on__the_stop_goes_out_within_few_blocks(
    stage: Stage, path: str
) -> None:
    stage.chain.anvil.rpc.call("anvil_setNonce", [KEEPER.address, hex(3_000)])
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, counts(0), path)
    run(stage, keeper, 8)
    assert stage.status() == "stopped"


@pytest.mark.parametrize("code", [-32000, -32601])
def test_a_node_that_refuses_to_count__another_ones_count_is_taken(stage: Stage, code: int) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, refuses("eth_getTransactionCount", code=code))
    run(stage, keeper, 2)
    assert stage.status() == "stopped"


# Receipts


def test_a_receipt_of_another_transaction__is_none_of_ours(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    other = stage.chain.succeed(OWNER, STRANGER.address, "0x").tx_hash
    receipt = stage.chain.rpc.call("eth_getTransactionReceipt", [other])
    with stage.no_blocks():
        keeper, _ = lied_to(stage, says("eth_getTransactionReceipt", receipt))
        keeper.run()
        assert kinds(stage, "stop") == ["broadcast"]
        stage.chain.anvil.mine(1)
        keeper.run()
    assert stage.status() == "stopped"


# Fees and gas


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize("wei", [0, 10**15])
def test_a_base_fee_that_is_not_true__the_stop_goes_out(stage: Stage, path: str, wei: int) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    set_balance(stage, KEEPER.address, STOP_GAS_MOST * 10 * GWEI)  # too little for the cap
    keeper, _ = lied_to(stage, base_fee(wei), path)
    run(stage, keeper, 4)
    assert stage.status() == "stopped"


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize(
    ("gas", "ether_wei"), [(21_001, 10**22), (30_000, 10**22), (10_000_000, 4 * 10**15)]
)
def test_gas_that_is_not_true__the_stop_goes_out_and_none_is_paid_in_vain(
    stage: Stage, path: str, gas: int, ether_wei: int
) -> None:
    for person in (KEEPER, STRANGER):
        set_balance(stage, person.address, ether_wei)
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, says("eth_estimateGas", hex(gas)), path, with_stop_key=True)
    run(stage, keeper, 3)
    spent = sum(
        ether_wei - stage.chain.reader.balance_wei(person.address) for person in (KEEPER, STRANGER)
    )
    print("paid, wei:", spent)
    assert stage.status() == "stopped"
    assert kinds(stage, "stop").count("reverted") == 0


def test_trials_that_revert_at_one_node__the_other_ones_word_is_enough_for_a_stop(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, trials_revert)
    run(stage, keeper, 2)
    assert stage.status() == "stopped"


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize("number", few([0, 2**59], 1))
def test_every_number_is_a_lie__the_stop_goes_out_for_what_one_stop_costs(
    stage: Stage, path: str, number: int
) -> None:
    before = stage.chain.reader.balance_wei(KEEPER.address)
    methods = (
        "eth_getTransactionCount",
        "eth_estimateGas",
        "eth_maxPriorityFeePerGas",
        "eth_getBalance",
    )
    lies = together(base_fee(number), *(says(method, hex(number)) for method in methods))
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, lies, path)
    run(stage, keeper, 8)
    spent = before - stage.chain.reader.balance_wei(KEEPER.address)
    print("paid, wei:", spent)
    assert stage.status() == "stopped"
    # one stop's gas at a base fee of 1 gwei and the most that is offered as tip
    assert spent <= 60_000 * 3 * GWEI


# The balance


@pytest.mark.slow
def test_marks__leave_what_stops_need(stage: Stage) -> None:
    set_balance(stage, KEEPER.address, STOP_GAS_MOST * 5 * GWEI)
    keeper = stage.keeper()
    for price in (1_300_000, 1_000_000) * 5:
        stage.set_price(price)
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(5 * GWEI)])
        run(stage, keeper, 1)
    assert set(kinds(stage, "mark")) == {"planned"}
    stage.set_price(PRICE_AT_FLOOR)
    stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(GWEI)])
    run(stage, keeper, 2)
    assert stage.status() == "stopped"


@pytest.mark.parametrize("path", BOTH)
def test_marks__leave_what_stops_need__whatever_one_node_says_of_the_balance(
    stage: Stage, path: str
) -> None:
    set_balance(stage, KEEPER.address, STOP_GAS_MOST * 5 * GWEI)
    keeper, _ = lied_to(stage, says("eth_getBalance", hex(10**30)), path)
    for price in (1_300_000, 1_000_000) * 2:
        stage.set_price(price)
        run(stage, keeper, 1)
    assert set(kinds(stage, "mark")) == {"planned"}


def test_marks__are_sent_from_what_is_above_the_reserve(stage: Stage) -> None:
    set_balance(stage, KEEPER.address, (STOPS_WANTED + 2) * STOP_GAS_MOST * 500 * GWEI)
    stage.set_price(MOVED)
    run(stage, stage.keeper(), 2)
    assert kinds(stage, "mark") == ["done"]


# What reverts again and again


@pytest.mark.slow
def test_an_acceptance_that_reverts_again_and_again__is_paid_for_a_few_times_a_day(
    stage: Stage,
) -> None:
    pending = function("MandateVaultFactory", "pendingKeeper").selector

    def proposed(call: dict, answer: dict) -> dict | None:  # type: ignore[type-arg]
        if call["method"] != "eth_call" or call["params"][0]["data"] != pending:
            return None
        return said(
            call,
            "0x"
            + DEPLOYER.address.removeprefix("0x").lower().rjust(64, "0")
            + f"{stage.chain.now - 60:064x}",
        )

    keeper = stage.keeper(
        signer=DEPLOYER.signer,
        paths=("/a",),
        wire=LyingWire({"/a": together(proposed, trials_pass(100_000))}),
    )
    before = stage.chain.reader.balance_wei(DEPLOYER.address)
    run(stage, keeper, 3 * REVERTS_A_DAY)
    print("burnt in a day, wei:", before - stage.chain.reader.balance_wei(DEPLOYER.address))
    assert kinds(stage, "accept_keeper").count("reverted") == REVERTS_A_DAY
