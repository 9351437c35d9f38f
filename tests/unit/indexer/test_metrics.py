"""What the indexer counts, as a scrape sees it."""

import math
from dataclasses import dataclass, field

import pytest

from indexer.metrics import PREFIX, Metrics


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Provider:
    calls: int
    failures: int
    seconds: float


@dataclass
class CountingRpc:
    providers: dict[str, Provider] = field(default_factory=dict)

    def stats(self) -> dict[str, Provider]:
        return self.providers


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> Metrics:
    return Metrics(clock)


def value(metrics: Metrics, series: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(PREFIX + series, labels)


def test_lag_seconds__grows_at_the_scrape_while_the_loop_says_nothing(metrics: Metrics, clock: Clock) -> None:
    metrics.block_written(7, 990, rows=2, reverts=1)
    assert value(metrics, "lag_seconds") == 10
    clock.now += 25
    assert value(metrics, "lag_seconds") == 35
    assert value(metrics, "last_progress_timestamp_seconds") == 1_000


def test_a_process_that_does_not_lead__has_no_lag_and_alarms_nobody(metrics: Metrics) -> None:
    assert value(metrics, "leads") == 0
    for name in ("lag_seconds", "lag_blocks", "last_progress_timestamp_seconds"):
        assert math.isnan(value(metrics, name) or 0)


def test_a_block__is_counted_with_its_rows_and_reverts(metrics: Metrics) -> None:
    metrics.block_written(7, 990, rows=2, reverts=1)
    metrics.round_done(9, 7)
    assert [value(metrics, f"{name}_total") for name in ("blocks_written", "rows_written", "reverts_found", "rounds")] == [1, 2, 1, 1]
    assert (value(metrics, "cursor_number", name="tip"), value(metrics, "head_number", tag="latest")) == (7, 9)
    assert value(metrics, "lag_blocks") == 2


def test_a_reorg__is_counted_by_its_depth(metrics: Metrics) -> None:
    metrics.unwound(ancestor=4, depth=3, rows=5)
    assert (value(metrics, "reorgs_total"), value(metrics, "rows_unwound_total"), value(metrics, "cursor_number", name="tip")) == (1, 5, 4)
    assert (value(metrics, "reorg_depth_bucket", le="2.0"), value(metrics, "reorg_depth_bucket", le="3.0")) == (0, 1)


def test_a_halt__lasts_until_a_round_ends_well(metrics: Metrics) -> None:
    metrics.round_failed(ValueError("x"), is_halt=True)
    metrics.round_failed(OSError("x"), is_halt=False)
    assert (value(metrics, "halted"), value(metrics, "round_failures_total", kind="OSError")) == (1, 1)
    metrics.round_done(None, 7)
    assert value(metrics, "halted") == 0


def test_a_round_that_failed__leaves_the_lag_in_blocks_unknown(metrics: Metrics) -> None:
    metrics.round_done(9, 9)
    assert value(metrics, "lag_blocks") == 0
    metrics.round_failed(OSError("x"), is_halt=False)
    assert math.isnan(value(metrics, "lag_blocks") or 0)


def test_an_rpc_pool_that_counts__is_shown_by_provider(metrics: Metrics) -> None:
    rpc = CountingRpc()
    metrics.count_rpc(rpc)
    rpc.providers["node-1"] = Provider(calls=10, failures=1, seconds=0.5)
    shown = [value(metrics, f"rpc_{name}_total", provider="node-1") for name in ("calls", "failures", "seconds")]
    assert shown == [10, 1, 0.5]


def test_an_rpc_pool_that_does_not_count__shows_nothing(metrics: Metrics) -> None:
    metrics.count_rpc(object())
    assert value(metrics, "rpc_calls_total", provider="node-1") is None
