"""Stuck, underpriced, dropped and overtaken transactions: nothing the keeper sends holds up a
stop.
"""

from typing import Any

import httpx
import pytest

from core.chain.blocks import TransactionReceipt
from core.hexes import bytes_of, hex_of
from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from keeper.gas import Caps
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, KeeperProcess, Stage, Wire
from tests.personas import KEEPER, OPERATOR, OWNER, STRANGER

MOVED = 1_100_000  # 900 + 110: a move of 1 %


def set_base_fee(stage: Stage, wei: int) -> None:
    stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(wei)])


def mine(stage: Stage, blocks: int = 1) -> None:
    stage.chain.anvil.mine(blocks)


def pending_mark(stage: Stage) -> KeeperProcess:
    """A keeper whose mark the chain has taken and does not mine. Within no_blocks."""
    keeper = stage.keeper()
    keeper.run()
    assert stage.states() == [("mark", "broadcast")]
    return keeper


def fell(stage: Stage) -> None:
    """The price, in a block of its own. Within no_blocks."""
    venue = stage.chain.contracts["test_venue"]
    stage.chain.anvil.rpc.call(
        "eth_sendRawTransaction",
        [stage.chain.sign(OPERATOR, venue, test_venue.set_price(PRICE_AT_FLOOR))],
    )
    mine(stage)


def crash_price(stage: Stage) -> None:
    """The operator's transaction is mined, the keeper's pending ones are taken out and put back: as
    a node that favours others.
    """
    raw = [hex_of(tx.raw) for tx in stage.txs() if tx.state != "mined"]
    rpc = stage.chain.anvil.rpc
    rpc.call("anvil_dropAllTransactions")
    fell(stage)
    for bytes_ in raw:
        rpc.call("eth_sendRawTransaction", [bytes_])


# A stop and a pending mark


def test_stop_while_a_mark_pends__takes_its_nonce_and_is_in_the_next_block(stage: Stage) -> None:
    stage.set_price(MOVED)
    with stage.no_blocks():
        keeper = pending_mark(stage)
        crash_price(stage)
        keeper.run()
        mine(stage)
        keeper.run()
    assert stage.status() == "stopped"
    assert stage.keeper_nonce() == 1
    assert stage.states() == [("mark", "superseded"), ("stop", "mined")]
    mark_tx, stop_tx = stage.txs()
    assert (mark_tx.nonce, stop_tx.nonce, stop_tx.attempt) == (0, 0, 2)
    assert stop_tx.max_fee_wei * 8 >= mark_tx.max_fee_wei * 9


@pytest.mark.slow
def test_mark_wins_the_race_for_the_nonce__it_measures_and_stops_by_itself(stage: Stage) -> None:
    stage.set_price(MOVED)
    with stage.no_blocks():
        keeper = pending_mark(stage)
        (mark_tx,) = stage.txs()
        crash_price(stage)
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        stage.chain.anvil.rpc.call("eth_sendRawTransaction", [hex_of(mark_tx.raw)])
        mine(stage)
        keeper.run()
    assert (stage.status(), stage.keeper_nonce()) == ("stopped", 1)
    assert [state for kind, state in stage.states() if kind == "stop"] == ["superseded"]


def test_a_key_of_its_own__stops_past_a_mark_that_pends_for_ever(stage: Stage) -> None:
    stage.set_price(MOVED)
    with stage.no_blocks():
        keeper = stage.keeper(stop_signer=STRANGER.signer)
        keeper.run()
        crash_price(stage)
        keeper.run()
        mine(stage)
        keeper.run()
    stop = stage.intents()[1]
    assert (stage.status(), stop.role, hex_of(stop.data)) == (
        "stopped",
        "stop",
        calldata.enforce_stop_line(),
    )
    assert stage.receipt_of(stage.txs()[-1]).sender == STRANGER.address


def test_a_key_of_its_own_without_money__the_keepers_key_stops(stage: Stage) -> None:
    stage.chain.anvil.rpc.call("anvil_setBalance", [STRANGER.address, "0x0"])
    stage.set_price(PRICE_AT_FLOOR)
    stage.keeper(stop_signer=STRANGER.signer).run()
    assert (stage.status(), stage.receipt_of(stage.txs()[0]).sender) == ("stopped", KEEPER.address)


@pytest.mark.slow
def test_a_key_that_runs_dry_after_it_signed__is_left_with_no_stop_once_the_other_key_has_stopped(
    stage: Stage,
) -> None:
    """No node takes the stop, nor the transfer in its place, which the key cannot pay: a second
    stop was planned in each tick, for good.
    """
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(stop_signer=STRANGER.signer)
    with stage.no_blocks():
        keeper.run()
        assert stage.states() == [("stop", "broadcast")]
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        stage.chain.anvil.rpc.call("anvil_setBalance", [STRANGER.address, "0x0"])
        for _ in range(8):
            mine(stage)
            keeper.run()
    stop, *seconds = stage.states()
    assert (stage.status(), stop, [kind for kind, _ in seconds]) == (
        "stopped",
        ("stop", "superseded"),
        ["second_stop"],
    )
    assert {tx.state for tx in stage.txs() if bytes(tx.signer) == bytes_of(STRANGER.address)} == {
        "lost"
    }


class DeafAfterSending(Wire):
    """A node that takes the first bytes, and is heard of no more for as long as a request is
    tried.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_deaf, self.was_deaf = False, False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        self.is_deaf |= not self.was_deaf and b"eth_sendRawTransaction" in request.content
        if self.is_deaf:
            raise httpx.ReadError("lost")
        return response


def test_a_node_that_is_lost_right_after_it_took_a_stop__makes_no_later_step_stumble(
    stage: Stage,
) -> None:
    """What was committed until then was forgotten: the same tick took the stop for planned, and
    failed.
    """
    stage.set_price(PRICE_AT_FLOOR)
    wire = DeafAfterSending()
    keeper = stage.keeper(wire=wire)
    rushed = keeper.tick._rushed

    def rush(*args: Any) -> Any:
        live = rushed(*args)
        wire.is_deaf, wire.was_deaf = False, wire.was_deaf or wire.is_deaf
        return live

    keeper.tick._rushed = rush  # type: ignore[method-assign]
    keeper.run()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])


# Fees


def test_base_fee_rises_above_the_offer__the_stop_is_offered_again_for_more(stage: Stage) -> None:
    with stage.no_blocks():
        crash_price(stage)
        keeper = stage.keeper()
        keeper.run()
        (first,) = stage.txs()
        set_base_fee(stage, int(first.max_fee_wei) * 3)
        mine(stage)
        assert stage.status() == "working"
        keeper.run()
        mine(stage)
        keeper.run()
    first, second = stage.txs()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])
    assert (first.nonce, second.nonce, second.attempt, second.state) == (0, 0, 2, "mined")
    assert second.max_fee_wei >= first.max_fee_wei * 3


def test_base_fee_above_the_cap__waits_and_stops_when_it_falls(stage: Stage) -> None:
    keeper = stage.keeper(caps=Caps(others_wei=GWEI, stops_wei=2 * GWEI))
    stage.set_price(PRICE_AT_FLOOR)
    set_base_fee(stage, 30 * GWEI)
    mine(stage)
    keeper.run()
    assert (stage.states(), keeper.wire.sent) == ([("stop", "planned")], [])
    set_base_fee(stage, GWEI)
    mine(stage)
    keeper.run()
    assert stage.status() == "stopped"


def test_dropped_by_the_node__the_same_bytes_go_out_again(stage: Stage) -> None:
    with stage.no_blocks():
        crash_price(stage)
        keeper = stage.keeper()
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        keeper.run()
        mine(stage)
        keeper.run()
    assert (stage.status(), len(stage.txs()), len(keeper.wire.sent)) == ("stopped", 1, 2)
    assert len(set(keeper.wire.sent)) == 1


@pytest.mark.slow
def test_reorg_puts_a_later_attempt_in_place_of_the_mined_one__one_row_says_mined(
    stage: Stage,
) -> None:
    with stage.no_blocks():
        crash_price(stage)
        keeper = stage.keeper()
        keeper.run()
        rpc, (first,) = stage.chain.anvil.rpc, stage.txs()
        rpc.call("anvil_dropAllTransactions")
        mine(stage)
        keeper.run()  # offered again for more
        rpc.call("anvil_dropAllTransactions")
        rpc.call("eth_sendRawTransaction", [hex_of(first.raw)])
        mine(stage)
        keeper.run()
        assert [tx.state for tx in stage.txs()] == ["mined", "broadcast"]
        stage.chain.anvil.reorg(1)
        rpc.call("anvil_dropAllTransactions")
        keeper.run()
        mine(stage)
        keeper.run()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])
    *others, last = stage.txs()
    assert [(tx.nonce, tx.state, tx.mined_block) for tx in others] == [
        (0, "broadcast", None)
    ] * len(others)
    assert (last.nonce, last.state, last.mined_block) == (
        0,
        "mined",
        stage.receipt_of(last).block_number,
    )


@pytest.mark.slow
def test_stuck_mark_that_nobody_needs_any_more__frees_its_nonce_with_a_transfer_of_nothing(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    with stage.no_blocks():
        keeper = stage.keeper(stop_signer=STRANGER.signer)
        keeper.run()
        crash_price(stage)
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropTransaction", ["0x" + stage.txs()[0].hash.hex()])
        mine(stage, 4)  # the stop is mined, the mark was forgotten and has waited too long
        keeper.run()
        mine(stage)
        keeper.run()
    assert stage.states() == [("mark", "superseded"), ("stop", "mined")]
    filler = next(tx for tx in stage.txs() if tx.is_filler)
    receipt: TransactionReceipt = stage.receipt_of(filler)
    assert (receipt.gas_used, receipt.to, stage.keeper_nonce()) == (21_000, KEEPER.address, 1)


def test_reorg_takes_a_foreign_transaction_out__a_transfer_of_nothing_fills_the_gap_below_the_stop(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    stage.chain.succeed(KEEPER, OWNER.address, "0x")
    with stage.no_blocks():
        keeper = stage.keeper()
        keeper.run()
        assert [tx.nonce for tx in stage.txs()] == [1]
        stage.chain.anvil.reorg(1)  # nonce 0 is free again, and nobody has bytes for it
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        for _ in range(2):
            keeper.run()
            mine(stage)
        keeper.run()
    assert (stage.status(), stage.keeper_nonce()) == ("stopped", 2)
    assert [(kind, state) for kind, state in stage.states() if kind == "stop"] == [
        ("stop", "mined")
    ]
    (filling,) = [stage.receipt_of(tx) for tx in stage.txs() if tx.nonce == 0]
    assert (filling.to, filling.gas_used) == (KEEPER.address, 21_000)


@pytest.mark.slow
def test_gap_with_bytes_of_ours_below_a_foreign_nonce__both_nonces_are_used_at_once(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    keeper = stage.keeper()
    keeper.run()
    mine(stage)
    keeper.run()
    assert stage.states() == [("mark", "done")]
    stage.chain.succeed(KEEPER, OWNER.address, "0x")
    stage.set_price(PRICE_AT_FLOOR)
    with stage.no_blocks():
        keeper.run()
        # the mark at nonce 0, the foreign transaction at 1, and the price are gone
        stage.chain.anvil.reorg(4)
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        fell(stage)
        for _ in range(3):
            keeper.run()
            mine(stage)
        keeper.run()
    assert (stage.status(), stage.keeper_nonce()) == ("stopped", 3)
    assert [
        tx.nonce
        for tx in stage.txs()
        if tx.intent_id in {i.id for i in stage.intents() if i.kind == "fill"}
    ] == [1]


@pytest.mark.slow
def test_reorg_takes_a_finished_mark_out__its_bytes_fill_the_gap_below_the_stop(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    keeper = stage.keeper()
    keeper.run()
    mine(stage)
    keeper.run()
    assert stage.states() == [("mark", "done")]
    stage.set_price(PRICE_AT_FLOOR)
    with stage.no_blocks():
        keeper.run()
        assert stage.states()[1] == ("stop", "broadcast")
        (stop_tx,) = [tx for tx in stage.txs() if tx.nonce == 1]
        stage.chain.anvil.reorg(3)  # the mark, the block after it and the price are gone
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        fell(stage)
        for _ in range(3):
            keeper.run()
            mine(stage)
        keeper.run()
    assert (stage.status(), stage.keeper_nonce()) == ("stopped", 2)
    assert hex_of(stop_tx.raw) in keeper.wire.sent
