"""The loop of requests beside the loop of the stops: its own key, few at a time, within the day's
gas.
"""

from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from core.custody.keys import CustodySigner, KeyRing
from core.custody.tables import CustodialTransfer
from core.identity.tables import Account
from core.keeper import gas
from core.keeper import queue as outbox_queue
from core.keeper.gas import TOTAL, GasBudgets
from core.keeper.tables import KeeperIntent, Outbox, OutboxQueue
from core.times import next_day
from keeper.attempts import STUCK_BLOCKS
from keeper.outbox_kinds import CUSTODIAL_TRANSFER, custodial_transfers
from keeper.requests.round import PUT_BACK_AFTER, REQUESTS_A_ROUND
from tests.integration.chain_fixtures import USDC
from tests.integration.keeper.chaos.population import _entry, _held
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, KeeperProcess, Stage
from tests.integration.keeper.flood import SEALING_KEY, Starter, flood
from tests.personas import STRANGER


def asked(stage: Stage, count: int, wallets: int = 1) -> list[Starter]:
    return flood(stage.chain, stage.database, count, wallets=wallets, at=stage.now())


def keeper_of(stage: Stage, **settings: Any) -> KeeperProcess:
    """One that opens the wallets' keys."""
    build = custodial_transfers(
        CustodySigner(KeyRing([SEALING_KEY])), stage.chain.contracts["usdc"]
    )
    return stage.keeper(outbox={CUSTODIAL_TRANSFER: build}, **settings)


def requests(keeper: KeeperProcess, stage: Stage) -> None:
    """A round of requests alone."""
    assert keeper.requests is not None
    keeper.requests.run(stage.now())


def arrived(stage: Stage, starters: list[Starter]) -> int:
    return sum(stage.chain.reader.usdc_balance(starter.linked) for starter in starters) // USDC


def transfers(stage: Stage) -> list[str]:
    return [state for kind, state in stage.states() if kind == CUSTODIAL_TRANSFER]


def hold_balance(stage: Stage, address: str, wei: int) -> None:
    stage.chain.anvil.rpc.call("anvil_setBalance", [address, hex(wei)])


# Whose key


def test_with_a_gas_key__it_pays_and_the_keepers_nonces_are_untouched(stage: Stage) -> None:
    starters = asked(stage, 3)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    keeper.run()
    assert (
        arrived(stage, starters),
        stage.keeper_nonce(),
        stage.chain.reader.transaction_count(STRANGER.address),
    ) == (3, 0, 3)


def test_a_gas_key_that_is_dry__delays_no_stop(stage: Stage) -> None:
    asked(stage, 3)
    hold_balance(stage, STRANGER.address, 0)
    stage.set_price(PRICE_AT_FLOOR)
    keeper_of(stage, gas_signer=STRANGER.signer).run()
    assert (stage.status(), transfers(stage)) == ("stopped", [])


def test_a_tick__reads_none_of_the_requests(stage: Stage) -> None:
    asked(stage, 3)
    keeper = keeper_of(stage)
    keeper.judge()
    assert transfers(stage) == []
    requests(keeper, stage)
    assert keeper.judge().live_intents == 0


def test_the_requests_tables_are_locked__a_tick_stops_all_the_same(stage: Stage) -> None:
    asked(stage, 3)
    stage.set_price(PRICE_AT_FLOOR)
    keeper = keeper_of(stage)
    with stage.database.write() as session:
        session.execute(
            text(
                "lock table outbox_queue, outbox_count, gas_day, custodial_transfer in access "
                "exclusive mode"
            )
        )
        keeper.judge()
        assert stage.status() == "stopped"


def test_a_gap_where_a_void_request_was__is_taken_by_what_waits_above(stage: Stage) -> None:
    """A reorg took the transfer out, and its asker was evicted since."""
    first, second = asked(stage, 2, wallets=2)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    stage.chain.anvil.rpc.call("evm_setAutomine", [False])
    keeper.run()
    stage.chain.anvil.mine()
    assert arrived(stage, [first, second]) == 2
    with stage.database.write() as session:
        of_first = select(CustodialTransfer.outbox_id).where(
            CustodialTransfer.account_id == first.account_id
        )
        session.execute(
            update(KeeperIntent)
            .where(KeeperIntent.outbox_id.in_(of_first))
            .values(state="superseded")
        )
        session.execute(update(Account).where(Account.id == first.account_id).values(generation=1))
    stage.chain.anvil.reorg(1)
    stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
    for _ in range(STUCK_BLOCKS + 3):
        keeper.run()
        stage.chain.anvil.mine()
    assert (arrived(stage, [first]), arrived(stage, [second])) == (0, 1)


# How many


@pytest.mark.slow
def test_a_round__plans_so_many_however_many_wait(stage: Stage) -> None:
    asked(stage, 60, wallets=3)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    with stage.no_blocks():
        keeper.run()
        assert len(transfers(stage)) == REQUESTS_A_ROUND
        keeper.run()
        assert len(transfers(stage)) == 2 * REQUESTS_A_ROUND


@pytest.mark.slow
def test_so_many_are_under_way__and_no_more_are_planned(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(stage, 60)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    monkeypatch.setattr(keeper.requests, "most_under_way", 25)
    for _ in range(3):
        keeper.run()
    assert len(transfers(stage)) == 25


def test_a_round__signs_that_it_gets_on_at_each_request(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(stage, 5)
    keeper = keeper_of(stage)
    signs: list[int] = []
    assert keeper.requests is not None
    monkeypatch.setattr(keeper.requests, "sign", lambda: signs.append(1))
    keeper.run()
    assert len(signs) >= 5


@pytest.mark.slow
def test_what_the_chain_refuses__makes_room_for_the_others_and_ends_after_an_hour(
    stage: Stage,
) -> None:
    starters = asked(stage, 2, wallets=2)
    stage.chain.anvil.rpc.call(
        "anvil_setStorageAt",
        [
            stage.chain.contracts["usdc"],
            _balance_slot(stage, starters[0].address),
            "0x" + "00" * 32,
        ],
    )
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    keeper.run()
    assert transfers(stage) == ["planned", "mined"]
    stage.pass_time(stage.chain.now + int(PUT_BACK_AFTER.total_seconds()))
    keeper.run()
    assert transfers(stage)[0] == "superseded"
    for _ in range(7):
        stage.pass_time(stage.chain.now + 32 * 60)
        keeper.run()
        stage.pass_time(stage.chain.now + int(PUT_BACK_AFTER.total_seconds()))
        keeper.run()
    refused = [state for state in transfers(stage) if state != "superseded"]
    assert (refused.count("refused"), len(transfers(stage)) < 10) == (1, True)


def _balance_slot(stage: Stage, address: str) -> str:
    slot, _ = _held(stage.chain, stage.chain.contracts["usdc"], address, 2 * USDC)
    return _entry(address, slot)


# The day's gas


def test_the_days_gas_of_an_account__holds_up_no_other_account(stage: Stage) -> None:
    first, second = asked(stage, 2, wallets=2)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    with stage.database.write() as session:
        assert (
            gas.reserve(
                session, stage.now().date(), {gas.account_scope(first.account_id): 10**18}, 10**18
            )
            is None
        )
    keeper.run()
    assert (arrived(stage, [first]), arrived(stage, [second])) == (0, 1)
    with stage.database.read() as session:
        (due_at,) = session.scalars(
            select(OutboxQueue.due_at).where(OutboxQueue.account_id == first.account_id)
        )
    assert due_at == next_day(stage.now())


@pytest.mark.slow
def test_a_thief_who_asks_all_day__burns_less_than_the_days_budget(stage: Stage) -> None:
    """Ten agents without an owner ask for 120 transfers; every fee of the day is paid by the gas
    key.
    """
    budgets = GasBudgets(total_wei=6 * 10**15, owner_wei=4 * 10**15, account_wei=3 * 10**15)
    starters = asked(stage, 120, wallets=10)
    before = stage.chain.reader.balance_wei(STRANGER.address)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer, budgets=budgets)
    paid = -1
    while paid != (paid := arrived(stage, starters)):
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(2 * GWEI)])
        for _ in range(2):
            keeper.run()
        stage.make_safe()
        keeper.run()
    for _ in range(3):
        keeper.run()
    burned = before - stage.chain.reader.balance_wei(STRANGER.address)
    print(
        f"{paid} of 120 transfers paid; burned {burned / 10**18:.6f} ETH of "
        f"{budgets.total_wei / 10**18:.6f} ETH a day"
    )
    with stage.database.read() as session:
        spent, reserved = gas.used_wei(session, stage.now().date())
    assert 0 < burned <= budgets.total_wei
    assert spent <= burned <= spent + reserved <= budgets.total_wei, (
        "what was burned is counted, or still kept"
    )


def test_a_dearer_market__keeps_more_for_what_waits_or_leaves_it_as_it_is(stage: Stage) -> None:
    asked(stage, 1)
    keeper = keeper_of(stage, gas_signer=STRANGER.signer)
    with stage.no_blocks():
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(20 * GWEI)])
        stage.chain.anvil.mine(1)
        keeper.run()
        with stage.database.read() as session:
            (kept,) = session.scalars(select(OutboxQueue.reserved_wei))
    dearest = max(tx.max_fee_wei for tx in stage.txs())
    assert (dearest >= 20 * GWEI, kept >= dearest * 50_000) == (True, True)


@pytest.mark.slow
def test_everything_that_was_kept__is_given_back_in_the_end(stage: Stage) -> None:
    starters = asked(stage, 5)
    keeper = keeper_of(stage)
    keeper.run()
    stage.make_safe()
    for _ in range(3):
        keeper.run()
    with stage.database.read() as session:
        spent, reserved = gas.used_wei(session, stage.now().date())
        assert (arrived(stage, starters), reserved, spent) == (
            5,
            0,
            sum(tx.cost_wei or 0 for tx in stage.txs()),
        )
        assert (
            outbox_queue.waiting(session, TOTAL),
            session.scalar(select(func.count()).select_from(OutboxQueue)),
        ) == (0, 0)


def test_a_request_of_the_keepers_role__is_signed_by_the_gas_key(stage: Stage) -> None:
    """As earlier versions asked for them."""
    starters = asked(stage, 1)
    with stage.database.write() as session:
        session.execute(update(Outbox).values(role="keeper"))
    keeper_of(stage, gas_signer=STRANGER.signer).run()
    assert (arrived(stage, starters), stage.keeper_nonce()) == (1, 0)
