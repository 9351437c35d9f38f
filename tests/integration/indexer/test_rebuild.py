"""Law 7: what is rebuildable is dropped and rescanned, and the canonical view is the same; the books are not touched."""

from sqlalchemy import delete

from core.books import mandate_ledger
from core.chain import calldata
from core.db.repositories.chain_view import canonical_view
from core.db.tables.chain import Adapter, ChainBlock, ChainCursor, RawLog, RevertedTx, Vault, VaultAgent
from tests.integration.chain_fixtures import CHAIN_ID, USDC
from tests.integration.indexer.conftest import Follower, Issued
from tests.personas import DEPLOYER, STRANGER

REBUILDABLE = (RawLog, RevertedTx, Vault, VaultAgent, Adapter, ChainBlock, ChainCursor)


def test_dropped_and_rescanned__the_canonical_view_is_the_same(follower: Follower, working: tuple[Issued, str]) -> None:
    mandate, vault = working
    chain = follower.deployed
    chain.buy(vault, 10 * USDC)
    follower.catch_up()
    chain.anvil.reorg(1)  # An orphan that the rescan will not find.
    chain.buy(vault, 40 * USDC)
    chain.buy(vault, 101 * USDC)
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.propose_keeper(STRANGER.address))
    chain.create_vault(chain.terms("m_unknown234", nonce=2))
    follower.catch_up()

    with follower.database.read() as session:
        view, rows = canonical_view(session, CHAIN_ID), mandate_ledger.load_rows(session, mandate.id)
    with follower.database.write() as session:
        for table in REBUILDABLE:
            session.execute(delete(table))
    follower.restart()
    follower.catch_up()

    with follower.database.read() as session:
        assert canonical_view(session, CHAIN_ID) == view
        assert mandate_ledger.load_rows(session, mandate.id) == rows
    follower.assert_sound(mandate, vault)
    assert all(view.values())
