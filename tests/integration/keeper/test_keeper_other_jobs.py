"""What else the keeper sends: settlements, a change of keeper, and what the API asks for."""

from datetime import timedelta
from typing import Any

import pytest

from core.chain.abi import call_by_signature
from core.hexes import bytes_of
from core.keeper import requests as outbox
from core.keeper.queue import OutboxRequest
from core.keeper.requests import NewRequest, RequestState
from core.keeper.tables import KeeperTx
from core.mandate.chain import calldata
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import ProceedsReceived, Settled
from core.selectors import selector_of
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.keeper.conftest import (
    PRICE_AT_FLOOR,
    USDC,
    KeeperProcess,
    KilledError,
    Stage,
)
from tests.integration.keeper.liars import LyingWire, says, together
from tests.integration.keeper.test_keeper_sends import MOVED
from tests.personas import DEPLOYER, GUARD, KEEPER, STRANGER

DAY_S = 86_400
HOUR = timedelta(hours=1)

# The end


def test_a_second_before_the_end__nothing_is_settled(stage: Stage) -> None:
    stage.pass_time(stage.ends_at - 1)
    stage.keeper().run()
    assert (stage.status(), stage.states()) == ("working", [])


def test_at_the_end__the_vault_is_settled_once_and_the_owner_is_free(stage: Stage) -> None:
    stage.pass_time(stage.ends_at)
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert (stage.status(), stage.states()) == ("settled", [("settle", "mined")])
    (tx,) = stage.txs()
    (settled,) = [
        event for event in map(decode_log, stage.receipt_of(tx).logs) if isinstance(event, Settled)
    ]
    assert settled.fee == 0
    assert stage.chain.reader.lock(stage.vault).withdrawable
    stage.make_safe()
    stage.record("settled")
    keeper.run()
    assert stage.states() == [("settle", "done")]


def test_at_the_floor_and_at_the_end__is_settled(stage: Stage) -> None:
    """A vault takes no stop from its end on."""
    stage.set_price(PRICE_AT_FLOOR)
    stage.pass_time(stage.ends_at)
    stage.keeper().run()
    assert (stage.states(), stage.status()) == ([("settle", "mined")], "settled")


def test_a_day_after_the_end__is_left_to_anyone(stage: Stage) -> None:
    stage.pass_time(stage.ends_at + DAY_S)
    stage.keeper().run()
    assert stage.states() == []


# Another keeper


def propose(stage: Stage, address: str) -> int:
    """The admin proposes; answers the time from which the proposed one may accept."""
    factory = stage.chain.contracts["factory"]
    stage.chain.succeed(DEPLOYER, factory, calldata.propose_keeper(address))
    pending = stage.chain.reader.call(factory, selector_of("pendingKeeper()"))
    return int.from_bytes(pending[32:64], "big")


def test_proposed_keeper__accepts_when_its_time_has_come_and_the_old_one_stands_down(
    stage: Stage,
) -> None:
    eta = propose(stage, STRANGER.address)
    old, new = stage.keeper(), stage.keeper(signer=STRANGER.signer)
    stage.pass_time(eta - 2)
    new.run()
    assert (stage.states(), stage.chain.reader.keeper()) == ([], KEEPER.address)
    stage.pass_time(eta)
    new.run()
    assert (stage.states(), stage.chain.reader.keeper()) == (
        [("accept_keeper", "mined")],
        STRANGER.address,
    )
    new.die()
    stage.set_price(PRICE_AT_FLOOR)
    report = old.run()
    assert (report.is_stood_down, stage.status()) == (True, "stopped")
    old.die()
    stage.keeper(signer=STRANGER.signer).run()
    assert stage.status() == "stopped"


def test_a_mark_that_was_planned_before_the_keeper_changed__is_superseded_after_a_minute(
    stage: Stage,
) -> None:
    """The chain refuses it for ever."""
    stage.set_price(MOVED)
    killed = stage.keeper(die_after="planned")
    with pytest.raises(KilledError):
        killed.run()
    killed.die()
    assert stage.states() == [("mark", "planned")]
    stage.pass_time(propose(stage, STRANGER.address))
    stage.chain.succeed(STRANGER, stage.chain.contracts["factory"], calldata.accept_keeper())
    stage.pass_time(stage.chain.now + 60)
    old = stage.keeper()
    report = old.run()
    assert (stage.states(), old.wire.sent, report.live_intents) == ([("mark", "superseded")], [], 0)


# What the API asks for


@pytest.fixture
def relay(stage: Stage) -> str:
    """The relay adapter, listed, with the gas key of requests as its relay, which holds 50 USDC and
    lets the adapter take them.
    """
    chain: DeployedChain = stage.chain
    adapter = chain.deploy("RelayAdapter", chain.contracts["usdc"], GUARD.address)
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(adapter))
    chain.mint(GUARD.address, 50 * USDC)
    chain.succeed(GUARD, chain.contracts["usdc"], calldata.approve(adapter, 50 * USDC))
    return adapter


def delivery(
    stage: Stage, adapter: str, amount: int, key: str = "close:m_keeperstop:p1"
) -> NewRequest:
    return NewRequest(
        key=key,
        chain_id=stage.chain.chain_id,
        kind="relay_delivery",
        role="custody",
        to=adapter,
        reason={"vault": stage.vault, "amount": amount},
    )


def delivered(_: object, request: OutboxRequest, now: object) -> bytes:
    arguments = [request.reason["vault"], request.reason["amount"]]
    return bytes_of(call_by_signature("deliver(address,uint256)", arguments))


def keeper_of(stage: Stage, **settings: Any) -> KeeperProcess:
    return stage.keeper(outbox={"relay_delivery": delivered}, **settings)


def ask(stage: Stage, request: NewRequest) -> int:
    with stage.database.write() as session:
        return outbox.ask(session, request, stage.now())


def deliveries(stage: Stage) -> list[KeeperTx]:
    """Their attempts: the proceeds also make the worth move, which sends a mark."""
    ids = {intent.id for intent in stage.intents() if intent.kind == "relay_delivery"}
    return [tx for tx in stage.txs() if tx.intent_id in ids]


def state_of(stage: Stage, key: str = "close:m_keeperstop:p1") -> RequestState:
    with stage.database.read() as session:
        return outbox.states_of(session, [key])[key]


@pytest.mark.slow
def test_relay_closing__a_node_denies_that_it_was_mined__is_delivered_once(
    stage: Stage, relay: str
) -> None:
    denies = together(
        says("eth_getTransactionReceipt", None), says("eth_getTransactionByHash", None)
    )
    keeper = keeper_of(stage, paths=("/a", "/b"), wire=LyingWire({"/a": denies}))
    ask(stage, delivery(stage, relay, 10 * USDC))
    for _ in range(4):
        keeper.run()
        stage.pass_time(stage.chain.now + 2)
    assert [tx.state for tx in deliveries(stage)] == ["mined"]


def test_relay_closing__is_delivered_once_as_proceeds(stage: Stage, relay: str) -> None:
    request = delivery(stage, relay, 30 * USDC)
    assert ask(stage, request) == ask(stage, request)
    assert state_of(stage) == RequestState(request.key, "queued", None)
    keeper = keeper_of(stage)
    keeper.run()
    keeper.run()
    (tx,) = deliveries(stage)
    (proceeds,) = [
        event
        for event in map(decode_log, stage.receipt_of(tx).logs)
        if isinstance(event, ProceedsReceived)
    ]
    assert proceeds.amount == 30 * USDC
    assert state_of(stage) == RequestState(request.key, "mined", "0x" + tx.hash.hex())
    stage.make_safe()
    keeper.run()
    assert state_of(stage).state == "done"
    keeper.run()
    assert len(deliveries(stage)) == 1


def test_relay_closing__killed_after_signing__is_delivered_once(stage: Stage, relay: str) -> None:
    ask(stage, delivery(stage, relay, 30 * USDC))
    first = keeper_of(stage, die_after="signed")
    with pytest.raises(KilledError):
        first.run()
    first.die()
    second = keeper_of(stage)
    second.run()
    second.run()
    assert stage.chain.reader.usdc_balance(GUARD.address) == 20 * USDC
    assert len(deliveries(stage)) == 1


def test_request_that_the_chain_refuses__waits_an_hour_and_is_refused_then(
    stage: Stage, relay: str
) -> None:
    ask(stage, delivery(stage, relay, 51 * USDC))
    keeper = keeper_of(stage)
    keeper.run()
    assert (state_of(stage).state, keeper.wire.sent) == ("planned", [])
    stage.pass_time(int((stage.now() + HOUR).timestamp()))
    keeper.run()
    assert (state_of(stage).state, keeper.wire.sent) == ("refused", [])
    keeper.run()
    assert len(stage.intents()) == 1
