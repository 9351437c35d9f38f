"""A receipt is no single node's word: /a, which is asked first, or /b says another one than the
chain has.
"""

from typing import Any

import pytest

from keeper.gas import STILL_S
from keeper.tick import PRESENT_S
from tests.integration.keeper import lies
from tests.integration.keeper.blocks import Clock, blocks
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.liars import Call, Lie, LyingWire, counts, said, says, together
from tests.integration.keeper.lies import THREE, TWO, higher
from tests.personas import KEEPER

RECEIPT = "eth_getTransactionReceipt"
of_two_or_three = pytest.mark.parametrize("paths", [TWO, THREE], ids=["of two", "of three"])


def made_up(stage: Stage, status: int, above: int = 0) -> Lie:
    """Whatever is asked for stands in the newest block, or so far above it."""

    def lie(call: Call, answer: Call) -> Call | None:
        if call["method"] != RECEIPT or answer.get("result") is not None:
            return None
        block = stage.chain.anvil.rpc.call("eth_getBlockByNumber", ["latest", False])
        told: dict[str, Any] = {
            "transactionHash": call["params"][0], "blockHash": block["hash"],
            "blockNumber": hex(int(block["number"], 16) + above), "status": hex(status),
            "gasUsed": "0x5208", "effectiveGasPrice": "0x1", "from": KEEPER.address,
            "to": stage.vault, "logs": [],
            "logsBloom": "0x" + "00" * 256, "transactionIndex": "0x0",
        }  # fmt: skip
        return said(call, told)

    return lie


def count_too_low(call: Call, answer: Call) -> Call | None:
    return (
        said(call, hex(int(answer["result"], 16) - 1))
        if call["method"] == "eth_getTransactionCount"
        else None
    )


@of_two_or_three
def test_a_receipt_that_one_node_made_up__holds_no_stop_that_no_block_has(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    """Its count is one too low, so that what is signed can never be mined."""
    stage.chain.anvil.rpc.call("anvil_setNonce", [KEEPER.address, hex(5)])
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(
        paths=paths, wire=LyingWire({"/a": together(count_too_low, made_up(stage, 1))})
    )
    assert blocks(stage, keeper, Clock(), 12, lambda: stage.status() == "stopped") < 12


def test_a_failure_that_one_node_made_up__is_none(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(paths=TWO, wire=LyingWire({"/a": made_up(stage, 0)}))
    with stage.no_blocks():
        keeper.run()
        assert stage.states() == [("stop", "broadcast")]


def test_a_block_that_the_other_node_does_not_have_yet__counts_once_it_has_it(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    wire = LyingWire({"/b": together(higher(-1), says(RECEIPT, None))})
    keeper = stage.keeper(paths=TWO, wire=wire)
    keeper.run()
    assert stage.states() == [("stop", "broadcast")]
    wire.lies.clear()
    keeper.run()
    assert (stage.states(), len(stage.txs())) == ([("stop", "mined")], 1)


def test_another_node_that_stands_still__leaves_the_asked_ones_word(stage: Stage) -> None:
    wire, clock = LyingWire({"/b": together(lies.frozen(stage), says(RECEIPT, None))}), Clock()
    keeper = stage.keeper(paths=TWO, wire=wire, age=clock)
    keeper.run()
    stage.set_price(PRICE_AT_FLOOR)
    clock.passed_s += STILL_S - 5
    keeper.run()
    assert stage.states() == [("stop", "broadcast")]
    clock.passed_s += 5
    keeper.run()
    assert stage.states() == [("stop", "mined")]


SYNCS = together(lies.syncs(), says(RECEIPT, None), counts(0))


def test_another_node_that_syncs_for_hours__leaves_the_asked_ones_word(stage: Stage) -> None:
    """Its height rises, so that it was waited for as if it were about to have the receipt."""
    stage.chain.anvil.rpc.call("anvil_setNonce", [KEEPER.address, "0x5"])
    wire, clock = LyingWire({"/b": SYNCS}), Clock()
    keeper = stage.keeper(paths=TWO, wire=wire, age=clock)
    keeper.run()
    stage.set_price(PRICE_AT_FLOOR)
    clock.passed_s += STILL_S
    blocks(stage, keeper, clock, 5)
    assert (stage.states(), len(stage.txs())) == ([("stop", "mined")], 1)


def test_another_node_that_syncs_for_hours__holds_back_no_mark(stage: Stage) -> None:
    wire, clock = LyingWire({"/b": together(lies.syncs(), lies.worth(1_000_000_000))}), Clock()
    keeper = stage.keeper(paths=TWO, wire=wire, age=clock)
    keeper.run()
    stage.set_price(1_100_000)
    clock.passed_s += PRESENT_S + 1
    keeper.run()
    assert [kind for kind, _ in stage.states()] == ["mark"]
