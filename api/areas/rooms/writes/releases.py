"""Posts are released, once each, and earn their authors points. Nothing here commits.

    row of the release -> turn of payouts -> counts of the day -> award -> row of the public ledger

Laws
- The insert of the row decides: of two releases at once the second waits for the first, finds its
  row and awards nothing. Only then is the turn of payouts taken (api/areas/earn/ledger/awards.py).
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.dialects.postgresql import insert

from api.areas.earn import queries
from api.areas.earn.ledger.awards import Source, award, take_turn
from api.areas.earn.rules.payout import Payee, PayoutLimits
from api.areas.earn.writes import feed
from api.areas.earn.writes.feed import FeedKind, FeedRow
from api.areas.rooms.rules import ReleaseBounds, ReleaseKind, release_counts, require_releasable
from api.areas.rooms.tables import RoomRelease
from core.db.engine import WriteSession


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelease:
    """`author` and `by` are of two groups. `tenths`: of a point, what it earns the author."""

    message_id: int
    room_id: int
    author: Payee
    by: Payee
    kind: ReleaseKind | None
    tenths: int


def release(
    session: WriteSession,
    new: NewRelease,
    bounds: ReleaseBounds,
    limits: PayoutLimits,
    now: datetime,
) -> RoomRelease:
    """The current release: this one, or the one that was made before it.

    Errors: ReleasesUsedUpError, after which the transaction is rolled back.
    """
    values = {
        "message_id": new.message_id,
        "released_by": new.by.account_id,
        "kind": None if new.kind is None else new.kind.value,
        "tenths": new.tenths,
        "released_at": now,
    }
    made = insert(RoomRelease).values(values).on_conflict_do_nothing()
    if session.scalar(made.returning(RoomRelease.message_id)) is not None:
        _count(session, new, bounds, now)
        _pay(session, new, limits, now)
    # a statement of its own: it sees the row that another transaction wrote meanwhile
    return session.get_one(RoomRelease, new.message_id)


def _count(session: WriteSession, new: NewRelease, bounds: ReleaseBounds, now: datetime) -> None:
    """Errors: ReleasesUsedUpError."""
    take_turn(session)
    counts = list(release_counts(new.by, new.author, bounds))
    before = queries.used_on(session, now.date(), {one.name for one in counts})
    require_releasable({one: before.get(one.name, 0) for one in counts})
    moved = {one.name: before.get(one.name, 0) + 1 for one in counts}
    queries.save_used(session, now.date(), moved)


def _pay(session: WriteSession, new: NewRelease, limits: PayoutLimits, now: datetime) -> None:
    ref = f"room:message:{new.message_id}:author"
    author_id, releasers = new.author.account_id, [new.by.account_id]
    awarded = award(session, author_id, Source.ROOM, ref, new.tenths, limits, now, releasers)
    row = FeedRow(
        kind=FeedKind.ROOM_RELEASED,
        account_id=author_id,
        ref=ref,
        at=now,
        tenths=new.tenths,
        credits=awarded.credits,
        room_id=new.room_id,
    )
    feed.note(session, row)
