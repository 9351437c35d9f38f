"""What is new in ledgers since a place: of one mandate by seq, of all of an owner's by id.

    ids       ... 90  91  92 | 93  94  95          of all ledgers, drawn before the commit
    committed     90      92 |     94              91, 93, 95 come later, or never
    settled                                        90: the last id before which nothing can come any more

Laws
- The rows of one mandate commit in the order of their seqs, and their ids rise with them: a ledger
  grows under the lock of its head.
- Ids of different mandates commit in any order. An id is settled when each transaction that could
  still commit a lower one has ended: `Horizon`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, Executable, and_, select, text
from sqlalchemy.orm import Session

from core.db.arrays import table_of
from core.mandate.tables import Mandate, MandateEvent, MandateHead

_ROW = (
    MandateEvent.id,
    MandateEvent.mandate_id,
    MandateEvent.seq,
    MandateEvent.kind,
    MandateEvent.reported_by,
    MandateEvent.created_at,
    MandateEvent.reverses_id,
)
_OF_MANDATE = (Mandate.public_id, Mandate.status)

# A transaction has its number before it draws an id: it holds the lock of a head. So each that
# drew an id up to the highest that is visible had begun when the snapshot was taken.
_HORIZON = text(
    "select coalesce((select max(id) from mandate_event), 0), pg_snapshot_xmin(s)::text::bigint, "
    "pg_snapshot_xmax(s)::text::bigint from pg_current_snapshot() s"
)


@dataclass(frozen=True, slots=True)
class NewLedgerRow:
    """A row as those who follow a ledger hear of it. `status`: the mandate's now."""

    id: int
    mandate_id: int
    seq: int
    kind: str
    reported_by: str
    created_at: datetime
    is_reversal: bool
    public_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Horizon:
    """`top`: the highest id that a snapshot sees. `oldest_open`, `next_one`: of transactions' numbers
    the oldest that has not ended, and the first that has not begun.
    """

    top: int
    oldest_open: int
    next_one: int

    def settled_since(self, earlier: "Horizon | None") -> int | None:
        """The newest id that is known to be settled in this snapshot; None: of none more than was
        known. All settled rows that were committed are visible in it.
        """
        if self.oldest_open == self.next_one:
            return self.top
        if earlier is not None and self.oldest_open >= earlier.next_one:
            return earlier.top
        return None


def horizon(session: Session) -> Horizon:
    """As the session's snapshot has it."""
    return Horizon(*session.execute(_HORIZON).one())


def rows_after(session: Session, mandate_id: int, seq: int, limit: int) -> list[NewLedgerRow]:
    """The rows of one mandate after that seq (exclusive), oldest first."""
    query = select(*_ROW, *_OF_MANDATE).join(Mandate, Mandate.id == MandateEvent.mandate_id)
    query = query.where(MandateEvent.mandate_id == mandate_id, MandateEvent.seq > seq)
    return _rows(session, query.order_by(MandateEvent.seq).limit(limit))


def rows_of_owner_between(
    session: Session, owner_id: int, after: int, limit: int
) -> list[NewLedgerRow]:
    """The rows of all mandates of an owner with ids above `after`, by rising id.

    Looks at every row with such an id, whosever it is: for few of them.
    """
    query = select(*_ROW, *_OF_MANDATE).join(Mandate, Mandate.id == MandateEvent.mandate_id)
    query = query.where(MandateEvent.id > after, Mandate.owner_id == owner_id)
    return _rows(session, query.order_by(MandateEvent.id).limit(limit))


def rows_of_owner_after(
    session: Session, owner_id: int, after: int, limit: int
) -> list[NewLedgerRow]:
    """As `rows_of_owner_between`, from the owner's heads: looks at each mandate of the owner, and at
    `limit` rows at most of each that changed.
    """
    last = (MandateEvent.mandate_id == MandateHead.mandate_id) & (
        MandateEvent.seq == MandateHead.seq
    )
    changed = (
        select(Mandate.id, Mandate.public_id, Mandate.status, MandateHead.seq)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .join(MandateEvent, last)
        .where(Mandate.owner_id == owner_id, MandateEvent.id > after)
        .limit(limit)
        .cte("changed")
    )
    newest = and_(
        MandateEvent.mandate_id == changed.c.id,
        MandateEvent.seq > changed.c.seq - limit,
        MandateEvent.id > after,
    )
    query = select(*_ROW, changed.c.public_id, changed.c.status).join(changed, newest)
    return _rows(session, query.order_by(MandateEvent.id).limit(limit))


def ids_at(session: Session, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The ids of the rows at these places, (mandate, seq); one without a row is left out."""
    if not places:
        return {}
    wanted = table_of(
        "wanted",
        {
            "mandate_id": (BigInteger, [mandate_id for mandate_id, _ in places]),
            "seq": (BigInteger, [seq for _, seq in places]),
        },
    )
    here = (MandateEvent.mandate_id == wanted.c.mandate_id) & (MandateEvent.seq == wanted.c.seq)
    query = select(MandateEvent.mandate_id, MandateEvent.seq, MandateEvent.id).join(wanted, here)
    return {(mandate_id, seq): id_ for mandate_id, seq, id_ in session.execute(query)}


@dataclass(frozen=True, slots=True)
class RecentEnd:
    """A mandate that ended, and the last row of its ledger."""

    mandate_id: int
    public_id: str
    seq: int
    status: str


def ended_since(session: Session, owner_id: int, since: datetime, limit: int) -> list[RecentEnd]:
    """The owner's mandates that ended and were changed since then (inclusive)."""
    query = (
        select(Mandate.id, Mandate.public_id, MandateHead.seq, Mandate.status)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .where(
            Mandate.owner_id == owner_id,
            Mandate.ended_at.is_not(None),
            Mandate.updated_at >= since,
        )
        .order_by(Mandate.id)
        .limit(limit)
    )
    return [RecentEnd(*row) for row in session.execute(query)]


def _rows(session: Session, query: Executable) -> list[NewLedgerRow]:
    return [
        NewLedgerRow(
            id=row.id,
            mandate_id=row.mandate_id,
            seq=row.seq,
            kind=row.kind,
            reported_by=row.reported_by,
            created_at=row.created_at,
            is_reversal=row.reverses_id is not None,
            public_id=row.public_id,
            status=row.status,
        )
        for row in session.execute(query)
    ]
