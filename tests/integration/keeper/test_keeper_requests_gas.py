"""What the loop of requests keeps of the day's gas, beside an API that keeps it too."""

import time
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select, text

from core.chain.custody import CustodySigner, KeyRing
from core.db.engine import Database
from core.db.repositories import gas
from core.db.repositories.gas import TOTAL, GasBudgets
from core.db.tables.keeper import KeeperIntent
from keeper.outbox_kinds import CUSTODIAL_TRANSFER, OutboxPlanner, custodial_transfers
from keeper.requests.round import Round
from tests.integration.keeper.conftest import BUDGETS, KeeperProcess, Stage
from tests.integration.keeper.flood import SEALING_KEY, flood
from tests.personas import STRANGER

WAITERS = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


def leading(stage: Stage, budgets: GasBudgets = BUDGETS) -> tuple[KeeperProcess, Round]:
    """A keeper that leads, with a key of its own for requests."""
    build = custodial_transfers(CustodySigner(KeyRing([SEALING_KEY])), stage.chain.contracts["usdc"])
    keeper = stage.keeper(outbox=OutboxPlanner({CUSTODIAL_TRANSFER: build}), gas_signer=STRANGER.signer, budgets=budgets)
    keeper.judge()
    assert keeper.requests is not None
    return keeper, keeper.requests


def sent(database: Database) -> int:
    query = select(KeeperIntent).where(KeeperIntent.outbox_id.is_not(None), KeeperIntent.state != "planned")
    with database.read() as session:
        return len(session.scalars(query).all())


def await_waiter(database: Database) -> None:
    until = time.monotonic() + 10
    while True:
        with database.read() as session:
            if session.scalar(text(WAITERS)):
                return
        assert time.monotonic() < until, "the round did not come to wait"
        time.sleep(0.01)


def test_a_round_and_a_call_that_keep_gas_at_once__wait_in_one_order(stage: Stage) -> None:
    starters = flood(stage.chain, stage.database, 2, wallets=2, at=stage.now())
    _, requests = leading(stage)
    last, day = gas.account_scope(starters[-1].account_id), gas.day_of(stage.now())
    with ThreadPoolExecutor(1) as pool:
        with stage.database.write() as session:  # as a call of the last account: first its own scope, then all's
            assert gas.reserve(session, day, {last: 10**18}, 1) is None
            round_ = pool.submit(requests.run, stage.now())
            await_waiter(stage.database)
            assert gas.reserve(session, day, {TOTAL: 10**18}, 1) is None
        round_.result()
    assert sent(stage.database) == 2
