"""The slow job `reserve` on a chain: what it keeps, and what becomes a finding."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from api.areas.reserve.jobs import run
from api.kernel.jobs import JobPlace
from core.audit import queries as audit
from core.jobs.schedule import JobSkippedError
from core.limits import CallerLimits
from core.reserve import queries
from indexer.chain.context import ChainContext
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import SAFE_DEPTH, Follower, now_utc
from tests.integration.indexer.test_reserve import ONE, account, credit_all, reference, sums
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
        mark_retention_days=1,
        intent_retention_days=1,
        limits=CallerLimits(),
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
    assert "the record's supply differs from the contract's" in what


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


# The record against itself

HOUR = timedelta(hours=1)

MOVED = """
update reserve_converted c set usdc_e6 = usdc_e6 + 10000 * case
  when exists (select from reserve_converted o where o.account_id < c.account_id) then 1 else -1 end
"""


# of two conversions one brought more, and the other less
SWAPPED = """
update reserve_conversion c set usdc_e6 = usdc_e6 + case
  when exists (select from reserve_conversion o where o.number < c.number) then 1 else -1 end
"""


def parts(follower: Follower, deployed: DeployedChain, now: datetime) -> set[str]:
    """What the job finds in a new hour; findings are closed."""
    run(place(follower.chain, deployed), now)
    with follower.database.write() as session:
        found = audit.open_findings(session, CHAIN_ID)
        for one in found:
            audit.acknowledge(session, one.id, None, now)
    return {str(one.place["part"]) for one in found}


@pytest.fixture
def audited(follower: Follower, token: TokenOnChain, deployed: DeployedChain) -> Follower:
    """Two accounts have converted, and all rows were read a moment ago."""
    for fill in ("a1", "a2"):
        mine = account(follower.database)
        token.convert(AGENT, 2_000 * ONE, reference(follower.database, mine, fill))
    follower.catch_up()
    deployed.anvil.mine(SAFE_DEPTH)
    follower.catch_up()
    follower.tip.note_finality()
    credit_all(follower)
    assert parts(follower, deployed, now_utc()) == set()
    return follower


@pytest.mark.parametrize(
    ("drift", "found"),
    [
        (
            "delete from reserve_conversion",
            {"conversions", "conversions_usdc", "credited_usdc", "sums"},
        ),
        (
            "update reserve_conversion set usdc_e6 = usdc_e6 - 1",
            {"conversions_usdc", "credited_usdc", "sums", "terms"},
        ),
        (
            "update reserve_converted set usdc_e6 = usdc_e6 + 10000",
            {"credited_usdc", "credits", "ledgers", "sums"},
        ),
        (MOVED, {"ledgers", "sums"}),
        (SWAPPED, {"sums", "terms"}),
        (
            "update reserve_conversion set account_ref = decode(repeat('77', 32), 'hex')",
            {"sums", "terms"},
        ),
        ("update reserve_conversion set account_id = (select max(id) from account)", {"sums"}),
        ("update reserve_conversion set holder = '\\x01'", {"terms"}),
    ],
)
def test_drift__shows_at_the_next_look(
    audited: Follower, deployed: DeployedChain, drift: str, found: set[str]
) -> None:
    with audited.database.write() as session:
        session.execute(text(drift))
    now = now_utc()
    run(place(audited.chain, deployed), now)  # of the same hour, unless it ends now
    assert parts(audited, deployed, now + HOUR) == found


def test_a_conversion_that_a_reorg_takes_back__is_no_difference(
    audited: Follower, deployed: DeployedChain, token: TokenOnChain
) -> None:
    mine = account(audited.database)
    token.convert(AGENT, 1_000 * ONE, reference(audited.database, mine, "a3"))
    audited.catch_up()
    deployed.anvil.reorg(1)
    audited.catch_up()
    counted = sums(audited.database)
    assert counted.replaced == counted.reversed
    assert counted.reversed[0] == 1
    assert parts(audited, deployed, now_utc() + HOUR) == set()
