"""Every advisory lock of the service is made here: its number, and the statements that take it.

PostgreSQL has two spaces of advisory locks that never meet, and each has its own kind of names:

    own     one bigint     hashtextextended(name, 0)    names that the code alone makes: leaders, fences
    named   two integers   SHA-256 of class and name    names with anything in them that a caller chose

Laws
- PostgreSQL's hash can be inverted: whoever chooses a part of a name finds one with any number. So
  nothing that a caller chose is hashed by it, and a named lock never equals one of our own
  (docs/decisions/0021).
- The numbers of our own locks stay as they are: an indexer or keeper of the version before must
  not lead beside one of this version.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Function,
    Integer,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.orm import Session

Executor = Connection | Session

# Every backend of this database that holds the lock of that name, the asking one excepted; waits
# half a second for its end.
_END_HOLDERS = text("""
    SELECT pg_terminate_backend(l.pid, 500)
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_backend_pid()
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.objsubid = 1 AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(:lock, 0)
      AND a.backend_start < clock_timestamp() - make_interval(secs => :older_than_s)
""")


class LockClass(StrEnum):
    """What a name that a caller chose names; equal names of two classes are two locks."""

    IDEMPOTENCY = "idempotency"
    PAYMENT = "payment"
    WALLET = "wallet"
    EXTERNAL_ID = "external_id"
    RECOVERY = "recovery"
    REGISTRATION = "registration"
    SIGN_IN = "sign_in"
    MINING = "mining"
    TASK_CLAIM = "task_claim"
    RESERVE_CLAIM = "reserve_claim"
    SPONSORED_BUYER = "sponsored_buyer"
    CLAIM = "claim"
    SIGNAL_SALE = "signal_sale"
    OPERATOR_ORDER = "operator_order"


@dataclass(frozen=True)
class AdvisoryLock:
    """`number`: one bigint or two integers, as the functions of PostgreSQL take them."""

    number: tuple[ColumnElement[int], ...]

    def wait(self, db: Executor) -> None:
        """Take it until the transaction ends. Errors: OperationalError past the lock timeout."""
        _run(db, func.pg_advisory_xact_lock(*self.number))

    def wait_shared(self, db: Executor) -> None:
        """As `wait`, beside others that take it shared."""
        _run(db, func.pg_advisory_xact_lock_shared(*self.number))

    def try_take(self, db: Executor) -> bool:
        """Take it until the transaction ends, or answer False at once."""
        return _run(db, func.pg_try_advisory_xact_lock(*self.number))

    def try_hold(self, db: Executor) -> bool:
        """Take it for the connection, across its transactions, or answer False at once."""
        return _run(db, func.pg_try_advisory_lock(*self.number))

    def release(self, db: Executor) -> None:
        """Give back what `try_hold` took."""
        _run(db, func.pg_advisory_unlock(*self.number))


@cache
def own(name: str) -> AdvisoryLock:
    """The lock of a name that the code alone makes; nothing of it comes from a caller."""
    return AdvisoryLock((func.hashtextextended(name, 0),))


def named(kind: LockClass, name: bytes | Sequence[str]) -> AdvisoryLock:
    """The lock of a name that a caller chose, or a part of it; of texts none has a NUL."""
    return AdvisoryLock(tuple(literal(one, Integer) for one in _numbers(kind, name)))


def _numbers(kind: LockClass, name: bytes | Sequence[str]) -> tuple[int, int]:
    encoded = name if isinstance(name, bytes) else "\0".join(name).encode()
    digest = hashlib.sha256(kind.encode() + b"\0" + encoded).digest()
    high, low = (int.from_bytes(part, "big", signed=True) for part in (digest[:4], digest[4:8]))
    return high, low


# "mandate": one process migrates at a time, others wait and find the work done
MIGRATION = AdvisoryLock((literal(0x6D616E64617465, BigInteger),))


def end_holders_of_own(db: Executor, name: str, older_than_s: float) -> bool:
    """Terminate the backends that hold our own lock of this name and are older than that; whether
    one is gone.
    """
    return any(db.execute(_END_HOLDERS, {"lock": name, "older_than_s": older_than_s}).scalars())


def _run(db: Executor, call: Function[object]) -> bool:
    return bool(db.execute(select(call)).scalar_one())
