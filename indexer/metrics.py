"""The indexer in figures: a registry of its own, served as Prometheus text on a port of its own.

Laws
- The loop only counts. What has to be true at the moment of the scrape (the lag by wall clock) is
  computed there, so that a loop that hangs still shows.
- A figure that is not known yet is absent or NaN, never 0: an alert does not fire on it.
- What is exported here is what docs/operations/alerts.yml may name; a test holds the two together.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from core.audit.rules import FindingKind
from core.chain.nodes import Nodes
from core.db.engine import Database, WriteSession
from core.exporter import UNKNOWN, RpcFigures

PREFIX = "mandate_indexer_"
DEPTHS = (1, 2, 3, 5, 8, 16, 32, 64, 128)  # blocks
WRITE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class IndexerMetrics:
    """Every figure of one indexer process. `clock` gives unix seconds. Counting is thread-safe."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._clock = clock
        self._newest_block_at: int | None = None
        self.heads = self._gauge("head_number", "Height that the node calls by that tag.", "tag")
        self.cursors = self._gauge(
            "cursor_number", "Height of the last block that is whole in the database.", "name"
        )
        self.lag_blocks = self._gauge(
            "lag_blocks", "Blocks between the node's head and the cursor."
        )
        self.lag_blocks.set(UNKNOWN)
        lag_seconds = self._gauge(
            "lag_seconds",
            "Wall clock minus the time of the newest committed block: shows a frozen chain as "
            "well.",
        )
        lag_seconds.set_function(self._lag_seconds)
        self.last_progress = self._gauge(
            "last_progress_timestamp_seconds",
            "When a block was last committed or rolled back, unix time.",
        )
        self.last_progress.set(UNKNOWN)
        self.rounds = self._counter("rounds", "Rounds of reading the chain that succeeded.")
        self.failures = self._counter(
            "round_failures",
            "Errors of rounds and of what is due beside them, by their kind.",
            "kind",
        )
        self.blocks = self._counter("blocks_written", "Blocks committed.")
        self.rows = self._counter("rows_written", "Rows appended to the mandates' ledgers.")
        self.reorgs = self._counter("reorgs", "Rollbacks of blocks, after a reorg.")
        self.reorg_depth = Histogram(
            PREFIX + "reorg_depth",
            "Blocks that a rollback orphaned.",
            buckets=DEPTHS,
            registry=self.registry,
        )
        self.rows_unwound = self._counter(
            "rows_unwound", "Rows of the ledgers that rollbacks reversed."
        )
        self.reverts_found = self._counter(
            "reverts_found", "Reverted calls of agents found in blocks."
        )
        self.reverts_explained = self._counter(
            "reverts_explained", "Reverted calls whose reason was looked up, `unknown` included."
        )
        self.held_facts = self._gauge(
            "held_facts", "Facts of the chain that ledgers refuse, and those that wait behind them."
        )
        self.held_ledgers = self._gauge(
            "held_ledgers", "Ledgers that such facts are held back from."
        )
        self.undecodable_logs = self._counter(
            "undecodable_logs",
            "Logs of adapters and strangers' vaults that are not what the ABI says.",
        )
        self.halted = self._gauge(
            "halted", "1 while the chain contradicts what was final and nothing is written."
        )
        self.leads = self._gauge("leads", "1 while this process leads; a spare says 0.")
        self.epoch = self._gauge(
            "leader_epoch", "Epoch that this process writes with; 0 before it leads."
        )
        self.write_seconds = Histogram(
            PREFIX + "database_write_seconds",
            "A writing transaction, commit included.",
            buckets=WRITE_SECONDS,
            registry=self.registry,
        )

        self.audit_mismatch = self._gauge(
            "audit_mismatch", "Open findings of the auditor, by kind.", "kind"
        )
        self.conversions = Counter(
            PREFIX + "conversions",
            "Conversions of the reserve token that were looked at, by what became of them.",
            ["status"],
            registry=self.registry,
        )
        self.reserve_open = self._gauge(
            "reserve_conversions", "Conversions of the reserve token by status.", "status"
        )
        self.reserve_mismatch = self._gauge(
            "reserve_mismatch", "Open findings of the reserve token's reconciliation."
        )
        self.confirmed_behind = self._gauge(
            "confirmed_behind_seconds",
            "From the block up to which nodes agree about logs of money to the one that it waits for.",
            "mark",
        )
        self._reconciled_at: float | None = None
        reserve_age = self._gauge(
            "reserve_age_seconds", "Since the reserve token was reconciled with its contract."
        )
        reserve_age.set_function(
            lambda: (
                UNKNOWN
                if self._reconciled_at is None
                else max(0.0, self._clock() - self._reconciled_at)
            )
        )
        self.audit_blocks = self._counter(
            "audit_blocks", "Blocks that the auditor compared with another node."
        )
        self.audit_ledgers = self._counter(
            "audit_books", "Ledgers that the auditor verified and reconciled."
        )
        self._audited_at: float | None = None
        audit_age = self._gauge(
            "audit_age_seconds", "Since a round of the auditor ended well, or it began."
        )
        audit_age.set_function(
            lambda: (
                UNKNOWN if self._audited_at is None else max(0.0, self._clock() - self._audited_at)
            )
        )

    def _gauge(self, name: str, says: str, *labels: str) -> Gauge:
        return Gauge(PREFIX + name, says, labels, registry=self.registry)

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(PREFIX + name, says, labels, registry=self.registry)

    def _lag_seconds(self) -> float:
        return (
            UNKNOWN
            if self._newest_block_at is None
            else max(0.0, self._clock() - self._newest_block_at)
        )

    # What the loop reports

    def blocks_written(self, number: int, at: int, blocks: int, rows: int) -> None:
        """`blocks` blocks were committed at once, with `rows` of the ledgers; `number` and `at` (unix
        seconds) are the last one's.
        """
        self._newest_block_at = at
        self._moved_to(number)
        self.blocks.inc(blocks)
        self.rows.inc(rows)

    def unwound(self, ancestor: int, depth: int, rows: int) -> None:
        """`depth` blocks were orphaned and the cursor set back to `ancestor`."""
        self._moved_to(ancestor)
        self.reorgs.inc()
        self.reorg_depth.observe(depth)
        self.rows_unwound.inc(rows)

    def _moved_to(self, number: int) -> None:
        self.cursors.labels("tip").set(number)
        self.last_progress.set(self._clock())

    def round_done(self, head: int | None, cursor: int) -> None:
        """A round ended well; `head` None: the node had no block to show."""
        self.rounds.inc()
        self.halted.set(0)
        self.cursors.labels("tip").set(cursor)
        if head is not None:
            self.heads.labels("latest").set(head)
            self.lag_blocks.set(max(0, head - cursor))

    def round_failed(self, error: Exception, *, is_halt: bool) -> None:
        """How far behind we are is not known until a round ends well again."""
        self.lag_blocks.set(UNKNOWN)
        self.failed(error)
        if is_halt:  # only a round that ends well takes it back
            self.halted.set(1)

    def failed(self, error: Exception) -> None:
        """A round failed, or something that was due beside it."""
        self.failures.labels(type(error).__name__).inc()

    def opened(self, number: int, at: int | None) -> None:
        """The position that the process starts from.

        `at`: that block's time; None when it is not kept.
        """
        self.cursors.labels("tip").set(number)
        self._newest_block_at = at

    def leading(self, epoch: int) -> None:
        self.leads.set(1)
        self.epoch.set(epoch)

    def reserve(self, open_: Mapping[str, int], findings: int, reconciled_at: float | None) -> None:
        """`open_`: conversions by status; `reconciled_at`: None before the first time."""
        for status, count in open_.items():
            self.reserve_open.labels(status).set(count)
        self.reserve_mismatch.set(findings)
        self._reconciled_at = reconciled_at

    def held(self, ledgers: int, facts: int) -> None:
        """`facts` are held back from `ledgers` now, those that wait behind others included."""
        self.held_ledgers.set(ledgers)
        self.held_facts.set(facts)

    # What the auditor reports

    def audit_began(self) -> None:
        """From here on its age counts: an auditor whose every round fails shows too."""
        self._audited_at = self._clock()

    def audited(self, blocks: int, ledgers: int, mismatches: Mapping[str, int]) -> None:
        """A round ended well. `mismatches`: open findings by kind, those without one left out."""
        self._audited_at = self._clock()
        self.audit_blocks.inc(blocks)
        self.audit_ledgers.inc(ledgers)
        for kind in FindingKind:
            self.audit_mismatch.labels(kind.value).set(mismatches.get(kind.value, 0))

    # The outside

    def count_rpc(self, rpc: Nodes) -> None:
        """Show what the pool of nodes counts."""
        self.registry.register(RpcFigures(PREFIX, rpc))


class TimedDatabase(Database):
    """A database that measures its writing transactions, from the first statement to the end of the
    commit.
    """

    def __init__(self, url: str, metrics: IndexerMetrics, **more: Any) -> None:
        super().__init__(url, **more)
        self._seconds = metrics.write_seconds

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        with self._seconds.time(), super().write() as session:
            yield session
