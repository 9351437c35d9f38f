"""The credit ledger: the only writer of credit_entry and credit_head, with batch, which posts many at
once. Credits are integers.

Laws
- A posting is double entry: the account's net delta and the counter account's sum to zero (see
  `trial_balance`).
- A posting happens once a base_key and account; the same key again is the first posting, whatever
  else is sent.
- No bucket is below zero, ever. Which buckets an amount comes from is core.credits.rules.buckets,
  read under the head's lock.
- Nothing here commits.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

from sqlalchemy import (
    BigInteger,
    Row,
    Table,
    any_,
    bindparam,
    func,
    insert,
    literal,
    select,
    union_all,
    update,
)
from sqlalchemy import cast as cast_sql
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.credits.rules import buckets
from core.credits.rules.buckets import BUCKETS, Credits
from core.credits.tables import CreditEntry, CreditHead
from core.db.engine import WriteSession
from core.errors import InvalidParameterError, MandateError
from core.ledger.chain import Link, chain_faults, genesis, link_hash, lock_head, plain_payload
from core.times import exact_instant_text

LEDGER = "credit"
WELCOME, EARN, CONVERT, REVERSE, SPEND, BOND, RELEASE, DEBT, RESTORE = (
    "welcome",
    "earn",
    "convert",
    "reverse",
    "spend",
    "bond",
    "release",
    "debt",
    "restore",
)

# The service's accounts, on the other side of a posting.
ISSUANCE = "issuance"  # credits that the service gives or pays out
RESERVE = "reserve"  # credits converted from the reserve token
SALES = "sales"  # what calls cost
PENALTIES = "penalties"  # what debts are for
BONDS = "bonds"  # bonds stay the account's own: this account never moves

# The ledger is written and read as plain rows: a posting is three short statements under a lock
# that others may wait for.
ENTRY: Final = cast("Table", CreditEntry.__table__)
HEAD: Final = cast("Table", CreditHead.__table__)


class CreditOverdraftError(MandateError):
    """A posting would take more from a bucket than it holds."""

    def __init__(self, bucket: str, needed: int, available: int) -> None:
        super().__init__(f"{bucket} credits: {needed} needed, {available} available")
        self.bucket = bucket
        self.needed = needed
        self.available = available


@dataclass(frozen=True, slots=True)
class Posting:
    """The entry that holds the key, and the account's balance now; `is_new` when this call
    wrote the entry.
    """

    id: int
    seq: int
    deltas: Credits
    balance: Credits
    is_new: bool


def grant_welcome(session: WriteSession, account_id: int, amount: int, now: datetime) -> Posting:
    """Give the welcome credit, once an account."""
    return post(session, account_id, WELCOME, WELCOME, Credits(welcome=amount), ISSUANCE, {}, now)


class MovesCredits(Protocol):
    """Posts an amount, once a key. Errors: InvalidNumberError for an amount below 1."""

    def __call__(
        self,
        session: WriteSession,
        account_id: int,
        amount: int,
        key: str,
        payload: Mapping[str, Any],
        now: datetime,
    ) -> Posting: ...


def _moves(kind: str, deltas_of: Callable[[Credits, int], Credits], counter: str) -> MovesCredits:
    """`deltas_of`: the balance under the lock, and the amount."""

    def move(
        session: WriteSession,
        account_id: int,
        amount: int,
        key: str,
        payload: Mapping[str, Any],
        now: datetime,
    ) -> Posting:
        def deltas(balance: Credits) -> Credits:
            return deltas_of(balance, amount)

        return _post(session, account_id, kind, key, deltas, counter, payload, now)

    return move


spend = _moves(SPEND, buckets.spend_deltas, SALES)
"""Take what a call costs. Errors: NotEnoughCreditsError too."""

earn = _moves(EARN, buckets.earn_deltas, ISSUANCE)
"""Pay for work; a debt is repaid first."""

convert = _moves(CONVERT, buckets.convert_deltas, RESERVE)
"""Credit that was converted from the reserve token; a debt is repaid first."""

reverse_conversion = _moves(REVERSE, buckets.reverse_deltas, RESERVE)
"""Take credit of a conversion back that the chain took back; what is spent is owed."""

owe = _moves(DEBT, buckets.owe_deltas, PENALTIES)
"""A debt: it takes nothing now, later earnings repay it."""

hold = _moves(BOND, buckets.hold_deltas, BONDS)
"""Lock a bond. Errors: NotEnoughCreditsError too."""


def release(session: WriteSession, account_id: int, bond_key: str, now: datetime) -> Posting:
    """Give a bond back, once, to the buckets that it came from.

    Errors: InvalidParameterError when there is no such bond.
    """
    bond = _entry(session, account_id, bond_key)
    if bond is None or bond.kind != BOND:
        raise InvalidParameterError(
            "bond_key", "no bond of this account has this key; give back a bond that was held"
        )
    return post(
        session,
        account_id,
        RELEASE,
        f"{RELEASE}:{bond_key}",
        _deltas(bond).negated(),
        BONDS,
        {"bond": bond_key},
        now,
    )


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
    """Post these deltas once. `counter` names the service's account on the other side.

    Errors: CreditOverdraftError, InvalidParameterError.
    """
    return _post(session, account_id, kind, base_key, lambda balance: deltas, counter, payload, now)


def _post(
    session: WriteSession,
    account_id: int,
    kind: str,
    base_key: str,
    deltas_of: Callable[[Credits], Credits],
    counter: str,
    payload: Mapping[str, Any],
    now: datetime,
) -> Posting:
    """Post once; the deltas are decided by the balance under the lock."""
    head = _lock(session, account_id, now)
    # A statement of its own: it sees what was committed while the lock was waited for.
    found = _entry(session, account_id, base_key)
    balance = balance_of(head)
    if found is not None:
        return Posting(found.id, found.seq, _deltas(found), balance, is_new=False)
    deltas = deltas_of(balance)
    refuse_overdraft(balance, deltas)
    entry = entry_of(
        (head.seq, head.row_hash),
        account_id=account_id,
        kind=kind,
        base_key=base_key,
        deltas=deltas,
        counter=counter,
        payload=payload,
        now=now,
    )
    after = balance_after(balance, deltas)
    return Posting(_write(session, entry, after), entry["seq"], deltas, after, is_new=True)


def entry_of(
    last: tuple[int, bytes],
    *,
    account_id: int,
    kind: str,
    base_key: str,
    deltas: Credits,
    counter: str,
    payload: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    """The row of credit_entry behind `last`, the account's newest seq and row hash.

    Errors: InvalidParameterError for the payload.
    """
    seq, prev_hash = last
    entry: dict[str, Any] = {
        "account_id": account_id,
        "seq": seq + 1,
        "kind": kind,
        "base_key": base_key,
        "counter": counter,
        **{f"{bucket}_delta": getattr(deltas, bucket) for bucket in BUCKETS},
        "counter_delta": -deltas.net,
        "payload": plain_payload(payload),
        "created_at": now.astimezone(UTC),
        "prev_hash": prev_hash,
    }
    entry["row_hash"] = link_hash(prev_hash, body_of(entry))
    return entry


def balance_after(balance: Credits, deltas: Credits) -> Credits:
    return Credits(
        **{bucket: getattr(balance, bucket) + getattr(deltas, bucket) for bucket in BUCKETS}
    )


def _write(session: WriteSession, entry: Mapping[str, Any], after: Credits) -> int:
    """The entry and its head, in one statement; answers the entry's id."""
    moved = {bucket: getattr(after, bucket) for bucket in BUCKETS}
    moved |= {"seq": entry["seq"], "row_hash": entry["row_hash"], "updated_at": entry["created_at"]}
    head = (
        update(HEAD)
        .where(HEAD.c.account_id == entry["account_id"])
        .values(moved)
        .returning(HEAD.c.account_id)
        .cte("moved")
    )
    return int(
        session.execute(
            insert(ENTRY).values(entry).add_cte(head).returning(ENTRY.c.id)
        ).scalar_one()
    )


def trial_balance(session: Session) -> dict[str, int]:
    """The sum of every account that the ledger knows, the service's included; the values sum to
    zero.

    `owed` is what accounts owe and counts against them, so it is a negative number here.
    """
    signs = {bucket: -1 if bucket == "owed" else 1 for bucket in BUCKETS}
    sums = [
        select(
            literal(f"accounts:{bucket}"),
            func.coalesce(func.sum(getattr(CreditEntry, f"{bucket}_delta")), 0) * sign,
        )
        for bucket, sign in signs.items()
    ]
    counters = select(
        literal("service:") + CreditEntry.counter, func.sum(CreditEntry.counter_delta)
    ).group_by(CreditEntry.counter)
    return {name: int(total) for name, total in session.execute(union_all(*sums, counters))}


def load_balance(session: Session, account_id: int) -> Credits:
    """The account's balance; all zero before the first posting."""
    row = session.execute(_BALANCE, {"account_id": account_id}).mappings().first()
    return Credits() if row is None else Credits(**row)


_BALANCE: Final = select(*(HEAD.c[bucket] for bucket in BUCKETS)).where(
    HEAD.c.account_id == bindparam("account_id", type_=BigInteger)
)


def owed_of(session: Session, account_ids: Collection[int]) -> dict[int, int]:
    """By account what it owes; zero before the first posting."""
    wanted = any_(cast_sql(list(account_ids), ARRAY(BigInteger)))
    query = select(HEAD.c.account_id, HEAD.c.owed).where(HEAD.c.account_id == wanted)
    found = {row.account_id: row.owed for row in session.execute(query)}
    return dict.fromkeys(account_ids, 0) | found


def verify(session: Session, account_id: int) -> list[str]:
    """What is wrong with an account's ledger or its head; empty means sound."""
    entries = session.execute(
        select(ENTRY).where(ENTRY.c.account_id == account_id).order_by(ENTRY.c.seq)
    ).all()
    links = [
        Link(entry.seq, entry.prev_hash, entry.row_hash, body_of(entry._asdict()))
        for entry in entries
    ]
    faults = chain_faults(links, genesis(LEDGER, account_id))
    head = session.execute(select(HEAD).where(HEAD.c.account_id == account_id)).one_or_none()
    if head is None:
        return [*faults, "the ledger has rows and no head"] if entries else faults
    last = (entries[-1].seq, entries[-1].row_hash) if entries else (0, genesis(LEDGER, account_id))
    if (head.seq, head.row_hash) != last:
        faults.append(
            f"head: it is at seq {head.seq}, the ledger at seq {last[0]}, or their hashes differ"
        )
    totals = {
        bucket: sum(getattr(entry, f"{bucket}_delta") for entry in entries) for bucket in BUCKETS
    }
    return faults + [
        f"head: {bucket} is not the sum of its rows"
        for bucket, total in totals.items()
        if getattr(head, bucket) != total
    ]


def _lock(session: WriteSession, account_id: int, now: datetime) -> Row[Any]:
    """The head, held until the transaction ends; an account's first posting makes it."""
    query = select(HEAD).where(HEAD.c.account_id == account_id).with_for_update()
    head = session.execute(query).one_or_none()
    if head is not None:
        return head
    empty = {
        "seq": 0,
        "row_hash": genesis(LEDGER, account_id),
        "updated_at": now,
        **dict.fromkeys(BUCKETS, 0),
    }
    lock_head(session, CreditHead, {"account_id": account_id}, empty)
    return session.execute(query).one()


def _entry(session: Session, account_id: int, base_key: str) -> Row[Any] | None:
    return session.execute(
        select(ENTRY).where(ENTRY.c.account_id == account_id, ENTRY.c.base_key == base_key)
    ).one_or_none()


def refuse_overdraft(balance: Credits, deltas: Credits) -> None:
    """Errors: CreditOverdraftError."""
    for bucket in BUCKETS:
        available, needed = getattr(balance, bucket), -getattr(deltas, bucket)
        if needed > available:
            raise CreditOverdraftError(bucket, needed, available)


def balance_of(head: Row[Any]) -> Credits:
    """What a row of credit_head holds."""
    return Credits(**{bucket: getattr(head, bucket) for bucket in BUCKETS})


def _deltas(entry: Row[Any]) -> Credits:
    return Credits(**{bucket: getattr(entry, f"{bucket}_delta") for bucket in BUCKETS})


def body_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What is hashed of an entry: all but its id, its account (which the genesis names) and the
    hashes.
    """
    names = (
        "seq",
        "kind",
        "base_key",
        "counter",
        *(f"{bucket}_delta" for bucket in BUCKETS),
        "counter_delta",
        "payload",
    )
    return {name: entry[name] for name in names} | {
        "created_at": exact_instant_text(entry["created_at"])
    }
