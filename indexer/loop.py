"""The loop round the loop: leadership, heartbeat, patience with the outside, and whatever is due
beside the chain.

Laws
- No failure of a round ends the process, of whatever kind: the round is counted, logged and
  followed by the next one. Only a lost lead ends it, and the watchdog, when nothing gets on any
  more.
- After anything but a failure of the outside in a round, position and watch list are read again.
- One thing that is due beside a round and fails keeps neither the others nor the round from being
  done, and costs nothing of what the process knows: it is logged, counted and tried again when it
  is due.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.audit import queries as audit
from core.audit.rules import FindingKind
from core.blocks.queries import TIP, CursorMovedError
from core.db.engine import Database
from core.db.leadership import TRY_S, Leadership, LeadershipLostError
from core.db.outage import OutageError
from core.errors import OutsideError, text_of
from core.health import views as health
from core.mandate.chain.reader import VaultReader
from core.mandate.venues.registry import venues
from core.quarantine import queries as quarantine_repository
from core.reserve import queries as reserve
from core.watchdog import Watchdog
from indexer.beside import Beside, Work
from indexer.chain.auditor import Auditor
from indexer.chain.context import ChainContext
from indexer.chain.deposits import watch_deposits
from indexer.chain.factory_notes import write_slice
from indexer.chain.log_proof import LogProof
from indexer.chain.quarantine import HeldFacts
from indexer.chain.refold import OlderLedgers
from indexer.chain.reserve import Crediting
from indexer.chain.reverts import RevertedCalls
from indexer.chain.sponsored_uses import SponsoredUses
from indexer.chain.tip import TipLoop, TipRound
from indexer.chain.unwind import FinalityBrokenError
from indexer.metrics import IndexerMetrics

BEAT_S = 1.0
FINALITY_S = 5.0
DEPOSITS_S = 1.0
OFTEN_S, BESIDE_S = 0.5, 3.0  # between two turns of one work beside the tip
RETRY_S = 1.0

log = structlog.get_logger("indexer")


def now_utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class AuditPlace:
    """What the auditor is given: the second node, or the only one, and how much it looks at."""

    reader: VaultReader
    blocks_a_round: int
    every_s: float
    is_same_provider: bool


class Indexer:
    """One process. Not thread-safe but for `stop`."""

    def __init__(
        self,
        reader: VaultReader,
        database: Database,
        leadership: Leadership,
        *,
        chain_id: int,
        start_block: int,
        poll_s: float,
        metrics: IndexerMetrics,
        watchdog: Watchdog,
        audit: AuditPlace | None = None,
    ) -> None:
        """`audit` None: nothing is audited."""
        self._metrics = metrics
        self._watchdog = watchdog
        self._audit = audit
        self._beside, self._watch_changed = (Beside("beside"), Beside("proofs")), threading.Event()
        self._tags: dict[str, int] = {}
        self._reader = reader
        self._database = database
        self._leadership = leadership
        self._chain_id = chain_id
        self._start_block = start_block
        self._poll_s = poll_s
        self._stopping = threading.Event()
        self._beat_due = self._finality_due = self._deposits_due = 0.0
        self._status: dict[str, Any] = {"state": "starting"}
        self._is_waiting_logged = False
        self._opened: tuple[int, int] | None = None

    def stop(self) -> None:
        """Ask the loop to end after the step that it is in. Safe in a signal handler."""
        self._stopping.set()

    def close(self) -> None:
        """Give the lead back at once and close what is open."""
        if self._audit is not None:
            self._audit.reader.rpc.close()
        self._leadership.release()
        self._database.close()
        self._reader.rpc.close()

    def run(self) -> None:
        """Until `stop`. Errors: LeadershipLostError."""
        try:
            self._run()
        finally:
            for thread in self._beside:
                thread.stop()

    def _run(self) -> None:
        tip: TipLoop | None = None
        self._watchdog.start()
        while not self._stopping.is_set():
            self._watchdog.sign()
            try:
                if not self._leadership.try_take(now_utc()):
                    self._log_waiting()
                    self._stopping.wait(TRY_S)
                    continue
                self._metrics.leading(self._leadership.epoch)
                tip = tip or self._open()
                wait_s = self._step(tip)
            except LeadershipLostError:
                raise
            except Exception as error:  # of the round: what is due beside it does not come here
                wait_s = RETRY_S
                self._say_trouble(error)
                if tip is not None and not _is_outside(error):
                    # What was committed last, and what the process knows of it, is uncertain: read
                    # both again.
                    tip.close()
                    tip = None
            if self._leadership.leads:
                self._beat()
            self._stopping.wait(wait_s)
        self._watchdog.call_off()

    def _open(self) -> TipLoop:
        self._reader.rpc.keep_to(self._chain_id)
        contracts = self._reader.contracts
        chain = ChainContext(
            reader=self._reader,
            database=self._database,
            chain_id=self._chain_id,
            factory=contracts["factory"],
            usdc=contracts["usdc"],
            x402_adapter=venues().payment_adapter(contracts),
            reserve_token=contracts.get("reserve_token"),
            start_block=self._start_block,
            epoch=self._leadership.epoch,
            fence=self._fence,
            sign=self._sign,
            metrics=self._metrics,
            watch_changed=self._watch_changed,
        )
        tip = TipLoop(chain, now_utc)
        with self._database.read() as session:
            at = health.position(session, TIP)
        self._metrics.opened(tip.cursor.number, None if at is None else at.block_at)
        opened = (tip.cursor.number, chain.epoch)
        if opened != self._opened:  # a database that is waited for is read again each round
            log.info(
                "following", chain_id=self._chain_id, cursor=tip.cursor.number, epoch=chain.epoch
            )
        self._opened = opened
        self._begin_beside(chain)
        return tip

    def _begin_beside(self, chain: ChainContext) -> None:
        """Once a process. What it writes is fenced, and no sign of the loop."""
        shared = replace(chain, fence=self._leadership.fence_beside, sign=lambda: None)
        alone, audit = replace(shared, fence=self._leadership.fence_alone), self._audit
        short = [
            Work(lambda: write_slice(alone, now_utc()), OFTEN_S),
            Work(RevertedCalls(alone, now_utc).round, OFTEN_S),
            Work(Crediting(alone, now_utc).round, BESIDE_S),
            Work(SponsoredUses(alone, now_utc).round, BESIDE_S),
            Work(HeldFacts(alone, now_utc).round, BESIDE_S),
        ]
        long = [
            Work(LogProof(alone, now_utc).round, BESIDE_S),
            Work(OlderLedgers(shared).step, BESIDE_S),
        ]
        if audit is not None:
            self._metrics.audit_began()
            auditor = Auditor(
                replace(shared, reader=audit.reader),
                now_utc,
                blocks_a_round=audit.blocks_a_round,
                is_same_provider=audit.is_same_provider,
                draw=random.Random(),  # noqa: S311 (which blocks are looked at is no secret)
            )
            long.append(Work(auditor.round, audit.every_s))
        for thread, works in zip(self._beside, (short, long), strict=True):
            thread.start(works)

    def _fence(self, session: Session) -> None:
        """A transaction that is about to be written: the loop gets on, however many there are in a
        round.
        """
        self._leadership.fence(session)
        self._watchdog.sign()

    def _sign(self) -> None:
        self._leadership.sign()
        self._watchdog.sign()

    def _step(self, tip: TipLoop) -> float:
        """One round, and what is due beside it; seconds to wait after it.

        Errors: the round's, and LeadershipLostError.
        """
        done = tip.round()
        self._metrics.round_done(done.head, done.cursor)
        errors = [error for work in self._due(tip, done) if (error := _tried(work)) is not None]
        self._status = _following(done) | self._tags
        for thread in self._beside:
            errors += thread.troubles()
            (thread.hold if done.is_behind else thread.let_go)()
        for error in errors:
            self._say_trouble(error, is_beside=True)
        if len(errors) > 1:
            self._status["error"] = "; ".join(map(text_of, errors))
        if done.is_behind:
            return 0.0
        return max(self._poll_s, RETRY_S) if errors else self._poll_s

    def _due(self, tip: TipLoop, done: TipRound) -> list[Callable[[], object]]:
        """What is to be done beside this round: one that fails does not keep the others from it."""
        now, due = time.monotonic(), list[Callable[[], object]]()
        if now >= self._finality_due:
            due += [lambda: self._note_finality(tip), self._count_held]
            self._finality_due = now + FINALITY_S
        if not done.is_behind and now >= self._deposits_due:
            due.append(lambda: watch_deposits(tip.chain, now_utc()))
            self._deposits_due = now + DEPOSITS_S
        return due

    def _count_held(self) -> None:
        with self._database.read() as session:
            ledgers, facts = quarantine_repository.held_counts(session)
            statuses = reserve.conversion_counts(session, self._chain_id)
            read_at = reserve.reconciled_at(session, self._chain_id)
            findings = audit.open_counts(session, self._chain_id).get(FindingKind.RESERVE, 0)
        self._metrics.held(ledgers, facts)
        self._metrics.reserve(statuses, findings, None if read_at is None else read_at.timestamp())

    def _note_finality(self, tip: TipLoop) -> None:
        """How far the chain calls itself safe and final: of machines behind one URL the highest."""
        for tag, number in tip.note_finality().items():
            self._tags[tag] = max(number, self._tags.get(tag, 0))
            self._metrics.heads.labels(tag).set(self._tags[tag])

    def _log_waiting(self) -> None:
        """Once: a spare may wait for weeks."""
        if not self._is_waiting_logged:
            log.info("another indexer leads, waiting")
        self._is_waiting_logged = True

    def _say_trouble(self, error: Exception, *, is_beside: bool = False) -> None:
        """`is_beside`: the round itself ended well."""
        state = "halted" if isinstance(error, FinalityBrokenError) else "degraded"
        trace = None if isinstance(error, OutsideError | SQLAlchemyError) else error
        what = "background work of a round failed" if is_beside else "round failed"
        if not isinstance(error, OutageError):  # which says it once
            log.error(
                what, state=state, error=text_of(error), kind=type(error).__name__, exc_info=trace
            )
        if is_beside:
            self._metrics.failed(error)
        else:
            self._metrics.round_failed(error, is_halt=state == "halted")
        self._status = {**self._status, "state": state, "error": text_of(error)} | _halted_below(
            error
        )

    def _beat(self) -> None:
        if time.monotonic() >= self._beat_due:
            self._leadership.beat(self._status)
            self._beat_due = time.monotonic() + BEAT_S


def _is_outside(error: Exception) -> bool:
    """Whether only the outside failed, so that what this process knows of its position still
    holds.
    """
    return isinstance(error, OutsideError) and not isinstance(error, CursorMovedError)


def _tried(work: Callable[[], object]) -> Exception | None:
    """What it failed of. Errors: LeadershipLostError, which nothing may follow."""
    try:
        work()
    except LeadershipLostError:
        raise
    except Exception as error:
        return error
    return None


def _following(done: TipRound) -> dict[str, Any]:
    lag_blocks = max(0, done.head - done.cursor)
    return {
        "state": "following",
        "head": done.head,
        "cursor": done.cursor,
        "lag_blocks": lag_blocks,
        "error": None,
    }


def _halted_below(error: Exception) -> dict[str, Any]:
    """Stays in the status until a round ends well: a node that is away afterwards does not heal a
    broken chain.
    """
    if not isinstance(error, FinalityBrokenError):
        return {}
    return {"halted_below": {"number": error.boundary.number, "hash": error.boundary.hash}}
