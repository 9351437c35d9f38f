"""No slow job computes while it has a transaction open: all of them on a filled stage, by the processor's
time between two statements of one transaction.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from sqlalchemy import Engine, event

from api.kernel.jobs import JobPlace, area_jobs
from core.db.engine import Database
from core.errors import OutsideError
from core.jobs.schedule import JobSkippedError
from core.limits import CallerLimits
from core.mandate.chain.reader import VaultReader
from indexer.venues import chosen
from indexer.venues.store import ScannerStore
from tests.world.mandates import Place
from tests.world.seed import seed

PAIRS: Final = 1_500
PLACE: Final = Place(84532, *(f"0x{n:040x}" for n in (0xA1, 0xA2, 0xA3)))
AT_MOST_S: Final = (
    0.75  # of reading rows and writing them down, by parts that are bounded, on a busy machine
)


@dataclass
class Computed:
    """Seconds of this thread's processor between two statements of one transaction, the most of each
    job, and the statement before.
    """

    job: str = ""
    most: dict[str, tuple[float, str]] = field(default_factory=dict)
    _since: float | None = None
    _after: str = ""

    def begin(self, *_: Any) -> None:
        self._since, self._after = time.thread_time(), "begin"

    def before(self, _conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self._look()

    def after(self, _conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self._since, self._after = time.thread_time(), statement

    def end(self, *_: Any) -> None:
        self._look()
        self._since = None

    def _look(self) -> None:
        if self._since is None:
            return
        took = time.thread_time() - self._since
        if took > self.most.get(self.job, (0.0, ""))[0]:
            self.most[self.job] = took, " ".join(self._after.split())[:120]


@contextmanager
def looking() -> Iterator[Computed]:
    computed = Computed()
    listened = (
        ("begin", computed.begin),
        ("before_cursor_execute", computed.before),
        ("after_cursor_execute", computed.after),
        ("commit", computed.end),
        ("rollback", computed.end),
    )
    for name, listener in listened:
        event.listen(Engine, name, listener)
    try:
        yield computed
    finally:
        for name, listener in listened:
            event.remove(Engine, name, listener)


@pytest.mark.slow
def test_slow_jobs__compute_outside_of_transactions(database: Database) -> None:
    now = datetime.now(UTC).replace(minute=30)
    seed(database, PLACE, now, days=60)
    chosen.made([chosen.SIM], PAIRS, ScannerStore(database, lambda session: None), lambda: now)
    place = JobPlace(
        database=database,
        reader=cast("VaultReader", SimpleNamespace(contracts={}, rpc=None)),
        mark_retention_days=90,
        intent_retention_days=90,
        limits=CallerLimits(),
    )
    did = dict[str, Any]()
    with looking() as computed:
        for job in area_jobs():
            computed.job = job.name
            with suppress(JobSkippedError, OutsideError):
                did[job.name] = job.run(place, now)
    assert did["hall"]["ledgers"] == 200
    assert did["notes"]["notes"] > 200
    assert {name: one for name, one in computed.most.items() if one[0] > AT_MOST_S} == {}
