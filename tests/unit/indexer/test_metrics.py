"""What the indexer counts, as a scrape sees it."""

import math

import httpx
import pytest
from prometheus_client import generate_latest

from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from indexer.metrics import PREFIX, IndexerMetrics
from tests.node_transport import in_threads
from tests.unit.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> IndexerMetrics:
    return IndexerMetrics(clock)


def value(metrics: IndexerMetrics, series: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(PREFIX + series, labels)


def test_lag_seconds__grows_at_the_scrape_while_the_loop_says_nothing(
    metrics: IndexerMetrics, clock: Clock
) -> None:
    metrics.blocks_written(7, 990, 1, 2)
    assert value(metrics, "lag_seconds") == 10
    clock.now += 25
    assert value(metrics, "lag_seconds") == 35
    assert value(metrics, "last_progress_timestamp_seconds") == 1_000


def test_a_process_that_does_not_lead__has_no_lag_and_alarms_nobody(
    metrics: IndexerMetrics,
) -> None:
    assert value(metrics, "leads") == 0
    for name in ("lag_seconds", "lag_blocks", "last_progress_timestamp_seconds"):
        assert math.isnan(value(metrics, name) or 0)


def test_blocks__are_counted_with_their_rows(metrics: IndexerMetrics) -> None:
    metrics.blocks_written(7, 990, 3, 2)
    metrics.round_done(9, 7)
    assert [
        value(metrics, f"{name}_total") for name in ("blocks_written", "rows_written", "rounds")
    ] == [3, 2, 1]
    assert (
        value(metrics, "cursor_number", name="tip"),
        value(metrics, "head_number", tag="latest"),
    ) == (7, 9)
    assert value(metrics, "lag_blocks") == 2


def test_a_reorg__is_counted_by_its_depth(metrics: IndexerMetrics) -> None:
    metrics.unwound(ancestor=4, depth=3, rows=5)
    assert (
        value(metrics, "reorgs_total"),
        value(metrics, "rows_unwound_total"),
        value(metrics, "cursor_number", name="tip"),
    ) == (1, 5, 4)
    assert (
        value(metrics, "reorg_depth_bucket", le="2.0"),
        value(metrics, "reorg_depth_bucket", le="3.0"),
    ) == (0, 1)


def test_a_halt__lasts_until_a_round_ends_well(metrics: IndexerMetrics) -> None:
    metrics.round_failed(ValueError("x"), is_halt=True)
    metrics.round_failed(OSError("x"), is_halt=False)
    assert (value(metrics, "halted"), value(metrics, "round_failures_total", kind="OSError")) == (
        1,
        1,
    )
    metrics.round_done(None, 7)
    assert value(metrics, "halted") == 0


def test_a_round_that_failed__leaves_the_lag_in_blocks_unknown(metrics: IndexerMetrics) -> None:
    metrics.round_done(9, 9)
    assert value(metrics, "lag_blocks") == 0
    metrics.round_failed(OSError("x"), is_halt=False)
    assert math.isnan(value(metrics, "lag_blocks") or 0)


def test_the_pool_of_nodes__is_shown_by_provider_without_its_key(metrics: IndexerMetrics) -> None:
    answers = iter(
        [
            httpx.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": "0x1"}),
            httpx.Response(500),
        ]
    )
    rpc = Nodes(
        ["https://node.example/v2/secret"],
        transport=in_threads(httpx.MockTransport(lambda _: next(answers))),
    )
    metrics.count_rpc(rpc)
    rpc.call("web3_clientVersion")
    with pytest.raises(RpcUnreachableError):
        rpc.call("web3_clientVersion")
    shown = {
        name: value(metrics, f"rpc_{name}_total", provider="node.example:443")
        for name in ("requests", "calls")
    }
    assert shown == {"requests": 2, "calls": 2}
    failed = {
        sample.labels["kind"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if "rpc_failures" in sample.name
    }
    assert sum(failed.values()) == 1
    assert b"secret" not in generate_latest(metrics.registry)


def test_the_auditors_age__counts_from_its_beginning_and_anew_from_each_round(
    metrics: IndexerMetrics, clock: Clock
) -> None:
    assert math.isnan(value(metrics, "audit_age_seconds") or 0)
    metrics.audit_began()
    clock.now += 30
    assert value(metrics, "audit_age_seconds") == 30
    metrics.audited(8, 4, {"log": 2})
    clock.now += 1
    assert value(metrics, "audit_age_seconds") == 1
    assert (value(metrics, "audit_blocks_total"), value(metrics, "audit_books_total")) == (8, 4)
    assert (
        value(metrics, "audit_mismatch", kind="log"),
        value(metrics, "audit_mismatch", kind="book"),
    ) == (2, 0)
