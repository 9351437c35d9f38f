"""The last 24 hours of ledgers, and their weeks, as this process has read them: a read of limits or of
a statement costs what the ledger has grown by since the last one, and not what the day or week has.

Law: either is kept with the seq and the hash of the ledger's last row. One of another hash, of a later
row or of an earlier time is read anew, and so is one whose rows were reversed since.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.orm import Session

from core.kept import Kept
from core.mandate import rows as mandate_rows
from core.mandate.rules.limits import SpendWindow
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import MandateFacts
from core.mandate.rules.statement import DAY, NO_TALLY, WeekTally
from core.mandate.rules.violations import Outflow, outflows_of, taken_by
from core.mandate.rules.weeks import IsoWeek
from core.mandate.tables import MandateHead
from core.times import DAY_S

MOST_TAKEN: Final = 50_000  # entries of all days that are kept: about 20 MB
BACK_S: Final = (
    600  # by so much a reorg may set the chain's time back without a day's being read anew
)
_NO_FLOWS: Final = SpendWindow()
_ALWAYS: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DayOutflows:
    """What left in the day that ends at a time.

    `outflows` in the ledger's order; `window`: of the same.
    """

    outflows: tuple[Outflow, ...] = ()
    window: SpendWindow = _NO_FLOWS


@dataclass(frozen=True, slots=True)
class _Kept:
    """`taken`: of the rows from `since` on, up to the row `seq`. `day` is as of each time whose day
    begins in [begins_from, begins_until].
    """

    seq: int
    row_hash: bytes
    since: int
    taken: tuple[Outflow, ...]
    day: DayOutflows
    begins_from: int
    begins_until: int


class KeptDays:
    """Threads may share it."""

    def __init__(self, most: int = MOST_TAKEN) -> None:
        self._days = Kept[int, _Kept](most, lambda kept: 1 + len(kept.taken))

    def day_of(
        self, session: Session, head: MandateHead | None, facts: MandateFacts, now: int
    ) -> DayOutflows:
        """Of the ledger with this head, up to its last row; `now` in unix seconds."""
        if head is None:
            return DayOutflows()
        known, start = self._days.find(head.mandate_id), now - DAY_S
        kept = _grown(session, known, head, facts, start) or _read(session, head, facts, start)
        if not kept.begins_from <= start <= kept.begins_until:
            kept = _beginning(kept, start)
        if known is None or (kept is not known and kept.seq >= known.seq):
            self._days.keep(head.mandate_id, kept)
        return kept.day


def _grown(
    session: Session, known: _Kept | None, head: MandateHead, facts: MandateFacts, start: int
) -> _Kept | None:
    """The day that is known, with the rows since; None: it has to be read anew."""
    if known is None or known.since > start:
        return None
    rows = mandate_rows.counted_since(session, head, known.seq, known.row_hash)
    if rows is None:
        return None
    more = tuple(one for row in rows if (one := taken_by(row, facts)) is not None)
    if not more:
        is_same = known.seq == head.seq
        return known if is_same else replace(known, seq=head.seq, row_hash=head.row_hash)
    since = start - BACK_S
    taken = tuple(one for one in known.taken if one.at >= since) + more
    return _made(head, max(since, known.since), taken, start)


def _read(session: Session, head: MandateHead, facts: MandateFacts, start: int) -> _Kept:
    since = start - BACK_S
    rows = _rows_of(session, head, datetime.fromtimestamp(since, UTC), _ALWAYS)
    taken = tuple(one for row in rows if (one := taken_by(row, facts)) is not None)
    return _made(head, since, taken, start)


def _made(head: MandateHead, since: int, taken: tuple[Outflow, ...], start: int) -> _Kept:
    kept = _Kept(head.seq, head.row_hash, since, taken, DayOutflows(), start, start)
    return _beginning(kept, start)


def _beginning(kept: _Kept, start: int) -> _Kept:
    """The same, with the day that begins at `start`."""
    within = [one for one in kept.taken if one.at >= start]
    outflows = outflows_of(within)
    window = SpendWindow.of((one.at, one.amount_usdc_e6) for one in outflows)
    return replace(
        kept,
        day=DayOutflows(outflows, window),
        begins_from=max((one.at + 1 for one in kept.taken if one.at < start), default=kept.since),
        begins_until=min((one.at for one in within), default=start + BACK_S),
    )


@dataclass(frozen=True, slots=True)
class _KeptWeek:
    seq: int
    row_hash: bytes
    tally: WeekTally


class KeptWeeks:
    """Threads may share it."""

    def __init__(self, most: int = MOST_TAKEN) -> None:
        self._weeks = Kept[tuple[int, IsoWeek], _KeptWeek](
            most, lambda kept: 1 + len(kept.tally.taken)
        )

    def tally_of(
        self, session: Session, head: MandateHead | None, facts: MandateFacts, week: IsoWeek
    ) -> WeekTally:
        """Of the ledger with this head, up to its last row."""
        if head is None:
            return NO_TALLY
        known = self._weeks.find((head.mandate_id, week))
        more = None
        if known is not None:
            more = mandate_rows.counted_since(session, head, known.seq, known.row_hash)
        if known is None or more is None:
            tally = NO_TALLY.with_rows(
                _rows_of(session, head, week.start_at - DAY, week.end_at), facts, week
            )
        elif more:
            tally = known.tally.with_rows(more, facts, week)
        else:
            tally = known.tally
        if known is None or head.seq > known.seq or tally is not known.tally:
            self._weeks.keep((head.mandate_id, week), _KeptWeek(head.seq, head.row_hash, tally))
        return tally


def _rows_of(
    session: Session, head: MandateHead, start: datetime, end: datetime
) -> list[LedgerRow]:
    id_ = head.mandate_id
    return mandate_rows.counted_between(session, [id_], start, end, head.seq)[id_]
