"""USDC that reaches an agent's linked wallet is in its ledger without anybody's report, once,
whatever the chain does.
"""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from core.blocks.tables import RawLogRow
from core.chain.abi import call_by_signature
from core.identity.tables import Account
from core.transfers.rules import Direction, FourStates
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.indexer.test_deposits import Watched
from tests.personas import AGENT, DEPLOYER, STRANGER, Persona


@pytest.fixture
def watched(follower: Follower) -> Watched:
    """An agent that linked its wallet an hour ago."""
    watched = Watched(follower)
    link(watched, now_utc() - timedelta(hours=1))
    return watched


def link(watched: Watched, at: datetime) -> None:
    with watched.follower.database.write() as session:
        session.execute(
            update(Account).where(Account.id == watched.agent).values(wallet_linked_at=at)
        )


def kept(watched: Watched) -> int:
    with watched.follower.database.read() as session:
        return len(
            session.scalars(
                select(RawLogRow).where(
                    RawLogRow.address == bytes.fromhex(watched.chain.contracts["usdc"][2:])
                )
            ).all()
        )


def test_a_payment_to_a_linked_wallet__is_idle_and_its_log_is_kept(watched: Watched) -> None:
    watched.pay(7 * USDC)
    watched.pay(5 * USDC, to=STRANGER.address)
    watched.follower.catch_up()
    assert watched.balance() == FourStates(idle_e6=7 * USDC)
    assert watched.ledger() == [("deposit", 1, False)]
    assert kept(watched) == 1


def test_what_came_before_the_link__is_not_noted(watched: Watched) -> None:
    link(watched, now_utc() + timedelta(hours=1))
    watched.pay(7 * USDC)
    watched.follower.catch_up()
    assert watched.ledger() == []
    assert kept(watched) == 0


@pytest.mark.parametrize("depth", [1, 3])
def test_a_reorg__takes_it_back_and_the_same_block_again_brings_it_back(
    watched: Watched, depth: int
) -> None:
    snapshot = watched.chain.anvil.snapshot()
    raw = watched.chain.sign(*payment(watched, 7 * USDC))
    watched.chain.rpc.call("eth_sendRawTransaction", [raw])
    watched.chain.anvil.mine(depth)
    watched.follower.catch_up()
    assert watched.balance().idle_e6 == 7 * USDC
    watched.chain.anvil.revert(snapshot)
    watched.chain.anvil.mine(depth + 1)
    watched.follower.catch_up()
    assert watched.balance() == FourStates()
    watched.chain.rpc.call("eth_sendRawTransaction", [raw])
    watched.chain.anvil.mine()
    watched.follower.catch_up()
    assert watched.balance() == FourStates(idle_e6=7 * USDC)
    assert watched.ledger() == [("deposit", 1, False), ("deposit", 1, True), ("deposit", 2, False)]


def payment(watched: Watched, amount: int) -> tuple[Persona, str, str]:
    return (
        DEPLOYER,
        watched.chain.contracts["usdc"],
        call_by_signature("mint(address,uint256)", [AGENT.address, amount]),
    )


def test_the_agents_report__takes_the_place_of_what_the_chain_showed(watched: Watched) -> None:
    tx_hash = watched.pay(7 * USDC)
    watched.follower.catch_up()
    watched.report(tx_hash, 7 * USDC)
    assert watched.balance() == FourStates(in_transit_e6=7 * USDC)
    watched.make_safe()
    watched.words()
    assert watched.balance() == FourStates(idle_e6=7 * USDC)


def test_a_report_that_came_first__is_the_one_that_counts(watched: Watched) -> None:
    raw = watched.chain.sign(*payment(watched, 7 * USDC))
    tx_hash = watched.chain.rpc.call("eth_sendRawTransaction", [raw])
    watched.report(tx_hash, 7 * USDC)
    watched.chain.anvil.mine()
    watched.follower.catch_up()
    assert watched.balance() == FourStates(in_transit_e6=7 * USDC)
    watched.make_safe()
    watched.words()
    assert watched.balance() == FourStates(idle_e6=7 * USDC)


def test_a_report_that_the_chain_contradicts__leaves_what_truly_came(watched: Watched) -> None:
    tx_hash = watched.pay(7 * USDC)
    watched.follower.catch_up()
    watched.report(tx_hash, 8 * USDC)
    watched.make_safe()
    assert watched.words() == ["fail"]
    assert watched.status(tx_hash) == ("failed", "contradicted")
    assert watched.balance() == FourStates(idle_e6=7 * USDC)


def test_a_report_of_money_out__leaves_what_came_in_alone(watched: Watched) -> None:
    tx_hash = watched.pay(7 * USDC)
    watched.follower.catch_up()
    watched.report(tx_hash, USDC, Direction.OUT)
    assert watched.balance() == FourStates(idle_e6=6 * USDC, in_transit_e6=USDC)


def test_many_payments_far_back__are_one_entry_each_by_ranges(watched: Watched) -> None:
    for _ in range(5):
        watched.pay(USDC)
    watched.chain.anvil.mine(120)
    watched.follower.restart()
    assert watched.follower.catch_up()[0].written > 50
    assert watched.balance() == FourStates(idle_e6=5 * USDC)
    assert watched.ledger() == [("deposit", 1, False)] * 5
