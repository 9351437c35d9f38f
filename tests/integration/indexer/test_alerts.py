"""Owners' alerts of the factory's events: once per owner and log, in the block's transaction,
withdrawn by a reorg.
"""

import pytest
from eth_utils.crypto import keccak
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from core.alerts.tables import OwnerAlert
from core.blocks.tables import (
    Adapter,
    ChainBlock,
    ChainCursor,
    RawLogRow,
    RevertedTx,
    Vault,
    VaultAgentRow,
)
from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from tests.integration.indexer.conftest import Follower, Issued
from tests.personas import DEPLOYER, GUARD, STRANGER, Persona

Working = tuple[Issued, str]
REBUILDABLE = (RawLogRow, RevertedTx, Vault, VaultAgentRow, Adapter, ChainBlock, ChainCursor)


def alerts(follower: Follower) -> list[tuple[int, str, bool]]:
    """(owner, event, is withdrawn), oldest first."""
    with follower.database.read() as session:
        rows = session.scalars(select(OwnerAlert).order_by(OwnerAlert.id)).all()
    return [(row.owner_id, row.payload["event"], row.withdrawn_at is not None) for row in rows]


def owner_of(follower: Follower, mandate: Issued) -> int:
    return follower.mandate(mandate).owner_id


def factory_call(follower: Follower, data: str, sender: Persona = DEPLOYER) -> None:
    follower.deployed.succeed(sender, follower.deployed.contracts["factory"], data)


def propose(follower: Follower) -> str:
    """The signed transaction that proposes a keeper."""
    return follower.deployed.sign(
        DEPLOYER, follower.deployed.contracts["factory"], calldata.propose_keeper(STRANGER.address)
    )


@pytest.mark.slow
@pytest.mark.row("6 keeper_change alert")
def test_two_mandates_of_one_owner__one_alert(follower: Follower, working: Working) -> None:
    mandate, _ = working
    owner = owner_of(follower, mandate)
    second = follower.issue("m_second23456", owner_id=owner, nonce=2)
    follower.deployed.create_vault(second.terms)
    factory_call(follower, calldata.propose_keeper(STRANGER.address))
    follower.catch_up()
    assert alerts(follower) == [(owner, "KeeperProposed", False)]
    assert [follower.rows(one)[-1].payload["event"] for one in (mandate, second)] == [
        "KeeperProposed",
        "KeeperProposed",
    ]


@pytest.mark.slow
def test_each_owner_with_a_vault__is_told_and_nobody_else(
    follower: Follower, working: Working
) -> None:
    other = follower.issue("m_second23456", nonce=2)
    follower.deployed.create_vault(other.terms)
    follower.issue("m_novault2345", nonce=3)
    factory_call(follower, calldata.propose_keeper(STRANGER.address))
    follower.catch_up()
    assert sorted(alerts(follower)) == sorted(
        (owner_of(follower, one), "KeeperProposed", False) for one in (working[0], other)
    )


@pytest.mark.row("6 keeper_change alert")
def test_the_four_events_of_the_specification__alert_and_others_do_not(
    follower: Follower, working: Working
) -> None:
    pauser = "0x" + keccak(text="PAUSER_ROLE").hex()
    role = call_by_signature("grantRole(bytes32,address)", [pauser, STRANGER.address])
    revoke = call_by_signature("revokeRole(bytes32,address)", [pauser, STRANGER.address])
    for data in (
        calldata.propose_keeper(STRANGER.address),
        calldata.cancel_keeper_proposal(),
        role,
        revoke,
    ):
        factory_call(follower, data)
    factory_call(follower, calldata.propose_keeper(STRANGER.address))
    follower.deployed.rpc.call("evm_increaseTime", [4 * 24 * 3600])
    factory_call(follower, calldata.accept_keeper(), STRANGER)
    factory_call(follower, call_by_signature("proposeGuard(address)", [GUARD.address]))
    follower.catch_up()
    assert [event for _, event, _ in alerts(follower)] == [
        "KeeperProposed",
        "KeeperProposalCancelled",
        "RoleGranted",
        "KeeperProposed",
        "KeeperChanged",
    ]


def test_the_factorys_first_keeper_and_roles__alert_nobody(
    follower: Follower, working: Working
) -> None:
    assert alerts(follower) == []


def test_a_reorg__withdraws_the_alert_and_deletes_nothing(
    follower: Follower, working: Working
) -> None:
    owner = owner_of(follower, working[0])
    factory_call(follower, calldata.propose_keeper(STRANGER.address))
    follower.catch_up()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert alerts(follower) == [(owner, "KeeperProposed", True)]


@pytest.mark.slow
def test_a_log_that_comes_back_in_another_block__is_told_again(
    follower: Follower, working: Working
) -> None:
    owner = owner_of(follower, working[0])
    raw = propose(follower)
    follower.deployed.rpc.call("eth_sendRawTransaction", [raw])
    follower.deployed.anvil.mine(1)
    follower.catch_up()
    follower.deployed.anvil.reorg(2, [(raw, 1)])
    follower.catch_up()
    assert alerts(follower) == [(owner, "KeeperProposed", True), (owner, "KeeperProposed", False)]


@pytest.mark.slow
def test_dropped_and_rescanned__the_alerts_are_the_same(
    follower: Follower, working: Working
) -> None:
    factory_call(follower, calldata.propose_keeper(STRANGER.address))
    follower.catch_up()
    before = alerts(follower)
    with follower.database.write() as session:
        for table in REBUILDABLE:
            session.execute(delete(table))
    follower.restart()
    follower.catch_up()
    assert alerts(follower) == before == [(owner_of(follower, working[0]), "KeeperProposed", False)]


def test_the_database_itself__refuses_a_second_standing_alert(
    follower: Follower, working: Working
) -> None:
    factory_call(follower, calldata.propose_keeper(STRANGER.address))
    follower.catch_up()
    with follower.database.read() as session:
        row = session.scalars(select(OwnerAlert)).one()
    values = {
        column.key: getattr(row, column.key)
        for column in OwnerAlert.__table__.columns
        if column.key != "id"
    }
    with (
        pytest.raises(IntegrityError, match="uq_owner_alert_standing"),
        follower.database.write() as session,
    ):
        session.add(OwnerAlert(**values))
