"""An operator who serves records, against their authors: keys of those who are not the agent any
more, and wallets that changed since.
"""

from dataclasses import replace
from datetime import timedelta

from api.client.verify.findings import Report
from core.db.embedded import EmbeddedPostgres
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.client.conftest import export, following, judged, settle_reverts
from tests.integration.client.signing_rows import report_signed
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import AGENT, OWNER, STRANGER


def verified(follower: Follower, mandate: Issued) -> Report:
    settle_reverts(follower.chain)
    return judged(follower.deployed, export(follower, mandate))


def signers_found(report: Report) -> list[int | None]:
    return [one.seq for one in report.findings if one.name == "author.signer"]


def test_a_row_of_who_was_the_agent_before__is_found(
    postgres: EmbeddedPostgres, template: str
) -> None:
    """Its key was lost, the owner gave the vault another agent, and who has the key wrote on."""
    with following(postgres, template) as follower:
        chain, mandate = follower.deployed, follower.issue()
        vault = chain.create_vault(mandate.terms)
        follower.catch_up()
        report_signed(follower, mandate, "I begin.")
        chain.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
        follower.catch_up()
        report_signed(follower, mandate, "It was on its way.", AGENT)
        report_signed(follower, mandate, "I go on.", STRANGER)
        assert signers_found(verified(follower, mandate)) == []
        # later than the chain's own clock by more than rows may be on their way
        report_signed(follower, mandate, "I was replaced.", AGENT, now_utc() + timedelta(hours=1))
        report_signed(follower, mandate, "I was not.", STRANGER, now_utc() + timedelta(hours=1))
        seq = follower.rows(mandate)[-2].seq
        assert signers_found(verified(follower, mandate)) == [seq]


def test_a_row_of_who_is_the_agent_later__is_found(
    postgres: EmbeddedPostgres, template: str
) -> None:
    with following(postgres, template) as follower:
        chain, mandate = follower.deployed, follower.issue()
        vault = chain.create_vault(mandate.terms)
        follower.catch_up()
        report_signed(follower, mandate, "I am not the agent yet.", STRANGER)
        seq = follower.rows(mandate)[-1].seq
        chain.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
        follower.catch_up()
        assert signers_found(verified(follower, mandate)) == [seq]


# Contract wallets that changed since


def change_wallet(chain: DeployedChain, wallet: str) -> None:
    """A minute later somebody else's key counts for the wallet; the blocks before keep their state."""
    chain.rpc.call("evm_increaseTime", [60])
    chain.anvil.mine()
    other = chain.deploy("ERC1271Wallet", STRANGER.address)
    chain.rpc.call("anvil_setCode", [wallet, chain.rpc.call("eth_getCode", [other, "latest"])])
    chain.anvil.mine(2)


def test_a_row_of_a_wallet_that_changed_since__is_its_authors(
    postgres: EmbeddedPostgres, template: str
) -> None:
    """It was asked at its newest block, and an honest record was called false."""
    with following(postgres, template) as follower:
        chain = follower.deployed
        wallet = chain.deploy("ERC1271Wallet", AGENT.address)
        mandate = follower.issue(agent=wallet)
        chain.create_vault(mandate.terms)
        follower.catch_up()
        of_wallet = replace(AGENT, address=wallet)
        report_signed(follower, mandate, "I begin.", of_wallet)
        change_wallet(chain, wallet)
        follower.catch_up()
        report = verified(follower, mandate)
        assert (report.findings, report.unchecked) == ([], [])
        report_signed(follower, mandate, "Not mine.", of_wallet, now_utc() + timedelta(seconds=90))
        assert [one.name for one in verified(follower, mandate).findings] == ["author.signature"]


def test_terms_of_a_wallet_that_changed_since_its_vault_was_made__are_its_owners(
    postgres: EmbeddedPostgres, template: str
) -> None:
    with following(postgres, template) as follower:
        chain = follower.deployed
        wallet = chain.deploy("ERC1271Wallet", OWNER.address)
        mandate = follower.issue(owner=wallet)
        chain.create_vault(mandate.terms, fund=False)
        follower.catch_up()
        change_wallet(chain, wallet)
        follower.catch_up()
        report = verified(follower, mandate)
        assert (report.findings, report.unchecked) == ([], [])
        assert any("does not take the signature" in text for text in report.remarks)
