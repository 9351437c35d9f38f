"""What the loop of requests keeps of the day's gas, beside an API that keeps it too."""

import pytest
from sqlalchemy import select, update

from core.custody.keys import CustodySigner, KeyRing
from core.custody.rules import gas_kept_wei
from core.db.engine import Database
from core.identity.tables import Account
from core.keeper import gas
from core.keeper import queue as outbox_queue
from core.keeper.gas import GasBudgets
from core.keeper.tables import KeeperIntent, OutboxQueue
from keeper.outbox_kinds import CUSTODIAL_TRANSFER, custodial_transfers
from keeper.requests.round import RequestRound
from tests.integration.keeper.conftest import BUDGETS, GWEI, USDC, KeeperProcess, Stage
from tests.integration.keeper.flood import SEALING_KEY, Starter, flood
from tests.personas import STRANGER


def leading(stage: Stage, budgets: GasBudgets = BUDGETS) -> tuple[KeeperProcess, RequestRound]:
    """A keeper that leads, with a key of its own for requests."""
    build = custodial_transfers(
        CustodySigner(KeyRing([SEALING_KEY])), stage.chain.contracts["usdc"]
    )
    keeper = stage.keeper(
        outbox={CUSTODIAL_TRANSFER: build},
        gas_signer=STRANGER.signer,
        budgets=budgets,
    )
    keeper.judge()
    assert keeper.requests is not None
    return keeper, keeper.requests


def kept_when_asked(stage: Stage, starters: list[Starter]) -> int:
    """As the API keeps gas for each request that waits; how much in all."""
    stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(5 * GWEI)])
    stage.chain.anvil.mine()
    header = stage.chain.reader.header()
    assert header is not None
    each, day, budgets = gas_kept_wei(header.base_fee_wei or 0), gas.day_of(stage.now()), BUDGETS
    with stage.database.write() as session:
        rows = session.scalars(select(OutboxQueue).order_by(OutboxQueue.outbox_id)).all()
        for row in rows:
            assert gas.reserve(session, day, budgets.of(row.account_id, None), each) is None
            outbox_queue.keep_gas(session, row.outbox_id, day, each)
    return each * len(rows)


def sent(database: Database) -> int:
    query = select(KeeperIntent).where(
        KeeperIntent.outbox_id.is_not(None), KeeperIntent.state != "planned"
    )
    with database.read() as session:
        return len(session.scalars(query).all())


@pytest.mark.slow
def test_a_day_whose_gas_is_all_kept__is_sent_from_what_is_kept(stage: Stage) -> None:
    starters = flood(stage.chain, stage.database, 6, wallets=2, at=stage.now())
    in_all = kept_when_asked(stage, starters)
    _, requests = leading(stage, GasBudgets(total_wei=in_all, owner_wei=in_all, account_wei=in_all))
    requests.run(stage.now())
    assert sent(stage.database) == 6


def mined_at(stage: Stage, gwei: int) -> None:
    stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(gwei * GWEI)])
    stage.chain.anvil.mine()


def stuck(stage: Stage) -> tuple[list[Starter], RequestRound]:
    """Two requests pend for less than the base fee of now, and the day has no gas for more."""
    starters = flood(stage.chain, stage.database, 2, wallets=2, at=stage.now())
    in_all = kept_when_asked(stage, starters)
    _, requests = leading(stage, GasBudgets(total_wei=in_all, owner_wei=in_all, account_wei=in_all))
    stage.chain.anvil.rpc.call("evm_setAutomine", [False])
    requests.run(stage.now())
    assert sent(stage.database) == 2
    return starters, requests


def rounds(stage: Stage, requests: RequestRound, count: int, gwei: int) -> None:
    for _ in range(count):
        mined_at(stage, gwei)
        requests.run(stage.now())


@pytest.mark.slow
def test_a_lowest_nonce_whose_gas_is_used_up__is_filled_and_holds_up_nobody(stage: Stage) -> None:
    """It waited at its old offer for good, and everything else of the key behind it."""
    (first, second), requests = stuck(stage)
    rounds(stage, requests, 5, gwei=30)
    assert stage.chain.reader.transaction_count(STRANGER.address) == 1
    assert [(tx.nonce, tx.is_filler) for tx in stage.txs()] == [(0, False), (1, False), (0, True)]
    rounds(stage, requests, 2, gwei=5)
    assert [stage.chain.reader.usdc_balance(one.linked) for one in (first, second)] == [0, USDC]


@pytest.mark.slow
def test_a_void_lowest_nonce_for_which_nothing_is_kept__is_filled_and_counts_in_full(
    stage: Stage,
) -> None:
    (first, second), requests = stuck(stage)
    with stage.database.write() as session:
        session.execute(update(Account).where(Account.id == first.account_id).values(generation=1))
        session.execute(
            update(OutboxQueue)
            .where(OutboxQueue.account_id == first.account_id)
            .values(reserved_wei=1)
        )
    stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
    rounds(stage, requests, 8, gwei=5)
    assert [stage.chain.reader.usdc_balance(one.linked) for one in (first, second)] == [0, USDC]
    (filler,) = [tx for tx in stage.txs() if tx.is_filler and tx.state == "mined"]
    with stage.database.read() as session:
        assert (
            gas.used_wei(session, gas.day_of(stage.now()), gas.account_scope(first.account_id))[0]
            == filler.cost_wei
        )


def test_an_account_whose_gas_is_all_kept__is_sent_from_what_is_kept(stage: Stage) -> None:
    starters = flood(stage.chain, stage.database, 6, wallets=2, at=stage.now())
    in_all = kept_when_asked(stage, starters)
    _, requests = leading(
        stage, GasBudgets(total_wei=10**18, owner_wei=in_all // 2, account_wei=in_all // 2)
    )
    requests.run(stage.now())
    assert sent(stage.database) == 6
