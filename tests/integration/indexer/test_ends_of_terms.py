"""Signed terms that hold no money end when the chain's row is safe, or by the chain's time; vaults
that the record does not know.
"""

from datetime import UTC, datetime, timedelta

import pytest

from core.keeper.views import watched_vaults
from core.mandate.chain import calldata
from core.mandate.chain.calldata import vault_address
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.queries import replace_terms
from core.mandate.tables import Mandate
from tests.integration.chain_fixtures import BUDGET, CHAIN_ID
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import OWNER


def said(follower: Follower, mandate: Issued) -> tuple[str, datetime | None]:
    """What lists and reads say of it: (status, ended at); the ledger with it is sound."""
    with follower.database.read() as session:
        assert mandate_ledger.verify(session, mandate.id) == []
    row = follower.mandate(mandate)
    return row.status, row.ended_at


def cancel(follower: Follower, mandate: Issued) -> datetime:
    """The owner's cancelTerms, taken in; its block's time."""
    follower.deployed.succeed(
        OWNER, follower.deployed.contracts["factory"], calldata.cancel_terms(mandate.terms)
    )
    follower.catch_up()
    return datetime.fromtimestamp(follower.deployed.now, UTC)


def watched(follower: Follower) -> set[str]:
    with follower.database.read() as session:
        return {one.vault for one in watched_vaults(session, CHAIN_ID, now_utc())}


def test_vault_address__is_the_factorys_own(follower: Follower) -> None:
    digest = follower.deployed.digest(follower.deployed.terms("m_aaaaaaaaaa"))
    assert vault_address(
        follower.deployed.contracts["factory"], digest
    ) == follower.deployed.reader.predict_vault(digest)


@pytest.mark.slow
def test_cancelled_terms__have_their_row_at_once_and_the_status_at_safe(follower: Follower) -> None:
    mandate = follower.issue()
    at = cancel(follower, mandate)
    follower.tip.note_finality()
    assert follower.story(mandate) == ["signed", "terms_cancelled"]
    assert said(follower, mandate) == ("signed", None)
    follower.be_safe()
    assert said(follower, mandate) == ("cancelled", at)


@pytest.mark.slow
def test_a_cancellation_that_a_reorg_takes_back__was_never_said(follower: Follower) -> None:
    mandate = follower.issue()
    cancel(follower, mandate)
    follower.deployed.anvil.reorg(1)
    follower.be_safe()
    assert said(follower, mandate) == ("signed", None)
    follower.deployed.create_vault(mandate.terms)
    follower.catch_up()
    assert said(follower, mandate) == ("working", None)


def test_rows_after_the_safe_end__take_nothing_back(follower: Follower) -> None:
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms, fund=False)
    follower.deployed.succeed(OWNER, vault, calldata.stop("owner"))
    follower.catch_up()
    assert said(follower, mandate)[0] == "signed"
    follower.be_safe()
    assert said(follower, mandate)[0] == "stopped"
    follower.deployed.succeed(OWNER, vault, calldata.settle())
    follower.catch_up()
    assert said(follower, mandate)[0] == "settled"


def test_a_stop_of_a_working_vault__is_said_with_its_block(
    follower: Follower, working: tuple[Issued, str]
) -> None:
    mandate, vault = working
    follower.deployed.succeed(OWNER, vault, calldata.stop("owner"))
    follower.catch_up()
    assert said(follower, mandate)[0] == "stopped"


@pytest.mark.parametrize("second", [-1, 0])
def test_terms_past_their_end_without_a_vault__expire_by_a_safe_blocks_time(
    follower: Follower, second: int
) -> None:
    mandate = follower.issue()
    follower.catch_up()
    follower.deployed.rpc.call("evm_setNextBlockTimestamp", [mandate.terms.ends_at + second])
    follower.deployed.anvil.mine()
    head = follower.deployed.reader.block_number()
    follower.deployed.rpc.call("anvil_mine", [hex(32), "0x0"])
    follower.catch_up()
    follower.tip.note_finality()
    safe = follower.deployed.reader.header("safe")
    assert safe is not None and (safe.number, safe.timestamp) == (
        head,
        mandate.terms.ends_at + second,
    )
    expected = (
        ("cancelled", datetime.fromtimestamp(mandate.terms.ends_at, UTC))
        if second == 0
        else ("signed", None)
    )
    assert said(follower, mandate) == expected
    assert follower.story(mandate) == ["signed", *(["terms_expired"] if second == 0 else [])]


def test_a_vault_of_terms_that_the_draft_no_longer_has__is_watched_with_its_own_floor(
    follower: Follower,
) -> None:
    """The owner signed what was read before, and the draft was written again before that vault was
    mined: nobody watched it.
    """
    mandate = follower.issue(public_id="m_4k2v7c3xqb")
    with follower.database.write() as session:
        row = session.get_one(Mandate, mandate.id)
        replace_terms(session, row, now_utc())
        row.terms_digest, row.budget_usdc_e6, row.stop_floor_bps = b"\7" * 32, 1_000_000, 9_999
        row.ends_at = now_utc() + timedelta(days=1)
    vault = follower.deployed.create_vault(mandate.terms)
    follower.catch_up()
    with follower.database.read() as session:
        (found,) = watched_vaults(session, CHAIN_ID, now_utc())
    assert (found.vault, found.public_id, found.budget_usdc_e6) == (
        vault,
        mandate.public_id,
        BUDGET,
    )
    assert (found.floor_usdc_e6, found.ends_at) == (mandate.terms.stop_floor, mandate.terms.ends_at)


def test_a_vault_whose_record_says_that_it_is_over__is_watched(
    follower: Follower, working: tuple[Issued, str]
) -> None:
    mandate, vault = working
    for status in ("stopped", "cancelled"):
        with follower.database.write() as session:
            session.get_one(Mandate, mandate.id).status = status
        assert watched(follower) == {vault}
