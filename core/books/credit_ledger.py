"""The credit book: the only writer of credit_entry and credit_head. Credits are integers.

Laws
- A posting is double entry: the four buckets' deltas and the counter account's sum to zero.
- A posting happens once a base_key and account; the same key again is the first posting, whatever else is sent.
- No bucket is drawn below zero, but by a debt, which may leave `earned` and `converted` negative.
- Nothing here commits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from core.books.chain import Link, chain_faults, genesis, link_hash, lock_head, plain_payload
from core.db.engine import WriteSession
from core.db.tables.credits import CreditEntry, CreditHead
from core.domain.errors import MandateError
from core.domain.mandate.record import utc_text

BOOK = "credit"
BUCKETS = ("welcome", "earned", "converted", "bonded")
OWED_BUCKETS = ("earned", "converted")
WELCOME = "welcome"
DEBT = "debt"
ISSUANCE = "issuance"  # the counter account of credits that the service gives


class CreditOverdraftError(MandateError):
    """A posting would take more from a bucket than it holds."""

    def __init__(self, bucket: str, needed: int, available: int) -> None:
        super().__init__(f"{bucket} credits: {needed} needed, {available} available")
        self.bucket = bucket
        self.needed = needed
        self.available = available


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """Credits by bucket: a balance, or signed deltas."""

    welcome: int = 0
    earned: int = 0
    converted: int = 0
    bonded: int = 0

    @property
    def total(self) -> int:
        return self.welcome + self.earned + self.converted + self.bonded


@dataclass(frozen=True, slots=True)
class Posting:
    """The entry that stands for the key, and the account's balance now; `is_new` when this call wrote the entry."""

    id: int
    seq: int
    deltas: Credits
    balance: Credits
    is_new: bool


def post(
    session: WriteSession,
    account_id: int,
    kind: str,
    base_key: str,
    deltas: Credits,
    counter: str,
    payload: Mapping[str, Any],
    now: datetime,
) -> Posting:
    """Post once. `counter` names the service's account on the other side. Errors: CreditOverdraftError, InvalidParameterError."""
    head = _lock(session, account_id, now)
    found = session.scalar(select(CreditEntry).where(CreditEntry.account_id == account_id, CreditEntry.base_key == base_key))
    if found is not None:
        return Posting(found.id, found.seq, _deltas(found), _balance(head), is_new=False)
    _refuse_overdraft(kind, _balance(head), deltas)
    entry = CreditEntry(
        account_id=account_id,
        seq=head.seq + 1,
        kind=kind,
        base_key=base_key,
        counter=counter,
        **{f"{bucket}_delta": getattr(deltas, bucket) for bucket in BUCKETS},
        counter_delta=-deltas.total,
        payload=plain_payload(payload),
        created_at=now.astimezone(UTC),
        prev_hash=head.row_hash,
    )
    entry.row_hash = link_hash(entry.prev_hash, _body(entry))
    columns = {column.name: getattr(entry, column.name) for column in CreditEntry.__table__.columns if column.name != "id"}
    entry_id = session.scalars(insert(CreditEntry).returning(CreditEntry.id), columns).one()
    _move_head(session, head, entry, now)
    return Posting(entry_id, entry.seq, deltas, _balance(head), is_new=True)


def grant_welcome(session: WriteSession, account_id: int, amount_credits: int, now: datetime) -> Posting:
    """Give the welcome credit, once an account."""
    return post(session, account_id, WELCOME, WELCOME, Credits(welcome=amount_credits), ISSUANCE, {}, now)


def load_balance(session: Session, account_id: int) -> Credits:
    """The account's balance; all zero before the first posting."""
    head = session.get(CreditHead, account_id)
    return Credits() if head is None else _balance(head)


def verify(session: Session, account_id: int) -> list[str]:
    """What is wrong with an account's book or its head; empty means sound."""
    entries = session.scalars(select(CreditEntry).where(CreditEntry.account_id == account_id).order_by(CreditEntry.seq)).all()
    links = [Link(entry.seq, entry.prev_hash, entry.row_hash, _body(entry)) for entry in entries]
    faults = chain_faults(links, genesis(BOOK, account_id))
    head = session.get(CreditHead, account_id)
    if head is None:
        return [*faults, "the book has rows and no head"] if entries else faults
    last = (entries[-1].seq, entries[-1].row_hash) if entries else (0, genesis(BOOK, account_id))
    if (head.seq, head.row_hash) != last:
        faults.append(f"head: it stands at seq {head.seq}, the book at seq {last[0]}, or their hashes differ")
    totals = {bucket: sum(getattr(entry, f"{bucket}_delta") for entry in entries) for bucket in BUCKETS}
    return faults + [f"head: {bucket} is not the sum of its rows" for bucket, total in totals.items() if getattr(head, bucket) != total]


def _lock(session: WriteSession, account_id: int, now: datetime) -> CreditHead:
    empty = {"seq": 0, "row_hash": genesis(BOOK, account_id), "updated_at": now, **dict.fromkeys(BUCKETS, 0)}
    return lock_head(session, CreditHead, {"account_id": account_id}, empty)


def _refuse_overdraft(kind: str, balance: Credits, deltas: Credits) -> None:
    for bucket in BUCKETS:
        available, needed = getattr(balance, bucket), -getattr(deltas, bucket)
        may_owe = kind == DEBT and bucket in OWED_BUCKETS
        if needed > 0 and needed > available and not may_owe:
            raise CreditOverdraftError(bucket, needed, available)


def _move_head(session: WriteSession, head: CreditHead, entry: CreditEntry, now: datetime) -> None:
    head.seq, head.row_hash, head.updated_at = entry.seq, entry.row_hash, now
    for bucket in BUCKETS:
        setattr(head, bucket, getattr(head, bucket) + getattr(entry, f"{bucket}_delta"))
    session.flush()


def _balance(head: CreditHead) -> Credits:
    return Credits(**{bucket: getattr(head, bucket) for bucket in BUCKETS})


def _deltas(entry: CreditEntry) -> Credits:
    return Credits(**{bucket: getattr(entry, f"{bucket}_delta") for bucket in BUCKETS})


def _body(entry: CreditEntry) -> dict[str, Any]:
    """What is hashed of an entry: all but its id, its account (which the genesis names) and the hashes."""
    names = ("seq", "kind", "base_key", "counter", *(f"{bucket}_delta" for bucket in BUCKETS), "counter_delta", "payload")
    return {name: getattr(entry, name) for name in names} | {"created_at": utc_text(entry.created_at)}
