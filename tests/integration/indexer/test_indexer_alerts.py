"""Each alert of the indexer is fired by its fault: the running loop is scraped before and after, and
promtool evaluates the rule on both.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import httpx
import pytest
from sqlalchemy import text

from api.areas.reserve.jobs import run as reconcile
from core.chain.nodes import Nodes
from core.credits.ledger import writer as credit_ledger
from core.db.engine import Database
from core.db.leadership import Leadership
from core.mandate.chain.reader import VaultReader
from core.watchdog import Watchdog
from indexer import loop as loop_module
from indexer.chain import auditor as auditor_module
from indexer.chain.own_keys import OwnKeys
from indexer.loop import AuditPlace, Indexer
from indexer.metrics import PREFIX, IndexerMetrics
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    USDC,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.indexer.clocked import Viewed
from tests.integration.indexer.conftest import FINAL_BEHIND, Follower, now_utc
from tests.integration.indexer.refusing import Refusals
from tests.integration.indexer.test_loop import running
from tests.integration.indexer.test_quarantine import buy
from tests.integration.indexer.test_reserve import ONE, account, reference
from tests.integration.indexer.test_reserve_job import place
from tests.integration.reserve_token import TokenOnChain, deploy_reserve_token
from tests.node_transport import in_threads
from tests.personas import AGENT, KEEPER, OWNER
from tests.watching import AlertWatch, fires

pytestmark = pytest.mark.slow
NODES = ("http://first", "http://second")
ALL_BLOCKS = 200


class FakeNodes(Viewed):
    """Two names of one anvil, which may be dead, or refuse everything."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.refusing: set[str] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.host in self.refusing:
            return httpx.Response(403, text="the key has expired")
        return super().handle_request(request)


class Watched:
    """An indexer's loop that runs until something is true, and is scraped."""

    def __init__(
        self, chain: DeployedChain, database: Database, leadership: Leadership, watch: AlertWatch
    ) -> None:
        self.passed_s = 0.0
        self.metrics = IndexerMetrics(self.now)
        self.watch, self.chain = watch, chain
        self.nodes = FakeNodes(chain.anvil.url)
        self.rpc = Nodes(
            NODES, transport=in_threads(self.nodes), clock=lambda: time.monotonic() + self.passed_s
        )
        self.metrics.count_rpc(self.rpc)
        self._database, self._leadership = database, leadership

    def now(self) -> float:
        return time.time() + self.passed_s

    def run(self, until: Callable[[], bool] | None = None, audit: AuditPlace | None = None) -> None:
        """The loop, by default until two rounds have ended, well or not."""
        seen = self.rounds()
        indexer = Indexer(
            VaultReader(self.rpc, self.chain.contracts),
            self._database,
            self._leadership,
            chain_id=CHAIN_ID,
            start_block=self.chain.start_block,
            poll_s=0.02,
            metrics=self.metrics,
            watchdog=Watchdog(60, lambda code: None),
            audit=audit,
        )
        running(indexer, until or (lambda: self.rounds() >= seen + 2))

    def rounds(self) -> float:
        failed = [
            sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == PREFIX + "round_failures_total"
        ]
        return self.value("rounds_total") + sum(failed)

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(PREFIX + name, labels) or 0.0

    def scrape(self) -> None:
        self.watch.scrape(self.metrics.registry, at=self.now())

    def fires(self, alert: str, after_s: float = 0) -> bool:
        return self.watch.is_firing(alert, at=self.now() + after_s)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "RETRY_S", 0.02)
    monkeypatch.setattr(loop_module, "FINALITY_S", 0.0)
    monkeypatch.setattr(loop_module, "DEPOSITS_S", 0.0)
    monkeypatch.setattr(loop_module, "OFTEN_S", 0.0)
    monkeypatch.setattr(loop_module, "BESIDE_S", 0.0)


@pytest.fixture
def watched(follower: Follower, soon: None, watch: AlertWatch) -> Iterator[Watched]:
    found = Watched(follower.deployed, follower.database, follower.leadership, watch)
    yield found
    found.rpc.close()


@contextmanager
def auditing(watched: Watched) -> Iterator[AuditPlace]:
    rpc = Nodes(["http://auditors"], transport=in_threads(watched.nodes))
    yield AuditPlace(
        VaultReader(rpc, watched.chain.contracts), ALL_BLOCKS, 0.05, is_same_provider=False
    )
    rpc.close()


@fires("IndexerMakesNoProgress")
def test_no_node_answers__and_nothing_is_committed_for_half_a_minute(watched: Watched) -> None:
    watched.run()
    watched.scrape()
    assert not watched.fires("IndexerMakesNoProgress", 60)
    watched.nodes.dead = {"first", "second"}
    watched.passed_s += 25
    watched.run()
    watched.scrape()
    assert not watched.fires("IndexerMakesNoProgress")
    assert watched.fires("IndexerMakesNoProgress", 10)


@fires("IndexerMakesNoProgress")
def test_a_chain_that_makes_no_block__is_no_indexer_without_progress(watched: Watched) -> None:
    watched.run()
    watched.passed_s += 60
    watched.run()
    watched.scrape()
    assert not watched.fires("IndexerMakesNoProgress", 60)


@fires("IndexerIsLate")
def test_the_chain_stands_still__and_the_newest_block_is_old(watched: Watched) -> None:
    watched.chain.anvil.mine()
    watched.run()
    watched.scrape()
    assert not watched.fires("IndexerIsLate", 15)
    watched.passed_s += 25
    watched.run()
    watched.scrape()
    assert watched.fires("IndexerIsLate", 15)


@pytest.mark.parametrize(("depth", "is_deep"), [(3, False), (4, True)])
@fires("DeepReorg")
def test_a_reorg__of_more_than_three_blocks(watched: Watched, depth: int, is_deep: bool) -> None:
    watched.chain.anvil.mine(10)
    watched.run()
    watched.scrape()
    assert not watched.fires("DeepReorg", 30)
    watched.chain.anvil.reorg(depth)
    watched.passed_s += 30
    watched.run(lambda: watched.value("reorgs_total") == 1)
    watched.scrape()
    assert watched.fires("DeepReorg", 30) is is_deep


@fires("IndexerHalted")
def test_the_chain_takes_a_final_block_back(
    database: Database, leadership: Leadership, soon: None, watch: AlertWatch
) -> None:
    anvil = start_anvil("--slots-in-an-epoch", "1")
    watched = Watched(deploy_contracts(anvil), database, leadership, watch)
    try:
        anvil.mine(20)
        watched.run(lambda: watched.value("head_number", tag="finalized") > 0)
        watched.run()
        watched.scrape()
        assert not watched.fires("IndexerHalted", 30)
        anvil.reorg(10)
        watched.run(lambda: watched.value("halted") == 1)
        watched.passed_s += 10
        watched.scrape()
        assert watched.fires("IndexerHalted")
    finally:
        watched.rpc.close()
        anvil.stop()


@fires("NobodyLeadsTheIndexer")
def test_the_leader_is_gone__and_its_spare_cannot_take_the_lead(
    watched: Watched, database: Database, database_url: str, watch: AlertWatch
) -> None:
    """The holder of the lead is stuck: only its lock is left."""
    watched.run()
    watched.scrape()
    assert not watched.fires("NobodyLeadsTheIndexer", 60)
    spare = Watched(watched.chain, database, Leadership(database_url, "indexer", "spare"), watch)
    running_spare = Indexer(
        VaultReader(spare.rpc, spare.chain.contracts),
        database,
        spare._leadership,
        chain_id=CHAIN_ID,
        start_block=spare.chain.start_block,
        poll_s=0.02,
        metrics=spare.metrics,
        watchdog=Watchdog(60, lambda code: None),
    )
    running(running_spare, lambda: running_spare._is_waiting_logged)
    watch.scrape(spare.metrics.registry, at=watched.now() + 10, instance="spare")
    assert not watched.fires("NobodyLeadsTheIndexer", 20)
    assert watched.fires("NobodyLeadsTheIndexer", 30)
    spare._leadership.release()
    spare.rpc.close()


@fires("NobodyLeadsTheIndexer")
def test_no_indexer_runs__and_no_series_is_left(watched: Watched, watch: AlertWatch) -> None:
    watched.run()
    watched.scrape()
    watch.scrape(at=watched.now() + 10)
    assert watched.fires("NobodyLeadsTheIndexer", 30)


@fires("NodeFails")
def test_a_node_refuses_for_minutes__and_the_other_one_takes_over(watched: Watched) -> None:
    watched.run()
    watched.scrape()
    watched.passed_s += 300
    watched.run()
    watched.scrape()
    assert not watched.fires("NodeFails")
    watched.nodes.refusing = {"first"}
    for _ in range(8):
        watched.passed_s += 90
        watched.chain.anvil.mine()
        watched.run()
        watched.scrape()
    assert watched.fires("NodeFails")
    assert watched.value("lag_blocks") == 0


@fires("FactsAreHeldBack")
def test_the_database_refuses_a_fact(
    watched: Watched, follower: Follower, refusals: Refusals
) -> None:
    mandate = follower.issue()
    ledger = mandate, follower.deployed.create_vault(mandate.terms)
    watched.run()
    watched.scrape()
    assert not watched.fires("FactsAreHeldBack", 30)
    refusals.add(buy(follower, ledger))
    watched.run(lambda: watched.value("held_facts") == 1)
    watched.passed_s += 5
    watched.scrape()
    assert watched.fires("FactsAreHeldBack")


@fires("AuditFoundAMismatch")
def test_a_ledgers_head_is_changed_by_hand(watched: Watched, follower: Follower) -> None:
    mandate = follower.issue()
    follower.deployed.create_vault(mandate.terms)
    follower.deployed.anvil.mine(FINAL_BEHIND)
    with auditing(watched) as audit:
        watched.run(lambda: watched.value("audit_blocks_total") > 0, audit)
    watched.scrape()
    assert not watched.fires("AuditFoundAMismatch", 30)
    with follower.database.write() as session:
        session.execute(text("update mandate_head set spent_usdc_e6 = spent_usdc_e6 + 1"))
    with auditing(watched) as audit:
        watched.run(lambda: watched.value("audit_mismatch", kind="book") > 0, audit)
    watched.passed_s += 5
    watched.scrape()
    assert watched.fires("AuditFoundAMismatch")


@fires("KeyUsedByAnother")
def test_a_key_of_ours_is_used_by_another(
    watched: Watched, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = partial(OwnKeys, rows_within=timedelta(0))
    monkeypatch.setattr(auditor_module, "OwnKeys", at_once)
    follower.deployed.anvil.mine(FINAL_BEHIND)
    with auditing(watched) as audit:
        watched.run(lambda: watched.value("audit_blocks_total") > 0, audit)
        watched.scrape()
        assert not watched.fires("KeyUsedByAnother", 30)
    follower.deployed.succeed(KEEPER, KEEPER.address, "0x")
    with auditing(watched) as audit:
        watched.run(lambda: watched.value("audit_mismatch", kind="key") > 0, audit)
    watched.passed_s += 5
    watched.scrape()
    assert watched.fires("KeyUsedByAnother")
    assert not watched.fires("AuditFoundAMismatch")


@fires("AuditStandsStill")
def test_the_auditors_node_is_dead_for_an_hour(watched: Watched, database_url: str) -> None:
    watched.chain.anvil.mine(FINAL_BEHIND)
    asked = list[int]()

    def all_dead(request: httpx.Request) -> httpx.Response:
        asked.append(1)
        raise httpx.ConnectError("refused")

    with auditing(watched) as audit:
        watched.run(lambda: watched.value("audit_blocks_total") > 0, audit)
        watched.scrape()
        assert not watched.fires("AuditStandsStill", 3_000)
    watched.nodes.dead = {"auditors"}
    with auditing(watched) as audit:
        failed = watched.rounds()
        watched.run(lambda: watched.rounds() >= failed + 3, audit)
        watched.passed_s += 3_590
        watched.scrape()
        assert not watched.fires("AuditStandsStill")
        watched.passed_s += 20
        watched.scrape()
    assert watched.fires("AuditStandsStill")


# The reserve token


@pytest.fixture
def token(deployed: DeployedChain) -> TokenOnChain:
    found = deploy_reserve_token(deployed)
    for who in (AGENT, OWNER):
        found.fund(who, 1_000 * USDC)
        found.buy(who, 102 * USDC)
    return found


@fires("ReserveDoesNotReconcile")
def test_the_record_of_the_reserve_token_is_changed_by_hand(
    token: TokenOnChain, watched: Watched, follower: Follower
) -> None:
    follower.restart(reserve_token=token.address)
    watched.run(lambda: watched.value("lag_blocks") == 0)
    reconcile(place(follower.chain, follower.deployed), now_utc())
    watched.run()
    watched.scrape()
    assert not watched.fires("ReserveDoesNotReconcile", 30)
    with follower.database.write() as session:
        session.execute(text("update reserve_event set supply_after = supply_after + 1"))
    reconcile(place(follower.chain, follower.deployed), now_utc())
    watched.run(lambda: watched.value("reserve_mismatch") == 1)
    watched.passed_s += 5
    watched.scrape()
    assert watched.fires("ReserveDoesNotReconcile")


@fires("ReserveIsNotReconciled")
def test_the_worker_that_reconciles_is_gone(
    token: TokenOnChain, watched: Watched, follower: Follower
) -> None:
    follower.restart(reserve_token=token.address)
    watched.run(lambda: watched.value("lag_blocks") == 0)
    reconcile(place(follower.chain, follower.deployed), now_utc())
    watched.run()
    watched.scrape()
    assert not watched.fires("ReserveIsNotReconciled", 30)
    watched.passed_s += 890
    watched.scrape()
    assert not watched.fires("ReserveIsNotReconciled")
    watched.passed_s += 20
    watched.run()
    watched.scrape()
    assert watched.fires("ReserveIsNotReconciled")


@fires("ConversionsAreSetAside")
def test_a_conversion_cannot_be_credited(
    token: TokenOnChain, watched: Watched, follower: Follower
) -> None:
    """The balance has no room for any more."""
    bad = account(follower.database, 1)
    watched.run()
    watched.scrape()
    with follower.database.write() as session:
        credit_ledger.convert(session, bad, 1, "all", {}, now_utc())
        session.execute(text("update credit_head set converted = 9223372036854775807"))
    token.convert(AGENT, 100 * ONE, reference(follower.database, bad, "d1"))
    watched.chain.anvil.mine(40)
    watched.run(lambda: watched.value("reserve_conversions", status="set_aside") == 1)
    watched.passed_s += 5
    watched.scrape()
    assert not watched.fires("ConversionsAreSetAside", 500)
    assert watched.fires("ConversionsAreSetAside", 610)
