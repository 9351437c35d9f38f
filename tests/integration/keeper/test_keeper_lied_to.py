"""What one lying node of two can do to what is sent: a stop goes out within few blocks, and what a lie burns is bounded."""

import pytest

from keeper.sight import MOST_GAP
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, KeeperProcess, Stage
from tests.integration.keeper.liars import (
    Lie,
    LyingWire,
    counts,
    refuses,
    says,
)
from tests.personas import KEEPER, OWNER, STRANGER

BOTH = ("/a", "/b")
MOVED = 1_200_000  # 900 + 120: a move of 2 %


def lied_to(stage: Stage, lie: Lie, path: str = "/a", *, with_stop_key: bool = False) -> tuple[KeeperProcess, LyingWire]:
    """A keeper of two nodes; the one at `path` lies."""
    wire = LyingWire({path: lie})
    return stage.keeper(paths=BOTH, wire=wire, stop_signer=STRANGER.signer if with_stop_key else None), wire


def run(stage: Stage, keeper: KeeperProcess, ticks: int) -> None:
    """So many ticks, a block of two seconds after each."""
    for _ in range(ticks):
        keeper.run()
        stage.pass_time(stage.chain.now + 2)


def kinds(stage: Stage, kind: str) -> list[str]:
    return [state for found, state in stage.states() if found == kind]


# Nonces


@pytest.mark.parametrize("path", BOTH)
@pytest.mark.parametrize("count", [16, 300, 2**40])
def test_a_count_too_high__the_stop_goes_out_and_nothing_is_filled(stage: Stage, path: str, count: int) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, counts(count), path)
    run(stage, keeper, 2)
    assert stage.status() == "stopped"
    assert kinds(stage, "fill") == []


@pytest.mark.parametrize("count", [300, 2**40])
def test_a_node_alone_named_a_count_too_high_once__the_stop_is_signed_anew(stage: Stage, count: int) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(paths=("/a",), wire=(wire := LyingWire({"/a": counts(count)})))
    keeper.run()
    wire.lies = {}
    run(stage, keeper, 3)
    assert stage.status() == "stopped"
    assert kinds(stage, "fill") == []


def test_a_node_alone_named_a_count_a_little_too_high__few_nonces_are_filled(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    before = stage.chain.reader.balance_wei(KEEPER.address)
    keeper = stage.keeper(paths=("/a",), wire=(wire := LyingWire({"/a": counts(MOST_GAP)})))
    keeper.run()
    wire.lies = {}
    run(stage, keeper, 4)
    print("burnt by one lie, wei:", before - stage.chain.reader.balance_wei(KEEPER.address))
    assert stage.status() == "stopped"
    assert len(kinds(stage, "fill")) <= MOST_GAP


def test_a_mark_beyond_reach__a_stop_does_not_take_its_nonce(stage: Stage) -> None:
    stage.set_price(MOVED)
    keeper = stage.keeper(paths=("/a",), wire=(wire := LyingWire({"/a": counts(2**40)})))
    keeper.run()
    assert [tx.nonce for tx in stage.txs()] == [2**40]
    wire.lies = {}
    stage.set_price(PRICE_AT_FLOOR)
    run(stage, keeper, 3)
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
    assert (kinds(stage, "fill"), len(wire.asked) < 200) == ([], True)


@pytest.mark.parametrize("path", BOTH)
def test_a_count_too_low_from_the_first_tick_on__the_stop_goes_out_within_few_blocks(stage: Stage, path: str) -> None:
    stage.chain.anvil.rpc.call("anvil_setNonce", [KEEPER.address, hex(3_000)])
    stage.set_price(PRICE_AT_FLOOR)
    keeper, _ = lied_to(stage, counts(0), path)
    run(stage, keeper, 8)
    assert stage.status() == "stopped"
    assert kinds(stage, "fill") == []


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
