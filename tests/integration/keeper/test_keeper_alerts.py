"""Each alert of the keeper is fired by its fault: its loop and its rows are scraped before and after,
and promtool evaluates the rule on both.
"""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.hexes import bytes_of
from core.jobs.schedule import Job, JobDatabase, Schedule
from core.keeper import gas
from core.keeper.tables import KeeperIntent, KeeperTx
from core.mandate.chain.reader import VaultReader
from keeper.funds import EVERY_S, LIMIT_S, NAME, Funds
from keeper.metrics import KeeperMetrics
from keeper.state import Role
from scripts._ports import free_port
from tests.integration.keeper.alerting import Keeping, node, read_balances
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.test_keeper_balances import set_balance
from tests.integration.keeper.test_keeper_slow_jobs import OLD, A, add_intent
from tests.personas import KEEPER, STRANGER
from tests.watching import AlertWatch, fires

pytestmark = pytest.mark.slow
GWEI = 10**9
SENDS = {"KEEPER_PRIVATE_KEY": KEEPER.private_key}


@pytest.fixture
def keeping(
    stage: Stage, watch: AlertWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Keeping:
    return Keeping(stage, watch, tmp_path, monkeypatch)


@fires("KeeperMakesNoTick")
def test_the_only_node_is_gone__and_no_tick_ends_well(keeping: Keeping, stage: Stage) -> None:
    with node(stage) as (url, passing), keeping.keeper(RPC_URLS=url) as keeper:
        keeping.tick(keeper)
        keeping.scrape()
        assert not keeping.fires("KeeperMakesNoTick", 30)
        passing.is_dead = True
        keeping.passed_s += 25
        keeping.tick(keeper)
        keeping.scrape()
        assert not keeping.fires("KeeperMakesNoTick")
        keeping.passed_s += 10
        keeping.tick(keeper)
        keeping.scrape()
        assert keeping.fires("KeeperMakesNoTick")


@fires("NobodyLeadsTheKeeper")
def test_the_lead_is_held_by_nobody_who_works(
    keeping: Keeping, stage: Stage, watch: AlertWatch
) -> None:
    """A stuck process holds the lock: the one that runs waits."""
    with keeping.keeper() as keeper:
        keeping.tick(keeper)
        keeping.scrape()
        assert not keeping.fires("NobodyLeadsTheKeeper", 60)
        waits = KeeperMetrics(lambda: 0.0)
        with keeping.keeper(waits) as spare:
            spare.job()
        watch.scrape(waits.registry, at=keeping.now().timestamp() + 5, instance="spare")
        assert not keeping.fires("NobodyLeadsTheKeeper", 15)
        assert keeping.fires("NobodyLeadsTheKeeper", 25)


@fires("NobodyLeadsTheKeeper")
def test_no_keeper_runs__and_no_series_is_left(keeping: Keeping, watch: AlertWatch) -> None:
    with keeping.keeper() as keeper:
        keeping.tick(keeper)
        keeping.scrape()
    watch.scrape(at=keeping.now().timestamp() + 5)
    assert keeping.fires("NobodyLeadsTheKeeper", 25)


@fires("StopIsNotMined", "IntentIsOld", "StopsAreMinedLate")
def test_gas_is_dearer_than_the_keeper_may_pay(keeping: Keeping, stage: Stage) -> None:
    chain = stage.chain
    with keeping.keeper(**SENDS, KEEPER_MAX_FEE_GWEI="20", KEEPER_STOP_MAX_FEE_GWEI="20") as keeper:
        keeping.tick(keeper)
        keeping.scrape()
        stage.set_price(PRICE_AT_FLOOR)
        chain.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(1_000 * GWEI)])
        chain.anvil.mine()
        keeping.tick(keeper)
        assert [kind for kind, _ in stage.states()] == ["stop"]
        keeping.passed_s += 5
        keeping.scrape()
        for alert in ("StopIsNotMined", "IntentIsOld", "StopsAreMinedLate"):
            assert not keeping.fires(alert), alert
        chain.anvil.mine(3)
        keeping.tick(keeper)
        keeping.passed_s += 25
        keeping.scrape()
        assert keeping.fires("StopIsNotMined")
        assert keeping.fires("IntentIsOld", 5)
        chain.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(GWEI)])
        chain.anvil.mine()
        keeping.tick(keeper, lambda: stage.status() == "stopped")
        keeping.tick(keeper, lambda: (keeping.value("stop_latency_blocks_count") or 0) == 1)
        keeping.passed_s += 10
        keeping.scrape()
        assert keeping.fires("StopsAreMinedLate", 10)
        assert not keeping.fires("StopIsNotMined", 10)


@fires("KeeperCannotPay")
def test_the_account_runs_dry(keeping: Keeping, stage: Stage) -> None:
    with keeping.keeper(**SENDS) as keeper:
        keeping.tick(keeper)
        read_balances(keeper)
        keeping.scrape()
        assert not keeping.fires("KeeperCannotPay", 30)
        set_balance(stage.chain, KEEPER.address, 10**15)
        read_balances(keeper)
        keeping.passed_s += 30
        keeping.scrape()
        assert keeping.fires("KeeperCannotPay")


@fires("NonceGap")
def test_somebody_else_sends_with_the_key__and_what_is_stored_waits_behind_a_hole(
    keeping: Keeping, stage: Stage
) -> None:
    with keeping.keeper(**SENDS) as keeper:
        keeping.tick(keeper)
        read_balances(keeper)
        keeping.scrape()
        assert not keeping.fires("NonceGap", 300)
        add_intent(stage.database, A, 1)
        with stage.database.write() as session:
            session.execute(update(KeeperIntent).values(state="broadcast"))
            session.add(
                KeeperTx(
                    intent_id=session.scalars(select(KeeperIntent.id)).one(),
                    signer=bytes_of(KEEPER.address),
                    nonce=stage.keeper_nonce() + 2,
                    attempt=1,
                    raw=b"",
                    hash=b"\x03" * 32,
                    max_fee_wei=1,
                    max_priority_fee_wei=1,
                    offered_block=1,
                    is_filler=False,
                    state="broadcast",
                    created_at=OLD,
                )
            )
        read_balances(keeper)
        keeping.passed_s += 30
        keeping.scrape()
        assert not keeping.fires("NonceGap", 100)
        assert keeping.fires("NonceGap", 130)


@fires("FactoryNamesAnotherKeeper")
def test_the_keeper_has_another_key_than_the_factory_names(keeping: Keeping) -> None:
    with keeping.keeper(**SENDS) as keeper:
        keeping.tick(keeper)
        read_balances(keeper)
        keeping.scrape()
        assert not keeping.fires("FactoryNamesAnotherKeeper", 90)
    with keeping.keeper(KEEPER_PRIVATE_KEY=STRANGER.private_key) as keeper:
        keeping.tick(keeper)
        read_balances(keeper)
        keeping.passed_s += 30
        keeping.scrape()
        assert keeping.fires("FactoryNamesAnotherKeeper", 65)


@fires("PauserHasNoRole")
def test_the_pausers_key_is_nobodys(keeping: Keeping) -> None:
    with keeping.keeper(**SENDS) as keeper:
        keeping.tick(keeper)
        read_balances(keeper)
        keeping.scrape()
        assert not keeping.fires("PauserHasNoRole", 90)
    with keeping.keeper(**SENDS, KEEPER_PAUSER_PRIVATE_KEY=STRANGER.private_key) as keeper:
        keeping.tick(keeper)
        read_balances(keeper)
        keeping.passed_s += 30
        keeping.scrape()
        assert keeping.fires("PauserHasNoRole", 65)


@fires("JobFails", "JobIsLate")
def test_a_slow_job_fails_again_and_again__and_then_is_started_no_more(
    keeping: Keeping, stage: Stage
) -> None:
    good = Funds(stage.chain.reader, stage.database, {Role.KEEPER: KEEPER.signer}, GWEI)
    nowhere = VaultReader(Nodes([f"http://127.0.0.1:{free_port()}"]), {})
    bad = Funds(nowhere, stage.database, {Role.KEEPER: KEEPER.signer}, GWEI)
    schedule = Schedule[JobDatabase](
        database=stage.database,
        jobs=(),
        place=lambda database: database,
        holder="test",
        clock=keeping.now,
        ends_process=False,
    )
    schedule.run(Job(NAME, EVERY_S, LIMIT_S, lambda _, now: good.run(now)))
    keeping.scrape()
    assert not keeping.fires("JobFails", 60)
    for _ in range(3):
        keeping.passed_s += EVERY_S
        assert not keeping.fires("JobFails")
        with pytest.raises(RpcUnreachableError):
            schedule.run(Job(NAME, EVERY_S, LIMIT_S, lambda _, now: bad.run(now)))
        keeping.scrape()
    assert keeping.fires("JobFails")
    assert not keeping.fires("JobIsLate", 3 * EVERY_S - 10)
    assert keeping.fires("JobIsLate", 3 * EVERY_S + 10)
    nowhere.rpc.close()


@fires("RequestsGasIsHalfUsed", "RequestsGasIsUsedUp")
def test_requests_use_the_days_gas(keeping: Keeping, stage: Stage) -> None:
    """Half of it asks for somebody, nine tenths wake somebody."""
    with keeping.keeper(CUSTODY_GAS_WEI_PER_DAY="1000000") as keeper:
        keeping.tick(keeper)
    seen = []
    for wei in (500_000, 10_000, 380_000, 30_000):
        with stage.database.write() as session:
            day = gas.day_of(keeping.now())
            assert gas.reserve(session, day, {gas.TOTAL: 1_000_000}, wei) is None
        keeping.passed_s += 10
        keeping.scrape()
        seen.append([keeping.fires(f"RequestsGasIs{how}") for how in ("HalfUsed", "UsedUp")])
    assert seen == [[False, False], [True, False], [True, False], [True, True]]


@fires("VaultsCannotBeJudged")
def test_a_venues_valuation_reverts(keeping: Keeping, stage: Stage) -> None:
    with keeping.keeper() as keeper:
        keeping.tick(keeper)
        keeping.scrape()
        assert not keeping.fires("VaultsCannotBeJudged", 90)
        broken = "0x60006000fd"  # it reverts whatever it is asked
        stage.chain.rpc.call("anvil_setCode", [stage.chain.contracts["test_venue"], broken])
        stage.chain.anvil.mine()
        keeping.tick(keeper)
        keeping.passed_s += 10
        keeping.scrape()
        assert not keeping.fires("VaultsCannotBeJudged", 50)
        assert keeping.fires("VaultsCannotBeJudged", 70)


@fires("KeepersHeadIsOld")
def test_the_chain_stands_still__for_the_keeper_too(keeping: Keeping, stage: Stage) -> None:
    with keeping.keeper() as keeper:
        keeping.tick(keeper)
        keeping.scrape()
        assert not keeping.fires("KeepersHeadIsOld", 30)
        keeping.passed_s += 40
        keeping.tick(keeper)
        keeping.scrape()
        assert not keeping.fires("KeepersHeadIsOld", 5)
        assert keeping.fires("KeepersHeadIsOld", 15)
