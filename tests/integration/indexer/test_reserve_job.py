"""The slow job `reserve` on a chain: what it keeps, and what becomes a finding."""

from datetime import datetime

import pytest
from sqlalchemy import text

from core.audit import queries as audit
from core.earn.limits import payout_limits
from core.limits import CallerLimits
from core.reserve import queries
from core.targets.limits import target_limits
from indexer.chain.context import ChainContext
from keeper.areas.reserve import run
from keeper.schedule import JobPlace, JobSkippedError
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.reserve_token import TokenOnChain, deploy_reserve_token
from tests.personas import AGENT


@pytest.fixture
def token(deployed: DeployedChain, follower: Follower) -> TokenOnChain:
    found = deploy_reserve_token(deployed)
    follower.restart(reserve_token=found.address)
    found.fund(AGENT, 1_000 * USDC)
    found.buy(AGENT, 102 * USDC)
    follower.catch_up()
    return found


def place(chain: ChainContext, deployed: DeployedChain) -> JobPlace:
    return JobPlace(
        database=chain.database,
        reader=deployed.reader,
        fence=lambda session: None,
        mark_retention_days=1,
        intent_retention_days=1,
        payouts=payout_limits(CallerLimits()),
        targets=target_limits(CallerLimits()),
    )


def findings(follower: Follower) -> list[str]:
    with follower.database.read() as session:
        return [one.what for one in audit.open_findings(session, CHAIN_ID)]


def test_what_matches__is_read_and_no_finding(
    follower: Follower, token: TokenOnChain, deployed: DeployedChain
) -> None:
    assert run(place(follower.chain, deployed), now_utc()) == {"differences": 0}
    with follower.database.read() as session:
        reading = queries.reading(session)
    assert reading is not None
    assert (reading.reserve_e6, reading.usdc_e6, reading.is_reconciled) == (
        103 * USDC,
        103 * USDC,
        True,
    )
    assert findings(follower) == []


def test_what_differs__is_one_finding_however_often_it_is_seen(
    follower: Follower, token: TokenOnChain, deployed: DeployedChain
) -> None:
    with follower.database.write() as session:
        session.execute(text("update reserve_event set supply_after = supply_after + 1"))
    for _ in range(3):
        assert run(place(follower.chain, deployed), now_utc())["differences"] == 1
    (what,) = findings(follower)
    assert "the record's supply is not the contract's" in what


def test_a_token_that_is_not_deployed_or_not_followed_yet__is_skipped(
    follower: Follower, deployed: DeployedChain
) -> None:
    now: datetime = now_utc()
    with pytest.raises(JobSkippedError, match="no reserve token"):
        run(place(follower.chain, deployed), now)
    deploy_reserve_token(deployed)
    follower.catch_up()
    with pytest.raises(JobSkippedError, match="has not read"):
        run(place(follower.chain, deployed), now)
