"""What a mandate's ledger said when a week began, so that a statement need not fold the past.

    week     1                2                3                     (no rows in week 4)
    rows     a b c            d e              f g
    kept     {} before a      a b c            a b c d e             a read of week 4 takes the head, which has them all

Laws
- One checkpoint for each week in which a row happened (`occurred_at`): the fold of the rows that
  happened before that week, in the order of the ledger.
- A row that comes late belongs to its own week: it is last in the ledger, so it is applied on top
  of every later checkpoint. Those are read before the rows are written (`is_late`), since nothing
  can be read while they are.
- A checkpoint of another version of the fold is folded again from the rows when a late row needs
  it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, and_, delete, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session

from core.db.arrays import table_of
from core.db.base import Timestamp
from core.db.engine import WriteSession
from core.mandate.rules.fold import apply, effective, fold
from core.mandate.rules.reports import ReportsByTx
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import (
    MandateFacts,
    MandateState,
    StateVersionError,
    state_from_json,
    state_to_json,
)
from core.mandate.rules.weeks import week_of
from core.mandate.tables import MandateWeek

Checkpoints = dict[datetime, MandateState]


@dataclass(slots=True)
class Weeks:
    """The checkpoints that a growing ledger changes.

    `kept`: those of the database, needed when a row comes late.
    """

    kept: Checkpoints = field(default_factory=dict)
    changed: Checkpoints = field(default_factory=dict)

    def grow(
        self, before: MandateState, row: LedgerRow, facts: MandateFacts, reports: ReportsByTx
    ) -> None:
        """`before` and `reports`: of the ledger without the row, which is its newest."""
        newest, start = before.last_row_at, start_of(row.occurred_at)
        if newest is None or newest < start:
            self.changed[start] = before
        elif is_late(newest, row.occurred_at):
            self._late(start, row, facts, reports)

    def _late(
        self, start: datetime, row: LedgerRow, facts: MandateFacts, reports: ReportsByTx
    ) -> None:
        known = self.kept | self.changed
        later = sorted(at for at in known if at > row.occurred_at)
        if start not in known:
            self.changed[start] = known[later[0]]
        for at in later:
            self.changed[at] = apply(known[at], row, facts, reports.of(row, before=at))


def is_late(newest: datetime, at: datetime) -> bool:
    """Whether a row that happened at `at` belongs to an earlier week than the newest of its
    ledger.
    """
    return at < newest and start_of(at) < start_of(newest)


def start_of(at: datetime) -> datetime:
    """When the week of an instant begins. `at` is UTC, as every time of a ledger."""
    return _start_of_day(at.date())


@lru_cache(maxsize=1_024)
def _start_of_day(day: date) -> datetime:
    return week_of(datetime.combine(day, time.min, UTC)).start_at


def load(session: Session, mandate_ids: Collection[int]) -> dict[int, Checkpoints | None]:
    """Every checkpoint of several ledgers; None where another version of the fold wrote one: fold
    them again (`folded`).
    """
    found: dict[int, Checkpoints | None] = {}
    for mandate_id, kept in _kept(session, mandate_ids).items():
        known = {at: state for at, state in kept.items() if state is not None}
        found[mandate_id] = known if len(known) == len(kept) else None
    return found


def _kept(
    session: Session, mandate_ids: Collection[int]
) -> dict[int, dict[datetime, MandateState | None]]:
    """By mandate; a state None: another version of the fold wrote it."""
    found: dict[int, dict[datetime, MandateState | None]] = {one: {} for one in mandate_ids}
    columns = (MandateWeek.mandate_id, MandateWeek.starts_at, MandateWeek.state)
    for mandate_id, starts_at, state in session.execute(
        select(*columns).where(MandateWeek.mandate_id.in_(mandate_ids))
    ):
        try:
            found[mandate_id][starts_at] = state_from_json(state)
        except StateVersionError:
            found[mandate_id][starts_at] = None
    return found


def save(session: WriteSession, changed: Mapping[int, Checkpoints]) -> None:
    """Write checkpoints of several ledgers, by mandate id."""
    values = [
        {"mandate_id": mandate_id, "starts_at": at, "state": state_to_json(state)}
        for mandate_id, checkpoints in changed.items()
        for at, state in checkpoints.items()
    ]
    if values:
        statement = insert(MandateWeek)
        keys = [MandateWeek.mandate_id, MandateWeek.starts_at]
        session.execute(
            statement.on_conflict_do_update(
                index_elements=keys, set_={"state": statement.excluded.state}
            ),
            values,
        )


def kept_since(session: Session, since: Mapping[int, datetime]) -> dict[int, set[datetime]]:
    """By mandate for which weeks a checkpoint is kept, from that of `since` on."""
    found: dict[int, set[datetime]] = {mandate_id: set() for mandate_id in since}
    asked = _asked([(mandate_id, start_of(at)) for mandate_id, at in since.items()])
    ours = and_(
        MandateWeek.mandate_id == asked.c.mandate_id, MandateWeek.starts_at >= asked.c.starts_at
    )
    for mandate_id, starts_at in session.execute(
        select(MandateWeek.mandate_id, MandateWeek.starts_at).join(asked, ours)
    ):
        found[mandate_id].add(starts_at)
    return found


def drop(session: WriteSession, weeks: Sequence[tuple[int, datetime]]) -> None:
    """Let checkpoints go, (mandate id, start): weeks whose rows were all reversed."""
    if weeks:
        asked = _asked(weeks)
        gone = and_(
            MandateWeek.mandate_id == asked.c.mandate_id, MandateWeek.starts_at == asked.c.starts_at
        )
        session.execute(
            delete(MandateWeek).where(gone).execution_options(synchronize_session=False)
        )


def _asked(weeks: Sequence[tuple[int, datetime]]) -> Any:
    ids, starts = zip(*weeks, strict=True)
    return table_of("asked", {"mandate_id": (BigInteger, ids), "starts_at": (Timestamp, starts)})


def folded(rows: Iterable[LedgerRow], facts: MandateFacts) -> Checkpoints:
    """What the checkpoints must say, by the rows alone.

    A week whose rows were all reversed has none.
    """
    counted = effective(rows)
    starts = sorted({start_of(row.occurred_at) for row in counted})
    return {at: fold((row for row in counted if row.occurred_at < at), facts) for at in starts}


def states_before(
    session: Session, mandate_ids: Collection[int], at: datetime
) -> dict[int, dict[str, Any]]:
    """By mandate the fold of the rows that happened before `at`, the start of a week, as it is
    stored (state_from_json reads it).

    A mandate is left out when no row happened since: its head says it.
    """
    query = select(MandateWeek.mandate_id, MandateWeek.state).where(
        MandateWeek.mandate_id.in_(mandate_ids), MandateWeek.starts_at >= at
    )
    first = query.ext(distinct_on(MandateWeek.mandate_id)).order_by(
        MandateWeek.mandate_id, MandateWeek.starts_at
    )
    return {row.mandate_id: row.state for row in session.execute(first)}


def faults(session: Session, mandate_id: int, wanted: Checkpoints) -> list[str]:
    """Which checkpoints are not `wanted`, the fold of the rows before them, or are missing.

    One of another version of the fold is no fault: whoever reads it folds the rows again.
    """
    kept = _kept(session, [mandate_id])[mandate_id]
    missing = [
        f"weeks: {at:%Y-%m-%d} is stored or missing, unlike in the ledger"
        for at in sorted(wanted.keys() ^ kept.keys())
    ]
    compared = [(at, kept[at], wanted[at]) for at in sorted(wanted.keys() & kept.keys())]
    return missing + [
        f"weeks: {at:%Y-%m-%d} differs from the fold"
        for at, ours, fold_s in compared
        if ours is not None and ours != fold_s
    ]
