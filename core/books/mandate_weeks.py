"""What a mandate's book said when a week began, so that a statement need not fold the past.

    week     1                2                3                     (no rows in week 4)
    rows     a b c            d e              f g
    kept     {} before a      a b c            a b c d e             a read of week 4 takes the head, which has them all

Laws
- One checkpoint for each week in which a row happened (`occurred_at`): the fold of the rows that happened before that week,
  in the order of the book.
- A row that comes late belongs to its own week: it is last in the book, so it is applied on top of every later checkpoint.
- A reversal changes the past: the checkpoints after the reversed rows are folded again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import and_, delete, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.tables.mandate import MandateWeek
from core.domain.mandate.fold import apply, effective, fold
from core.domain.mandate.rows import LedgerRow
from core.domain.mandate.state import MandateFacts, MandateState, StateVersionError, state_from_json, state_to_json
from core.domain.mandate.weeks import week_of

Checkpoints = dict[datetime, MandateState]


@dataclass(slots=True)
class Weeks:
    """The checkpoints that a growing book changes. `kept` is read only when a row comes late."""

    session: Session
    mandate_id: int
    changed: Checkpoints = field(default_factory=dict)
    is_loaded: bool = False

    def grow(self, before: MandateState, row: LedgerRow, facts: MandateFacts) -> None:
        """`before`: the state of the book without the row, which is its newest. Errors: StateVersionError."""
        newest, week = before.last_row_at, week_of(row.occurred_at)
        if newest is None or newest < week.start_at:
            self.changed[week.start_at] = before
        elif newest >= week.end_at:
            self._late(row, facts)

    def _late(self, row: LedgerRow, facts: MandateFacts) -> None:
        if not self.is_loaded:
            self.changed = load(self.session, self.mandate_id) | self.changed
            self.is_loaded = True
        week = week_of(row.occurred_at)
        later = sorted(at for at in self.changed if at > row.occurred_at)
        if week.start_at not in self.changed:
            self.changed[week.start_at] = self.changed[later[0]]
        for at in later:
            self.changed[at] = apply(self.changed[at], row, facts)


def load(session: Session, mandate_id: int) -> Checkpoints:
    """Every checkpoint of a book. Errors: StateVersionError."""
    rows = session.execute(select(MandateWeek.starts_at, MandateWeek.state).where(MandateWeek.mandate_id == mandate_id))
    return {starts_at: state_from_json(state) for starts_at, state in rows}


def save(session: WriteSession, changed: Mapping[int, Checkpoints]) -> None:
    """Write checkpoints of several books, by mandate id."""
    values = [
        {"mandate_id": mandate_id, "starts_at": at, "state": state_to_json(state)}
        for mandate_id, checkpoints in changed.items()
        for at, state in checkpoints.items()
    ]
    if values:
        statement = insert(MandateWeek)
        keys = [MandateWeek.mandate_id, MandateWeek.starts_at]
        session.execute(statement.on_conflict_do_update(index_elements=keys, set_={"state": statement.excluded.state}), values)


def refold(session: WriteSession, mandate_id: int, rows: Sequence[LedgerRow], facts: MandateFacts, since: datetime | None = None) -> None:
    """Fold the checkpoints from the week of `since` on (all when None) again. `rows`: the whole book, oldest first."""
    of_book = MandateWeek.mandate_id == mandate_id
    session.execute(
        delete(MandateWeek).where(of_book if since is None else and_(of_book, MandateWeek.starts_at >= week_of(since).start_at))
    )
    save(session, {mandate_id: folded(rows, facts, since)})


def folded(rows: Iterable[LedgerRow], facts: MandateFacts, since: datetime | None = None) -> Checkpoints:
    """What the checkpoints must say, by the rows alone. A week whose rows were all reversed has none."""
    counted = effective(rows)
    starts = {week_of(row.occurred_at).start_at for row in counted}
    wanted = sorted(at for at in starts if since is None or at >= week_of(since).start_at)
    return {at: fold((row for row in counted if row.occurred_at < at), facts) for at in wanted}


def states_before(session: Session, mandate_ids: Collection[int], at: datetime) -> dict[int, dict[str, Any]]:
    """By mandate the fold of the rows that happened before `at`, the start of a week, as it is stored (state_from_json reads it).

    A mandate is left out when no row happened since: its head says it.
    """
    query = select(MandateWeek.mandate_id, MandateWeek.state).where(MandateWeek.mandate_id.in_(mandate_ids), MandateWeek.starts_at >= at)
    first = query.ext(distinct_on(MandateWeek.mandate_id)).order_by(MandateWeek.mandate_id, MandateWeek.starts_at)
    return {row.mandate_id: row.state for row in session.execute(first)}


def faults(session: Session, mandate_id: int, rows: Sequence[LedgerRow], facts: MandateFacts) -> list[str]:
    """Which checkpoints are not the fold of the rows before them, or are missing."""
    try:
        kept = load(session, mandate_id)
    except StateVersionError as error:
        return [f"weeks: {error}"]
    wanted = folded(rows, facts)
    missing = [f"weeks: {at:%Y-%m-%d} is kept or missing against the book" for at in sorted(wanted.keys() ^ kept.keys())]
    wrong = [f"weeks: {at:%Y-%m-%d} is not the fold's" for at in sorted(wanted.keys() & kept.keys()) if kept[at] != wanted[at]]
    return missing + wrong
