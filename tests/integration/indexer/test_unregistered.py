"""A vault of ours that the registry refuses is a held fact of its ledger: nothing of it is lost,
and the keeper still watches it.
"""

import pytest
from sqlalchemy import select, text

from core.blocks.tables import Vault
from core.keeper.views import WatchedVault, watched_vaults
from core.mandate.chain import calldata
from core.quarantine import queries as quarantine
from core.quarantine.views.held import shorts_of
from core.quarantine.views.unregistered import VAULT_CREATED, unregistered_vaults
from indexer.chain.facts import VAULT_CREATED_TOPIC
from indexer.chain.retry import retry_all
from tests.integration.chain_fixtures import CHAIN_ID, USDC
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.integration.indexer.refusing import facts, held
from tests.integration.indexer.test_quarantine import as_history, owner_alerts
from tests.personas import AGENT, DEPLOYER, STRANGER

SampleLedger = tuple[Issued, str]


@pytest.fixture
def ledgers(follower: Follower) -> list[SampleLedger]:
    """Two mandates, of which the registry refuses the first one's vault."""
    issued = [
        follower.issue(f"m_4k2v7c3xq{letter}", nonce=nonce)
        for nonce, letter in enumerate("ab", start=1)
    ]
    statement = (
        "alter table vault add constraint nobody check (mandate_id is null or mandate_id <> "
        f"{issued[0].id}) not valid"
    )
    with follower.database.write() as session:
        session.execute(text(statement))
    return [(mandate, follower.deployed.create_vault(mandate.terms)) for mandate in issued]


def mend(follower: Follower) -> None:
    with follower.database.write() as session:
        session.execute(text("alter table vault drop constraint nobody"))


def watched(follower: Follower) -> dict[str, WatchedVault]:
    with follower.database.read() as session:
        return {one.vault: one for one in watched_vaults(session, CHAIN_ID, now_utc())}


def unregistered(follower: Follower) -> list[str]:
    with follower.database.read() as session:
        return [one.address for one in unregistered_vaults(session, CHAIN_ID)]


def test_the_topic_that_the_registry_asks_for__is_the_contracts() -> None:
    assert "0x" + VAULT_CREATED.hex() == VAULT_CREATED_TOPIC


@pytest.mark.parametrize("by_range", [False, True], ids=["at the tip", "in a range"])
def test_it_is_held__and_its_owner_operators_and_readers_are_told(
    follower: Follower, ledgers: list[SampleLedger], by_range: bool
) -> None:
    (mandate, vault), other = ledgers
    if by_range:
        as_history(follower)
    follower.catch_up()
    found = held(follower.database, mandate.id)
    assert [fact.reason for fact in found] == ["database", "behind"]
    assert (
        found[0].note
        == "The database does not register its vault (SQLSTATE 23514, constraint nobody)."
    )
    [alert] = owner_alerts(follower)
    assert alert.payload["mandate_id"] == mandate.public_id
    with follower.database.read() as session:
        assert shorts_of(session, quarantine.MANDATE, [mandate.id, other[0].id]).keys() == {
            mandate.id
        }
    assert unregistered(follower) == [vault]
    follower.assert_sound(*other)


def test_the_keeper__watches_it_with_the_floor_of_its_terms(
    follower: Follower, ledgers: list[SampleLedger]
) -> None:
    (mandate, vault), (_, other) = ledgers
    follower.catch_up()
    found = watched(follower)
    assert found.keys() == {vault, other}
    assert (found[vault].public_id, found[vault].floor_usdc_e6) == (
        mandate.public_id,
        found[other].floor_usdc_e6,
    )
    assert (found[vault].budget_usdc_e6, found[vault].ends_at) == (
        found[other].budget_usdc_e6,
        found[other].ends_at,
    )
    assert found[vault].created_at > 0


@pytest.mark.slow
def test_after_a_restart__its_later_logs_and_failed_calls_still_queue(
    follower: Follower, ledgers: list[SampleLedger]
) -> None:
    mandate, vault = ledgers[0]
    follower.catch_up()
    follower.restart()
    follower.deployed.buy(vault, 10 * USDC)
    reverted = follower.deployed.buy(vault, 500 * USDC)
    assert reverted.status == 0
    follower.catch_up()
    found = held(follower.database, mandate.id)
    assert [fact.reason for fact in found] == ["database", *["behind"] * 3]
    assert found[-1].base_key.startswith("revert:")
    assert follower.tip._watch.vaults[vault].agents == (AGENT.address,)
    mend(follower)
    retry_all(follower.chain, now_utc())
    follower.catch_up()
    assert sorted(follower.story(mandate)[3:]) == ["move", "refusal"]
    follower.assert_sound(mandate, vault)


def test_a_note_of_the_factory__waits_for_it_too(
    follower: Follower, ledgers: list[SampleLedger]
) -> None:
    mandate, vault = ledgers[0]
    follower.catch_up()
    follower.deployed.succeed(
        DEPLOYER, follower.deployed.contracts["factory"], calldata.propose_keeper(STRANGER.address)
    )
    follower.catch_up()
    mend(follower)
    retry_all(follower.chain, now_utc())
    assert follower.story(mandate)[3:] == ["args"]
    follower.assert_sound(mandate, vault)


def test_retry__says_why_it_is_refused_again_and_registers_it_when_it_is_not(
    follower: Follower, ledgers: list[SampleLedger]
) -> None:
    mandate, vault = ledgers[0]
    follower.catch_up()
    [done] = retry_all(follower.chain, now_utc())
    assert (done.released, done.refusal is not None) == (0, True)
    assert held(follower.database, mandate.id)[0].tries == 2
    mend(follower)
    [done] = retry_all(follower.chain, now_utc())
    assert (done.released, done.refusal) == (2, None)
    assert unregistered(follower) == []
    with follower.database.read() as session:
        row = session.execute(
            select(Vault.mandate_id, Vault.public_id).where(Vault.mandate_id == mandate.id)
        ).one()
    assert (row.mandate_id, row.public_id) == (mandate.id, mandate.public_id)
    assert len(watched(follower)) == 2
    follower.assert_sound(mandate, vault)


def test_a_reorg_of_its_block__ends_it(follower: Follower, ledgers: list[SampleLedger]) -> None:
    follower.catch_up()
    assert unregistered(follower) == [ledgers[0][1]]
    mend(follower)
    follower.deployed.anvil.reorg(3)
    follower.catch_up()
    assert unregistered(follower) == []
    assert {fact.withdrawn_at is None for fact in facts(follower.database)} == {False}


def test_a_strangers_vault_that_is_refused__costs_a_line_and_no_more(
    follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    with follower.database.write() as session:
        session.execute(
            text("alter table vault add constraint nobody check (mandate_id is not null) not valid")
        )
    follower.deployed.create_vault(follower.deployed.terms("m_nobodys234"))
    follower.catch_up()
    assert follower.tip.cursor.hash == follower.head_hash
    assert (facts(follower.database), watched(follower)) == ([], {})
