"""What of accounts nobody reads again: sessions that are over, days of calls, calls of addresses, wrong
recovery codes.
"""

from datetime import date, datetime

from sqlalchemy import delete, select, tuple_
from sqlalchemy.orm import aliased

from core.db.engine import WriteSession
from core.identity.tables import AddressCount, RecoveryFailure, RequestCount
from core.identity.tables import Session as SessionRow


def drop_ended_sessions(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` sessions that ended before then, revoked ones too. How many went."""
    old = select(SessionRow.id).where(SessionRow.expires_at < before).limit(limit)
    gone = delete(SessionRow).where(SessionRow.id.in_(old.with_for_update(skip_locked=True)))
    return len(session.scalars(gone.returning(SessionRow.id)).all())


def drop_request_counts(session: WriteSession, before: date, limit: int) -> int:
    """Drop at most `limit` days of calls before that one; a key's newest day stays, since it says
    when the key was used last. How many went.
    """
    newer = aliased(RequestCount)
    is_not_newest = select(newer.day).where(
        newer.key_id == RequestCount.key_id, newer.day > RequestCount.day
    )
    key = (RequestCount.key_id, RequestCount.day)
    old = select(*key).where(RequestCount.day < before, is_not_newest.exists()).limit(limit)
    gone = delete(RequestCount).where(tuple_(*key).in_(old))
    return len(session.execute(gone.returning(RequestCount.key_id)).all())


def drop_address_counts(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` counts of network addresses that began before then. How many went."""
    key = (AddressCount.name, AddressCount.client)
    old = select(*key).where(AddressCount.since < before).limit(limit)
    gone = delete(AddressCount).where(tuple_(*key).in_(old.with_for_update(skip_locked=True)))
    return len(session.execute(gone.returning(AddressCount.name)).all())


def drop_recovery_failures(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` wrong codes of before then, from whatever address. How many went."""
    old = select(RecoveryFailure.id).where(RecoveryFailure.at < before).limit(limit)
    gone = delete(RecoveryFailure).where(
        RecoveryFailure.id.in_(old.with_for_update(skip_locked=True))
    )
    return len(session.scalars(gone.returning(RecoveryFailure.id)).all())
