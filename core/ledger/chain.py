"""What the three ledgers share: the lock under which a ledger grows, the fact that a
key names, and the hash chain.

Laws
- A ledger grows only under the lock of its head row, so that `seq` has no gaps and every row chains
  to the one before.
- A key names a fact. A fact is written once; when its row was reversed it may come back, as the
  next incarnation.
- Nothing here commits.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import BigInteger, ColumnElement, Text, and_, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import InstrumentedAttribute, aliased

from core.canonical import canonical_json, chain_hash, plain_json
from core.db.base import Base
from core.db.engine import WriteSession
from core.errors import InvalidParameterError

Head = TypeVar("Head", bound=Base)


def lock_head(
    session: WriteSession, table: type[Head], key: Mapping[str, int], empty: Mapping[str, Any]
) -> Head:
    """The head row, held until the transaction ends; made from `empty` when missing, also when two
    writers do so at once.
    """
    query = (
        select(table).filter_by(**key).with_for_update().execution_options(populate_existing=True)
    )
    head = session.scalar(query)
    if head is not None:
        return head
    session.execute(insert(table).values(**key, **empty).on_conflict_do_nothing())
    return session.scalars(query).one()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a ledger already says under some keys: the standing row and the last occurrence of
    each.
    """

    standing: Mapping[str, Any]
    incarnations: Mapping[str, int]


def facts_of(
    session: WriteSession, table: type[Any], is_ledger: ColumnElement[bool], keys: Collection[str]
) -> Facts:
    """Read under the head's lock. `is_ledger` chooses the rows of one ledger."""
    reversal = aliased(table)
    query = (
        select(table, reversal.id)
        .outerjoin(reversal, reversal.reverses_id == table.id)
        .where(is_ledger, table.base_key.in_(keys), table.reverses_id.is_(None))
        .order_by(table.incarnation)
    )
    found = session.execute(query).all()
    return Facts(
        standing={row.base_key: row for row, reversed_by in found if reversed_by is None},
        incarnations={row.base_key: row.incarnation for row, _ in found},
    )


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """What a ledger already says under some keys: those that stand, and the last occurrence of
    each.
    """

    standing: set[str]
    incarnations: dict[str, int]


def known_keys(
    session: WriteSession,
    table: type[Any],
    ledger: InstrumentedAttribute[int],
    keys: Mapping[int, Collection[str]],
) -> dict[int, KnownKeys]:
    """As `facts_of`, for several ledgers in one query and without the rows themselves.

    `ledger` is the column that distinguishes them.
    """
    pairs = [(ledger_id, key) for ledger_id, wanted in keys.items() for key in wanted]
    columns = (
        cast([ledger_id for ledger_id, _ in pairs], ARRAY(BigInteger)),
        cast([key for _, key in pairs], ARRAY(Text)),
    )
    wanted_keys = func.unnest(*columns).table_valued("book", "base_key").render_derived("wanted")
    reversal = aliased(table)
    query = (
        select(ledger, table.base_key, table.incarnation, reversal.id.is_(None))
        .join(
            wanted_keys,
            and_(ledger == wanted_keys.c.book, table.base_key == wanted_keys.c.base_key),
        )
        .outerjoin(reversal, reversal.reverses_id == table.id)
        .where(table.reverses_id.is_(None))
        .order_by(table.incarnation)
    )
    known = {ledger_id: KnownKeys(set(), {}) for ledger_id in keys}
    for ledger_id, key, incarnation, is_standing in session.execute(query):
        known[ledger_id].incarnations[key] = incarnation
        if is_standing:
            known[ledger_id].standing.add(key)
    return known


def plain_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload as the database will give it back.

    Errors: InvalidParameterError (core.canonical).
    """
    plain: dict[str, Any] = plain_json(payload)
    return plain


# The chain of an account's ledger. A mandate's ledger, which is public, has its own:
# core.mandate.rules.record.


@dataclass(frozen=True, slots=True)
class Link:
    """A row as the chain sees it."""

    seq: int
    prev_hash: bytes
    row_hash: bytes
    body: Mapping[str, Any]


def genesis(ledger: str, account_id: int) -> bytes:
    """What the first row of an account's ledger is chained to."""
    return hashlib.sha256(f"{ledger}:v1:{account_id}".encode()).digest()


def link_hash(prev_hash: bytes, body: Mapping[str, Any]) -> bytes:
    return chain_hash(prev_hash, canonical_json(body))


def chain_faults(links: Iterable[Link], first: bytes) -> list[str]:
    """What is wrong with a chain read from its first row on; empty means sound. Content that can't be
    hashed (a float) is a fault too.
    """
    faults, before = list[str](), first
    for expected, link in enumerate(links, start=1):
        if link.seq != expected:
            faults.append(f"seq {link.seq}: expected seq {expected}")
        if link.prev_hash != before:
            faults.append(f"seq {link.seq}: not chained to the row before")
        try:
            computed = link_hash(link.prev_hash, link.body)
        except InvalidParameterError as error:
            faults.append(f"seq {link.seq}: its content can't be hashed: {error}")
        else:
            if link.row_hash != computed:
                faults.append(f"seq {link.seq}: its content does not give its row_hash")
        before = link.row_hash
    return faults


class LedgerEnd(Protocol):
    """Of a ledger's newest row."""

    @property
    def seq(self) -> int: ...

    @property
    def row_hash(self) -> bytes: ...


def ledger_faults(links: Iterable[Link], first: bytes, head: LedgerEnd | None) -> list[str]:
    """What is wrong with a chain or with its head (None: it has none); empty: sound."""
    last = (0, first)

    def read() -> Iterator[Link]:
        nonlocal last
        for link in links:
            last = (link.seq, link.row_hash)
            yield link

    faults = chain_faults(read(), first)
    if head is None:
        return [*faults, "the ledger has rows and no head"] if last[0] else faults
    if (head.seq, head.row_hash) != last:
        faults.append(f"head: at seq {head.seq}, and the ledger is not")
    return faults
