"""The keeper in figures: a registry of its own, served as Prometheus text on a port of its own.

Laws
- The loop only counts. What has to be true at the moment of the scrape (the age of the last tick)
  is computed there.
- What is in Postgres is read from Postgres at the scrape: leader and spare show the same. While
  it does not answer, these figures are absent.
- A figure that is not known is absent or NaN, never 0: an alert does not fire on it.
- What is exported here is what docs/operations/alerts.yml may name; a test holds the two together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from core.keeper import figures, gas, queue
from keeper import funds

PREFIX = "mandate_keeper_"
LEADER = "keeper"
TICK_SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30)
LATENCY_BLOCKS = (0, 1, 2, 3, 5, 10, 30)

OF_LOOP: Mapping[str, str] = {
    "tick_age_seconds": "Time since the last tick that ended well, or since this process leads.",
    "vaults": "Vaults that the last tick judged.",
    "vaults_unknown": "Vaults that the last tick could not judge.",
    "vaults_at_cost": (
        "Working vaults that the last tick judged with money at cost: no adapter values it."
    ),
    "head_age_seconds": "Age of the block that the last tick judged at.",
    "leads": "1 while this process leads; a spare says 0.",
    "leader_epoch": "Epoch that this process writes with; 0 before it leads.",
    "requests_gas_budget_wei": "What requests of agents may cost in gas in a UTC day.",
}
JUDGED = {  # by what a tick's status calls it
    "vaults": "vaults",
    "unknown": "vaults_unknown",
    "at_cost": "vaults_at_cost",
    "head_age_s": "head_age_seconds",
}
OF_ROWS: Mapping[str, tuple[str, ...]] = {  # what it says, and its labels
    "intents_live": ("Intents under way.", "kind", "state"),
    "intents_live_oldest_seconds": (
        "Time since the oldest intent of that kind and state was planned.", "kind", "state"
    ),
    "stop_waits_blocks": (
        "Blocks since the trigger of the stop that waits longest to be mined; 0: none waits.",
    ),
    "job_last_start_timestamp_seconds": ("When the job was last started, unix time.", "job"),
    "job_every_seconds": ("How often the job is due.", "job"),
    "job_failures": ("Runs that failed since the last one that did not.", "job"),
    "job_duration_seconds": (
        "How long the job's newest run took; absent while it is under way.", "job"
    ),
    "signer_balance_wei": ("What a role's account holds.", "role"),
    "stops_left": ("Stops that the account can pay for at the cap of the fee.", "role"),
    "nonce_gap": ("Nonces that nobody holds below one that waits.", "role"),
    "is_named_by_factory": (
        "1 while the factory names this keeper's account; 0: vaults refuse its marks.",
    ),
    "is_pauser": (
        "1 while the factory knows the pauser's account as one; 0: it can't remove agents.",
    ),
    "requests_waiting": ("Requests of agents that nothing has ended yet.",),
    "requests_gas_wei": (
        "Gas of requests in this UTC day: spent, or kept for what is under way.", "state"
    ),
}  # fmt: skip
OF_BALANCE = {"signer_balance_wei": "balance_wei", "stops_left": "stops_left",
              "nonce_gap": "nonce_gap"}  # fmt: skip

_Sample = tuple[str, Sequence[str], float | None]


class KeeperMetrics:
    """Every figure of one keeper process that its loop reports.

    `clock` gives seconds that only rise. Counting is thread-safe.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._clock = clock
        self._ticked_at: float | None = None
        self._gauges = {
            name: Gauge(PREFIX + name, says, registry=self.registry)
            for name, says in OF_LOOP.items()
        }
        self._gauges["tick_age_seconds"].set_function(
            lambda: UNKNOWN if self._ticked_at is None else clock() - self._ticked_at
        )
        self._tick_seconds = Histogram(
            PREFIX + "tick_seconds",
            "A tick, from start to end.",
            buckets=TICK_SECONDS,
            registry=self.registry,
        )
        self._failures = Counter(
            PREFIX + "tick_failures",
            "Ticks that ended in an error, by its kind.",
            ["kind"],
            registry=self.registry,
        )
        self.gas_budget = self._gauges["requests_gas_budget_wei"]
        self._judge(dict.fromkeys(JUDGED.values(), UNKNOWN))

    def _judge(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._gauges[name].set(value)

    # What the loop reports

    def leading(self, epoch: int) -> None:
        """The age of a tick counts from here."""
        self._judge({"leads": 1, "leader_epoch": epoch})
        if self._ticked_at is None:  # one that cannot open tries again, and does not tick
            self._ticked_at = self._clock()

    def ticked(self, seconds: float, status: Mapping[str, Any]) -> None:
        """A tick ended well."""
        self._ticked_at = self._clock()
        self._tick_seconds.observe(seconds)
        self._judge({name: status[key] for key, name in JUDGED.items()})

    def failed(self, error: Exception) -> None:
        """A tick ended in an error: what it would have judged is not known."""
        self._failures.labels(type(error).__name__).inc()
        self._judge(dict.fromkeys(JUDGED.values(), UNKNOWN))

    # The outside

    def count_rpc(self, rpc: Nodes, of: str = "") -> None:
        """Show what a pool of nodes counts: the tick's, or the one `of` another loop."""
        self.registry.register(RpcFigures(PREFIX + of, rpc))

    def read_rows(self, database: Database, chain_id: int, now: Callable[[], datetime]) -> None:
        """Show what Postgres knows. `database`: with bounds that a scrape can wait for."""
        self.registry.register(_RowFigures(database, chain_id, now))


class _RowFigures(Collector):
    """The keeper's rows at the moment of the scrape; nothing while the database does not answer."""

    def __init__(self, database: Database, chain_id: int, now: Callable[[], datetime]) -> None:
        self._database = database
        self._chain_id = chain_id
        self._now = now

    def describe(self) -> Iterable[Metric]:
        """The names, without asking the database."""
        return row_figures()

    def collect(self) -> Iterable[Metric]:
        try:
            with self._database.read() as session:
                stops = figures.stop_latencies(session, self._chain_id)
                return row_figures(_samples(session, self._chain_id, self._now()), stops)
        except SQLAlchemyError:
            return ()


def row_figures(
    samples: Iterable[_Sample] = (), stops: Mapping[int, int] | None = None
) -> list[Metric]:
    """`samples`: name, labels, and None where it is not known. `stops`: how many were mined so many
    blocks after their trigger.
    """
    found = {
        name: GaugeMetricFamily(PREFIX + name, says, labels=labels)
        for name, (says, *labels) in OF_ROWS.items()
    }
    for name, labels, value in samples:
        if value is not None:
            found[name].add_metric(labels, value)
    return [*found.values(), _latency(stops or {})]


def _samples(session: Session, chain_id: int, now: datetime) -> Iterator[_Sample]:
    for some in figures.under_way(session, chain_id, now):
        yield "intents_live", (some.kind, some.state), some.count
        yield "intents_live_oldest_seconds", (some.kind, some.state), some.oldest_s
    yield "stop_waits_blocks", (), _stop_waits_blocks(session, chain_id)
    yield "requests_waiting", (), queue.waiting(session)
    for state, wei in zip(("spent", "kept"), gas.used_wei(session, gas.day_of(now)), strict=True):
        yield "requests_gas_wei", (state,), wei
    did: Mapping[str, Any] = {}  # absent when the newest run of `balances` failed
    for run in jobs.last_runs(session):
        did = run.did if run.name == funds.NAME else did
        duration_s = None if run.duration_ms is None else run.duration_ms / 1000
        yield "job_last_start_timestamp_seconds", (run.name,), run.started_at.timestamp()
        yield "job_every_seconds", (run.name,), run.every_s
        yield "job_failures", (run.name,), run.failures
        yield "job_duration_seconds", (run.name,), duration_s
    for balance in did.get("signers", ()):
        for name, column in OF_BALANCE.items():
            yield name, (balance["role"],), balance[column]
    for name in ("is_named_by_factory", "is_pauser"):
        yield name, (), did.get(name)


def _stop_waits_blocks(session: Session, chain_id: int) -> int | None:
    """None: the head that the keeper saw last is not known."""
    trigger = figures.oldest_unmined_stop(session, chain_id)
    if trigger is None:
        return 0
    leader = leader_row(session, LEADER)
    head = None if leader is None else leader.status.get("head")
    return max(0, head - trigger) if isinstance(head, int) else None


def _latency(stops: Mapping[int, int]) -> Metric:
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
