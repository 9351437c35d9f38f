"""What all vaults of a chain hold together, and what was refused."""

from datetime import timedelta

from core.blocks.tables import Vault
from core.db.engine import Database
from core.hexes import bytes_of
from core.mandate.ledger.reversal import reverse_blocks
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.views import AllVaults, vault_totals
from core.money import UsdcE6
from tests.integration.api.hall.test_builds import WALLET, agent, append, mandate
from tests.integration.core.rows import BLOCK_A, BLOCK_B, CHAIN, NOW
from tests.unit.api.areas.hall.told import USDC, Told


def refused(number: int, block_hash: str) -> NewRow:
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.CHAIN,
        occurred_at=NOW + timedelta(seconds=number),
        base_key=f"revert:{number}",
        chain_id=CHAIN,
        tx_hash=f"0x{number:064x}",
        block_number=number,
        block_hash=block_hash,
        payload={"refusal": {"reason": "OverPerTxCap", "server_check": "confirmed"}},
    )


def add_vault(database: Database, mandate_id: int, public_id: str, address: int) -> None:
    with database.write() as session:
        session.add(
            Vault(
                chain_id=CHAIN,
                address=address.to_bytes(20, "big"),
                created_block_hash=bytes_of("0x" + "cc" * 32),
                created_number=1,
                created_at=1,
                factory=b"\xfa" * 20,
                terms_digest=address.to_bytes(32, "big"),
                public_id=public_id,
                owner=b"\x01" * 20,
                mandate_id=mandate_id,
            )
        )


def totals(database: Database, chain_id: int = CHAIN) -> AllVaults:
    with database.read() as session:
        return vault_totals(session, chain_id)


def test_vaults_of_the_chain_count__and_a_refusal_that_a_reorg_took_back_does_not(
    database: Database,
) -> None:
    assert totals(database) == AllVaults(0, UsdcE6(0), 0)
    agent_id = agent(database, WALLET)
    at_work = mandate(database, agent_id, Told().on(0).deposit(1_000).on(1).buy(100))
    stopped = Told().on(0).deposit(1_000).on(1).stop().withdraw(400)
    ended = mandate(database, agent_id, stopped, name="m_bbbbbbbbbb")
    no_vault = mandate(database, agent_id, Told().on(0).deposit(1_000), name="m_cccccccccc")
    add_vault(database, at_work, "m_aaaaaaaaaa", 1)
    add_vault(database, ended, "m_bbbbbbbbbb", 2)
    append(database, at_work, [refused(1, BLOCK_A), refused(2, BLOCK_B)])
    append(database, no_vault, [refused(3, "0x" + "dd" * 32)])

    assert totals(database) == AllVaults(1, UsdcE6(1_500 * USDC), 2)
    with database.write() as session:
        reverse_blocks(session, [BLOCK_B], NOW)
    assert totals(database) == AllVaults(1, UsdcE6(1_500 * USDC), 1)
    assert totals(database, chain_id=1) == AllVaults(0, UsdcE6(0), 0)
