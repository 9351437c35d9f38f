"""History by ranges says what block by block says; nothing is lost where the node refuses, or the
process dies.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import delete, select

from core.blocks import queries as repository
from core.blocks.queries import REVERTS, REVERTS_UNTIL
from core.blocks.tables import (
    Adapter,
    ChainBlock,
    ChainCursor,
    RawLogRow,
    Reorg,
    RevertedTx,
    Vault,
    VaultAgentRow,
)
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError
from core.db.leadership import LeadershipLostError
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader
from core.mandate.ledger import writer as mandate_ledger
from indexer.chain import reverts
from indexer.chain.backfill import WORTH_IT, Backfill
from tests.integration.chain_fixtures import CHAIN_ID, USDC, Ground
from tests.integration.indexer.canonical import canonical_view
from tests.integration.indexer.conftest import FINAL_SOON, Follower, Issued
from tests.personas import AGENT, DEPLOYER, OWNER, STRANGER

REBUILDABLE = (RawLogRow, RevertedTx, Vault, VaultAgentRow, Adapter, ChainBlock, ChainCursor, Reorg)
Working = tuple[Issued, str]


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


def make_final(follower: Follower) -> None:
    """So far that a range is worth it."""
    follower.deployed.anvil.mine(FINAL_SOON + WORTH_IT)


def forget(follower: Follower) -> None:
    """As on a new machine: everything but the ledgers is gone."""
    with follower.database.write() as session:
        for table in REBUILDABLE:
            session.execute(delete(table))
    follower.restart()


def reasons(follower: Follower) -> list[str | None]:
    with follower.database.read() as session:
        return list(
            session.scalars(
                select(RevertedTx.reason).order_by(RevertedTx.number, RevertedTx.tx_index)
            )
        )


def live_through(follower: Follower) -> str:
    """Two vaults, moves, a reverted call, a keeper proposal between the two, another agent: in
    fifty blocks and more.
    """
    chain = follower.deployed
    follower.issue("m_firstaaaaa")
    first = chain.create_vault(chain.terms("m_firstaaaaa"))
    for _ in range(3):
        assert chain.buy(first, 20 * USDC).status == 1
    assert chain.buy(first, 101 * USDC).status == 0
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.propose_keeper(STRANGER.address))
    chain.create_vault(chain.terms("m_othersaaaa", nonce=2))
    chain.sell(first, 5 * USDC)
    chain.succeed(OWNER, first, calldata.set_agent(STRANGER.address))
    chain.anvil.mine(40)
    return first


@pytest.mark.slow
def test_ranges_and_single_blocks__say_the_same(follower: Follower, working: Working) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, 10 * USDC)
    live_through(follower)
    follower.catch_up()
    make_final(follower)
    follower.catch_up()
    with follower.database.read() as session:
        view, rows = (
            canonical_view(session, CHAIN_ID),
            mandate_ledger.load_rows(session, mandate.id),
        )

    forget(follower)
    rounds = follower.catch_up()
    settle(follower)

    assert rounds[0].written > 50, "this was a range"
    with follower.database.read() as session:
        assert canonical_view(session, CHAIN_ID) == view
        assert mandate_ledger.load_rows(session, mandate.id) == rows
    follower.assert_sound(mandate, vault)


def settle(follower: Follower) -> None:
    """Rounds until nothing is owed."""
    for _ in range(100):
        follower.tip.round()
        with follower.database.read() as session:
            if repository.cursor(session, REVERTS) is None and None not in reasons(follower):
                return
    raise AssertionError("reverted calls stay owed")


def test_a_first_sight_by_ranges__makes_whole_books(follower: Follower) -> None:
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    for _ in range(4):
        follower.deployed.buy(vault, 25 * USDC)
    assert follower.deployed.buy(vault, 101 * USDC).status == 0
    follower.deployed.succeed(
        DEPLOYER, follower.deployed.contracts["factory"], calldata.propose_keeper(STRANGER.address)
    )
    make_final(follower)
    follower.catch_up()
    settle(follower)
    story = follower.story(mandate)
    assert story[:8] == [
        "signed",
        "vault_created",
        "deposit",
        "move",
        "move",
        "move",
        "move",
        "args",
    ]
    assert story[8:] == ["refusal"]
    follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_a_factory_event__is_told_to_vaults_of_before_in_the_same_range(follower: Follower) -> None:
    early, late = follower.issue("m_earlyaaaaa"), follower.issue("m_lateaaaaaa")
    chain = follower.deployed
    chain.create_vault(early.terms)
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.propose_keeper(STRANGER.address))
    chain.create_vault(late.terms)
    make_final(follower)
    follower.catch_up()
    assert "args" in follower.story(early)
    assert "args" not in follower.story(late)


class Refusing(VaultReader):
    """A node that gives logs of at most ten blocks."""

    spans: list[int]

    def range_logs(
        self, first: int, last: int, filters: Sequence[Any]
    ) -> tuple[list[Any], BlockHeader | None]:
        self.spans.append(last - first + 1)
        if self.spans[-1] > 10:
            raise RpcRefusedError("eth_getLogs", -32000, "block range too large")
        return super().range_logs(first, last, filters)


def test_a_node_that_refuses_long_ranges__gets_short_ones(follower: Follower) -> None:
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    follower.deployed.buy(vault, 25 * USDC)
    make_final(follower)
    reader = Refusing(follower.deployed.rpc, follower.deployed.contracts)
    reader.spans = []
    follower.restart(reader=reader)
    follower.catch_up()
    assert reader.spans[0] > 10
    assert min(reader.spans) <= 10
    assert follower.story(mandate)[:4] == ["signed", "vault_created", "deposit", "move"]


def test_a_leader_that_was_replaced__writes_no_part_of_a_range(follower: Follower) -> None:
    mandate = follower.issue()
    follower.deployed.create_vault(mandate.terms)
    make_final(follower)
    before = follower.tip.cursor

    def lost(_: Any) -> None:
        raise LeadershipLostError("indexer", 1)

    follower.restart(fence=lost)
    with pytest.raises(LeadershipLostError):
        follower.tip.round()
    follower.restart(fence=follower.leadership.fence)
    assert follower.tip.cursor == before
    assert follower.story(mandate) == ["signed"]


@pytest.mark.slow
def test_after_a_pause__no_reverted_call_is_left_out(
    follower: Follower, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, vault = working
    monkeypatch.setattr(reverts, "LOOK_BACK", 5)
    assert follower.deployed.buy(vault, 101 * USDC).status == 0
    follower.deployed.anvil.mine(60)
    make_final(follower)
    follower.restart()
    assert follower.catch_up()[0].written > 50
    settle(follower)
    assert reasons(follower) == ["OverPerTxCap"]


@pytest.mark.slow
@pytest.mark.parametrize(("look_back", "expected"), [(200, ["OverPerTxCap"]), (5, [])])
def test_at_first_sight__attempts_further_back_are_not_reconstructed(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, look_back: int, expected: list[str]
) -> None:
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    assert follower.deployed.buy(vault, 101 * USDC).status == 0
    follower.deployed.anvil.mine(60)
    make_final(follower)
    monkeypatch.setattr(reverts, "LOOK_BACK", look_back)
    follower.catch_up()
    settle(follower)
    assert reasons(follower) == expected


@pytest.mark.row("8 revert backfill")
@pytest.mark.parametrize(("back", "expected"), [(99, ["OverPerTxCap"]), (100, [])])
def test_at_first_sight__the_last_blocks_that_are_looked_at__end_with_the_newest_final_one(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, back: int, expected: list[str]
) -> None:
    """`back`: how many blocks before the newest final one the attempt stands.

    The product looks at 2,000, the test at 100.
    """
    assert reverts.LOOK_BACK == 2_000
    monkeypatch.setattr(reverts, "LOOK_BACK", 100)
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    assert follower.deployed.buy(vault, 101 * USDC).status == 0
    follower.deployed.anvil.mine(back + FINAL_SOON)
    follower.catch_up()
    settle(follower)
    assert reasons(follower) == expected


@pytest.mark.slow
def test_a_kill_between_range_and_receipts__owes_them_still(
    follower: Follower, working: Working
) -> None:
    _, vault = working
    assert follower.deployed.send(AGENT, vault, follower.deployed.buy_data(101 * USDC)).status == 0
    follower.deployed.anvil.mine(60)
    make_final(follower)
    follower.restart()
    follower.tip.round()
    with follower.database.read() as session:
        assert repository.cursor(session, REVERTS) is not None
        assert repository.cursor(session, REVERTS_UNTIL) is not None
    follower.restart()
    follower.catch_up()
    settle(follower)
    assert reasons(follower) == ["OverPerTxCap"]


def test_above_an_orphan__no_range_is_taken(follower: Follower, working: Working) -> None:
    """What was seen and thrown out may come back: its rows stand, and only a single block can take
    them up again.
    """
    follower.deployed.anvil.mine(2)
    follower.catch_up()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    final = follower.deployed.reader.header()
    assert final is not None
    ahead = BlockHeader(final.number + 1_000, final.hash, final.parent_hash, final.timestamp, 0, ())
    at = follower.tip.cursor
    backfill = Backfill(follower.chain, lambda: pytest.fail("nothing is written here"))
    assert backfill.is_worth_it(at, ahead)
    below = repository.Cursor(at.number - 1, at.hash)
    assert not backfill.is_worth_it(below, ahead)
