"""What the keeper's loop counts, as a scrape sees it."""

import math

import pytest

from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from keeper.metrics import PREFIX, KeeperMetrics
from tests.unit.clock import Clock

JUDGED_THREE = {"vaults": 3, "unknown": 1, "at_cost": 2, "head_age_s": 2}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> KeeperMetrics:
    return KeeperMetrics(clock)


def value(metrics: KeeperMetrics, name: str, **labels: str) -> float:
    found = metrics.registry.get_sample_value(PREFIX + name, labels)
    assert found is not None
    return found


def test_a_process_that_does_not_lead__alarms_nobody(metrics: KeeperMetrics) -> None:
    assert value(metrics, "leads") == 0
    for name in (
        "tick_age_seconds",
        "vaults",
        "vaults_unknown",
        "vaults_at_cost",
        "head_age_seconds",
    ):
        assert math.isnan(value(metrics, name))


def test_tick_age__grows_at_the_scrape_while_the_loop_says_nothing(
    metrics: KeeperMetrics, clock: Clock
) -> None:
    metrics.leading(7)
    clock.now += 10
    assert (value(metrics, "tick_age_seconds"), value(metrics, "leader_epoch")) == (10, 7)
    metrics.ticked(0.25, JUDGED_THREE)
    clock.now += 30
    assert value(metrics, "tick_age_seconds") == 30


def test_tick_age__grows_while_a_leader_cannot_begin_its_first_tick(
    metrics: KeeperMetrics, clock: Clock
) -> None:
    for _ in range(3):
        metrics.leading(7)
        clock.now += 20
        metrics.failed(OSError())
    assert value(metrics, "tick_age_seconds") == 60


def test_a_tick__is_counted_with_what_it_judged(metrics: KeeperMetrics) -> None:
    metrics.ticked(0.25, JUDGED_THREE)
    assert [
        value(metrics, name)
        for name in ("vaults", "vaults_unknown", "head_age_seconds", "tick_seconds_sum")
    ] == [3, 1, 2, 0.25]


def test_vaults_at_cost__are_counted_beside_the_unknown_ones(metrics: KeeperMetrics) -> None:
    metrics.ticked(0.25, JUDGED_THREE)
    assert value(metrics, "vaults_at_cost") == 2


def test_a_failed_tick__is_counted_by_its_kind_and_leaves_its_figures_unknown(
    metrics: KeeperMetrics, clock: Clock
) -> None:
    metrics.ticked(0.25, JUDGED_THREE)
    clock.now += 5
    metrics.failed(RpcUnreachableError("eth_call", []))
    assert value(metrics, "tick_failures_total", kind="RpcUnreachableError") == 1
    assert math.isnan(value(metrics, "vaults"))
    assert value(metrics, "tick_age_seconds") == 5


def test_the_nodes_pool__is_shown(metrics: KeeperMetrics) -> None:
    metrics.count_rpc(Nodes(["http://127.0.0.1:1"]))
    assert value(metrics, "rpc_provider_open", provider="127.0.0.1:1") == 0
