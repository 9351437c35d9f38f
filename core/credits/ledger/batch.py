"""Many postings at once: what `writer.post` writes one by one, for any number of accounts in four
statements.

    heads held, in the order of accounts -> keys that stand are left out -> entries linked, account by account -> copied, heads moved

Laws
- The rows are those that `writer.post` writes, hashes included: `writer.verify` finds no fault.
- Whoever posts to several accounts holds their heads first, by `hold`: always in the same order, so
  that two of them never wait for one another.
- No bucket is below zero; a key stands once. Nothing here commits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    LargeBinary,
    Row,
    Text,
    any_,
    cast,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as insert_or_not
from sqlalchemy.types import TypeEngine

from core.canonical import canonical_plain, chain_hash
from core.credits.ledger.writer import (
    ENTRY,
    HEAD,
    LEDGER,
    balance_of,
    body_of,
    refuse_overdraft,
)
from core.credits.rules.buckets import BUCKETS, Credits
from core.db.arrays import table_of
from core.db.base import Timestamp
from core.db.copying import bytes_cell, copy_lines, json_cell, text_cell, time_cell
from core.db.engine import WriteSession
from core.ledger.chain import genesis, plain_payload

_BIG: Final = BigInteger()
_TEXT: Final = Text()
_BYTES: Final = LargeBinary()
_NUMBERS: Final = (*(f"{bucket}_delta" for bucket in BUCKETS), "counter_delta")
COLUMNS: Final = (
    "account_id",
    "seq",
    "kind",
    "base_key",
    "counter",
    *_NUMBERS,
    "payload",
    "created_at",
    "prev_hash",
    "row_hash",
)
_MOVED: Final = ("seq", "row_hash", "updated_at", *BUCKETS)


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

    def link(self, posting: NewPosting, now: datetime) -> str:
        """The posting as the next entry of its account: the line of COLUMNS that COPY takes.

        Errors: CreditOverdraftError, InvalidParameterError.
        """
        account_id, deltas = posting.account_id, posting.deltas
        held = self.balances[account_id]
        refuse_overdraft(held, deltas)
        seq, prev_hash = self._places[account_id]
        entry: dict[str, Any] = {
            "seq": seq + 1,
            "kind": posting.kind,
            "base_key": posting.base_key,
            "counter": posting.counter,
            **{f"{bucket}_delta": getattr(deltas, bucket) for bucket in BUCKETS},
            "counter_delta": -deltas.net,
            "payload": plain_payload(posting.payload),
            "created_at": now,
        }
        row_hash = chain_hash(prev_hash, canonical_plain(body_of(entry)))
        self._places[account_id] = (seq + 1, row_hash)
        self.balances[account_id] = Credits(
            **{bucket: getattr(held, bucket) + getattr(deltas, bucket) for bucket in BUCKETS}
        )
        return _line(account_id, entry, prev_hash, row_hash)

    def moved(self, account_ids: Collection[int], now: datetime) -> list[dict[str, Any]]:
        """The heads of these accounts as they are to be."""
        return [
            {
                "account_id": account_id,
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

    A key that stands already is left out, as is the second of a key. Errors: KeyError for an
    account whose head is not held, CreditOverdraftError, InvalidParameterError.
    """
    if not postings:
        return set()
    stand = _standing(session, postings)
    lines, posted = list[str](), set[tuple[int, str]]()
    for posting in postings:
        key = (posting.account_id, posting.base_key)
        if key not in stand and key not in posted:
            lines.append(heads.link(posting, now))
            posted.add(key)
    copy_lines(session, ENTRY.name, COLUMNS, lines)
    if posted:
        _move(session, heads.moved(sorted({account_id for account_id, _ in posted}), now))
    return posted


def _held(session: WriteSession, account_ids: Sequence[int]) -> dict[int, Row[Any]]:
    wanted = any_(cast(list(account_ids), ARRAY(BigInteger)))
    query = select(HEAD).where(HEAD.c.account_id == wanted).order_by(HEAD.c.account_id)
    return {head.account_id: head for head in session.execute(query.with_for_update())}


def _standing(session: WriteSession, postings: Sequence[NewPosting]) -> set[tuple[int, str]]:
    asked = table_of(
        "asked",
        {
            "account_id": (_BIG, [posting.account_id for posting in postings]),
            "base_key": (_TEXT, [posting.base_key for posting in postings]),
        },
    )
    mine = (ENTRY.c.account_id, ENTRY.c.base_key)
    query = select(*mine).join(asked, tuple_(*mine) == tuple_(asked.c.account_id, asked.c.base_key))
    return {(row.account_id, row.base_key) for row in session.execute(query)}


def _line(account_id: int, entry: Mapping[str, Any], prev_hash: bytes, row_hash: bytes) -> str:
    """The cells of COLUMNS."""
    names = (text_cell(entry[name]) for name in ("kind", "base_key", "counter"))
    numbers = (str(entry[name]) for name in _NUMBERS)
    payload = json_cell(canonical_plain(entry["payload"]).decode())
    hashes = (bytes_cell(prev_hash), bytes_cell(row_hash))
    at = time_cell(entry["created_at"])
    return "\t".join((str(account_id), str(entry["seq"]), *names, *numbers, payload, at, *hashes))


def _move(session: WriteSession, heads: Sequence[Mapping[str, Any]]) -> None:
    kinds: dict[str, TypeEngine[Any]] = {
        "account_id": _BIG,
        **dict.fromkeys(_MOVED, _BIG),
        "row_hash": _BYTES,
        "updated_at": Timestamp,
    }
    moved = table_of(
        "moved", {name: (kind, [head[name] for head in heads]) for name, kind in kinds.items()}
    )
    session.execute(
        update(HEAD)
        .where(HEAD.c.account_id == moved.c.account_id)
        .values({name: moved.c[name] for name in _MOVED})
    )
