"""A keeper that the factory does not name: it stops what anyone may stop, whatever nodes say of its
marks, and leaves nothing behind.
"""

import pytest

from core.hexes import bytes_of
from core.keeper import requests as outbox
from core.keeper.requests import NewRequest
from core.mandate.chain import calldata
from keeper.plan import ACCEPT_S
from keeper.send import OTHERS_PATIENCE_BLOCKS, PLANNED_PATIENCE
from tests.integration.keeper import lies
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, KeeperProcess, KilledError, Stage
from tests.integration.keeper.liars import Call, LyingWire, said
from tests.integration.keeper.lies import TWO
from tests.integration.keeper.test_keeper_other_jobs import HOUR, propose
from tests.integration.keeper.test_keeper_sends import MOVED
from tests.personas import KEEPER, STRANGER

MARK = calldata.mark()[:10]


def accept(stage: Stage) -> None:
    """The factory names STRANGER from now on."""
    stage.chain.succeed(STRANGER, stage.chain.contracts["factory"], calldata.accept_keeper())


def run(stage: Stage, keeper: KeeperProcess, ticks: int) -> None:
    for _ in range(ticks):
        keeper.run()
        stage.pass_time(stage.chain.now + 2)


def is_trial(call: Call) -> bool:
    return call["method"] in ("eth_call", "eth_estimateGas") and "from" in call["params"][0]


def marks_pass(call: Call, _: Call) -> Call | None:
    if not (is_trial(call) and call["params"][0]["data"].startswith(MARK)):
        return None
    return said(call, hex(100_000) if call["method"] == "eth_estimateGas" else "0x")


def not_keeper(call: Call, _: Call) -> Call | None:
    return lies.refusal_of("NotKeeper", 1)(call) if is_trial(call) else None


@pytest.mark.parametrize("liar", TWO)
def test_a_node_lets_its_mark_pass__it_stops_as_anyone_may(stage: Stage, liar: str) -> None:
    """The chain refuses that mark, however often it is paid for."""
    stage.pass_time(propose(stage, STRANGER.address))
    accept(stage)
    stage.set_price(PRICE_AT_FLOOR)
    run(stage, stage.keeper(paths=TWO, wire=LyingWire({liar: marks_pass})), 3)
    assert (stage.states(), stage.status()) == ([("stop", "mined")], "stopped")


def test_the_keeper_changes_while_its_mark_pends__a_transfer_of_nothing_frees_the_nonce(
    stage: Stage,
) -> None:
    stage.pass_time(propose(stage, STRANGER.address))
    stage.set_price(MOVED)
    old = stage.keeper()
    with stage.no_blocks():
        old.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
    accept(stage)
    with stage.no_blocks():
        stage.chain.anvil.mine(OTHERS_PATIENCE_BLOCKS)
        old.run()
        stage.chain.anvil.mine()
        old.run()
    assert stage.states() == [("mark", "superseded")]
    filler = next(tx for tx in stage.txs() if tx.is_filler)
    receipt = stage.receipt_of(filler)
    assert (receipt.gas_used, receipt.to, stage.keeper_nonce()) == (21_000, KEEPER.address, 1)


def test_a_settlement_that_was_planned_before_the_keeper_changed__is_superseded_in_a_minute(
    stage: Stage,
) -> None:
    """No tick plans it again, and nothing is sent: the vault refuses who is its keeper no more."""
    stage.pass_time(stage.ends_at - ACCEPT_S)
    stage.pass_time(propose(stage, STRANGER.address))
    stage.pass_time(stage.ends_at)
    killed = stage.keeper(die_after="planned")
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    accept(stage)
    keeper = stage.keeper()
    keeper.run()
    assert (stage.states(), stage.keeper_nonce()) == ([("settle", "planned")], 0)
    stage.pass_time(stage.chain.now + int(PLANNED_PATIENCE.total_seconds()))
    keeper.run()
    assert (stage.states(), stage.keeper_nonce()) == ([("settle", "superseded")], 0)


def test_a_fallen_vault_whose_mandate_ended__is_not_its_to_stop(stage: Stage) -> None:
    """`enforceStopLine` is off from the end on: a node that lets it pass would have it paid for in
    each block.
    """
    stage.set_price(PRICE_AT_FLOOR)
    stage.pass_time(stage.ends_at)
    stranger = stage.keeper(signer=STRANGER.signer)
    stranger.run()
    assert (stage.states(), stranger.wire.sent) == ([], [])


# The factory names it, and a node says otherwise


def test_a_node_refuses_marks_as_another_keepers__the_other_nodes_word_is_enough(
    stage: Stage,
) -> None:
    stage.set_price(MOVED)
    run(stage, stage.keeper(paths=TWO, wire=LyingWire({"/a": not_keeper})), 2)
    assert stage.states() == [("mark", "done")]


def test_a_node_refuses_a_request_as_another_keepers__it_is_refused_after_an_hour(
    stage: Stage,
) -> None:
    request = NewRequest(
        key="k",
        chain_id=stage.chain.chain_id,
        kind="relay_delivery",
        role="custody",
        to=stage.vault,
        reason={},
    )
    with stage.database.write() as session:
        outbox.ask(session, request, stage.now())
    settles = {"relay_delivery": lambda *_: bytes_of(calldata.settle())}
    keeper = stage.keeper(paths=("/a",), wire=LyingWire({"/a": not_keeper}), outbox=settles)
    run(stage, keeper, 2)
    stage.pass_time(int((stage.now() + HOUR).timestamp()))
    keeper.run()
    assert stage.states() == [("relay_delivery", "refused")]


# A key that this process does not hold any more


@pytest.mark.slow
@pytest.mark.parametrize("price", [PRICE_AT_FLOOR, MOVED], ids=["stop", "mark"])
def test_what_pends_of_the_old_key__is_signed_anew_by_the_new_one(stage: Stage, price: int) -> None:
    """Its account is empty, or what it offers too little: nobody can raise it."""
    stage.pass_time(propose(stage, STRANGER.address))
    stage.set_price(price)
    old = stage.keeper()
    with stage.no_blocks():
        old.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
    old.die()
    stage.chain.anvil.rpc.call("anvil_setBalance", [KEEPER.address, "0x0"])
    accept(stage)
    new = stage.keeper(signer=STRANGER.signer)
    run(stage, new, 5)
    if price == MOVED:
        assert stage.states() == [("mark", "nonce_lost"), ("mark", "done")]
    else:
        assert (stage.states(), stage.status()) == ([("stop", "mined")], "stopped")
        assert [bytes(tx.signer) for tx in stage.txs()][-1] == bytes_of(STRANGER.address)
