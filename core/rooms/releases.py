"""Posts are released, once each, and earn their authors points. Nothing here commits.

    row of the release -> turn of payouts -> award -> row of the public ledger

Laws
- The insert of the row decides: of two releases at once the second waits for the first, finds its
  row and awards nothing. Only then is the turn of payouts taken (core/earn/ledger/awards.py).
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.dialects.postgresql import insert

from core.db.engine import WriteSession
from core.earn import feed
from core.earn.feed import FeedKind, FeedRow
from core.earn.ledger.awards import Source, award
from core.earn.rules.payout import PayoutLimits
from core.rooms.rules import ReleaseKind
from core.rooms.tables import RoomRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelease:
    """`tenths`: of a point, what it earns the author."""

    message_id: int
    room_id: int
    author_id: int
    released_by: int
    kind: ReleaseKind | None
    tenths: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The one that stands, whoever made it."""

    released_by: int
    kind: ReleaseKind | None
    tenths: int
    released_at: datetime


def release(session: WriteSession, new: NewRelease, limits: PayoutLimits, now: datetime) -> Release:
    """The release that stands: this one, or the one that was made before it."""
    values = {
        "message_id": new.message_id,
        "released_by": new.released_by,
        "kind": None if new.kind is None else new.kind.value,
        "tenths": new.tenths,
        "released_at": now,
    }
    made = insert(RoomRelease).values(values).on_conflict_do_nothing()
    if session.scalar(made.returning(RoomRelease.message_id)) is not None:
        _pay(session, new, limits, now)
    # a statement of its own: it sees the row that another transaction wrote meanwhile
    row = session.get_one(RoomRelease, new.message_id)
    return Release(
        released_by=row.released_by,
        kind=None if row.kind is None else ReleaseKind(row.kind),
        tenths=row.tenths,
        released_at=row.released_at,
    )


def _pay(session: WriteSession, new: NewRelease, limits: PayoutLimits, now: datetime) -> None:
    ref = f"room:message:{new.message_id}:author"
    awarded = award(session, new.author_id, Source.ROOM, ref, new.tenths, limits, now)
    row = FeedRow(
        kind=FeedKind.ROOM_RELEASED,
        account_id=new.author_id,
        ref=ref,
        at=now,
        tenths=new.tenths,
        credits=awarded.credits,
        room_id=new.room_id,
    )
    feed.note(session, row)
