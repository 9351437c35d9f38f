"""The slow job `reserve` on a chain: what it keeps, and what becomes a finding."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session

from api.areas.reserve import jobs as job
from api.areas.reserve.jobs import run
from api.kernel.jobs import JobPlace
from core.audit import queries as audit
from core.earn.limits import payout_limits
from core.jobs.schedule import JobSkippedError
from core.limits import CallerLimits
from core.reserve import queries
from core.reserve.reconciliation import RunningPart, running_totals, totals_of_rows
from core.targets.limits import target_limits
from indexer.chain.context import ChainContext
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import SAFE_DEPTH, Follower, now_utc
from tests.integration.indexer.test_reserve import ONE, account, credit_all, reference
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


# Running totals

MOVED = """
update reserve_converted c set usdc_e6 = usdc_e6 + 10000 * case
  when exists (select from reserve_converted o where o.account_id < c.account_id) then 1 else -1 end
"""


def parts(follower: Follower, deployed: DeployedChain, now: datetime) -> set[str]:
    """What the job finds; findings are closed."""
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


def test_a_look__reads_only_what_was_touched_since_all_rows_were(
    audited: Follower, deployed: DeployedChain
) -> None:
    read = []
    engine = audited.database.engine

    def note(connection: Connection, cursor: object, statement: str, *rest: object) -> None:
        read.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        assert parts(audited, deployed, now_utc()) == set()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    summed = [one for one in read if "sum(reserve_event" in one or "sum(reserve_conversion" in one]
    assert all("account_id IN" in one for one in summed)
    assert any("reserve_total" in one for one in read)


@pytest.mark.parametrize(
    ("drift", "found"),
    [
        (
            "delete from reserve_conversion",
            {"conversions", "conversions_usdc", "credited_usdc", "sums"},
        ),
        (
            "update reserve_conversion set usdc_e6 = usdc_e6 - 1",
            {"conversions_usdc", "credited_usdc", "sums"},
        ),
        (
            "update reserve_converted set usdc_e6 = usdc_e6 + 10000",
            {"credited_usdc", "credits", "ledgers", "sums"},
        ),
        (
            MOVED,
            {"ledgers", "sums"},
        ),
    ],
)
def test_drift__shows_at_the_next_look(
    audited: Follower, deployed: DeployedChain, drift: str, found: set[str]
) -> None:
    with audited.database.write() as session:
        session.execute(text(drift))
    assert parts(audited, deployed, now_utc()) == found


def test_drift_that_no_total_shows__is_found_within_a_day(
    audited: Follower, deployed: DeployedChain
) -> None:
    with audited.database.write() as session:
        session.execute(text("update reserve_conversion set holder = '\\x01'"))
    now = now_utc()
    assert parts(audited, deployed, now + timedelta(hours=23, minutes=59)) == set()
    assert parts(audited, deployed, now + timedelta(days=1, seconds=1)) == {"terms"}


@pytest.mark.slow
def test_a_running_total_that_drifted__shows_and_is_corrected_by_the_days_audit(
    audited: Follower, deployed: DeployedChain
) -> None:
    with audited.database.write() as session:
        session.execute(text("update reserve_total set amount = amount + 7 where part = 'events'"))
    now = now_utc()
    assert parts(audited, deployed, now) == {"conversions_usdc"}
    assert parts(audited, deployed, now + timedelta(days=2)) == {"totals"}
    assert parts(audited, deployed, now + timedelta(days=2)) == set()
    with audited.database.read() as session:
        assert running_totals(session, CHAIN_ID) == totals_of_rows(session, CHAIN_ID)


def test_running_totals__follow_blocks_that_a_reorg_takes_back(
    audited: Follower, deployed: DeployedChain, token: TokenOnChain
) -> None:
    mine = account(audited.database)
    token.convert(AGENT, 1_000 * ONE, reference(audited.database, mine, "a3"))
    audited.catch_up()
    with audited.database.read() as session:
        before = running_totals(session, CHAIN_ID)
    deployed.anvil.reorg(1)
    audited.catch_up()
    with audited.database.read() as session:
        after = running_totals(session, CHAIN_ID)
        assert after == totals_of_rows(session, CHAIN_ID)
    assert before[RunningPart.EVENTS][0] == after[RunningPart.EVENTS][0] + 1
    assert after[RunningPart.REPLACED][0] == after[RunningPart.REVERSED][0] == 1
    assert parts(audited, deployed, now_utc()) == set()


MANY = 200


def written(session: Session, table: str) -> tuple[int, int]:
    """(rows added, rows changed) by this transaction."""
    query = """select n_tup_ins, n_tup_upd from pg_stat_xact_user_tables
                where relname = :table and schemaname = current_schema()"""
    added, changed = session.execute(text(query), {"table": table}).one()
    return int(added), int(changed)


def test_what_a_transaction_moves_many_times__changes_no_row_again_and_again(
    audited: Follower,
) -> None:
    """Each version of a row is read by the next change of it: ten times as many rows cost a hundred times."""
    with audited.database.write() as session:
        before = written(session, "reserve_touched")
        for _ in range(MANY):
            session.execute(text("update reserve_converted set usdc_e6 = usdc_e6"))
        assert written(session, "reserve_total")[1] == 0
        after = written(session, "reserve_touched")
        assert sum(after) - sum(before) == 2  # one for each account
        assert running_totals(session, CHAIN_ID) == totals_of_rows(session, CHAIN_ID)


def test_two_transactions__move_the_totals_at_once(audited: Follower) -> None:
    """One that does not end kept all others waiting, whosever rows they changed."""
    change = "update reserve_converted set usdc_e6 = usdc_e6 where account_id = (select {}(account_id) from account_of)"
    with_ = "with account_of as (select account_id from reserve_converted) "
    with audited.database.write() as slow, audited.database.write() as quick:
        slow.execute(text(with_ + change.format("min")))
        quick.execute(text("set local lock_timeout = '2s'"))
        quick.execute(text(with_ + change.format("max")))


def test_moves_of_the_totals__are_put_together_by_the_job(
    audited: Follower, deployed: DeployedChain
) -> None:
    with audited.database.write() as session:
        for _ in range(MANY):
            session.execute(text("update reserve_converted set usdc_e6 = usdc_e6"))
        before = running_totals(session, CHAIN_ID)
    assert parts(audited, deployed, now_utc()) == set()
    with audited.database.read() as session:
        rows = session.scalars(text("select part from reserve_total")).all()
        assert len(rows) == len(set(rows)) > 0
        assert running_totals(session, CHAIN_ID) == before


def test_an_account_that_never_fits__keeps_no_other_from_being_compared(
    audited: Follower, deployed: DeployedChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lowest ids came first, and all of a look were kept where one differed."""
    monkeypatch.setattr(job, "ACCOUNTS_A_LOOK", 1)
    with audited.database.write() as session:
        lowest, highest = session.execute(
            text("select min(account_id), max(account_id) from reserve_converted")
        ).one()
        odd = "update reserve_converted set usdc_e6 = usdc_e6 + 1 where account_id = :id"
        session.execute(text(odd), {"id": lowest})
        session.execute(text("update reserve_converted set usdc_e6 = usdc_e6"))
    where = place(audited.chain, deployed)
    found = [run(where, now_utc())["differences"] for _ in range(3)]
    assert found == [2, 1, 2]  # the sum of all differs at each look, the account's own in its turn
    with audited.database.read() as session:
        left = session.scalars(text("select account_id from reserve_touched")).all()
    assert left == [lowest]
    assert highest != lowest
