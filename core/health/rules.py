"""How fresh the indexed chain is, in one word and one sentence: for /health/ready and for
`indexer.main status`.

         cursor's block       next block on chain            now
    ----------|------------------------|----------------------|
              |<----------------- lag_s --------------------->|     wall clock: a frozen chain shows too
                                       |<------ waited ------>|     the indexer's own delay: a stall from STALL_S on

Laws
- Down: nobody should rely on what is served. Degraded: it is late or in trouble and goes on by
  itself.
- The indexer is blamed only for blocks that the chain has. A chain that makes none is the chain's
  trouble.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.audit.rules import RESOLVE

RUN: Final = "python -m indexer.main"
BEAT_DOWN_S: Final = 15  # a loop beats at least once a second; a spare takes over within seconds
STALL_S: Final = 30  # a block that the chain has and we did not commit for so long
LATE_S: Final = 20  # the newest committed block is that old while the chain has a newer one
TOO_LATE_S: Final = 120
LATE_BLOCKS: Final = 5
FINAL_FAR_BLOCKS: Final = 3_600  # two hours of blocks: chains call theirs final within half an hour
FROZEN_S: Final = 30  # the chain's newest block is that old
DEAD_S: Final = 300  # as long without a block, a public chain or its node is out of order


class Health(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class HealthVerdict:
    """`lag_s`: seconds by wall clock; None where unknown.

    `note` says what is wrong and what to do; None when all is well.
    """

    health: Health
    lag_s: int | None = None
    lag_blocks: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerFacts:
    """What is known of the indexer at `now`.

    Times of blocks are unix seconds, None means unknown.

    `beat_at` None: no indexer ever ran. `state`: following, degraded, halted or starting.
    `halted_below`: height and hash of the final block that the chain no longer holds. `moved_at`:
    when the cursor moved last.
    `head`: the node's height. `open_findings`: of the auditor, that nobody closed. `held_facts`:
    what the chain said and the database or a rule refused, with what waits behind it, in
    `held_ledgers`.
    `final`: the height below which no reorg is believed.
    `next_block_at`: the time of the block after the cursor; asked for only where `is_suspect`.
    """

    now: datetime
    beat_at: datetime | None
    state: str | None = None
    halted_below: tuple[int, str] | None = None
    cursor: int | None = None
    moved_at: datetime | None = None
    block_at: int | None = None
    head: int | None = None
    final: int | None = None
    open_findings: int = 0
    held_ledgers: int = 0
    held_facts: int = 0
    next_block_at: int | None = None

    @property
    def now_s(self) -> int:
        return int(self.now.timestamp())

    @property
    def lag_s(self) -> int | None:
        return None if self.block_at is None else max(0, self.now_s - self.block_at)

    @property
    def lag_blocks(self) -> int | None:
        return None if self.head is None or self.cursor is None else max(0, self.head - self.cursor)

    @property
    def is_suspect(self) -> bool:
        """True when the cursor does not move below the head: whether that is a stall depends on the
        next block's age.
        """
        return (
            bool(self.lag_blocks)
            and self.moved_at is not None
            and _seconds(self.moved_at, self.now) >= STALL_S
        )

    @property
    def waited_s(self) -> int:
        """How long the next block has been on the chain without being committed; 0 when there is
        none.
        """
        if not self.is_suspect or self.moved_at is None:
            return 0
        still = _seconds(self.moved_at, self.now)
        # A chain whose clock runs ahead (a test moved its time) can't say since when the block is
        # there.
        if self.next_block_at is None or self.next_block_at > self.now_s:
            return still
        return min(still, self.now_s - self.next_block_at)


def judge_indexer(facts: IndexerFacts) -> HealthVerdict:
    """The worst thing that is true of the indexer, and beside it what a person has to do whatever
    else is wrong.
    """
    troubles = _troubles(facts)
    if not troubles:
        return HealthVerdict(Health.OK, facts.lag_s, facts.lag_blocks)
    lasting = [
        trouble for trouble in (_holds_back(facts), _contradicted(facts)) if trouble is not None
    ]
    notes = [note for _, note in dict.fromkeys((troubles[0], *lasting))]
    return HealthVerdict(troubles[0][0], facts.lag_s, facts.lag_blocks, " ".join(notes))


def _troubles(facts: IndexerFacts) -> list[tuple[Health, str]]:
    """(health, note), the worst first."""
    found = [
        _without_a_leader(facts),
        _halted(facts),
        _stalled(facts),
        _too_late(facts),
        _in_trouble(facts),
        _late(facts),
        _final_stalled(facts),
        _holds_back(facts),
        _contradicted(facts),
    ]
    return [trouble for trouble in found if trouble is not None]


def _without_a_leader(facts: IndexerFacts) -> tuple[Health, str] | None:
    if facts.beat_at is None:
        return Health.DOWN, f"It has never run on this database; start `{RUN}`."
    silent_s = _seconds(facts.beat_at, facts.now)
    if silent_s < BEAT_DOWN_S:
        return None
    return Health.DOWN, (
        f"No indexer leads: no heartbeat for {silent_s} s; check its log and start `{RUN}` again."
    )


def _halted(facts: IndexerFacts) -> tuple[Health, str] | None:
    if facts.halted_below is not None:
        number, block_hash = facts.halted_below
        return Health.DOWN, (
            f"It halted: the chain no longer holds block {number} {block_hash}, which was final. "
            "Compare two nodes at that height; if RPC_URLS names a wrong or resynced one, "
            "replace it. Nothing is written until the chain holds that block again."
        )
    return (
        (Health.DOWN, "It halted and waits for an operator; its log says why.")
        if facts.state == "halted"
        else None
    )


def _stalled(facts: IndexerFacts) -> tuple[Health, str] | None:
    if facts.waited_s < STALL_S:
        return None
    return Health.DOWN, (
        f"It is stalled: the chain is at block {facts.head}, and it has committed nothing after "
        f"block {facts.cursor} for {facts.waited_s} s. Its log names the failing round (node or "
        f"database); restart `{RUN}` if it names none."
    )


def _too_late(facts: IndexerFacts) -> tuple[Health, str] | None:
    if not facts.lag_blocks or (facts.lag_s or 0) < TOO_LATE_S:
        return None
    return Health.DOWN, (
        f"The data it serves is {facts.lag_s} s old, {facts.lag_blocks} blocks behind the "
        "chain. It is catching up; wait, and if the number does not fall, look for a slow node "
        "or database (metrics in docs/operations.md)."
    )


def _in_trouble(facts: IndexerFacts) -> tuple[Health, str] | None:
    return (
        (Health.DEGRADED, "Its last round failed and it is retrying; its log says why.")
        if facts.state == "degraded"
        else None
    )


def _late(facts: IndexerFacts) -> tuple[Health, str] | None:
    if facts.cursor is None:
        return Health.DEGRADED, "It has committed no block yet; wait, or check its log."
    if not facts.lag_blocks or (facts.lag_blocks <= LATE_BLOCKS and (facts.lag_s or 0) < LATE_S):
        return None
    return Health.DEGRADED, (
        f"It is {facts.lag_blocks} blocks behind the chain; it is catching up, or its log says "
        "why not."
    )


def _final_stalled(facts: IndexerFacts) -> tuple[Health, str] | None:
    if facts.final is None or facts.cursor is None or facts.cursor - facts.final < FINAL_FAR_BLOCKS:
        return None
    return Health.DEGRADED, (
        f"The final block is stuck at {facts.final}, {facts.cursor - facts.final} blocks back: "
        "the nodes in RPC_URLS disagree about a block, or none reports newer ones as final. "
        "Compare them with a third node; until then deeper reorgs would be accepted."
    )


def _contradicted(facts: IndexerFacts) -> tuple[Health, str] | None:
    if not facts.open_findings:
        return None
    return (
        Health.DEGRADED,
        f"Open findings of the auditor: {facts.open_findings}. {RESOLVE}",
    )


def _holds_back(facts: IndexerFacts) -> tuple[Health, str] | None:
    if not facts.held_facts:
        return None
    return Health.DEGRADED, (
        f"Facts of the chain held back: {facts.held_facts}, from {facts.held_ledgers} ledgers. "
        f"Those ledgers are incomplete and marked so; all others are complete. `{RUN} retry` "
        "tries the facts again and shows why they are refused."
    )


def judge_head(mined_at: int, now: datetime, *, is_local: bool) -> HealthVerdict:
    """Whether the chain itself goes on.

    `mined_at`: the time of the node's newest block, unix seconds.
    """
    lag_s = max(0, int(now.timestamp()) - mined_at)
    if lag_s < FROZEN_S:
        return HealthVerdict(Health.OK, lag_s)
    if is_local:
        return HealthVerdict(
            Health.DEGRADED,
            lag_s,
            note=f"The local chain has mined no block for {lag_s} s; it mines on demand, or was "
            "stopped: send a transaction or start it.",
        )
    note = (
        f"The chain has no block newer than {lag_s} s: its sequencer or this node has stopped. "
        "Use another node (RPC_URLS)."
    )
    return HealthVerdict(Health.DOWN if lag_s >= DEAD_S else Health.DEGRADED, lag_s, note=note)


def _seconds(then: datetime, now: datetime) -> int:
    return max(0, int((now - then).total_seconds()))


MOST_CLOCK_S: Final = 2  # between this machine and the database


def judge_clock(before: float, answered: float, after: float) -> str | None:
    """What is wrong with this machine's clock, which read `before` and `after` the database said what
    time it is, all in unix seconds; None: nothing.
    """
    ahead_s, behind_s = before - answered, answered - after
    if max(ahead_s, behind_s) <= MOST_CLOCK_S:
        return None
    off = f"{ahead_s:.0f} s ahead of" if ahead_s > 0 else f"{behind_s:.0f} s behind"
    return f"This machine's clock is {off} the database's: sync both with NTP (`timedatectl`)."


FOREIGN_REPLICA = (
    "The replica at DATABASE_READ_URL follows another database, so the primary answers all "
    "reads: set it to a replica of this database, or unset it."
)


def judge_replica(lag_s: float | None, bound_s: int) -> str | None:
    """What is wrong with the replica that answers reads, and what to do; None: nothing.

    `lag_s` None: none answers. It is never down: the primary answers what a replica does not.
    """
    if lag_s is None:
        return (
            "No replica answers at DATABASE_READ_URL, so the primary answers all reads: start "
            "one (`patronictl list` shows them), or unset it."
        )
    if lag_s < bound_s:
        return None
    return (
        f"The replica at DATABASE_READ_URL is {lag_s:.0f} s behind, so the primary answers the "
        "reads: check its log and disk (`patronictl list`, then `patronictl reinit`)."
    )
