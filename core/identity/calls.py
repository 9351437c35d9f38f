"""All SQL of what the kernel asks, counts and keeps of calls: whose a session is, daily counts of a key,
first answers to idempotency keys.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    DateTime,
    Select,
    any_,
    bindparam,
    cast,
    delete,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.db import locks
from core.db.base import Hash32
from core.db.engine import WriteSession
from core.db.locks import AdvisoryLock, LockClass
from core.identity.tables import Account, ApiKey, IdempotencyRecord
from core.identity.tables import Session as SessionRow
from core.subscriptions.queries import PLAN_OF_ACCOUNT

# One statement proves the key, looks its ceiling up, counts the call unless the day is used up, and
# commits: one round trip a call. The row is locked for that moment alone. The count's commit does
# not wait for the disk: a crash of the database itself may forget the calls of its last second, a
# restart of anything forgets none.
_CALLER = f"""
with caller as (
    select k.id as key_id, k.scopes, k.per_order_usdc_e6, k.per_day_usdc_e6,
           a.id as account_id, a.kind, a.name, a.owner_id, a.wallet_address, a.generation,
           case when a.owner_id is null then a.registered_from else o.registered_from end as came_from,
           (cast(%(ceilings)s as jsonb) ->> coalesce(({PLAN_OF_ACCOUNT}), 'free'))::int as ceiling
    from api_key k join account a on a.id = k.account_id left join account o on o.id = a.owner_id
    where k.key_hash = %(key_hash)s and k.revoked_at is null
)"""  # noqa: S608 (of a constant)
_SHOWN = """
select caller.key_id, account_id, kind, name, owner_id, wallet_address, came_from, scopes, per_order_usdc_e6::text, per_day_usdc_e6::text,
       generation, ceiling"""
_COUNT_CALL = f"""{_CALLER}, counted as (
    insert into request_count as c (key_id, day, n, last_at)
    select key_id, %(day)s, 1, %(now)s from caller where ceiling > 0
    on conflict (key_id, day) do update set n = c.n + 1, last_at = excluded.last_at where c.n < (select ceiling from caller)
    returning n
){_SHOWN}, counted.n, set_config('synchronous_commit', 'off', true)
from caller left join counted on true
"""  # noqa: S608 (of the constants above)
_FIND_CALL = f"""{_CALLER}{_SHOWN}, coalesce(counted.n, 0), null
from caller left join request_count counted on counted.key_id = caller.key_id and counted.day = %(day)s
"""

_COUNT_ADDRESS = """
insert into address_count as c (name, client, since, n) values (%(name)s, %(client)s, %(now)s, 1)
on conflict (name, client) do update set
    since = case when c.since - %(window)s < %(now)s and %(now)s < c.since + %(window)s then c.since else %(now)s end,
    n = case when c.since - %(window)s < %(now)s and %(now)s < c.since + %(window)s then least(c.n + 1, %(most)s + 1) else 1 end
returning n, since, set_config('synchronous_commit', 'off', true)
"""


@dataclass(frozen=True, slots=True)
class KeyCall:
    """Whose key it is, and the call's number today (1 = the first); None: the day's `ceiling` was
    used up before.
    """

    key_id: int
    account_id: int
    kind: str
    name: str
    owner_id: int | None
    wallet_address: bytes | None
    came_from: str | None  # where its owner signed up; without one, where it registered
    scopes: list[Any] | None
    per_order: str | None  # USDC base units as text: numeric would come as Decimal
    per_day: str | None
    generation: int
    ceiling: int
    number: int | None


def count_call(
    connection: Connection, key_hash: bytes, now: datetime, ceilings: Mapping[str, int]
) -> KeyCall | None:
    """Count one call of a live key in its UTC day; None: no live key has this hash.

    `ceilings`: calls a day by plan.

    The connection commits each statement (core.db.engine.Database.statements).
    """
    return _found(connection, _COUNT_CALL, key_hash, now, ceilings)


def find_call(
    connection: Connection, key_hash: bytes, now: datetime, ceilings: Mapping[str, int]
) -> KeyCall | None:
    """As `count_call`, of a call that is not counted: `number` is that of the day's last one that
    was, 0 before the first.
    """
    return _found(connection, _FIND_CALL, key_hash, now, ceilings)


def _found(
    connection: Connection,
    statement: str,
    key_hash: bytes,
    now: datetime,
    ceilings: Mapping[str, int],
) -> KeyCall | None:
    values = {
        "key_hash": key_hash,
        "day": now.date(),
        "now": now,
        "ceilings": json.dumps(dict(ceilings)),
    }
    row = connection.exec_driver_sql(statement, values).first()
    return None if row is None else KeyCall(*row[:-1])


def count_address(
    connection: Connection,
    name: str,
    client: str,
    now: datetime,
    window: timedelta,
    most: int,
) -> tuple[int, datetime]:
    """Count one call of a network address by that name: its number in the window, at most one more
    than `most`, and when the window began.

    The connection commits each statement (core.db.engine.Database.statements).
    """
    values = {"name": name, "client": client, "now": now, "window": window, "most": most}
    number, since, _ = connection.exec_driver_sql(_COUNT_ADDRESS, values).one()
    return number, since


def find_session(
    session: Session, token_hash: bytes, now: datetime
) -> tuple[SessionRow, Account] | None:
    """The session and its account, unless it was revoked or has expired (`expires_at` itself is too
    late).
    """
    found = session.execute(_live_session(), {"token_hash": token_hash, "now": now}).one_or_none()
    return None if found is None else (found[0], found[1])


@cache
def _live_session() -> Select[SessionRow, Account]:
    """Put together once: each call of an owner asks it."""
    return (
        select(SessionRow, Account)
        .join(Account, Account.id == SessionRow.account_id)
        .where(
            SessionRow.token_hash == bindparam("token_hash", type_=Hash32),
            SessionRow.revoked_at.is_(None),
            SessionRow.expires_at > bindparam("now", type_=DateTime(timezone=True)),
        )
    )


def live_sessions(session: Session, session_ids: Collection[int], now: datetime) -> set[int]:
    """Of these sessions those that have not ended."""
    alive = select(SessionRow.id).where(
        SessionRow.id == any_(cast(list(session_ids), ARRAY(BigInteger))),
        SessionRow.revoked_at.is_(None),
        SessionRow.expires_at > now,
    )
    return set(session.scalars(alive)) if session_ids else set()


def live_keys(session: Session, key_ids: Collection[int]) -> dict[int, tuple[int, Any]]:
    """Of these keys those that are not revoked: by id the generation of the account's secrets, and
    the scopes (None: full access).
    """
    alive = (
        select(ApiKey.id, Account.generation, ApiKey.scopes)
        .join(Account, Account.id == ApiKey.account_id)
        .where(
            ApiKey.id == any_(cast(list(key_ids), ARRAY(BigInteger))), ApiKey.revoked_at.is_(None)
        )
    )
    found = session.execute(alive).all() if key_ids else ()
    return {id_: (generation, scopes) for id_, generation, scopes in found}


def try_lock_idempotency(session: WriteSession, scope: str, key: str) -> bool:
    """Take (scope, key) until the transaction ends, or answer False at once: another call with it
    is in flight.
    """
    return _slot(scope, key).try_take(session)


def try_hold_idempotency(session: WriteSession, scope: str, key: str) -> bool:
    """Take (scope, key) for this connection, across its transactions, or answer False at once.

    It ends with the connection.
    """
    return _slot(scope, key).try_hold(session)


def release_idempotency(session: WriteSession, scope: str, key: str) -> None:
    _slot(scope, key).release(session)


def _slot(scope: str, key: str) -> AdvisoryLock:
    return locks.named(LockClass.IDEMPOTENCY, (scope, key))


def find_idempotency(session: Session, scope: str, key: str) -> IdempotencyRecord | None:
    return session.get(IdempotencyRecord, (scope, key))


def keep_idempotency(
    session: WriteSession,
    scope: str,
    key: str,
    body_hash: bytes,
    status: int,
    body: Mapping[str, Any],
    now: datetime,
) -> None:
    record = IdempotencyRecord(
        scope=scope, key=key, body_hash=body_hash, status=status, body=dict(body), created_at=now
    )
    session.add(record)
    session.flush()


def drop_idempotency_records(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` first answers that were given before then. How many went."""
    key = (IdempotencyRecord.scope, IdempotencyRecord.key)
    old = (
        select(*key)
        .where(IdempotencyRecord.created_at < before)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    statement = delete(IdempotencyRecord).where(tuple_(*key).in_(old))
    return len(session.execute(statement.returning(IdempotencyRecord.key)).all())
