"""The keeper in figures: a registry of its own, served as Prometheus text on a port of its own.

Laws
- The loop only counts. What has to be true at the moment of the scrape (the age of the last tick)
  is computed there.
- What stands in Postgres is read from Postgres at the scrape: leader and spare show the same. While
  it does not answer, these figures are absent.
- A figure that is not known is absent or NaN, never 0: an alert does not fire on it.
- What is exported here is what docs/operations/alerts.yml may name; a test holds the two together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.chain.nodes import Nodes
from core.db.engine import Database
from core.db.leadership import leader_row
from core.exporter import UNKNOWN, RpcFigures
from core.jobs import queries as jobs
from core.jobs.rules import LastRun
from core.keeper import figures as keeper_metrics
from core.keeper import gas
from core.keeper import queue as outbox_queue
from core.keeper.figures import UnderWay
from keeper import funds

PREFIX = "mandate_keeper_"
LEADER = "keeper"
TICK_SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30)
LATENCY_BLOCKS = (0, 1, 2, 3, 5, 10, 30)


class KeeperMetrics:
    """Every figure of one keeper process that its loop tells.

    `clock` gives seconds that only rise. Counting is thread-safe.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._clock = clock
        self._ticked_at: float | None = None
        age = self._gauge(
            "tick_age_seconds",
            "Time since the last tick that ended well, or since this process leads.",
        )
        age.set_function(self._tick_age_s)
        self.tick_seconds = Histogram(
            PREFIX + "tick_seconds",
            "A tick, from start to end.",
            buckets=TICK_SECONDS,
            registry=self.registry,
        )
        self.failures = Counter(
            PREFIX + "tick_failures",
            "Ticks that ended in an error, by its kind.",
            ["kind"],
            registry=self.registry,
        )
        self.vaults = self._gauge("vaults", "Vaults that the last tick judged.")
        self.unknown = self._gauge("vaults_unknown", "Vaults that the last tick could not judge.")
        self.at_cost = self._gauge(
            "vaults_at_cost",
            "Working vaults that the last tick judged with money at cost: no adapter values it.",
        )
        self.head_age = self._gauge(
            "head_age_seconds", "Age of the block that the last tick judged at."
        )
        for unknown_yet in self._judged:
            unknown_yet.set(UNKNOWN)
        self.leads = self._gauge("leads", "1 while this process leads; a spare says 0.")
        self.epoch = self._gauge(
            "leader_epoch", "Epoch that this process writes with; 0 before it leads."
        )
        self.gas_budget = self._gauge(
            "requests_gas_budget_wei", "What requests of agents may cost in gas in a UTC day."
        )

    def _gauge(self, name: str, says: str) -> Gauge:
        return Gauge(PREFIX + name, says, registry=self.registry)

    @property
    def _judged(self) -> tuple[Gauge, ...]:
        """What a tick that ended well says of its vaults and its block."""
        return self.vaults, self.unknown, self.at_cost, self.head_age

    def _tick_age_s(self) -> float:
        return UNKNOWN if self._ticked_at is None else self._clock() - self._ticked_at

    # What the loop tells

    def leading(self, epoch: int) -> None:
        """Called each tick; the age of a tick counts from the first time."""
        self.leads.set(1)
        self.epoch.set(epoch)
        if self._ticked_at is None:
            self._ticked_at = self._clock()

    def ticked(
        self, seconds: float, *, vaults: int, unknown: int, at_cost: int, head_age_s: int
    ) -> None:
        """A tick ended well."""
        self._ticked_at = self._clock()
        self.tick_seconds.observe(seconds)
        self.vaults.set(vaults)
        self.unknown.set(unknown)
        self.at_cost.set(at_cost)
        self.head_age.set(head_age_s)

    def failed(self, error: Exception) -> None:
        """A tick ended in an error: what it would have judged is not known."""
        self.failures.labels(type(error).__name__).inc()
        for figure in self._judged:
            figure.set(UNKNOWN)

    # The outside

    def count_rpc(self, rpc: Nodes, of: str = "") -> None:
        """Show what a pool of nodes counts: the tick's, or the one `of` another loop."""
        self.registry.register(RpcFigures(PREFIX + of, rpc))

    def read_rows(self, database: Database, chain_id: int, now: Callable[[], datetime]) -> None:
        """Show what Postgres knows. `database`: with bounds that a scrape can wait for."""
        self.registry.register(_RowFigures(database, chain_id, now))


@dataclass(frozen=True, slots=True)
class Rows:
    """What Postgres knows at one moment.

    `stop_waits_blocks` None: the head that the keeper saw last is not known.
    """

    under_way: Sequence[UnderWay] = ()
    stop_latencies: Mapping[int, int] = field(default_factory=dict)
    stop_waits_blocks: int | None = None
    runs: Sequence[LastRun] = ()
    requests_waiting: int | None = None
    gas_wei: tuple[int, int] | None = None  # spent and kept of today

    def figures(self) -> list[Metric]:
        return [
            *_intents(self.under_way),
            _latency(self.stop_latencies),
            _waits(self.stop_waits_blocks),
            *_jobs(self.runs),
            *_balances(self.runs),
            *_requests(self.requests_waiting, self.gas_wei),
        ]


class _RowFigures(Collector):
    """The keeper's rows at the moment of the scrape; nothing while the database does not answer."""

    def __init__(self, database: Database, chain_id: int, now: Callable[[], datetime]) -> None:
        self._database = database
        self._chain_id = chain_id
        self._now = now

    def describe(self) -> Iterable[Metric]:
        """The names, without asking the database."""
        return Rows().figures()

    def collect(self) -> Iterable[Metric]:
        try:
            with self._database.read() as session:
                rows = self._rows(session)
        except SQLAlchemyError:
            return ()
        return rows.figures()

    def _rows(self, session: Session) -> Rows:
        return Rows(
            under_way=keeper_metrics.under_way(session, self._chain_id, self._now()),
            stop_latencies=keeper_metrics.stop_latencies(session, self._chain_id),
            stop_waits_blocks=self._stop_waits_blocks(session),
            runs=jobs.last_runs(session),
            requests_waiting=outbox_queue.waiting(session),
            gas_wei=gas.used_wei(session, gas.day_of(self._now())),
        )

    def _stop_waits_blocks(self, session: Session) -> int | None:
        trigger = keeper_metrics.oldest_unmined_stop(session, self._chain_id)
        if trigger is None:
            return 0
        leader = leader_row(session, LEADER)
        head = None if leader is None else leader.status.get("head")
        return max(0, head - trigger) if isinstance(head, int) else None


def _intents(found: Iterable[UnderWay]) -> tuple[Metric, ...]:
    count = _family("intents_live", "Intents under way.", "kind", "state")
    oldest = _family(
        "intents_live_oldest_seconds",
        "Time since the oldest intent of that kind and state was planned.",
        "kind",
        "state",
    )
    for some in found:
        count.add_metric([some.kind, some.state], some.count)
        oldest.add_metric([some.kind, some.state], some.oldest_s)
    return count, oldest


def _waits(blocks: int | None) -> Metric:
    waits = _family(
        "stop_waits_blocks",
        "Blocks since the trigger of the stop that waits longest to be mined; 0: none waits.",
    )
    if blocks is not None:
        waits.add_metric([], blocks)
    return waits


def _requests(waiting: int | None, gas_wei: tuple[int, int] | None) -> tuple[Metric, ...]:
    count = _family("requests_waiting", "Requests of agents that nothing has ended yet.")
    used = _family(
        "requests_gas_wei",
        "Gas of requests in this UTC day: spent, or kept for what is under way.",
        "state",
    )
    if waiting is not None:
        count.add_metric([], waiting)
    for state, amount_wei in zip(("spent", "kept"), gas_wei or (), strict=False):
        used.add_metric([state], amount_wei)
    return count, used


def _family(name: str, says: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, says, labels=labels)


def _latency(stops: Mapping[int, int]) -> Metric:
    """`stops`: how many were mined so many blocks after their trigger."""
    counts = [
        (str(float(bound)), sum(n for blocks, n in stops.items() if blocks <= bound))
        for bound in LATENCY_BLOCKS
    ]
    buckets: list[Any] = [*counts, ("+Inf", sum(stops.values()))]
    total = sum(blocks * n for blocks, n in stops.items())
    return HistogramMetricFamily(
        PREFIX + "stop_latency_blocks",
        "Blocks from a stop's trigger to the block that mined it.",
        buckets=buckets,
        sum_value=total,
    )


def _jobs(runs: Iterable[LastRun]) -> Iterable[Metric]:
    started = _family(
        "job_last_start_timestamp_seconds", "When the job was last started, unix time.", "job"
    )
    every = _family("job_every_seconds", "How often the job is due.", "job")
    failures = _family("job_failures", "Runs that failed since the last one that did not.", "job")
    duration = _family(
        "job_duration_seconds",
        "How long the job's newest run took; absent while it is under way.",
        "job",
    )
    for run in runs:
        started.add_metric([run.name], run.started_at.timestamp())
        every.add_metric([run.name], run.every_s)
        failures.add_metric([run.name], run.failures)
        if run.duration_ms is not None:
            duration.add_metric([run.name], run.duration_ms / 1000)
    return started, every, failures, duration


def _balances(runs: Iterable[LastRun]) -> Iterable[Metric]:
    """What the newest run of `balances` read; absent when it failed."""
    did = next((run.did for run in runs if run.name == funds.NAME), {})
    shown = {
        "balance_wei": _family("signer_balance_wei", "What a role's account holds.", "role"),
        "stops_left": _family(
            "stops_left", "Stops that the account can pay for at the cap of the fee.", "role"
        ),
        "nonce_gap": _family("nonce_gap", "Nonces that nobody holds below one that waits.", "role"),
    }
    for balance in did.get("signers", ()):
        for name, family in shown.items():
            if balance[name] is not None:
                family.add_metric([balance["role"]], balance[name])
    named = _family(
        "is_named_by_factory",
        "1 while the factory names this keeper's account; 0: vaults refuse its marks.",
    )
    if "is_named_by_factory" in did:
        named.add_metric([], did["is_named_by_factory"])
    pauser = _family(
        "is_pauser",
        "1 while the factory knows the pauser's account as one; 0: it can't remove agents.",
    )
    if "is_pauser" in did:
        pauser.add_metric([], did["is_pauser"])
    return *shown.values(), named, pauser
