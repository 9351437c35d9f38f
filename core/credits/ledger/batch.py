"""Many postings at once: what `writer.post` writes one by one, for any number of accounts.

    heads held, in the order of accounts -> keys that stand are left out -> entries linked, account by account -> inserted, heads moved

Laws
- The rows are those that `writer.post` writes, hashes included: `writer.verify` finds no fault.
- Whoever posts to several accounts holds their heads first, by `hold`: always in the same order, so
  that two of them never wait for one another.
- No bucket is below zero; a key is posted once. Nothing here commits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Row, Text, any_, bindparam, cast, insert, select, tuple_, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as insert_or_not

from core.credits.ledger.writer import (
    ENTRY,
    HEAD,
    LEDGER,
    balance_after,
    balance_of,
    entry_of,
    refuse_overdraft,
)
from core.credits.rules.buckets import BUCKETS, Credits
from core.db.arrays import table_of
from core.db.engine import WriteSession
from core.ledger.chain import genesis

_MOVE = (
    update(HEAD)
    .where(HEAD.c.account_id == bindparam("of_account"))
    .values({name: bindparam(name) for name in ("seq", "row_hash", "updated_at", *BUCKETS)})
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPosting:
    """One posting, as `writer.post` takes it."""

    account_id: int
    kind: str
    base_key: str
    deltas: Credits
    counter: str
    payload: Mapping[str, Any]


@dataclass(slots=True)
class HeldHeads:
    """Heads of accounts, held until the transaction ends, with what each account has now."""

    _rows: dict[int, Row[Any]]
    balances: dict[int, Credits] = field(default_factory=dict)
    _places: dict[int, tuple[int, bytes]] = field(default_factory=dict)  # seq and hash

    def __post_init__(self) -> None:
        for account_id, head in self._rows.items():
            self.balances[account_id] = balance_of(head)
            self._places[account_id] = (head.seq, head.row_hash)

    def link(self, posting: NewPosting, now: datetime) -> dict[str, Any]:
        """The posting as the next row of its account.

        Errors: CreditOverdraftError, InvalidParameterError.
        """
        account_id = posting.account_id
        held = self.balances[account_id]
        refuse_overdraft(held, posting.deltas)
        entry = entry_of(
            self._places[account_id],
            account_id=account_id,
            kind=posting.kind,
            base_key=posting.base_key,
            deltas=posting.deltas,
            counter=posting.counter,
            payload=posting.payload,
            now=now,
        )
        self._places[account_id] = (entry["seq"], entry["row_hash"])
        self.balances[account_id] = balance_after(held, posting.deltas)
        return entry

    def moved(self, account_ids: Collection[int], now: datetime) -> list[dict[str, Any]]:
        """The heads of these accounts as they are to be."""
        return [
            {
                "of_account": account_id,
                "seq": self._places[account_id][0],
                "row_hash": self._places[account_id][1],
                "updated_at": now.astimezone(UTC),
                **{bucket: getattr(self.balances[account_id], bucket) for bucket in BUCKETS},
            }
            for account_id in account_ids
        ]


def hold(session: WriteSession, account_ids: Collection[int], now: datetime) -> HeldHeads:
    """The heads of these accounts, held in the order of their ids; an account's first posting makes
    its head.
    """
    wanted = sorted(set(account_ids))
    found = _held(session, wanted)
    if missing := [account_id for account_id in wanted if account_id not in found]:
        empty = [
            {
                "account_id": account_id,
                "seq": 0,
                "row_hash": genesis(LEDGER, account_id),
                "updated_at": now,
                **dict.fromkeys(BUCKETS, 0),
            }
            for account_id in missing
        ]
        session.execute(insert_or_not(HEAD).on_conflict_do_nothing(), empty)
        found |= _held(session, missing)
    return HeldHeads(found)


def post_all(
    session: WriteSession, heads: HeldHeads, postings: Sequence[NewPosting], now: datetime
) -> set[tuple[int, str]]:
    """Post all of these, in their order, and answer account and key of those that are new.

    A key that is posted already is left out, as is the second of a key. Errors: KeyError for an
    account whose head is not held, CreditOverdraftError, InvalidParameterError.
    """
    if not postings:
        return set()
    stand = _standing(session, postings)
    entries, posted = list[dict[str, Any]](), set[tuple[int, str]]()
    for posting in postings:
        key = (posting.account_id, posting.base_key)
        if key not in stand and key not in posted:
            entries.append(heads.link(posting, now))
            posted.add(key)
    if entries:
        session.execute(insert(ENTRY), entries)
        moved = heads.moved(sorted({account_id for account_id, _ in posted}), now)
        session.connection().execute(_MOVE, moved)
    return posted


def _held(session: WriteSession, account_ids: Sequence[int]) -> dict[int, Row[Any]]:
    wanted = any_(cast(list(account_ids), ARRAY(BigInteger)))
    query = select(HEAD).where(HEAD.c.account_id == wanted).order_by(HEAD.c.account_id)
    return {head.account_id: head for head in session.execute(query.with_for_update())}


def _standing(session: WriteSession, postings: Sequence[NewPosting]) -> set[tuple[int, str]]:
    asked = table_of(
        "asked",
        {
            "account_id": (BigInteger, [posting.account_id for posting in postings]),
            "base_key": (Text, [posting.base_key for posting in postings]),
        },
    )
    mine = (ENTRY.c.account_id, ENTRY.c.base_key)
    query = select(*mine).join(asked, tuple_(*mine) == tuple_(asked.c.account_id, asked.c.base_key))
    return {(row.account_id, row.base_key) for row in session.execute(query)}
