"""Stuck, underpriced, dropped and overtaken transactions: nothing the keeper sends holds up a
stop.
"""

import pytest

from core.hexes import hex_of
from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from keeper.attempts import STUCK_BLOCKS
from keeper.gas import Caps
from keeper.stop_rows import RESENT_S
from tests.integration.keeper.blocks import Clock
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, KeeperProcess, Stage
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


def test_stop_while_a_mark_of_the_same_key_pends__goes_behind_it(stage: Stage) -> None:
    """The mark is mined first, and measures: it stops the vault, or lets the stop do it."""
    stage.set_price(MOVED)
    with stage.no_blocks():
        keeper = pending_mark(stage)
        crash_price(stage)
        keeper.run()
        mine(stage)
        keeper.run()
    assert (stage.status(), stage.keeper_nonce()) == ("stopped", 2)
    assert {tx.nonce for tx in stage.txs()} == {0, 1}


def test_mark_that_pays_too_little_below_a_stop_of_the_same_key__is_raised_like_a_stop(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    with stage.no_blocks():
        keeper = stage.keeper(caps=Caps(others_wei=5 * GWEI, stops_wei=500 * GWEI))
        keeper.run()
        crash_price(stage)
        keeper.run()
        set_base_fee(stage, 30 * GWEI)
        mine(stage)
        keeper.run()
        mine(stage)
    assert stage.status() == "stopped"


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


def test_a_key_that_runs_dry_after_it_signed__the_keepers_key_stops(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(stop_signer=STRANGER.signer)
    with stage.no_blocks():
        keeper.run()
        assert stage.states() == [("stop", "broadcast")]
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        stage.chain.anvil.rpc.call("anvil_setBalance", [STRANGER.address, "0x0"])
        for _ in range(4):
            mine(stage)
            keeper.run()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])
    assert stage.receipt_of(stage.txs()[-1]).sender == KEEPER.address


def test_no_key_has_eth__the_stop_is_planned_and_goes_out_once_one_is_filled(stage: Stage) -> None:
    for person in (KEEPER, STRANGER):
        stage.chain.anvil.rpc.call("anvil_setBalance", [person.address, "0x0"])
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(stop_signer=STRANGER.signer)
    keeper.run()
    assert (stage.states(), keeper.wire.sent) == ([("stop", "planned")], [])
    stage.chain.anvil.rpc.call("anvil_setBalance", [KEEPER.address, hex(10**18)])
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
        clock = Clock()
        keeper = stage.keeper(age=clock)
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        clock.passed_s += RESENT_S
        keeper.run()
        mine(stage)
        keeper.run()
    assert (stage.status(), len(stage.txs()), len(set(keeper.wire.sent))) == ("stopped", 1, 1)


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


def test_reorg_takes_a_foreign_transaction_out__the_stop_is_signed_again_in_the_gap_below(
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
        for _ in range(4):
            keeper.run()
            mine(stage)
        keeper.run()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])
    assert stage.keeper_nonce() == 2, "the first one reverts: the vault is stopped"


def test_reorg_takes_a_foreign_transaction_out__the_mark_is_signed_again_in_the_gap_below(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    stage.chain.succeed(KEEPER, OWNER.address, "0x")
    with stage.no_blocks():
        keeper = stage.keeper()
        keeper.run()
        assert [tx.nonce for tx in stage.txs()] == [1]
        stage.chain.anvil.reorg(1)
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        for _ in range(STUCK_BLOCKS + 3):
            keeper.run()
            mine(stage)
        keeper.run()
    assert stage.states()[0] == ("mark", "nonce_lost")
    assert stage.states()[1] in [("mark", "mined"), ("mark", "done")]
    again = next(tx for tx in stage.txs() if tx.nonce == 0)
    assert stage.receipt_of(again).to == stage.vault


@pytest.mark.slow
def test_reorg_takes_a_finished_mark_out__the_stop_above_it_is_signed_again_at_its_nonce(
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
        stage.chain.anvil.reorg(3)  # the mark, the block after it and the price are gone
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        fell(stage)
        for _ in range(5):
            keeper.run()
            mine(stage)
        keeper.run()
    assert (stage.status(), dict(stage.states())["stop"]) == ("stopped", "mined")


@pytest.mark.slow
def test_reorg_takes_a_finished_mark_out__the_next_one_is_signed_at_its_nonce(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    keeper = stage.keeper()
    keeper.run()
    mine(stage)
    keeper.run()
    stage.set_price(MOVED + 200_000)
    with stage.no_blocks():
        keeper.run()
        assert stage.states() == [("mark", "done"), ("mark", "broadcast")]
        stage.chain.anvil.reorg(3)  # the first mark, the block after it and the price are gone
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        for _ in range(STUCK_BLOCKS + 1):
            keeper.run()
            mine(stage)
    assert stage.states()[1] == ("mark", "nonce_lost")
    stage.set_price(MOVED + 300_000)
    keeper.run()
    assert [tx.nonce for tx in stage.txs()] == [0, 1, 0]
    assert stage.keeper_nonce() == 2, "the bytes at nonce 1 mark the vault once more"
