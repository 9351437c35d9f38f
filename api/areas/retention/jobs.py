"""The slow job `prune`: drops what nobody will read again, a batch a transaction.

Kept are
- judgements of vaults (vault_mark): all of them for `mark_retention_days`; after that a vault's
  first of each UTC day, its newest, and the one that each intent was decided from;
- first answers to idempotency keys for IDEMPOTENCY_DAYS;
- sign-in texts until they expire, sessions for COUNTS_DAYS after that, wrong recovery codes for a day;
- what counts in one UTC day alone (gas of requests, free reads, payouts, calls of a key, of which its newest
  day stays), and signatures of the guard, for COUNTS_DAYS;
- intents that ended, their attempts, and requests of the API with all that they led to, for
  `intent_retention_days`; of these every stop for ever, each vault's newest mark that the chain
  had, and the requests of custodial transfers;
- runs of slow jobs for RUN_DAYS, and each job's newest.

A judgement is looked at once: the run says how far it came (`marks_up_to_id`), and the next one
goes on from there.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final

from api.areas.earn.queries import drop_paid_days
from api.kernel.jobs import AreaJob, JobPlace
from core.credits.queries import drop_free_reads
from core.custody.queries import has_transfer
from core.db.engine import WriteSession
from core.identity import queries as identity
from core.identity.calls import drop_idempotency_records
from core.identity.retention import (
    drop_address_counts,
    drop_ended_sessions,
    drop_recovery_failures,
    drop_request_counts,
)
from core.jobs import queries as job_runs
from core.jobs.schedule import JobDatabase
from core.keeper import retention
from core.keeper.gas import drop_gas_days
from core.keeper.retention import MarkRow
from core.payments.guard_signatures import drop_guard_signatures
from core.times import start_of_day

NAME = "prune"
EVERY_S = 3_600
LIMIT_S = 3_600
BATCH = 5_000
MOST_BATCHES = 200  # of each kind a run: a million rows; the next run goes on
IDEMPOTENCY_DAYS = 90
RUN_DAYS = 7
DROPS_OF_DAYS = (drop_gas_days, drop_free_reads, drop_paid_days, drop_request_counts)
FAILURES_DAYS = 1  # the limit looks back an hour
COUNTS_DAYS = 30  # far longer than a request may wait, or the record be behind


class Thinning:
    """Which judgements are not the first of their vault's UTC day.

    Rows come in order, over any number of batches.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, bytes], date] = {}

    def to_drop(self, rows: Iterable[MarkRow]) -> list[int]:
        return [row.id for row in rows if not self._is_first(row)]

    def _is_first(self, row: MarkRow) -> bool:
        vault, day = (row.chain_id, row.vault), row.at.date()
        if self._kept.get(vault) == day:
            return False
        self._kept[vault] = day
        return True


class Prune:
    """One run. `batch`: rows of a transaction."""

    def __init__(
        self,
        database: JobDatabase,
        mark_retention_days: int,
        intent_retention_days: int,
        batch: int = BATCH,
    ) -> None:
        self._database = database
        self._mark_retention = timedelta(days=mark_retention_days)
        self._intent_retention = timedelta(days=intent_retention_days)
        self._batch = batch

    def run(self, now: datetime) -> Mapping[str, Any]:
        """How many rows of each kind were dropped. Errors: the database's."""
        # no day is thinned while half of it is kept
        marks, up_to_id = self._thin_marks(start_of_day(now - self._mark_retention))
        ended_before = now - self._intent_retention
        answers_before, runs_before = (
            now - timedelta(days=IDEMPOTENCY_DAYS),
            now - timedelta(days=RUN_DAYS),
        )
        counts_before = now - timedelta(days=COUNTS_DAYS)
        return {
            "marks": marks,
            "marks_up_to_id": up_to_id,
            "intents": self._all(
                lambda session: retention.drop_finished_intents(session, ended_before, self._batch)
            ),
            "requests": self._all(
                lambda session: retention.drop_finished_requests(
                    session, ended_before, self._batch, stays=has_transfer
                )
            ),
            "idempotency_records": self._all(
                lambda session: drop_idempotency_records(session, answers_before, self._batch)
            ),
            "sign_in_texts": self._all(
                lambda session: identity.sweep_nonces(session, now, self._batch)
            ),
            "day_figures": sum(
                self._all(partial(drop, before=counts_before.date(), limit=self._batch))
                for drop in DROPS_OF_DAYS
            ),
            "guard_signatures": self._all(
                lambda session: drop_guard_signatures(
                    session, int(counts_before.timestamp()), self._batch
                )
            ),
            "sessions": self._all(
                lambda session: drop_ended_sessions(session, counts_before, self._batch)
            ),
            "address_counts": self._all(
                lambda session: drop_address_counts(
                    session, now - timedelta(days=FAILURES_DAYS), self._batch
                )
            ),
            "recovery_failures": self._all(
                lambda session: drop_recovery_failures(
                    session, now - timedelta(days=FAILURES_DAYS), self._batch
                )
            ),
            "job_runs": self._all(
                lambda session: job_runs.drop_old_runs(session, runs_before, self._batch)
            ),
        }

    def _thin_marks(self, before: datetime) -> tuple[int, int]:
        """(dropped, id of the last judgement that was looked at)."""
        with self._database.read() as session:
            up_to_id, dropped = int(job_runs.last_done(session, NAME).get("marks_up_to_id", 0)), 0
        thinning = Thinning()
        for _ in range(MOST_BATCHES):
            with self._database.write() as session:
                rows = [
                    row
                    for row in retention.marks_after(session, up_to_id, self._batch)
                    if row.at < before
                ]
                dropped += retention.drop_marks(session, thinning.to_drop(rows))
            up_to_id = max((row.id for row in rows), default=up_to_id)
            if len(rows) < self._batch:
                break
        return dropped, up_to_id

    def _all(self, drop: Callable[[WriteSession], int]) -> int:
        """Batches until one is not full."""
        dropped = 0
        for _ in range(MOST_BATCHES):
            with self._database.write() as session:
                count = drop(session)
            dropped += count
            if count < self._batch:
                break
        return dropped


def _run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    days = place.mark_retention_days, place.intent_retention_days
    return Prune(place.database, *days).run(now)


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, _run),)
